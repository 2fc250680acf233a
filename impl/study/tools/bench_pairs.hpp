// SPDX-License-Identifier: BSD-3-Clause
// `bench` with what: p2p and backend: gpu. All pairs on a GPU beside what the GPU can do, as JSON.
#pragma once

#include "study/tools/tools.hpp"

#include <string>

namespace graft::study {

/// Whether the arguments ask for it; backend: cpu does not. Throws Error(argument) for another backend.
bool wants_device_pairs(const ToolArguments& arguments);

/// Pairs a second of thuering2023's stages and of ours, their share of the measured instruction mix, and the
/// device's bandwidths. Keys: n, precision (fp32, mixed, fp64 or all), block, repetitions, device. A few
/// seconds at the default n = 262,144. Throws Error(device) when there is no GPU; Error(argument).
std::string device_pairs_json(const ToolArguments& arguments);

} // namespace graft::study
