// SPDX-License-Identifier: BSD-3-Clause
// The loop of L2P: targets in the lanes of vectors, in double. Read once per SIMD target, see p2p/pair.hpp.
#if defined(GRAFT_FORCES_TARGET_LANES_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_FORCES_TARGET_LANES_HPP
#undef GRAFT_FORCES_TARGET_LANES_HPP
#else
#define GRAFT_FORCES_TARGET_LANES_HPP
#endif

#include "forces/m2l/m2l.hpp"
#include "forces/vector_ops.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// Adds body(h, sum) at the targets: h = target - centre, sum the field and, if asked for, the potential.
template <typename T, class Body>
HWY_INLINE void add_at_targets(bool with_potential, const LocalExpansion& local, const Targets<T>& targets, const FieldSums& out,
                               const Body& body) {
    using Real = VectorOps<double>::Real;
    const VectorOps<double>::D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const T* const from[3] = {targets.x, targets.y, targets.z};
    double* const to[4] = {out.ax, out.ay, out.az, out.potential};
    for (int64_t k = 0; k < targets.count; k += lanes) {
        const int64_t n = std::min(lanes, targets.count - k);
        alignas(64) double place[3][8] = {}, value[8];
        Real h[3], sum[4];
        for (int a = 0; a < 3; ++a) {
            for (int64_t i = 0; i < n; ++i)
                place[a][i] = static_cast<double>(from[a][k + i]) - local.centre[a];
            h[a] = hn::Load(d, place[a]);
        }
        for (Real& s : sum)
            s = hn::Zero(d);
        body(h, sum);
        for (int a = 0; a < (with_potential ? 4 : 3); ++a) {
            hn::Store(sum[a], d, value);
            for (int64_t i = 0; i < n; ++i)
                to[a][k + i] += value[i];
        }
    }
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
