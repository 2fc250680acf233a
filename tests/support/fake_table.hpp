// The table of a library that stands in for libgraft_cuda.so in tests without a GPU.
#pragma once

#include "backend/build_id.hpp"
#include "backend/cuda_library.hpp"

namespace graft::test {

/// With `devices` GPUs and nothing else; the parts are the caller's.
template <int32_t devices>
backend::CudaTable fake_table() {
    backend::CudaTable table{};
    table.struct_size = sizeof(backend::CudaTable);
    table.build_id = backend::build_id;
    table.device_count = [](int32_t* count, backend::DeviceError*) {
        *count = devices;
        return int32_t{0};
    };
    return table;
}

} // namespace graft::test
