// SPDX-License-Identifier: BSD-3-Clause
// The table that the core finds in libgraft_cuda.so (backend/gpu_library.hpp).
#include "engine/gpu/library_table_gpu.hpp"

#include "backend/build_id.hpp"
#include "backend/gpu_library.hpp"
#include "backend/queue_gpu.cuh"
#include "backend/guard_gpu.cuh"
#include "decompose/orb/orb_table.hpp"
#include "near/plan/near_table.hpp"
#include "engine/gpu/force_table_gpu.hpp"

#include <cstdio>
#include <mutex>
#include <utility>

namespace graft::engine {

namespace {

using backend::DeviceError;
using backend::guarded_device;

int32_t device_count(int32_t* count, DeviceError* error) {
    return guarded_device(error, [&] {
        int found = 0;
        GRAFT_CUDA(cudaGetDeviceCount(&found));
        *count = found;
    });
}

int32_t device_info(int32_t device, backend::DeviceInfo* info, DeviceError* error) {
    return guarded_device(error, [&] {
        cudaDeviceProp properties;
        GRAFT_CUDA(cudaGetDeviceProperties(&properties, device));
        *info = {};
        std::snprintf(info->name, sizeof info->name, "%s", properties.name);
        info->major = properties.major, info->minor = properties.minor;
        info->multiprocessors = properties.multiProcessorCount;
        GRAFT_CUDA(cudaDeviceGetAttribute(&info->clock_khz, cudaDevAttrClockRate, device));
        info->l2_bytes = properties.l2CacheSize;
        size_t free = 0, total = 0;
        GRAFT_CUDA(cudaSetDevice(device));
        GRAFT_CUDA(cudaMemGetInfo(&free, &total));
        info->bytes_free = static_cast<int64_t>(free), info->bytes_total = static_cast<int64_t>(total);
        char* text = info->uuid;
        for (int k = 0; k < 16; ++k)
            text += std::snprintf(text, 3, "%02x", static_cast<unsigned char>(properties.uuid.bytes[k]));
    });
}

int32_t pointer_kind(const void* pointer, int32_t* kind, int32_t* device, DeviceError* error) {
    return guarded_device(error, [&] {
        cudaPointerAttributes attributes;
        GRAFT_CUDA(cudaPointerGetAttributes(&attributes, pointer));
        const bool on_device = attributes.type == cudaMemoryTypeDevice,
                   managed = attributes.type == cudaMemoryTypeManaged;
        *kind = static_cast<int32_t>(
            on_device ? backend::PointerKind::device
                      : (managed ? backend::PointerKind::managed : backend::PointerKind::host));
        *device = on_device || managed ? attributes.device : -1;
    });
}

int32_t versions(int32_t* runtime, int32_t* driver, DeviceError* error) {
    return guarded_device(error, [&] {
        GRAFT_CUDA(cudaRuntimeGetVersion(runtime));
        GRAFT_CUDA(cudaDriverGetVersion(driver));
    });
}

int32_t allocate(int32_t device, int64_t bytes, void** pointer, DeviceError* error) {
    return guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(device));
        GRAFT_CUDA(cudaMalloc(pointer, static_cast<size_t>(bytes > 0 ? bytes : 1)));
    });
}

void release(int32_t device, void* pointer) {
    const backend::KeepsDevice keeps;
    if (cudaSetDevice(device) != cudaSuccess || cudaFree(pointer) != cudaSuccess)
        (void)cudaGetLastError(); // nothing can be done about it, and nobody is to find it later
}

/// The device that memory is on; -1: the host's.
int device_of(const void* pointer) {
    cudaPointerAttributes attributes;
    GRAFT_CUDA(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type == cudaMemoryTypeDevice ? attributes.device : -1;
}

/// Lets the current device reach another's memory over the link between them, where there is one; without,
/// the driver copies through the host. Asked for once a pair of devices; other threads' copies wait until it
/// is answered, as it maps the other's memory.
void reach(int device) {
    constexpr int most = 64;
    static std::mutex asking;
    static bool asked[most][most];
    int can = 0, current = 0;
    GRAFT_CUDA(cudaGetDevice(&current));
    if (current >= most || device >= most)
        return;
    const std::lock_guard lock(asking);
    if (std::exchange(asked[current][device], true))
        return;
    GRAFT_CUDA(cudaDeviceCanAccessPeer(&can, current, device));
    if (can != 0 && cudaDeviceEnablePeerAccess(device, 0) != cudaSuccess)
        (void)cudaGetLastError(); // the host has enabled it
}

/// On a stream of its own: it waits for nobody's work, and nobody's waits for it.
int32_t copy(void* to, const void* from, int64_t bytes, DeviceError* error) {
    return guarded_device(error, [&] {
        const int target = device_of(to), source = device_of(from);
        if (target >= 0 || source >= 0)
            GRAFT_CUDA(cudaSetDevice(target >= 0 ? target : source));
        if (target >= 0 && source >= 0 && target != source)
            reach(source);
        cudaStream_t stream = nullptr;
        GRAFT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        cudaError_t done = cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream);
        if (done == cudaSuccess)
            done = cudaStreamSynchronize(stream);
        (void)cudaStreamDestroy(stream);
        GRAFT_CUDA(done);
    });
}

} // namespace

const backend::CudaTable& library_table() {
    static const backend::CudaTable table = {sizeof(backend::CudaTable),
                                             0,
                                             backend::build_id,
                                             device_count,
                                             device_info,
                                             pointer_kind,
                                             versions,
                                             allocate,
                                             release,
                                             copy,
                                             device_force_table(),
                                             &decompose::device_orb_table(),
                                             nullptr,
                                             &near::device_near_table()};
    return table;
}

} // namespace graft::engine
