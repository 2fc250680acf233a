// SPDX-License-Identifier: BSD-3-Clause
// The one symbol of libgraft_cuda_study.so: the table of libgraft_cuda.so with benches, and the papers' kernels beside ours.
#include "engine/gpu/library_table_gpu.hpp"
#include "study/bench/bench_table.hpp"
#include "study/papers/use_variants_gpu.cuh"

extern "C" __attribute__((visibility("default"))) const graft::backend::CudaTable* graft_cuda_get_table() {
    using namespace graft;
    static const backend::CudaTable table = [] {
        backend::CudaTable all = engine::library_table();
        all.bench = &study::device_bench_table();
        study::use_variants();
        return all;
    }();
    return &table;
}
