// SPDX-License-Identifier: BSD-3-Clause
// The near field layout by layout: `graft bench p2p --density` and its like, through run_tool("bench").
#pragma once

#include "study/tools/tools.hpp"

namespace graft::study {

/// Whether bench p2p is asked for the near field of boxes (arguments density, height or layout) and not for
/// all pairs.
bool wants_near_field(const ToolArguments& arguments);

/// {layouts:[{layout, time_s:{collection, charges, transfer, kernel, scatter, total}, predicted_s: the same,
/// bytes, chunks, pairs_per_s}], choice, best, regret, ...}: times are medians; total is that of one
/// execution of `executes` with its share of the collection; choice and best are of the layouts asked for.
std::string near_field_json(const ToolArguments& arguments);

} // namespace graft::study
