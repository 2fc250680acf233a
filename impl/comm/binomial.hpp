// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree over ranks: a rank's parent, children and subtree, seen from the root.
//
// Ranks are numbered from the root (place 0). Place v > 0 with lowest set bit b has the places
// v ... v + b - 1 (cut off at P) below and including it; its parent is v - b, its children are
// v + 1, v + 2, v + 4 ... < v + b.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graft::comm {

class Binomial {
  public:
    Binomial(int rank, int size, int root)
        : size_(size), root_(root), place_((static_cast<int64_t>(rank) - root + size) % size) {}

    int64_t place() const { return place_; }
    bool is_root() const { return place_ == 0; }
    int rank(int64_t place) const { return static_cast<int>((place + root_) % size_); }
    int parent() const { return rank(place_ - (place_ & -place_)); }
    /// Ranks in the subtree of a place.
    int64_t count(int64_t place) const {
        return place == 0 ? size_ : std::min(place & -place, static_cast<int64_t>(size_) - place);
    }
    int64_t count() const { return count(place_); }
    /// call(place of the child), in ascending order.
    template <typename Call>
    void for_children(Call&& call) const {
        for (int64_t step = 1; step < count(); step *= 2)
            call(place_ + step);
    }

  private:
    int size_, root_;
    int64_t place_;
};

} // namespace graft::comm
