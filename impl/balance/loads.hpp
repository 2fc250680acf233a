// SPDX-License-Identifier: BSD-3-Clause
// What each rank holds, or would hold under new owners, and how even that is.
//
// A rank's load is a handful of numbers; loads under new owners are summed where they would live, over the
// ranks that share items only. Sums run in a fixed order: in blocks of items, then by rank.
#pragma once

#include "backend/executor.hpp"
#include "balance/balance.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "geometry/box.hpp"

#include <cstdint>

namespace graft::balance {

struct Load {
    double work = 0; // sum of costs over Scale::unit
    int64_t items = 0;
    geometry::Box box; // tight
    void add(const Load& other) {
        work += other.work;
        items += other.items;
        box.include(other.box);
    }
};

/// What turns items and costs into weights, the same on all ranks.
class Scale {
  public:
    Scale() = default;
    /// largest: cost of all ranks; the unit of work becomes the power of two above it, so that no sum leaves
    /// the range of double and no bit is lost.
    Scale(double largest, double mix, int ranks, int dimension);
    /// work, items: of all ranks.
    void set_sums(double work, int64_t items);

    int ranks() const { return ranks_; }
    int dimension() const { return dimension_; }
    double work() const { return work_; }
    int64_t items() const { return items_; }
    double work_in_units_of_cost(double work) const { return work / first_ / second_; }
    /// Weight of a share of all; the sum over all items of all ranks is 1. Count alone where no item costs
    /// anything.
    double weight(double work, double items) const { return per_item_ * items + per_work_ * work; }
    double weight(const Load& load) const { return weight(load.work, static_cast<double>(load.items)); }
    /// Work of one item.
    double work_of(const decompose::Points& points, int64_t i) const {
        return points.cost != nullptr ? work_of(points.cost[i]) : first_ * second_;
    }
    double work_of(double cost) const { return cost * first_ * second_; }
    double item_weight(const decompose::Points& points, int64_t i) const {
        return weight(work_of(points, i), 1);
    }

  private:
    double first_ = 1, second_ = 1; // a cost times both is at most 1: one alone may not be a finite double
    double mix_ = 1;
    int ranks_ = 1, dimension_ = 3;
    double work_ = 0;
    int64_t items_ = 0;
    double per_item_ = 0, per_work_ = 0;
};

/// Largest local cost (1 each without costs). Throws Error(value) naming the first cost that is negative or
/// not finite.
double largest_cost(const backend::Executor& executor, const decompose::Points& points,
                    core::Buffer<double>& scratch);

/// This rank's load as it is. Throws Error(memory).
Load local_load(const backend::Executor& executor, const decompose::Points& points, const Scale& scale,
                core::Buffer<Load>& scratch);

/// Largest weight of a local item. Throws Error(memory).
double heaviest_item(const backend::Executor& executor, const decompose::Points& points, const Scale& scale,
                     core::Buffer<double>& scratch);

/// Collective. This rank's load under new owners, all in [0, size). Throws Error(memory) on all ranks alike.
/// O(items + owners met).
Load future_load(comm::Communicator& comm, const backend::Executor& executor, const decompose::Points& points,
                 const Scale& scale, const int32_t* owner, core::Buffer<Load>& scratch);

/// Collective. O(1) data a rank.
Measures measure(comm::Communicator& comm, const Load& load, const Scale& scale, bool shapes);

} // namespace graft::balance
