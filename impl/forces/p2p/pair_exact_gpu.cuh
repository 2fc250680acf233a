// SPDX-License-Identifier: BSD-3-Clause
// add_pair() in double for the targets that single precision does not serve.
#pragma once

#include "forces/p2p/pair_gpu.cuh"

namespace graft::forces {

/// add_pair() in double, for any kind. `soft` of target and source: what is added to r^2 (constant; the
/// source has none), eps^2 / 2 (plummer), or the support (spline).
template <DevicePair kind, bool with_potential>
__device__ __forceinline__ void add_softened(double dx, double dy, double dz, double q, double soft,
                                             double of_source, PairSum<double>& sum) {
    const double added = kind == DevicePair::constant  ? soft
                         : kind == DevicePair::plummer ? soft + of_source + pair_tiny<double>()
                                                       : pair_tiny<double>();
    add_pair_of<kind, with_potential>(dx, dy, dz, q, added, soft > of_source ? soft : of_source, sum);
}

} // namespace graft::forces
