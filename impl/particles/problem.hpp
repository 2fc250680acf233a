// SPDX-License-Identifier: BSD-3-Clause
// What is to be computed, validated and in engine terms, and where the raw result goes.
#pragma once

#include "core/buffer.hpp"

#include <array>
#include <cstdint>

namespace graft::periodic {
class PeriodicSum;
}

namespace graft::particles {

/// Raw field at the targets, in target order and internal units: sum of q d / r^3 towards the sources, sum of
/// q / r.
struct RawField {
    explicit RawField(core::Memory& memory)
        : ax(memory, "field x"), ay(memory, "field y"), az(memory, "field z"),
          potential(memory, "potentials") {}
    core::Buffer<double> ax, ay, az, potential;
    double image_virial[6] =
        {}; // periodic box: half the sum of shift (x) force over images, xx yy zz xy xz yz
    void resize(int64_t n, bool with_potential) {
        for (core::Buffer<double>* axis : {&ax, &ay, &az})
            axis->resize(n);
        potential.resize(with_potential ? n : 0);
    }
};


/// The root cube that the trees of all ranks share, and of one tree over all ranks this one's range of keys.
struct KeyRange {
    bool has_root = false, has_range = false;
    double root_lower[3] = {0, 0, 0}, root_edge = 0;
    uint64_t begin = 0, end = 0;
    bool counted = false; // below: particles of all ranks in the cell of each level that an end cuts in two
    std::array<int64_t, 32> cut_by_begin{}, cut_by_end{};
};

/// Sources (host order, contiguous) and targets, validated, charges scaled by a power of two to sum |q| in
/// [0.4, 0.8).
struct Problem {
    explicit Problem(core::Memory& memory)
        : x(memory, "x"), y(memory, "y"), z(memory, "z"), charge(memory, "charges"),
          softening(memory, "softening"), target(memory, "targets"), point_x(memory, "point x"),
          point_y(memory, "point y"), point_z(memory, "point z"),
          target_softening(memory, "target softening"), last(memory, "last accelerations") {}
    int64_t n = 0;
    core::Buffer<double> x, y, z, charge;
    core::Buffer<double> softening;                 // empty: one length for all, or no particle here
    bool per_particle_softening = false;            // some rank's particles have lengths of their own
    bool all_targets = true;                        // every particle, in host order: `target` is empty
    bool points = false;                            // the targets are point_x, point_y, point_z
    core::Buffer<int32_t> target;                   // host indices otherwise
    core::Buffer<double> point_x, point_y, point_z; // the targets that are not simply all particles
    core::Buffer<double> target_softening;          // theirs; empty: one length for all
    core::Buffer<double> last; // |field| of the particles in the last computation; empty: not known
    KeyRange range;
    const periodic::PeriodicSum* periodic = nullptr; // a periodic box, to which positions have been wrapped; NULL: open
    bool with_virial = false;              // of a periodic box: the force from each image is wanted
    double charge_scale = 1;               // internal charge = host charge * charge_scale
    double lightest = 0;                   // least |charge| of all ranks' that is not 0, internal; 0: there is none

    int64_t target_count() const {
        return points ? point_x.size() : (all_targets ? n : static_cast<int64_t>(target.size()));
    }
    const double* target_x() const { return all_targets ? x.data() : point_x.data(); }
    const double* target_y() const { return all_targets ? y.data() : point_y.data(); }
    const double* target_z() const { return all_targets ? z.data() : point_z.data(); }
    const double* target_length() const {
        const core::Buffer<double>& length = all_targets ? softening : target_softening;
        return length.empty() ? nullptr : length.data();
    }
};

} // namespace graft::particles
