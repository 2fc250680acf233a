// SPDX-License-Identifier: BSD-3-Clause
// What a tree is refused for on a CPU and on a GPU alike. All throw core::Error.
#pragma once

#include "tree/tree.hpp"

#include <cstdint>

namespace graft::tree {

inline constexpr double largest_edge = 1e150; // squares of longer distances overflow

/// Error(argument): dimension, leaf, a given root cube, n < 0.
void check_options(const TreeOptions& options, int64_t n);
/// Error(value): particles span more than largest_edge, or NaN.
void check_span(double edge);
/// Error(unsupported): more particles than one GPU sorts.
void check_count_gpu(int64_t n);

} // namespace graft::tree
