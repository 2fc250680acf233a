// SPDX-License-Identifier: BSD-3-Clause
// The top of the forest: the roots of all ranks' trees, known to all, under a tree of at most 8 children a
// node.
//
// Far ranks merge into one interaction, and the walk has one root. With local trees the roots stand in Morton
// order of their centres. Slots (copies of the roots) bear the owner's own MAC radii: what the owner takes
// for accepted is accepted here, bit for bit. O(ranks) data and time on every rank.
#pragma once

#include "comm/communicator.hpp"
#include "essential/forest.hpp"

#include <vector>

namespace graft::essential {

/// A root of some rank's tree as the others see it; moments.stride() numbers follow in a message.
struct Branch {
    uint64_t key;
    int32_t rank, number;  // number: among the rank's roots
    int32_t level, levels; // level: of the key cell (global trees); levels: of the tree below
    int64_t count;
    double edge;
    geometry::Box box;
    double centre[3], magnitude, radius, spread, rho, softening, softening_square;
    double a, b;  // criterion
    bool is_leaf; // never opened
};

class TopTree {
  public:
    explicit TopTree(core::Memory& memory);

    /// Collective. The own nodes of the forest are complete (tree, moments, criterion); the top is added
    /// behind them, and the walk's root set. Throws Error(memory, communication) on all ranks.
    void build(comm::Communicator& comm, const backend::Executor& executor, const settings::Settings& settings,
               bool softened, bool per_particle_softening, Forest& forest);

    /// First pass: own slots lead to the own tree, slots of others are leaves without particles.
    void enter_own(Forest& forest) const;
    /// Second pass: own slots are leaves without particles; the others' are as they are now (unpacked).
    void enter_remote(Forest& forest) const;
    /// No walk accepts a node with own branches from now on: their particles are another walk's.
    void refuse_own(Forest& forest) const;
    /// Slots of others are leaves without particles.
    void clear_remote(Forest& forest) const;
    /// Which children are never opened, after slots have changed.
    void link(Forest& forest) const;

    /// Node that is the slot of the rank's root of this number.
    int32_t slot(int rank, int32_t number) const { return slot_of_[first_[rank] + number]; }
    /// The slot's branch, or NULL for an inner node; `node` in [own_end, top_end).
    const Branch* branch(const Forest& forest, int32_t node) const {
        const int32_t at = branch_of_[node - forest.own_end];
        return at < 0 ? nullptr : &branches_[at];
    }
    int rank() const { return rank_; }
    /// Volumes of the ranks' boxes together over that of the box around all (areas or lengths where they have
    /// no volume): at most about 1 for domains that tile space, the number of ranks for particles spread at
    /// random.
    double overlap() const;
    int64_t branch_count() const { return branches_.size(); }

  private:
    void fill_own(const comm::Communicator& comm, const settings::Settings& settings, const Forest& forest);
    void unpack(int stride);
    void sort(const settings::Settings& settings);
    int grow(const settings::Settings& settings, Forest& forest);
    void write_nodes(const settings::Settings& settings, Forest& forest, bool per_particle_softening);
    struct Range {
        int32_t begin, end; // of order_
    };
    void part(const settings::Settings& settings, const Range& range, std::vector<Range>& parts) const;

    int rank_ = 0;
    core::Buffer<char> own_bytes_, all_bytes_;
    std::vector<int64_t> bytes_, offset_; // per rank
    core::Buffer<Branch> branches_;       // by rank, then number
    core::Buffer<double> values_;         // their moments
    core::Buffer<int32_t> order_;         // sorted by key
    core::Buffer<int32_t> slot_of_;       // branch -> node
    core::Buffer<int32_t> branch_of_;     // top node -> branch, -1 = inner
    core::Buffer<int64_t> first_;         // rank -> its first branch
    std::vector<Range> ranges_, parts_;
};

} // namespace graft::essential
