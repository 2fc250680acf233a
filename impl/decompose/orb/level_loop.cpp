// SPDX-License-Identifier: BSD-3-Clause
// One level after the other, see level_loop.hpp; the passes that find cuts are in level_cuts.cpp.
#include "decompose/orb/level_loop.hpp"

#include "backend/step_count.hpp"
#include "core/timer.hpp"
#include "decompose/orb/cell_rule.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace graft::decompose {
namespace {

constexpr int64_t block_points = 1 << 16;

} // namespace

const double* OrbRun::coordinate(int axis) const {
    const Points& points = problem.points;
    return axis == 0 ? points.x : axis == 1 ? points.y : points.z;
}

void LoopStatistics::add(const LoopStatistics& other) {
    cuts += other.cuts;
    rounds += other.rounds;
    records_read += other.records_read;
    cuts_s += other.cuts_s;
    partition_s += other.partition_s;
}

void LevelLoop::run(OrbRun& orb, const backend::Executor& executor, comm::Communicator* comm,
                    const std::vector<OpenCell>& roots, int64_t subtree_points,
                    std::vector<OpenCell>& subtrees) {
    open_ = roots;
    for (;;) {
        if (subtree_points > 0) {
            const auto small = [&](const OpenCell& cell) { return cell.count <= subtree_points; };
            std::copy_if(open_.begin(), open_.end(), std::back_inserter(subtrees), small);
            open_.erase(std::remove_if(open_.begin(), open_.end(), small), open_.end());
        }
        if (open_.empty())
            return;
        side_ = open_[0].side;
        core::Timer timer;
        const bool blocks = executor.threads > 1 && orb.device == nullptr;
        open_searches(orb, blocks ? block_points : std::numeric_limits<int64_t>::max());
        const int64_t read_before = statistics_.records_read;
        find_cuts(orb, executor, comm);
        backend::count_work(statistics_.records_read - read_before + static_cast<int64_t>(open_.size()));
        statistics_.cuts_s += timer.lap();
        split(orb, executor);
        children_.clear();
        open_children(orb, open_);
        statistics_.partition_s += timer.lap();
        open_.swap(children_);
    }
}

void LevelLoop::open_searches(OrbRun& orb, int64_t block) {
    searches_.clear();
    segments_.clear();
    for (const OpenCell& open : open_) {
        const Cell& cell = orb.cells[static_cast<size_t>(open.cell)];
        const geometry::Box& box = orb.problem.box;
        Search search;
        search.cell = open.cell;
        search.axis = cut_axis(cell, orb.problem.options.dimension);
        search.goal = CutGoal(open.all.count, open.all.weight, cell.parts, orb.problem.options.cap);
        const auto key = [&](double x) {
            return orb.frame[search.axis].key(x, box.lower[search.axis], box.upper[search.axis]);
        };
        if (open.all.count > 0) {
            search.low = key(cell.lower[search.axis]);
            search.high = key(cell.upper[search.axis]);
        }
        search.inside = open.all;
        search.span_count = open.all.count;
        search.first_segment = static_cast<int32_t>(segments_.size());
        const auto slot = static_cast<int32_t>(searches_.size());
        for (int64_t begin = 0; begin < open.count || begin == 0;) {
            const int64_t count = std::min(block, open.count - begin);
            segments_.push_back({slot, open.begin + begin, count, count, 0, 0, 0, 0, 0});
            begin += std::max<int64_t>(count, 1);
        }
        search.segments = static_cast<int32_t>(segments_.size()) - search.first_segment;
        searches_.push_back(search);
    }
}

uint32_t LevelLoop::cut_key(const OrbRun& orb, const Search& search) const {
    const geometry::Box& box = orb.problem.box;
    return orb.frame[search.axis].key(search.cut.x, box.lower[search.axis], box.upper[search.axis]);
}

void LevelLoop::count_segment(const OrbRun& orb, Segment& segment) {
    const Search& search = searches_[static_cast<size_t>(segment.slot)];
    const Problem& problem = orb.problem;
    const int axis = search.axis;
    const uint32_t key = cut_key(orb, search);
    const RecordArrays from = orb.arrays[side_] + segment.begin;
    const TieRule rule{orb.coordinate(axis), problem.points.id, implied_id(problem.comm.rank(), 0),
                       search.cut};
    segment.left = count_left_exactly(from.key[axis], from.index, segment.full, key, rule);
}

