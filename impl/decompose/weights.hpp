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

inline double to_double(Wide value) {
    return static_cast<double>(static_cast<uint64_t>(value >> 64)) * 18446744073709551616.0 +
           static_cast<double>(static_cast<uint64_t>(value));
}

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

    bool unit() const { return unit_; }
    /// Weight of local point i.
    uint64_t operator()(int64_t i) const { return unit_ ? 1 : of(cost_[i]); }
    /// Weight of a point of that cost.
    uint64_t of(double cost) const {
        return unit_ ? 1 : static_cast<uint64_t>(base_ + factor_ * (cost * scale1_ * scale2_) + 0.5);
    }

  private:
    const double* cost_ = nullptr;
    bool unit_ = true;
    double scale1_ = 1, scale2_ = 1; // two factors: one alone may not be a finite double
    double base_ = 0, factor_ = 0;
};

} // namespace graft::decompose
