// Whole force evaluations for run_tool("force").
#pragma once

#include "entries.hpp"

namespace graft::capi {

/// Arguments: ic (plummer, uniform), n, seed, type (f32, f64), memory (device, host), potential (true,
/// false), warm_up, repeat, targets, machine.KEY for numbers of the GPU (tree.sizes). Answers JSON. Throws
/// Error(argument) for others, else what Solver::compute throws.
std::string force_tool(const Options& options, const ToolArguments& arguments);

} // namespace graft::capi