void LevelLoop::place_segments(const Search& search) {
    const std::span<Segment> segments(segments_.data() + search.first_segment,
                                      static_cast<size_t>(search.segments));
    int64_t left = 0;
    for (const Segment& segment : segments)
        left += segment.left;
    int64_t left_at = segments.front().begin, right_at = left_at + left;
    for (Segment& segment : segments) {
        segment.left_at = left_at;
        segment.right_at = right_at;
        left_at += segment.left;
        right_at += segment.full - segment.left;
    }
}

void LevelLoop::move_segment(OrbRun& orb, const Segment& segment) {
    const Search& search = searches_[static_cast<size_t>(segment.slot)];
    const Problem& problem = orb.problem;
    const int axis = search.axis;
    const uint32_t key = cut_key(orb, search);
    const TieRule rule{orb.coordinate(axis), problem.points.id, implied_id(problem.comm.rank(), 0),
                       search.cut};
    const int32_t parts = search.goal.parts, left_parts = search.goal.parts_left;
    RecordArrays to = orb.arrays[1 - side_];
    if (parts == 2) { // both children are parts: only the indices are wanted, in their final place
        to = {};
        to.index = orb.order;
    }
    const int64_t right = segment.full - segment.left;
    partition(orb.arrays[side_] + segment.begin, segment.full, axis, key, rule, to + segment.left_at,
              segment.left, to + segment.right_at);
    if (parts != 2 && left_parts == 1)
        std::copy_n(to.index + segment.left_at, segment.left, orb.order + segment.left_at);
    if (parts != 2 && parts - left_parts == 1)
        std::copy_n(to.index + segment.right_at, right, orb.order + segment.right_at);
}

void LevelLoop::split(OrbRun& orb, const backend::Executor& executor) {
    const auto count = static_cast<int64_t>(segments_.size());
    for (const Segment& segment : segments_)
        backend::count_work(2 * segment.full); // counted, then moved
    if (orb.device != nullptr) {
        split_on_device(orb);
        return;
    }
    const auto alone = [&](const Segment& s) { return searches_[static_cast<size_t>(s.slot)].segments == 1; };
    executor.for_each(
        count,
        [&](int64_t i) {
            Segment& segment = segments_[static_cast<size_t>(i)];
            if (!alone(segment))
                count_segment(orb, segment);
        },
        1);
    for (const Search& search : searches_)
        if (search.segments > 1)
            place_segments(search);
    executor.for_each(
        count,
        [&](int64_t i) {
            Segment& segment = segments_[static_cast<size_t>(i)];
            if (alone(segment)) {
                count_segment(orb, segment);
                place_segments(searches_[static_cast<size_t>(segment.slot)]);
            }
            move_segment(orb, segment);
        },
        1);
}

void LevelLoop::open_children(OrbRun& orb, const std::vector<OpenCell>& parents) {
    for (size_t slot = 0; slot < searches_.size(); ++slot) {
        const Search& search = searches_[slot];
        const OpenCell& parent = parents[slot];
        const auto k = static_cast<size_t>(search.cell);
        cut_cell(orb.cells[k], search.axis, search.cut, orb.cells[2 * k], orb.cells[2 * k + 1]);
        const Segment& first = segments_[static_cast<size_t>(search.first_segment)];
        OpenCell child[2];
        child[0] = {2 * search.cell, 1 - side_, parent.begin, first.right_at - parent.begin, search.left};
        child[1] = {2 * search.cell + 1, 1 - side_, first.right_at, parent.count - child[0].count,
                    parent.all - search.left};
        for (const OpenCell& open : child) {
            const Cell& cell = orb.cells[static_cast<size_t>(open.cell)];
            if (cell.parts > 1) {
                children_.push_back(open);
                continue;
            }
            orb.parts[static_cast<size_t>(cell.first_part)] = open.all;
            orb.part_end[static_cast<size_t>(cell.first_part)] = open.begin + open.count;
        }
    }
}

} // namespace graft::decompose
