// SPDX-License-Identifier: BSD-3-Clause
// What a GPU test needs that goes through the built libgraft_cuda as hosts do: its table and the number of
// devices, or a skip where there is none.
#pragma once

#include "backend/gpu_library.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace graft::test {

/// The library of this build, unless the environment names another.
inline void name_cuda_library() {
#ifdef GRAFT_CUDA_REAL
    setenv("GRAFT_CUDA_LIBRARY", GRAFT_CUDA_REAL, 0);
#endif
}

class LibraryTest : public ::testing::Test {
  protected:
    void SetUp() override {
        name_cuda_library();
        std::string why;
        table = backend::find_cuda(&why);
        backend::DeviceError error;
        if (table == nullptr || table->device_count(&devices, &error) != 0 || devices == 0)
            GTEST_SKIP() << "no CUDA device: " << why;
    }
    const backend::CudaTable* table = nullptr;
    int32_t devices = 0;
};

} // namespace graft::test
