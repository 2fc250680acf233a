// SPDX-License-Identifier: BSD-3-Clause
// The working copy of this rank's points: one array per field, moved as the cells are cut.
//
// A coordinate is kept as a 32-bit key, its place between the ends of the domain's box: equal coordinates
// have equal keys and a larger coordinate has no smaller key, so whatever a comparison of keys decides is
// exact; points with equal keys are told apart by their doubles and ids, read from the host's arrays by
// index.
#pragma once

#include "core/buffer.hpp"
#include "decompose/ordering.hpp"
#include "decompose/checked_points.hpp"

#include <cstdint>

namespace graft::decompose {

/// Pointers to the fields of a run of records. key[a] NULL: not wanted. A weight is kept as its low and its
/// high half (vectors of 32-bit lanes are what all loops run on); NULL: every weight is 1.
struct RecordArrays {
    uint32_t* key[3] = {nullptr, nullptr, nullptr};
    int32_t* index = nullptr;
    uint32_t* weight[2] = {nullptr, nullptr};

    bool weighted() const { return weight[0] != nullptr; }
    uint64_t weight_of(int64_t i) const {
        return weighted() ? weight[0][i] | uint64_t{weight[1][i]} << 32 : 1;
    }
    RecordArrays operator+(int64_t offset) const {
        RecordArrays moved = *this;
        for (uint32_t*& k : moved.key)
            k = k != nullptr ? k + offset : nullptr;
        moved.index = index != nullptr ? index + offset : nullptr;
        for (uint32_t*& w : moved.weight)
            w = w != nullptr ? w + offset : nullptr;
        return moved;
    }
};

/// From coordinates of one axis to keys.
struct KeyFrame {
    double half_origin = 0, scale = 0;

    KeyFrame() = default;
    KeyFrame(double lower, double upper);
    /// Key of a coordinate; those outside the domain get that of its nearer end.
    uint32_t key(double x, double lower, double upper) const;
    /// The smallest double in the domain whose key is at least `key`; above `upper` when there is none.
    double first_with(uint32_t key, double lower, double upper) const;
};

class RecordStore {
  public:
    explicit RecordStore(core::Memory& memory)
        : x_(memory, "ORB keys x"), y_(memory, "ORB keys y"), z_(memory, "ORB keys z"),
          index_(memory, "ORB indices"), low_(memory, "ORB weights"), high_(memory, "ORB weights") {}
    void resize(int64_t n, int dimension, bool weighted);
    RecordArrays arrays();

  private:
    core::Buffer<uint32_t> x_, y_, z_;
    core::Buffer<int32_t> index_;
    core::Buffer<uint32_t> low_, high_;
    bool weighted_ = false;
    int dimension_ = 3;
};

/// Smallest and largest of values[0 ... n - 1] and what is there already. False: one of them is no finite
/// number (the bounds are then worth nothing).
bool widen_bounds(const double* values, int64_t n, double& least, double& most);

/// Keys of values[0 ... n - 1].
void make_keys(const double* values, int64_t n, const KeyFrame& frame, uint32_t* keys);

} // namespace graft::decompose
