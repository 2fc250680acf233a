// SPDX-License-Identifier: BSD-3-Clause
// Small linear least squares: rows of known factors, a right-hand side, a few unknown coefficients.
#pragma once

#include <span>
#include <vector>

namespace graft::model {

/// x that minimises |A x - b|; A has `unknowns` columns, row after row. Columns of zeros get x = 0. O(rows
/// unknowns^2). Throws Error(argument) when the sizes do not fit or A does not determine x.
std::vector<double> least_squares(std::span<const double> rows, std::span<const double> right, int unknowns);

/// The same with every x >= 0 (Lawson and Hanson's active set). A that does not determine x leaves what it
/// does not determine at 0.
std::vector<double> least_squares_not_negative(std::span<const double> rows, std::span<const double> right,
                                               int unknowns);

} // namespace graft::model
