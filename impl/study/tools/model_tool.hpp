// SPDX-License-Identifier: BSD-3-Clause
// run_tool("model"): run-time models of a machine given by its numbers, and the measuring of those numbers.
#pragma once

#include "study/tools/tools.hpp"

namespace graft::study {

/// Arguments: what (orb, roofline, calibrate, schema); format (json; orb also csv, calibrate also yaml);
/// machine.KEY for the machine's numbers (orb, roofline); n, leaves, iterations, miss, precision_bits (orb);
/// backend (auto, cpu, cuda), device, threads, repetitions (calibrate). Throws core::Error.
std::string model_tool(const ToolArguments& arguments);

} // namespace graft::study
