// SPDX-License-Identifier: BSD-3-Clause
// See spline.hpp.
#include "periodic/mesh/spline.hpp"

#include <cmath>

namespace graft::periodic {

namespace {

double binomial(int n, int k) {
    double value = 1;
    for (int i = 1; i <= k; ++i)
        value = value * (n - k + i) / i;
    return value;
}

} // namespace

/// M_P(x) = sum over j <= x of (-1)^j binomial(P, j) (x - j)^(P-1) / (P-1)!, at x = t + 1/2 + P - 1 - lane.
template <typename T>
Spline<T> make_spline(int order) {
    Spline<T> spline;
    spline.order = order;
    double factorial = 1;
    for (int k = 2; k < order; ++k)
        factorial *= k;
    for (int lane = 0; lane < order; ++lane)
        for (int power = 0; power < order; ++power) {
            double sum = 0;
            for (int j = 0; j <= order - 1 - lane; ++j)
                sum += (j % 2 == 0 ? 1 : -1) * binomial(order, j) * std::pow(order - 0.5 - lane - j, order - 1 - power);
            sum *= binomial(order - 1, power) / factorial;
            spline.value[power][lane] = static_cast<T>(sum);
            if (power > 0)
                spline.slope[power - 1][lane] = static_cast<T>(power * sum);
        }
    return spline;
}

template Spline<float> make_spline<float>(int);
template Spline<double> make_spline<double>(int);

} // namespace graft::periodic
