// SPDX-License-Identifier: BSD-3-Clause
// What a fast Fourier transform of one length needs: its factors and its roots of unity.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::periodic {

/// Lengths are products of 2, 3 and 5.
struct FourierPlan {
    int length = 0;
    std::vector<int> factors; // 4, 2, 3, 5: of the steps
    std::vector<double> cosine, sine; // of 2 pi k / length

    FourierPlan() = default;
    /// `length` >= 1, of fourier_length().
    explicit FourierPlan(int length);
};

/// The least length of at least so many points that can be transformed.
int64_t fourier_length(double least);

} // namespace graft::periodic
