// SPDX-License-Identifier: BSD-3-Clause
// See batches_that_fit.hpp.
#include "engine/gpu/batches_that_fit.hpp"

#include <algorithm>
#include <limits>

namespace graft::engine {

namespace {

int64_t divide_up(int64_t value, int64_t by) {
    return (value + by - 1) / by;
}

int64_t groups_a_batch(const BatchShape& shape, int64_t batches) {
    return shape.groups / batches + 1;
}

template <typename Change>
BatchNumbers change_each(const BatchNumbers& numbers, Change change) {
    return {change(numbers.node_entries), change(numbers.leaf_entries), change(numbers.tasks),
            change(numbers.slots)};
}

BatchNumbers share(const BatchNumbers& numbers, int64_t batches, int64_t of) {
    const double factor = static_cast<double>(batches) / static_cast<double>(of);
    return change_each(numbers, [&](int64_t value) {
        return static_cast<int64_t>(static_cast<double>(value) * factor) + 1;
    });
}

/// Batches that the sizes ask for, if needs went down with their number.
int64_t more_batches(int64_t batches, int64_t bytes, int64_t limit) {
    const int64_t factor = limit > 0 ? std::max<int64_t>(2, divide_up(bytes, limit)) : 2;
    return batches > std::numeric_limits<int32_t>::max() / factor ? std::numeric_limits<int32_t>::max()
                                                                  : batches * factor;
}

} // namespace

int64_t with_spare_room(int64_t needed) {
    return needed + needed / 5 + 64;
}

int64_t list_bytes(const BatchNumbers& capacity) {
    const int64_t exact = 4 * (capacity.node_entries + capacity.leaf_entries);
    return exact + exact / 16;
}

forces::EvaluatorCapacity evaluator_capacity(const BatchShape& shape, int64_t batches,
                                             const BatchNumbers& capacity) {
    if (!shape.with_tasks)
        return {};
    return {groups_a_batch(shape, batches),
            capacity.leaf_entries,
            capacity.tasks,
            capacity.slots,
            shape.in_double,
            shape.with_local ? capacity.node_entries : 0};
}

int64_t batch_bytes(const BatchShape& shape, int64_t batches, const BatchNumbers& capacity) {
    return list_bytes(capacity) + groups_a_batch(shape, batches) * shape.list_bytes_a_group +
           (shape.with_tasks ? evaluator_capacity(shape, batches, capacity).bytes() : 0);
}

void guess_tasks(const BatchShape& shape, int64_t batches, int64_t targets, int leaf, BatchNumbers& numbers) {
    const int64_t groups = groups_a_batch(shape, batches);
    const int64_t sources = numbers.leaf_entries * std::max(leaf, 1) * 2 / 3; // leaves are not full
    const int64_t near = shape.with_local ? numbers.node_entries / forces::near_part : numbers.node_entries;
    const forces::TaskCount count = forces::count_tasks(forces::task_size(targets, shape.with_local), groups,
                                                        targets / batches + 1, near, sources);
    numbers.tasks = std::max<int64_t>(count.tasks, 256);
    numbers.slots = std::max<int64_t>(count.slots, 16384);
}

BatchNumbers guess_numbers(const BatchShape& shape, int64_t targets, int leaf) {
    constexpr int64_t nodes_a_group = 1200, sources_a_group = 4000; // 830 and 2,100 at Plummer 1e6
    BatchNumbers numbers;
    numbers.node_entries = std::max<int64_t>(nodes_a_group * shape.groups, 1024);
    numbers.leaf_entries = std::max<int64_t>(
        shape.groups * std::max<int64_t>(32, sources_a_group * 3 / 2 / std::max(leaf, 1)), 1024);
    guess_tasks(shape, 1, targets, leaf, numbers);
    return numbers;
}

BatchPlan plan_batches(const BatchShape& shape, const BatchLimits& limits, int64_t batches,
                       const BatchNumbers& needed) {
    const int64_t most = std::clamp<int64_t>(shape.groups, 1, std::numeric_limits<int32_t>::max());
    BatchPlan plan;
    plan.batches = std::clamp<int64_t>(batches, 1, most);
    for (;;) {
        const BatchNumbers now = plan.batches == batches ? needed : share(needed, batches, plan.batches);
        const bool last = plan.batches >= most;
        for (const bool spare : {true, false}) { // the last batches may have just what they need
            plan.capacity = spare ? change_each(now, with_spare_room) : now;
            plan.bytes = batch_bytes(shape, plan.batches, plan.capacity);
            plan.fits =
                plan.bytes <= limits.bytes && (last || list_bytes(plan.capacity) <= limits.list_bytes);
            if (plan.fits || !last)
                break;
        }
        if (plan.fits || last)
            return plan;
        const int64_t next =
            std::max(more_batches(plan.batches, plan.bytes, limits.bytes),
                     list_bytes(plan.capacity) > limits.list_bytes
                         ? more_batches(plan.batches, list_bytes(plan.capacity), limits.list_bytes)
                         : 0);
        plan.batches = std::min(most, next);
    }
}

} // namespace graft::engine
