// SPDX-License-Identifier: BSD-3-Clause
// Libraries that stand for libgraft_cuda.so; FAKE_CUDA chooses which. Marks the process when it is opened.
#include "backend/build_id.hpp"
#include "backend/gpu_library.hpp"

#include <cstdio>

#define FAKE_CUDA_OTHER_BUILD 1 // of another build of Graft
#define FAKE_CUDA_NO_DEVICE 2   // a driver without a device
#define FAKE_CUDA_NO_DRIVER 3   // says why it cannot
#define FAKE_CUDA_FOREIGN 4     // some other library
#define FAKE_CUDA_SHORT 5       // a shorter table

namespace {

using graft::backend::CudaTable;
using graft::backend::DeviceError;

[[maybe_unused]] int32_t device_count(int32_t* count, DeviceError* error) {
    *count = 0;
    if (FAKE_CUDA != FAKE_CUDA_NO_DRIVER)
        return 0;
    std::snprintf(error->message, sizeof error->message, "the driver is too old, says the fake");
    return error->status = static_cast<int32_t>(graft::core::Status::device);
}

} // namespace

#if FAKE_CUDA != FAKE_CUDA_FOREIGN
extern "C" __attribute__((visibility("default"))) const CudaTable* graft_cuda_get_table() {
    static CudaTable table{};
    table.struct_size = FAKE_CUDA == FAKE_CUDA_SHORT ? 16 : sizeof table;
    table.build_id = FAKE_CUDA == FAKE_CUDA_OTHER_BUILD ? "0123456789abcdef" : graft::backend::build_id;
    table.device_count = device_count;
    return &table;
}
#else
extern "C" __attribute__((visibility("default"))) int some_other_function() {
    return 42;
}
#endif
