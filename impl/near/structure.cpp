// SPDX-License-Identifier: BSD-3-Clause
// Copies of the caller's structure, each item checked on its way; and the shape that models see.
#include "near/structure.hpp"

#include "near/structure_view.hpp"
#include "particles/import_arrays.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace graft::near {

using core::fail;
using core::Status;

namespace {

constexpr int64_t largest = std::numeric_limits<int32_t>::max();

long long wide(int64_t value) {
    return static_cast<long long>(value);
}

void require_count(int64_t count, const char* what) {
    if (count > largest)
        fail(Status::unsupported,
             "near field: %lld %s; one plan takes at most 2^31 - 1 = %lld. Make several plans", wide(count),
             what, wide(largest));
}

/// The first item in [0, n) of which bad(i) is true; n when there is none.
template <typename Bad>
int64_t first_bad(const backend::Executor& executor, int64_t n, Bad&& bad) {
    std::atomic<int64_t> first{n};
    executor.for_blocks(n, 1 << 16, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < std::min(end, first.load(std::memory_order_relaxed)); ++i)
            if (bad(i)) {
                int64_t known = first.load();
                while (i < known && !first.compare_exchange_weak(known, i)) {
                }
                return;
            }
    });
    return first.load();
}

template <typename T>
void copy(const backend::Executor& executor, const Integers& from, core::Buffer<T>& to) {
    to.resize(from.size());
    executor.for_each(from.size(), [&](int64_t i) {
        const int64_t value = particles::integer_at(from.view, i);
        const int64_t counted = value < from.base ? -1 : value - from.base;
        to[i] = static_cast<T>(std::min<int64_t>(counted, std::numeric_limits<T>::max()));
    });
}

int64_t value_of(const Integers& array, int64_t item) {
    return particles::integer_at(array.view, item);
}

/// Offsets into `size` items of `what` (-1: any number).
void read_offsets(const backend::Executor& executor, const Integers& from, int64_t size, const char* what,
                  core::Buffer<int64_t>& to) {
    if (from.size() < 1)
        fail(Status::array, "%s: it has no items; expected boxes + 1 of them, at least one", from.name);
    require_count(from.size() - 1, "boxes");
    copy(executor, from, to);
    if (to[0] != 0)
        fail(Status::value,
             "%s: item 0 is %lld; expected %lld, as offsets begin (with GRAFT_ARRAY_INDEX_FROM_1: 1)",
             from.name, wide(value_of(from, 0)), wide(from.base));
    const int64_t bad = first_bad(executor, to.size() - 1, [&](int64_t i) { return to[i + 1] < to[i]; });
    if (bad < to.size() - 1)
        fail(Status::value,
             "%s: item %lld (counted from 0) is %lld, less than the one before it, %lld; expected offsets "
             "that never fall",
             from.name, wide(bad + 1), wide(value_of(from, bad + 1)), wide(value_of(from, bad)));
    const int64_t end = to[to.size() - 1];
    if (size >= 0 && end != size)
        fail(Status::array, "%s: its last item is %lld; expected %lld, since there are %lld %s", from.name,
             wide(end + from.base), wide(size + from.base), wide(size), what);
}

/// Each target box's source boxes: in range, ascending.
void check_lists(const backend::Executor& executor, const Integers& from, int64_t source_boxes,
                 const OwnedStructure& s) {
    const int64_t wrong = first_bad(executor, from.size(), [&](int64_t i) {
        return s.neighbour[i] < 0 || s.neighbour[i] >= source_boxes;
    });
    if (wrong < from.size())
        fail(Status::value, "%s: item %lld (counted from 0) is %lld; expected a source box, %lld to %lld",
             from.name, wide(wrong), wide(value_of(from, wrong)), wide(from.base),
             wide(source_boxes - 1 + from.base));
    const int64_t boxes = s.neighbour_offset.size() - 1;
    const auto descent = [&](int64_t box) {
        int64_t k = s.neighbour_offset[box] + 1;
        while (k < s.neighbour_offset[box + 1] && s.neighbour[k] > s.neighbour[k - 1])
            ++k;
        return k;
    };
    const int64_t box =
        first_bad(executor, boxes, [&](int64_t b) { return descent(b) < s.neighbour_offset[b + 1]; });
    if (box == boxes)
        return;
    const int64_t item = descent(box), now = value_of(from, item), before = value_of(from, item - 1);
    fail(Status::value,
         "%s: item %lld (counted from 0), in the list of target box %lld, is %lld %s; expected each "
         "box's source boxes in ascending order, each once",
         from.name, wide(item), wide(box + from.base), wide(now),
         now == before ? "again" : core::format("after %lld", wide(before)).c_str());
}

