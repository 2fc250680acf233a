// SPDX-License-Identifier: BSD-3-Clause
// See tree_checks.hpp.
#include "tree/tree_checks.hpp"

#include "core/error.hpp"
#include "tree/build_steps.hpp"

#include <cmath>
#include <limits>

namespace graft::tree {

using core::fail;
using core::Status;

void check_options(const TreeOptions& options, int64_t n) {
    if (options.dimension != 2 && options.dimension != 3)
        fail(Status::argument, "dimension: expected 2 or 3, found %d", options.dimension);
    if (options.leaf < 1)
        fail(Status::argument, "tree.leaf: expected at least 1 particle per leaf, found %d", options.leaf);
    if (n < 0)
        fail(Status::argument, "tree: expected n >= 0 particles, found %lld", static_cast<long long>(n));
    if (options.has_range && !options.has_root)
        fail(Status::argument, "tree: a range of keys belongs to a given root cube, found none");
    if (!options.has_root)
        return;
    for (const double lower : options.root_lower)
        if (!std::isfinite(lower))
            fail(Status::argument, "tree: the root's lower corner must be finite, found %g", lower);
    if (!(options.root_edge >= detail::smallest_edge && options.root_edge <= largest_edge))
        fail(Status::argument, "tree: the root's edge must be in [1e-290, 1e150], found %g", options.root_edge);
}

void check_span(double edge) {
    if (!(edge <= largest_edge))
        fail(Status::value,
             "positions span %g, so their squared distances overflow double precision; expected at most "
             "1e150. "
             "Choose a larger unit of length",
             edge);
}

void check_count_gpu(int64_t n) {
    constexpr int32_t most = std::numeric_limits<int32_t>::max() - 64;
    if (n > most)
        fail(Status::unsupported, "tree: one device sorts at most %d particles, found %lld. Use more devices", most,
             static_cast<long long>(n));
}

} // namespace graft::tree
