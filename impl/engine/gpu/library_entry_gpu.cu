// SPDX-License-Identifier: BSD-3-Clause
// The one symbol of libgraft_cuda.so.
#include "engine/gpu/library_table_gpu.hpp"

extern "C" __attribute__((visibility("default"))) const graft::backend::CudaTable* graft_cuda_get_table() {
    return &graft::engine::library_table();
}
