// SPDX-License-Identifier: BSD-3-Clause
// The driver's contexts in tests, by functions that are looked up: programs start where there is no driver,
// too.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace graft::test {

template <typename Function>
Function* driver_function(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

inline CUcontext current_context() {
    CUcontext context = nullptr;
    (void)driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent")(&context);
    return context;
}

inline bool primary_is_active(int device) {
    unsigned flags;
    int active = 0;
    (void)driver_function<CUresult(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(device, &flags,
                                                                                        &active);
    return active != 0;
}

/// A context that the host makes, as OpenMM does; current from then on.
inline CUcontext own_context(int device) {
    CUcontext made = nullptr;
    EXPECT_EQ(driver_function<CUresult(CUcontext*, unsigned, int)>("cuCtxCreate_v2")(&made, 0, device),
              CUDA_SUCCESS);
    return made;
}

inline void destroy(CUcontext context) {
    EXPECT_EQ(driver_function<CUresult(CUcontext)>("cuCtxDestroy_v2")(context), CUDA_SUCCESS);
}

} // namespace graft::test
