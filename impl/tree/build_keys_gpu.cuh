// SPDX-License-Identifier: BSD-3-Clause
// What the two ways of sorting particles share (build_sort_gpu.cu, buckets_gpu.cu): reading a particle, and
// where its values go. Only for them.
#pragma once

#include "tree/build_steps_gpu.cuh"

namespace graft::tree::device {

__device__ inline PackedParticle load(const DeviceParticleView& from, int64_t i) {
    return {from.x[i], from.y[i], from.z != nullptr ? from.z[i] : 0.0,
            from.charge != nullptr ? from.charge[i] : 0.0};
}

/// Where there are particles outside the given root cube, and this is one, it stops the computation; the
/// first of them is told.
__device__ inline void refuse_outside(const PackedParticle& p, int64_t i, int dimension,
                                      const DeviceTreeCounts& counts, backend::DeviceStatus* status) {
    if (!counts.in_root(p.x, p.y, p.z, dimension)) {
        atomicMin(reinterpret_cast<long long*>(&status->first_bad), static_cast<long long>(i));
        backend::stop_with(status, backend::bad_value);
    }
}

/// The tree's particles.
struct Sorted {
    double *x, *y, *z, *charge, *softening;

    explicit Sorted(DeviceTree& tree)
        : x(tree.x.data()), y(tree.y.data()), z(tree.z.data()), charge(tree.charge.data()),
          softening(tree.softening.data()) {}
};

} // namespace graft::tree::device
