// SPDX-License-Identifier: BSD-3-Clause
// L2L: a polynomial that was moved has the same values.
#include "forces/m2l/l2l.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace graft::forces {
namespace {

/// Potential, host units, of an expansion at a place.
double value_at(int order, const LocalExpansion& local, const Frame& frame, const double (&at)[3]) {
    double h[3], sum = 0;
    for (int a = 0; a < 3; ++a)
        h[a] = (at[a] - frame.centre[a]) * frame.scale - local.centre[a];
    const auto power = [](double x, int n) { return std::pow(x, n) / std::tgamma(n + 1.0); };
    for (int k = 0; k < moments::term_count(local_order(order)); ++k) {
        const moments::Term t = local_term(k);
        sum += local.value[static_cast<size_t>(k)] * power(h[0], t.a) * power(h[1], t.b) * power(h[2], t.c);
    }
    return sum * frame.scale;
}

TEST(L2l, ValuesStay) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const Frame parent{{10, -20, 5}, 0.25}, child{{10.5, -19.75, 5.25}, 2};
    for (int order = 0; order <= moments::cartesian_order; ++order) {
        LocalExpansion from, to;
        for (double& value : from.value)
            value = uniform(random);
        for (int a = 0; a < 3; ++a) {
            from.centre[a] = 0.125 * uniform(random);
            to.centre[a] = uniform(random);
        }
        to.value.fill(7); // what was there counts for nothing
        l2l(order, from, parent, child, to);
        for (int trial = 0; trial < 20; ++trial) {
            double at[3];
            for (int a = 0; a < 3; ++a)
                at[a] = child.centre[a] + uniform(random);
            const double expected = value_at(order, from, parent, at);
            EXPECT_NEAR(value_at(order, to, child, at), expected, 1e-13 * 20);
        }
    }
}

} // namespace
} // namespace graft::forces
