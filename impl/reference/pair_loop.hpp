// SPDX-License-Identifier: BSD-3-Clause
// Every target with every source in long double: what the plain oracles of lattices share. They differ in the
// sum over one source's images.
#pragma once

#include "reference/direct_sum.hpp"
#include "reference/loop.hpp"

namespace graft::reference {

using Real = long double;

struct LongSum {
    Real x = 0, y = 0, z = 0, potential = 0;
};

/// Calls add(charge, x, y, z, sum) for each source of a target, the distance being target - source;
/// overwrites `field`. Any thread count gives the same bits.
template <class Add>
void sum_pairs(const Points& sources, const double* charge, const Points& targets, int threads,
               const Field& field, const Add& add) {
    for_each(targets.count, threads, 1, [&](int64_t i) {
        LongSum sum;
        for (int64_t j = 0; j < sources.count; ++j)
            add(charge[j], Real(targets.x[i]) - sources.x[j], Real(targets.y[i]) - sources.y[j],
                Real(targets.z[i]) - sources.z[j], sum);
        field.ax[i] = static_cast<double>(sum.x);
        field.ay[i] = static_cast<double>(sum.y);
        field.az[i] = static_cast<double>(sum.z);
        if (field.potential != nullptr)
            field.potential[i] = static_cast<double>(sum.potential);
    });
}

} // namespace graft::reference
