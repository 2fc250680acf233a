// SPDX-License-Identifier: BSD-3-Clause
// See context_gpu.cuh. The driver's few functions are looked up: the library does not link libcuda.so, so
// that it opens where there is no driver.
#include "backend/context_gpu.cuh"

#include "backend/context_id_gpu.cuh"

#include <cuda.h>

#include <dlfcn.h>

namespace graft::backend {

namespace {

struct Driver {
    decltype(&cuCtxGetCurrent) get_current = nullptr;
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    CUresult (*get_device)(CUdevice*) = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    CUresult (*exchange_capture_mode)(CUstreamCaptureMode*) = nullptr;
    CUresult (*get_id)(CUcontext, unsigned long long*) = nullptr; // may be missing
    CUresult (*total_memory)(size_t*, CUdevice) = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) retain_primary = nullptr; // may be missing
    bool complete() const {
        return get_current != nullptr && set_current != nullptr && get_device != nullptr && device != nullptr;
    }
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

Driver open_driver() {
    Driver driver;
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) { // stays: the runtime has it, too
        find(library, "cuCtxGetCurrent", driver.get_current);
        find(library, "cuCtxSetCurrent", driver.set_current);
        find(library, "cuCtxGetDevice", driver.get_device);
        find(library, "cuDeviceGet", driver.device);
        find(library, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
        find(library, "cuCtxGetId", driver.get_id);
        find(library, "cuDeviceTotalMem_v2", driver.total_memory);
        find(library, "cuDevicePrimaryCtxRetain", driver.retain_primary);
    }
    return driver;
}

const Driver& driver() {
    static const Driver found = open_driver();
    return found;
}

thread_local Context chosen = nullptr;

/// 0: there is none, or no longer, or the driver does not tell.
uint64_t id_of(Context context) noexcept {
    unsigned long long id = 0;
    if (context == nullptr || driver().get_id == nullptr ||
        driver().get_id(static_cast<CUcontext>(context), &id) != CUDA_SUCCESS)
        return 0;
    return id;
}

/// Of a device that has been reset and not used since: its context stays current, and names nothing.
bool is_gone(Context context) noexcept {
    return context != nullptr && driver().get_id != nullptr && id_of(context) == 0;
}

} // namespace

Context current_context() noexcept {
    CUcontext context = nullptr; // stays where the driver has not been initialised
    if (driver().complete())
        (void)driver().get_current(&context);
    return context;
}

void make_current(Context context) noexcept {
    if (driver().complete() && current_context() != context)
        (void)driver().set_current(static_cast<CUcontext>(context));
}

bool current_is_of(int device) noexcept {
    CUdevice wanted, now;
    const Context context = current_context();
    return context != nullptr && !is_gone(context) && driver().get_device(&now) == CUDA_SUCCESS &&
           driver().device(&wanted, device) == CUDA_SUCCESS && now == wanted;
}

static_assert(relaxed_capture == CU_STREAM_CAPTURE_MODE_RELAXED);

int exchange_capture_mode(int mode) noexcept {
    auto exchanged = static_cast<CUstreamCaptureMode>(mode);
    if (driver().exchange_capture_mode != nullptr)
        (void)driver().exchange_capture_mode(&exchanged); // not initialised: nobody captures
    return exchanged;
}

ContextMark current_mark() noexcept {
    const Context context = current_context();
    return {context, id_of(context)};
}

bool ContextMark::gone() const noexcept {
    return known() && id_of(context) != id;
}

bool works_in_primary() noexcept {
    return chosen == nullptr;
}

cudaError_t use_device(int device) noexcept {
    if (chosen == nullptr) {
        // The host's CUDA runtime has reset it, of which the one here knows nothing and would go on.
        CUdevice gone = 0;
        CUcontext anew = nullptr;
        if (is_gone(current_context()) && driver().retain_primary != nullptr &&
            driver().device(&gone, device) == CUDA_SUCCESS)
            (void)driver().retain_primary(&anew, gone);
        return cudaSetDevice(device);
    }
    make_current(chosen);
    return current_context() == chosen ? cudaSuccess : cudaErrorDeviceUninitialized;
}

InContext::InContext(Context context) noexcept : before_(chosen) {
    chosen = context;
    if (context != nullptr)
        make_current(context);
}

InContext::~InContext() {
    chosen = before_;
}

int64_t total_memory(int device) noexcept {
    CUdevice wanted;
    size_t bytes = 0;
    const bool known = driver().device != nullptr && driver().total_memory != nullptr &&
                       driver().device(&wanted, device) == CUDA_SUCCESS &&
                       driver().total_memory(&bytes, wanted) == CUDA_SUCCESS;
    return known ? static_cast<int64_t>(bytes) : 0;
}

} // namespace graft::backend
