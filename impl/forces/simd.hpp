// SPDX-License-Identifier: BSD-3-Clause
// Which SIMD instruction set the kernels use, and a lid on it for tests and measurements.
#pragma once

#include <string>
#include <vector>

namespace graft::forces {

/// "AVX3" (AVX-512), "AVX2", "SSE4", "SSE2", "SCALAR" or another of Highway's: what the kernels run on now.
const char* simd_name();

/// Names that this machine and this build can run, best first.
std::vector<std::string> simd_names();

/// Uses `name` (one of simd_names()) from now on; "" goes back to the best. For the whole process. Returns
/// false, and changes nothing, when the name is not available.
bool set_simd_limit(const std::string& name);

/// Lanes of a vector of float on the instruction set in use.
int simd_float_lanes();

} // namespace graft::forces
