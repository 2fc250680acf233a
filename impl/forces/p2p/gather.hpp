// SPDX-License-Identifier: BSD-3-Clause
// Particles from the tree's arrays into a frame, packed for the P2P kernel.
//
// Buffers keep their memory; a thread has one of each. Sources are filled up to a multiple of source_pad with
// charge 0.
#pragma once

#include "core/buffer.hpp"
#include "forces/frame.hpp"
#include "forces/p2p/p2p.hpp"
#include "tree/tree.hpp"

#include <cstdint>

namespace graft::forces {

/// Where particles come from: contiguous arrays in the caller's units. softening NULL = one length for all.
struct ParticleArrays {
    const double *x = nullptr, *y = nullptr, *z = nullptr, *charge = nullptr, *softening = nullptr;
    int64_t count = 0; // readable items
};

inline ParticleArrays tree_particles(const tree::Tree& tree) {
    return {tree.x.data(),
            tree.y.data(),
            tree.z.data(),
            tree.charge.data(),
            tree.softening.empty() ? nullptr : tree.softening.data(),
            tree.particle_count()};
}

template <typename T>
class SourceBuffer {
  public:
    explicit SourceBuffer(core::Memory& memory)
        : x_(memory, "P2P source x"), y_(memory, "P2P source y"), z_(memory, "P2P source z"),
          q_(memory, "P2P source charges"), s_(memory, "P2P source softening") {}

    void clear() { count_ = 0; }
    int64_t particle_count() const { return count_; } // without the fill-up
    /// Appends particles [first, first + count). `frame` and `variant` must stay the same between clear()
    /// calls.
    void append(const ParticleArrays& particles, int64_t first, int64_t count, const Frame& frame,
                const PairVariant& variant);
    /// Fills up with charge 0 and shows the arrays to the kernel; append() may go on after it.
    Sources<T> view();

  private:
    void reserve(int64_t count);
    core::Buffer<T> x_, y_, z_, q_, s_;
    int64_t count_ = 0;
};

template <typename T>
class TargetBuffer {
  public:
    explicit TargetBuffer(core::Memory& memory)
        : x_(memory, "P2P target x"), y_(memory, "P2P target y"), z_(memory, "P2P target z"),
          s_(memory, "P2P target softening"), ax_(memory, "P2P field x"), ay_(memory, "P2P field y"),
          az_(memory, "P2P field z"), potential_(memory, "P2P potential") {}

    /// Takes targets [first, first + count) (charge unused) and sets the sums to 0.
    void fill(const ParticleArrays& targets, int64_t first, int64_t count, const Frame& frame,
              const PairVariant& variant);
    Targets<T> view() const { return {x_.data(), y_.data(), z_.data(), s_.data(), count_}; }
    FieldSums sums() { return {ax_.data(), ay_.data(), az_.data(), potential_.data()}; }

  private:
    core::Buffer<T> x_, y_, z_, s_;
    core::Buffer<double> ax_, ay_, az_, potential_;
    int64_t count_ = 0;
};

} // namespace graft::forces
