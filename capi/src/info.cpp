// SPDX-License-Identifier: BSD-3-Clause
// run_tool("info"): what this machine gives the library, as JSON.
#include "entries.hpp"

#include "backend/executor.hpp"
#include "backend/gpu_library.hpp"
#include "forces/simd.hpp"
#include "json_string.hpp"

namespace graft::capi {

namespace {

std::string version_text(int32_t version) {
    return core::format("%d.%d", version / 1000, version % 1000 / 10);
}

std::string device_json(const backend::CudaTable& cuda, int32_t device) {
    backend::DeviceInfo info;
    backend::DeviceError error;
    if (cuda.device_info(device, &info, &error) != 0)
        return core::format("{\"ordinal\":%d,\"why\":%s}", device, json_string(error.message).c_str());
    return core::format("{\"ordinal\":%d,\"name\":%s,\"uuid\":\"%s\",\"compute_capability\":\"%d.%d\","
                        "\"multiprocessors\":%d,\"clock_khz\":%d,\"bytes_total\":%lld,\"bytes_free\":%lld,"
                        "\"l2_bytes\":%lld}",
                        device, json_string(info.name).c_str(), info.uuid, info.major, info.minor,
                        info.multiprocessors, info.clock_khz, static_cast<long long>(info.bytes_total),
                        static_cast<long long>(info.bytes_free), static_cast<long long>(info.l2_bytes));
}

/// {"usable":true,"devices":[...]} or {"usable":false,"why":"..."}. Cost: the driver's start, then that of asking each device.
std::string gpu_json() {
    std::string why;
    const backend::CudaTable* cuda = backend::find_cuda(&why);
    if (cuda == nullptr)
        return "{\"usable\":false,\"why\":" + json_string(why) + "}";
    int32_t count = 0, runtime = 0, driver = 0;
    backend::DeviceError error;
    backend::raise(cuda->device_count(&count, &error), error);
    backend::raise(cuda->versions(&runtime, &driver, &error), error);
    std::string devices;
    for (int32_t device = 0; device < count; ++device)
        devices += (device > 0 ? "," : "") + device_json(*cuda, device);
    return core::format("{\"usable\":true,\"runtime\":\"%s\",\"driver\":\"%s\",\"devices\":[%s]}",
                        version_text(runtime).c_str(), version_text(driver).c_str(), devices.c_str());
}

} // namespace

std::string info_json() {
    std::string names;
    for (const std::string& name : forces::simd_names())
        names += core::format("%s\"%s\"", names.empty() ? "" : ",", name.c_str());
    return core::format("{\"simd\":\"%s\",\"simd_available\":[%s],\"threads\":%d,\"gpu\":%s}",
                        forces::simd_name(), names.c_str(), backend::resolve_threads(0),
                        gpu_json().c_str());
}

} // namespace graft::capi
