// SPDX-License-Identifier: BSD-3-Clause
// See fourier_plan.hpp.
#include "periodic/mesh/fourier_plan.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

FourierPlan::FourierPlan(int points) : length(points) {
    for (int rest = length; rest > 1;) {
        const int factor = rest % 4 == 0 ? 4 : (rest % 2 == 0 ? 2 : (rest % 3 == 0 ? 3 : 5));
        factors.push_back(factor);
        rest /= factor;
    }
    cosine.resize(static_cast<size_t>(length));
    sine.resize(static_cast<size_t>(length));
    for (int k = 0; k < length; ++k) {
        const double angle = 6.283185307179586477 * k / length;
        cosine[static_cast<size_t>(k)] = std::cos(angle);
        sine[static_cast<size_t>(k)] = std::sin(angle);
    }
}

int64_t fourier_length(double least) {
    int64_t best = INT64_MAX;
    for (int64_t five = 1; five <= best; five *= 5) {
        for (int64_t three = five; three <= best; three *= 3) {
            int64_t two = three;
            while (static_cast<double>(two) < least)
                two *= 2;
            best = std::min(best, two);
            if (static_cast<double>(three) >= least)
                break;
        }
        if (static_cast<double>(five) >= least)
            break;
    }
    return best;
}

} // namespace graft::periodic