/// The points of the slots: in range, each at most once. Absent: slot s is point s.
void read_index(const backend::Executor& executor, const Integers& from, int64_t slots, int64_t points,
                const char* what, core::Buffer<int64_t>& to) {
    to.clear();
    if (!from.present()) {
        if (slots != points)
            fail(Status::array,
                 "%s: the boxes hold %lld %s, but there are coordinates of %lld; expected equal numbers, or "
                 "an index array that says which point is where",
                 from.name, wide(slots), what, wide(points));
        return;
    }
    if (from.size() != slots)
        fail(Status::array, "%s: n is %lld; expected %lld, the last of the offsets", from.name,
             wide(from.size()), wide(slots));
    copy(executor, from, to);
    const int64_t bad = first_bad(executor, slots, [&](int64_t i) { return to[i] < 0 || to[i] >= points; });
    if (bad < slots)
        fail(Status::value, "%s: item %lld (counted from 0) is %lld; expected a point, %lld to %lld",
             from.name, wide(bad), wide(value_of(from, bad)), wide(from.base), wide(points - 1 + from.base));
    core::Buffer<char> seen(to.memory(), "points in boxes");
    seen.resize(points);
    std::fill(seen.begin(), seen.end(), char{0});
    for (int64_t i = 0; i < slots; ++i)
        if (std::exchange(seen[to[i]], char{1}) != 0)
            fail(Status::value,
                 "%s: item %lld (counted from 0) is %lld, which an earlier item is, too; expected each point "
                 "in "
                 "one box only",
                 from.name, wide(i), wide(value_of(from, i)));
}

void check_presence(const StructureInput& input) {
    for (const Integers* needed : {&input.target_offset, &input.neighbour_offset, &input.neighbour})
        if (!needed->present())
            fail(Status::argument, "%s is NULL; expected an array of I32 or I64", needed->name);
    if (!input.same && !input.source_offset.present())
        fail(Status::argument,
             "%s is NULL, but there are sources beside the targets; expected source boxes + 1 offsets",
             input.source_offset.name);
    for (const Integers* other : {&input.source_offset, &input.source_index})
        if (input.same && other->present())
            fail(Status::argument,
                 "%s is given, but no source points are: targets and sources are the same, and so are "
                 "their boxes; expected NULL",
                 other->name);
    require_count(input.targets, "targets");
    require_count(input.sources, "sources");
}

} // namespace

Structure OwnedStructure::view() const {
    return view_of(*this);
}

int64_t OwnedStructure::bytes() const {
    return 8 * (target_offset.capacity() + source_offset.capacity() + neighbour_offset.capacity() +
                target_index.capacity() + source_index.capacity()) +
           4 * neighbour.capacity();
}

void read_structure(const backend::Executor& executor, const StructureInput& input, OwnedStructure& out) {
    check_presence(input);
    out.same = input.same;
    const int64_t slots = input.target_index.present() ? input.target_index.size() : -1;
    read_offsets(executor, input.target_offset, slots, "target indices", out.target_offset);
    read_index(executor, input.target_index, out.target_offset[out.target_offset.size() - 1], input.targets,
               "targets", out.target_index);
    out.source_offset.clear();
    out.source_index.clear();
    if (!input.same) {
        const int64_t source_slots = input.source_index.present() ? input.source_index.size() : -1;
        read_offsets(executor, input.source_offset, source_slots, "source indices", out.source_offset);
        read_index(executor, input.source_index, out.source_offset[out.source_offset.size() - 1],
                   input.sources, "sources", out.source_index);
    }
    if (input.neighbour_offset.size() != input.target_offset.size())
        fail(Status::array, "%s: n is %lld; expected %lld, as many as %s has", input.neighbour_offset.name,
             wide(input.neighbour_offset.size()), wide(input.target_offset.size()), input.target_offset.name);
    read_offsets(executor, input.neighbour_offset, input.neighbour.size(), "items in the lists",
                 out.neighbour_offset);
    copy(executor, input.neighbour, out.neighbour);
    check_lists(executor, input.neighbour, out.view().source_boxes(), out);
}

Shape shape_of(const Structure& structure, const Sums& sums, int32_t threads) {
    Shape shape;
    shape.targets = structure.targets();
    shape.sources = structure.sources();
    shape.boxes = structure.target_boxes();
    shape.source_boxes = structure.source_boxes();
    shape.neighbours = static_cast<int64_t>(structure.neighbour.size());
    const auto count = [](std::span<const int64_t> offset, int64_t box) {
        return offset[static_cast<size_t>(box) + 1] - offset[static_cast<size_t>(box)];
    };
    for (int64_t b = 0; b < shape.source_boxes; ++b)
        shape.largest = std::max(shape.largest, count(structure.source_offset, b));
    shape.mean = shape.boxes > 0 ? static_cast<double>(shape.targets) / static_cast<double>(shape.boxes) : 0;
    shape.dimension = sums.dimension;
    shape.components = sums.components;
    shape.outputs = sums.outputs;
    shape.kernel = sums.kernel.kernel;
    shape.precision = sums.precision;
    shape.same = structure.same;
    count_gathered(structure, sums, threads, shape);
    return shape;
}

} // namespace graft::near
