// SPDX-License-Identifier: BSD-3-Clause
// The level loop's questions to a rank's points on its GPU, see point_records_table.hpp: what level_cuts.cpp and
// level_loop.cpp do with records on the CPU. A cell is one segment here.
//
// A list is made once, from all records of a cell; later ones are the same list with fewer keys
// (from_first ... from_last), since a list cannot be thinned out in place by many threads.
#include "decompose/points/point_records_table.hpp"
#include "decompose/orb/level_loop.hpp"

#include <algorithm>

namespace graft::decompose {

RecordsCell LevelLoop::device_cell(const Segment& segment) const {
    const Search& search = searches_[static_cast<size_t>(segment.slot)];
    RecordsCell cell;
    cell.begin = segment.begin;
    cell.count = segment.full;
    if (search.listed) {
        cell.listed = segment.count;
        cell.from_first = segment.from_first;
        cell.from_last = segment.from_last;
    }
    cell.axis = search.axis;
    cell.slot = segment.slot;
    return cell;
}

void LevelLoop::sample_on_device(const OrbRun& orb) {
    device_cells_.clear();
    for (const int32_t slot : sampled_) {
        const Search& search = searches_[static_cast<size_t>(slot)];
        RecordsCell cell = device_cell(segments_[static_cast<size_t>(search.first_segment)]);
        cell.first = search.low;
        cell.last = search.high;
        cell.room = std::min(sample_size_, cell.count);
        if (cell.room > 0)
            cell.stands_for =
                static_cast<float>(static_cast<double>(cell.count) / static_cast<double>(cell.room));
        cell.weigh = weighted(orb) && !search.goal.by_count ? 1 : 0;
        device_cells_.push_back(cell);
    }
    std::fill(sample_.begin(), sample_.end(), no_sample);
    orb.device->sample(side_, device_cells_, sample_size_, sample_.data());
}

void LevelLoop::sweep_on_device(const OrbRun& orb) {
    device_cells_.clear();
    for (const int32_t i : active_) {
        const Segment& segment = segments_[static_cast<size_t>(i)];
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        RecordsCell cell = device_cell(segment);
        cell.first = search.first;
        cell.last = search.last;
        cell.shift = search.shift;
        cell.bins = search.bins;
        cell.collect = search.collect && !search.listed ? 1 : 0;
        cell.at = search.payload;
        device_cells_.push_back(cell);
    }
    orb.device->sweep(side_, device_cells_, counters_);
    for (const int32_t i : active_) {
        Segment& segment = segments_[static_cast<size_t>(i)];
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        if (!search.collect)
            continue;
        segment.from_first = search.first;
        segment.from_last = search.last;
        if (search.listed)
            continue;
        segment.count = 0;
        for (int32_t bin = 0; bin < search.bins; ++bin)
            segment.count +=
                static_cast<int64_t>(counters_[static_cast<size_t>(search.payload + 1 + bin)].count);
    }
}

void LevelLoop::find_few_on_device(const OrbRun& orb) {
    device_cells_.clear();
    int64_t at = 0;
    for (const int32_t i : active_) {
        const Segment& segment = segments_[static_cast<size_t>(i)];
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        RecordsCell cell = device_cell(segment);
        cell.first = search.low;
        cell.last = search.high;
        cell.at = at;
        cell.room = std::min(search.inside.count, search.listed ? segment.count : segment.full);
        at += cell.room;
        device_cells_.push_back(cell);
    }
    orb.device->find_few(side_, device_cells_, device_found_);
    for (size_t k = 0; k < active_.size(); ++k)
        segments_[static_cast<size_t>(active_[k])].count = device_found_[k];
}

void LevelLoop::split_on_device(const OrbRun& orb) {
    device_cuts_.clear();
    for (const Segment& segment : segments_) {
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        const int32_t parts = search.goal.parts, left = search.goal.parts_left;
        device_cuts_.push_back({segment.begin, segment.full, search.cut, cut_key(orb, search), search.axis,
                                left == 1 ? 1 : 0, parts - left == 1 ? 1 : 0});
    }
    orb.device->split(side_, device_cuts_, device_found_);
    for (size_t k = 0; k < segments_.size(); ++k) {
        segments_[k].left = device_found_[k];
        place_segments(searches_[static_cast<size_t>(segments_[k].slot)]);
    }
}

} // namespace graft::decompose
