// SPDX-License-Identifier: BSD-3-Clause
// Boxes from points: keys, sort, cells, offsets, and the boxes that touch.
//
// Invariant: cells are ranges of keys, sorted and disjoint, and every key lies in one.
#include "near/boxes.hpp"

#include "near/box_frame.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

namespace graft::near {

using core::fail;
using core::Status;

namespace {

constexpr int64_t largest_count = std::numeric_limits<int32_t>::max();
constexpr int most_touching = 27;

/// One set of points with its keys, sorted.
struct Sorted {
    Sorted(core::Memory& memory) : keys(memory, "keys of points"), order(memory, "points in boxes") {}
    core::Buffer<uint64_t> keys;
    core::Buffer<int32_t> order;

    int64_t position(uint64_t key) const { // of the first key not less
        return std::lower_bound(keys.begin(), keys.end(), key) - keys.begin();
    }
};

void sort_points(const backend::Executor& executor, const BoxFrame& frame, const Points& points,
                 const char* name, backend::RadixSorter& sorter, Sorted& sorted) {
    if (points.n > largest_count)
        fail(Status::unsupported, "near field: %lld %s; expected at most 2^31 - 1",
             static_cast<long long>(points.n), name);
    sorted.keys.resize(points.n);
    sorted.order.resize(points.n);
    std::atomic<int64_t> outside{points.n};
    executor.for_each(points.n, [&](int64_t i) {
        const double p[3] = {points.x[i], points.y[i], frame.dimension() == 3 ? points.z[i] : 0};
        int64_t known = outside.load(std::memory_order_relaxed);
        while (!frame.holds(p) && i < known && !outside.compare_exchange_weak(known, i)) {
        }
        sorted.keys[i] = frame.key(p);
        sorted.order[i] = static_cast<int32_t>(i);
    });
    if (const int64_t i = outside.load(); i < points.n)
        fail(Status::value,
             "near field: point %lld (counted from 0) of the %s, at (%g, %g, %g), is outside of the box "
             "given; "
             "expected all points inside. Enlarge it, or give none",
             static_cast<long long>(i), name, points.x[i], points.y[i],
             frame.dimension() == 3 ? points.z[i] : 0.0);
    sorter.sort(executor, sorted.keys, sorted.order);
}

/// Points of the fullest cell of this level.
int64_t fullest(const Sorted& sorted, const BoxFrame& frame, int32_t level) {
    int64_t most = 0, begin = 0;
    const uint64_t mask = ~(frame.width(level) - 1);
    for (int64_t i = 1; i <= sorted.keys.size(); ++i)
        if (i == sorted.keys.size() || (sorted.keys[i] & mask) != (sorted.keys[begin] & mask)) {
            most = std::max(most, i - begin);
            begin = i;
        }
    return most;
}

/// The level of the leaf boxes: as given, or the first that is fine enough.
int32_t find_level(const BoxOptions& options, const BoxFrame& frame, const Sorted& targets,
                   const Sorted& sources) {
    if (options.height > 0)
        return options.height - 1;
    int32_t level = options.least_height - 1;
    while (level < frame.levels() &&
           std::max(fullest(targets, frame, level), fullest(sources, frame, level)) > options.most)
        ++level;
    return level;
}

using Cells = std::vector<Cell>;

/// The cells of one level (of a grid: 0) that hold points of either set.
void find_cells(const Sorted& targets, const Sorted& sources, const BoxFrame& frame, int32_t level,
                Cells& cells) {
    const uint64_t mask = ~(frame.width(level) - 1);
    int64_t t = 0, s = 0;
    while (t < targets.keys.size() || s < sources.keys.size()) {
        const bool from_targets =
            s == sources.keys.size() || (t < targets.keys.size() && targets.keys[t] <= sources.keys[s]);
        const uint64_t begin = (from_targets ? targets.keys[t] : sources.keys[s]) & mask;
        cells.push_back({begin, level});
        while (t < targets.keys.size() && (targets.keys[t] & mask) == begin)
            ++t;
        while (s < sources.keys.size() && (sources.keys[s] & mask) == begin)
            ++s;
    }
}

/// Splits a cell until neither set has more than `most` in it.
void find_leaves(const Sorted& targets, const Sorted& sources, const BoxFrame& frame, int64_t most, Cell cell,
                 Cells& cells) {
    const uint64_t end = cell.begin + frame.width(cell.level);
    const int64_t t = targets.position(end) - targets.position(cell.begin);
    const int64_t s = sources.position(end) - sources.position(cell.begin);
    if (t + s == 0)
        return;
    if (std::max(t, s) <= most || cell.level == frame.levels()) {
        cells.push_back(cell);
        return;
    }
    const uint64_t step = frame.width(cell.level + 1);
    for (uint64_t child = cell.begin; child < end; child += step)
        find_leaves(targets, sources, frame, most, {child, cell.level + 1}, cells);
}

void set_offsets(const Sorted& sorted, const Cells& cells, core::Buffer<int64_t>& offset,
                 core::Buffer<int64_t>& index) {
    const int64_t boxes = static_cast<int64_t>(cells.size());
    offset.resize(boxes + 1);
    int64_t at = 0;
    for (int64_t b = 0; b < boxes; ++b) {
        while (at < sorted.keys.size() && sorted.keys[at] < cells[static_cast<size_t>(b)].begin)
            ++at;
        offset[b] = at;
    }
    offset[boxes] = sorted.keys.size();
    index.resize(sorted.order.size());
    std::copy(sorted.order.begin(), sorted.order.end(), index.begin());
}

/// The box whose cell holds the key; -1: none. By a table where cells are not much rarer than boxes.
class BoxFinder {
  public:
    BoxFinder(core::Memory& memory, const Cells& cells, const BoxFrame& frame, bool one_level)
        : cells_(cells), frame_(frame), table_(memory, "cells to boxes") {
        const double count = one_level && !cells.empty() ? frame.cells(cells[0].level) : 0;
        if (count < 1 || count > 8.0 * static_cast<double>(cells.size()) + 4096)
            return;
        width_ = frame.width(cells[0].level);
        table_.resize(static_cast<int64_t>(count));
        std::fill(table_.begin(), table_.end(), -1);
        for (size_t b = 0; b < cells.size(); ++b)
            table_[static_cast<int64_t>(cells[b].begin / width_)] = static_cast<int32_t>(b);
    }

