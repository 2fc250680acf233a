// SPDX-License-Identifier: BSD-3-Clause
// Weights of points as integers of one scale, and their sums, which have no order.
//
// Weight of point i = (1 - mix) / N + mix * cost_i / sum of costs, times a scale that is the same on all
// ranks and rounded to an integer: the mean weight is about 2^38 or, when N < 2^24, so large that all weights
// add up to about 2^62; no weight is above 2^62. What is lost is below 2^-38 of the mean weight a point. With
// mix = 1 the scale is a power of two, so costs of few digits (counts of interactions) lose nothing. All
// costs zero, mix 0 or no costs: every weight is 1. Sums are 128-bit.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/host_device.hpp"
#include "decompose/orb/left_filled.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

namespace graft::decompose {

__extension__ typedef unsigned __int128 Wide;

/// Sums over ranks, in place, of `count` numbers whose sums are below 2^126, for up to 2^22 ranks: three
/// lanes of 42 bits each, one collective.
void allreduce_wide(comm::Communicator& comm, Wide* values, int64_t count);

/// term(begin, end) added up over blocks of [0, n), by the executor's threads.
using WideTerm = std::function<Wide(int64_t begin, int64_t end)>;
Wide sum_wide(const backend::Executor& executor, int64_t n, const WideTerm& term);

GRAFT_HD inline double to_double(Wide value) {
    return static_cast<double>(static_cast<uint64_t>(value >> 64)) * 18446744073709551616.0 +
           static_cast<double>(static_cast<uint64_t>(value));
}

/// The arithmetic of the rule, for the CPU and the device: plain values.
struct WeightScale {
    bool unit = true;
    double scale1 = 1, scale2 = 1; // two factors: one alone may not be a finite double
    double base = 0, factor = 0;

    WeightScale() = default;
    /// max_cost, count and cost (in units of unit_cost()) over all ranks; mix in [0, 1].
    GRAFT_HD WeightScale(double max_cost, Wide count, Wide cost, double mix)
        : unit(!(max_cost > 0) || !(mix > 0) || cost == 0) {
        if (unit)
            return;
        set_scale(cost_exponent(max_cost), scale1, scale2);
        const double mean_cost = to_double(cost) / to_double(count); // in the scale of the sums
        const double largest = std::ldexp(1.0, 62);
        const double mean = std::min(mean_weight(count), largest / (1 - mix + mix * (largest / mean_cost)));
        base = (1 - mix) * mean;
        factor = mix * mean / mean_cost;
        if (mix == 1) {
            int exponent = 0;
            std::frexp(factor, &exponent);
            factor = std::ldexp(1.0, exponent - 1);
        }
    }
    /// Weight of a point of that cost. No fused multiply-add: the same bits everywhere.
    GRAFT_HD uint64_t of(double cost) const {
        return unit ? 1 : static_cast<uint64_t>(base + factor * (cost * scale1 * scale2) + 0.5);
    }

    /// 2^exponent as two factors that are finite and normal for every exponent of a double's reciprocal.
    GRAFT_HD static void set_scale(int exponent, double& first, double& second) {
        first = std::ldexp(1.0, exponent / 2);
        second = std::ldexp(1.0, exponent - exponent / 2);
    }
    /// Exponent that brings the largest cost to [2^61, 2^62).
    GRAFT_HD static int cost_exponent(double max_cost) {
        int exponent = 0;
        std::frexp(max_cost, &exponent);
        return 62 - exponent;
    }
    /// The weight that the mean point shall have.
    GRAFT_HD static double mean_weight(Wide count) {
        const int bits = bits_of(static_cast<uint64_t>(count > 1 ? count : 1) - 1);
        return std::ldexp(1.0, std::max(38, 62 - bits));
    }
};

class WeightRule {
  public:
    /// Every weight is 1.
    WeightRule() = default;
    /// What the rule follows from: fill() before anything collective, then add up over ranks.
    struct Sums {
        Wide count = 0;
        Wide cost = 0; // in units of max_cost * 2^-62, about
        /// cost: n values, >= 0 and finite, or NULL; max_cost: the largest over all ranks.
        static Sums of(const backend::Executor& executor, const double* cost, int64_t n, double max_cost);
    };
    /// sums: over all ranks; mix in [0, 1]; cost: this rank's, kept.
    WeightRule(const double* cost, double max_cost, const Sums& sums, double mix);

    bool unit() const { return scale_.unit; }
    const WeightScale& scale() const { return scale_; }
    /// Weight of local point i.
    uint64_t operator()(int64_t i) const { return scale_.unit ? 1 : of(cost_[i]); }
    /// Weight of a point of that cost.
    uint64_t of(double cost) const { return scale_.of(cost); }

  private:
    const double* cost_ = nullptr;
    WeightScale scale_;
};

} // namespace graft::decompose
