// SPDX-License-Identifier: BSD-3-Clause
// Sums over the lanes of several vectors at once. Read once per SIMD target, see pair.hpp.
#if defined(GRAFT_FORCES_LANE_SUMS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_FORCES_LANE_SUMS_HPP
#undef GRAFT_FORCES_LANE_SUMS_HPP
#else
#define GRAFT_FORCES_LANE_SUMS_HPP
#endif

#include "core/instruction_sets.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// out[k] += factor * (sum of the lanes of v[k]).
template <class D, int count>
HWY_INLINE void add_lane_sums(const D d, const hwy::HWY_NAMESPACE::Vec<D> (&v)[count], double factor,
                              double* out) {
    namespace hn = hwy::HWY_NAMESPACE;
    using T [[maybe_unused]] = hn::TFromD<D>;
#if GRAFT_AVX512
    if constexpr (count ==
                  4) { // halves, then blocks, then lanes of a block: a third of four separate reductions
        const auto p = hn::Add(hn::ConcatLowerLower(d, v[1], v[0]), hn::ConcatUpperUpper(d, v[1], v[0]));
        const auto q = hn::Add(hn::ConcatLowerLower(d, v[3], v[2]), hn::ConcatUpperUpper(d, v[3], v[2]));
        auto sum = hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(q), p),
                           hn::OddEvenBlocks(q, hn::SwapAdjacentBlocks(p))); // blocks 0 2 1 3
        if constexpr (sizeof(T) == 4) {
            sum = hn::Add(sum, hn::Shuffle1032(sum));
            sum = hn::Add(sum, hn::Shuffle2301(sum));
        } else {
            sum = hn::Add(sum, hn::Shuffle01(sum));
        }
        alignas(64) T lane[64 / sizeof(T)];
        hn::Store(sum, d, lane);
        constexpr int step = 16 / sizeof(T);
        out[0] += factor * static_cast<double>(lane[0]);
        out[2] += factor * static_cast<double>(lane[step]);
        out[1] += factor * static_cast<double>(lane[2 * step]);
        out[3] += factor * static_cast<double>(lane[3 * step]);
        return;
    }
#endif
    for (int k = 0; k < count; ++k)
        out[k] += factor * static_cast<double>(hn::GetLane(hn::SumOfLanes(d, v[k])));
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
