// SPDX-License-Identifier: BSD-3-Clause
// The tool "force": whole force evaluations.
#pragma once

#include "study/bench/bench_force.hpp"
#include "study/tools/tools.hpp"

namespace graft::study {

/// `bench` has the engine's settings. Arguments: ic (plummer, uniform), n, seed, type (f32, f64), memory (device, host),
/// potential (true, false), warm_up, repeat, targets, machine.KEY for numbers of the GPU (tree.sizes). Answers JSON. Throws
/// Error(argument) for others, else what Solver::compute throws.
std::string force_tool(ForceBench bench, const ToolArguments& arguments);

} // namespace graft::study
