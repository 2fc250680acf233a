// SPDX-License-Identifier: BSD-3-Clause
// A library that stands in for libgraft_cuda.so in tests without a GPU, and its switches.
#pragma once

#include "backend/gpu_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace graft::test {

/// The Control of the library at `path`, which is loaded as the process's CUDA library; it has a function
/// fake_control().
template <typename Control>
Control& fake_control(const char* path) {
    static Control* const found = [path] {
        setenv("GRAFT_CUDA_LIBRARY", path, 1);
        setenv("GRAFT_CUDA_STUDY_LIBRARY", path, 1);
        std::string why;
        EXPECT_NE(backend::find_cuda(&why), nullptr) << why;
        void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        return reinterpret_cast<Control* (*)()>(dlsym(library, "fake_control"))();
    }();
    return *found;
}

} // namespace graft::test
