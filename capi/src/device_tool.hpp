// What the library knows of the GPUs here, for run_tool("info").
#pragma once

#include <string>

namespace graft::capi {

/// {"usable":true,"devices":[...]} or {"usable":false,"why":"..."}. Looks for CUDA, once a process. Cost: the
/// driver's start, then that of asking each device.
std::string cuda_json();

} // namespace graft::capi
