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
    double work = 0; // sum of costs, each over the largest of all
    int64_t items = 0;
    geometry::Box box; // tight
    void add(const Load& other) {
        work += other.work;
        items += other.items;
        box.include(other.box);
    }
};

/// What turns items and costs into weights, the same on all ranks.
struct Scale {
    double largest = 0; // the largest cost of all ranks
    double work = 0;    // sum of costs over the largest
    int64_t items = 0;
    double mix = 1;
    int ranks = 1;
    int dimension = 3;

    bool by_count() const { return !(work > 0); }
    /// The sum over all items of all ranks is 1.
    double weight(double relative_cost, double count) const {
        if (items == 0)
            return 0;
        if (by_count())
            return count / static_cast<double>(items);
        return (1 - mix) * count / static_cast<double>(items) + mix * relative_cost / work;
    }
    double weight(const Load& load) const { return weight(load.work, static_cast<double>(load.items)); }
    double relative(const decompose::Points& points, int64_t i) const {
        if (largest <= 0)
            return 0;
        return points.cost != nullptr ? points.cost[i] / largest : 1;
    }
    double item_weight(const decompose::Points& points, int64_t i) const {
        return weight(relative(points, i), 1);
    }
};

/// Largest local cost (1 each without costs). Throws Error(value) naming the first cost that is negative or
/// not finite.
double largest_cost(const backend::Executor& executor, const decompose::Points& points,
                    core::Buffer<double>& scratch);

/// This rank's load as it is. Throws Error(memory).
Load local_load(const backend::Executor& executor, const decompose::Points& points, const Scale& scale,
                core::Buffer<Load>& scratch);

/// Collective. This rank's load under new owners, all in [0, size). Throws Error(memory) on all ranks alike.
/// O(items + owners met).
Load future_load(comm::Communicator& comm, const backend::Executor& executor, const decompose::Points& points,
                 const Scale& scale, const int32_t* owner, core::Buffer<Load>& scratch);

/// Collective. O(1) data a rank.
Measures measure(comm::Communicator& comm, const Load& load, const Scale& scale, bool shapes);

} // namespace graft::balance
