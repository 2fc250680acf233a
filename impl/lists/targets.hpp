// SPDX-License-Identifier: BSD-3-Clause
// Whom the field is wanted for: targets sorted along the Morton curve and cut into groups that share their
// lists.
//
// Groups are the largest key cells with at most N_group targets; neighbouring small cells of one parent are
// packed together while their sum is at most N_group, so a group's box is never larger than its parent cell.
// Source: gaburov2010 section 3.2.1 (groups are cells with fewer than N_group particles), Barnes 1990 (lists
// per group). The k-d tree and arbitrary points have no key order of their own: they are keyed and sorted
// here.
#pragma once

#include "backend/executor.hpp"
#include "tree/build.hpp"

#include <cstdint>

namespace graft::lists {

/// What the walk knows of the target side: a group of particles now, a cell later.
struct Target {
    geometry::Box box;    // tight box of the targets
    double factor = 1;    // f_g of the error MAC; 1 for geometric ones
    double softening = 0; // largest softening length of the targets; 0 when there is one for all, or none
};

struct Group {
    int64_t first = 0; // targets [first, first + count) in target order
    int64_t count = 0; // 1 ... N_group (more only never: heaps of equal points are cut, too)
    Target target;
};

/// A group, or a cell of the tree that holds several of them, which share their far field. Parents stand first, depth
/// first: the cells below cell i are i + 1 ... next - 1, its children i + 1, that one's next, and so on. Groups are
/// the cells without others below, in the order of their targets.
struct TargetCell {
    Target target;
    int64_t first = 0, count = 0; // targets
    int32_t next = 0;             // behind the last cell below
    int32_t group = -1;           // -1: there are cells below
};

/// Error(argument): group_size < 1.
void check_group_size(int group_size);

/// The targets of one computation. Pointers stay valid until the next set_*() or until the tree they came
/// from is built again or destroyed. Workspace is kept: a second set of the same size allocates nothing.
class TargetSet {
  public:
    explicit TargetSet(core::Memory& memory);

    /// All particles of the tree. N_group >= 1. Octree: no sort, no copy (the arrays are the tree's).
    void set_all(const backend::Executor& executor, const tree::Tree& tree, int group_size);
    /// The `count` particles with these distinct host indices in [0, n), in any order.
    void set_particles(const backend::Executor& executor, const tree::Tree& tree, int64_t count,
                       const int32_t* host_index, int group_size);
    /// Any points: `count` values each, finite; z and softening may be null (z is not read in two
    /// dimensions). Throws what TreeBuilder::build throws.
    void set_points(const backend::Executor& executor, int dimension, int64_t count, const double* x,
                    const double* y, const double* z, const double* softening, int group_size);

    int64_t count() const { return count_; }
    const double* x() const { return x_; }
    const double* y() const { return y_; }
    const double* z() const { return z_; }
    /// Softening length per target, or NULL when there is one for all.
    const double* softening() const { return softening_; }
    /// Target -> host index of the particle, or number of the point.
    const int32_t* origin() const { return origin_; }
    /// Target -> place in tree order, or NULL (points; all particles of an octree, where it is the identity).
    const int32_t* tree_place() const { return tree_place_; }

    int64_t group_count() const { return groups_.size(); }
    const core::Buffer<Group>& groups() const { return groups_; }
    core::Buffer<Group>& groups() { return groups_; } // to set the factors
    const core::Buffer<TargetCell>& cells() const { return cells_; }
    core::Buffer<TargetCell>& cells() { return cells_; } // what they know of their targets: bound_cells()

  private:
    void select(const backend::Executor& executor, const tree::Tree& tree, int64_t count,
                const int32_t* host_index);
    void gather_selected(const backend::Executor& executor, const tree::Tree& tree);
    void sort_selected(const backend::Executor& executor, const tree::Tree& tree, int group_size);
    void bound_groups(const backend::Executor& executor);

    tree::TreeBuilder builder_;
    tree::Tree own_; // points, and targets of a k-d tree
    core::Buffer<Group> groups_;
    core::Buffer<TargetCell> cells_;
    core::Buffer<char> active_;    // per host index
    core::Buffer<int32_t> before_; // tree place -> active targets before it (n + 1)
    core::Buffer<int32_t> block_sums_;
    core::Buffer<int32_t> place_, host_, sorted_place_; // target -> tree place, host index
    core::Buffer<double> copy_x_, copy_y_, copy_z_, copy_softening_;

    int64_t count_ = 0;
    const double* x_ = nullptr;
    const double* y_ = nullptr;
    const double* z_ = nullptr;
    const double* softening_ = nullptr;
    const int32_t* origin_ = nullptr;
    const int32_t* tree_place_ = nullptr;
};

} // namespace graft::lists
