// SPDX-License-Identifier: BSD-3-Clause
// The table of a library that stands in for libgraft_cuda.so in tests without a GPU.
#pragma once

#include "backend/build_id.hpp"
#include "backend/gpu_library.hpp"

namespace graft::test {

/// With `devices` GPUs, which no pointer is of; the parts are the caller's.
template <int32_t devices>
backend::CudaTable fake_table() {
    backend::CudaTable table{};
    table.struct_size = sizeof(backend::CudaTable);
    table.build_id = backend::build_id;
    table.device_count = [](int32_t* count, backend::DeviceError*) {
        *count = devices;
        return int32_t{0};
    };
    table.pointer_kind = [](const void*, int32_t* kind, int32_t* device, backend::DeviceError*) {
        *kind = static_cast<int32_t>(backend::PointerKind::host), *device = -1;
        return int32_t{0};
    };
    return table;
}

} // namespace graft::test
