// SPDX-License-Identifier: BSD-3-Clause
// Memory kinds of arrays.
#include "array_memory.hpp"

#include "backend/gpu_library.hpp"

namespace graft::capi {

using core::fail;
using core::Status;
using particles::MemorySpace;

namespace {

const char* words_of(int32_t memory) {
    return memory == GRAFT_MEMORY_HOST   ? "GRAFT_MEMORY_HOST (1)"
           : memory == GRAFT_MEMORY_DEVICE ? "GRAFT_MEMORY_DEVICE (2)"
                                         : "GRAFT_MEMORY_MANAGED (3)";
}

const char* words_of(backend::PointerKind kind) {
    return kind == backend::PointerKind::host     ? "host"
           : kind == backend::PointerKind::device ? "device"
                                                  : "managed";
}

struct Found {
    backend::PointerKind kind = backend::PointerKind::host;
    int32_t device = -1;
};

Found ask(const backend::CudaTable& cuda, const graft_array& array) {
    int32_t kind = 0;
    Found found;
    backend::DeviceError error;
    backend::raise(cuda.pointer_kind(array.data, &kind, &found.device, &error), error);
    found.kind = static_cast<backend::PointerKind>(kind);
    return found;
}

/// The array is said, or found, to be on a device: may it be?
void require_device(const char* name, const char* what, const Places& places) {
    if (!places.device_arrays)
        fail(Status::unsupported,
             "%s: %s; this call works on host arrays only in this version. Copy the array to the host, and "
             "pass GRAFT_MEMORY_HOST",
             name, what);
    if (places.backend == settings::Backend::cpu)
        fail(
            Status::unsupported,
            "%s: %s, but this context computes on the CPU (backend: cpu). Set backend: auto or gpu, or pass "
            "host arrays",
            name, what);
    std::string why;
    if (backend::find_cuda(&why) == nullptr)
        fail(Status::device, "%s: %s, but no GPU can be used: %s", name, what, why.c_str());
}

/// Managed memory may also be called device memory, and (it can be read there) the host's.
void check_said(const graft_array& array, const char* name, const Found& found) {
    const bool fits = array.memory == GRAFT_MEMORY_HOST   ? found.kind != backend::PointerKind::device
                      : array.memory == GRAFT_MEMORY_DEVICE ? found.kind != backend::PointerKind::host
                                                          : found.kind == backend::PointerKind::managed;
    if (!fits)
        fail(Status::array,
             "%s: memory is %s, but its pointer %p is to %s memory, as CUDA says. Pass the memory it is in, "
             "or "
             "GRAFT_MEMORY_AUTO",
             name, words_of(array.memory), array.data, words_of(found.kind));
    if (array.memory == GRAFT_MEMORY_DEVICE && found.kind == backend::PointerKind::device &&
        array.device != found.device)
        fail(Status::array, "%s: device is %d, but its pointer is to memory of device %d", name, array.device,
             found.device);
}

MemorySpace place_of(const Found& found, const char* name, const Places& places) {
    if (found.kind == backend::PointerKind::host)
        return MemorySpace::host;
    if (found.kind == backend::PointerKind::managed)
        return MemorySpace::managed;
    require_device(name, "its pointer is to device memory", places);
    if (places.device >= 0 && found.device != places.device)
        fail(Status::array,
             "%s: it is on device %d, but this context works on device %d (gpu.device); expected all arrays "
             "on "
             "one device",
             name, found.device, places.device);
    if (places.first_device < 0) {
        places.first_device = found.device;
        places.first_name = name;
    }
    if (found.device != places.first_device)
        fail(Status::array,
             "%s: it is on device %d, but %s is on device %d; expected all arrays on one device", name,
             found.device, places.first_name.c_str(), places.first_device);
    return MemorySpace::device;
}

} // namespace

particles::MemorySpace find_place(const graft_array& array, const char* name, const Places& places) {
    if (array.memory < GRAFT_MEMORY_AUTO || array.memory > GRAFT_MEMORY_MANAGED)
        fail(Status::array,
             "%s: memory is %d; expected GRAFT_MEMORY_HOST (1), GRAFT_MEMORY_DEVICE (2), GRAFT_MEMORY_MANAGED (3) "
             "or GRAFT_MEMORY_AUTO (0)",
             name, array.memory);
    const bool said = array.memory == GRAFT_MEMORY_DEVICE || array.memory == GRAFT_MEMORY_MANAGED;
    if (said)
        require_device(name, core::format("memory is %s", words_of(array.memory)).c_str(), places);
    if (array.data == nullptr || array.n == 0)
        return array.memory == GRAFT_MEMORY_DEVICE ? MemorySpace::device : MemorySpace::host;
    if (places.backend == settings::Backend::cpu ||
        (array.memory == GRAFT_MEMORY_HOST && !places.device_arrays))
        return MemorySpace::host; // said, or there is nobody to ask
    // A host's word is checked where that does not start a driver that nothing else may need.
    const backend::CudaTable* cuda =
        array.memory == GRAFT_MEMORY_HOST && places.backend == settings::Backend::auto_
            ? backend::known_cuda()
            : backend::find_cuda(nullptr);
    if (cuda == nullptr)
        return MemorySpace::host;
    const Found found = ask(*cuda, array);
    if (array.memory != GRAFT_MEMORY_AUTO)
        check_said(array, name, found);
    if (array.memory == GRAFT_MEMORY_HOST)
        return MemorySpace::host;
    return place_of(found, name, places);
}

} // namespace graft::capi