    int32_t find(uint64_t key) const {
        if (!table_.empty())
            return table_[static_cast<int64_t>(key / width_)];
        const auto after = std::upper_bound(cells_.begin(), cells_.end(), key,
                                            [](uint64_t k, const Cell& cell) { return k < cell.begin; });
        if (after == cells_.begin())
            return -1;
        const Cell& cell = *(after - 1);
        return key - cell.begin < frame_.width(cell.level) ? static_cast<int32_t>(after - cells_.begin()) - 1
                                                           : -1;
    }

  private:
    const Cells& cells_;
    const BoxFrame& frame_;
    core::Buffer<int32_t> table_;
    uint64_t width_ = 1;
};

/// What a box finds beside it: boxes of its own size or larger, itself included.
struct Touching {
    int32_t count = 0;
    int32_t box[most_touching];
};

Touching look_around(const BoxFrame& frame, const BoxFinder& finder, const Cells& cells, int32_t box) {
    const Cell own = cells[static_cast<size_t>(box)];
    Touching found;
    frame.for_neighbours(own, [&](uint64_t key) {
        const int32_t other = finder.find(key);
        if (other < 0 || cells[static_cast<size_t>(other)].level > own.level)
            return; // nothing there, or smaller boxes, which find this one
        if (std::find(found.box, found.box + found.count, other) == found.box + found.count)
            found.box[found.count++] = other;
    });
    return found;
}

/// Lists from what each box has found: larger boxes get their smaller neighbours, too.
void set_lists(const backend::Executor& executor, const BoxFrame& frame, const BoxFinder& finder,
               const Cells& cells, OwnedStructure& out) {
    const int64_t boxes = static_cast<int64_t>(cells.size());
    core::Buffer<Touching> touching(out.neighbour.memory(), "boxes that touch");
    touching.resize(boxes);
    executor.for_each(
        boxes, [&](int64_t b) { touching[b] = look_around(frame, finder, cells, static_cast<int32_t>(b)); },
        256);
    out.neighbour_offset.resize(boxes + 1);
    int64_t* const offset = out.neighbour_offset.data();
    std::fill(offset, offset + boxes + 1, int64_t{0});
    const auto for_pairs = [&](auto&& pair) {
        for (int64_t b = 0; b < boxes; ++b)
            for (int32_t k = 0; k < touching[b].count; ++k) {
                const int32_t other = touching[b].box[k];
                pair(b, other);
                if (cells[static_cast<size_t>(other)].level < cells[static_cast<size_t>(b)].level)
                    pair(other, static_cast<int32_t>(b));
            }
    };
    for_pairs([&](int64_t to, int32_t) { ++offset[to + 1]; });
    for (int64_t b = 0; b < boxes; ++b)
        offset[b + 1] += offset[b];
    out.neighbour.resize(offset[boxes]);
    for_pairs([&](int64_t to, int32_t other) { out.neighbour[offset[to]++] = other; });
    for (int64_t b = boxes; b > 0; --b) // filling moved each beginning to its end
        offset[b] = offset[b - 1];
    offset[0] = 0;
    executor.for_each(
        boxes,
        [&](int64_t b) { std::sort(out.neighbour.data() + offset[b], out.neighbour.data() + offset[b + 1]); },
        256);
}

BoxReport report_on(const BoxOptions& options, const BoxFrame& frame, int32_t level, const Cells& cells,
                    const OwnedStructure& out) {
    BoxReport report;
    const Structure s = out.view();
    report.boxes = static_cast<int64_t>(cells.size());
    for (size_t b = 0; b < cells.size(); ++b) {
        report.largest = std::max({report.largest, s.target_offset[b + 1] - s.target_offset[b],
                                   s.source_offset[b + 1] - s.source_offset[b]});
        report.height = std::max(report.height, cells[b].level + 1);
    }
    if (options.kind == Boxes::level)
        report.height = level + 1;
    if (options.kind == Boxes::grid)
        report.height = 0;
    report.cells = options.kind == Boxes::leaves ? static_cast<double>(report.boxes) : frame.cells(level);
    report.density = report.cells > 0 ? static_cast<double>(s.targets()) / report.cells : 0;
    report.too_coarse = options.kind != Boxes::grid && options.height == 0 && report.largest > options.most;
    return report;
}

} // namespace

BoxReport build_boxes(const backend::Executor& executor, const BoxOptions& options, const Points& targets,
                      const Points* sources, OwnedStructure& out) {
    const BoxFrame frame(executor, options, targets, sources);
    backend::RadixSorter sorter(executor.memory);
    Sorted sorted_targets(executor.memory), sorted_sources(executor.memory);
    sort_points(executor, frame, targets, "targets", sorter, sorted_targets);
    if (sources != nullptr)
        sort_points(executor, frame, *sources, "sources", sorter, sorted_sources);
    Cells cells;
    int32_t level = 0;
    if (options.kind == Boxes::leaves)
        find_leaves(sorted_targets, sorted_sources, frame, options.most, {0, 0}, cells);
    else {
        level = options.kind == Boxes::level ? find_level(options, frame, sorted_targets, sorted_sources) : 0;
        find_cells(sorted_targets, sorted_sources, frame, level, cells);
    }
    out.same = sources == nullptr;
    set_offsets(sorted_targets, cells, out.target_offset, out.target_index);
    out.source_offset.clear();
    out.source_index.clear();
    if (sources != nullptr)
        set_offsets(sorted_sources, cells, out.source_offset, out.source_index);
    set_lists(executor, frame, BoxFinder(executor.memory, cells, frame, options.kind != Boxes::leaves), cells,
              out);
    return report_on(options, frame, level, cells, out);
}

} // namespace graft::near
