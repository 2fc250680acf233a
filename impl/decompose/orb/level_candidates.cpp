// SPDX-License-Identifier: BSD-3-Clause
// The last points of a search, for the exact stage, see level_loop.hpp: listed, then made candidates.
#include "decompose/orb/level_loop.hpp"

namespace graft::decompose {

void LevelLoop::collect_few(OrbRun& orb, const backend::Executor& executor) {
    active_.clear();
    for (size_t i = 0; i < segments_.size(); ++i)
        if (searches_[static_cast<size_t>(segments_[i].slot)].stage == Stage::few)
            active_.push_back(static_cast<int32_t>(i));
    for (Search& search : searches_)
        if (search.stage == Stage::few) {
            search.first = search.low;
            search.last = search.high;
        }
    if (orb.device != nullptr) {
        find_few_on_device(orb);
        return;
    }
    executor.for_each(
        static_cast<int64_t>(active_.size()),
        [&](int64_t i) {
            Segment& segment = segments_[static_cast<size_t>(active_[static_cast<size_t>(i)])];
            const Search& search = searches_[static_cast<size_t>(segment.slot)];
            const RecordArrays list = orb.arrays[1 - side_] + segment.begin;
            RecordArrays from = search.listed ? list : orb.arrays[side_] + segment.begin;
            if (!search.listed)
                from.index = nullptr;
            RecordSum none;
            segment.count = collect(from, search.axis, search.listed ? segment.count : segment.full,
                                    search.low, search.high, list, none);
        },
        1);
}

void LevelLoop::make_candidates(const OrbRun& orb, comm::Communicator* comm) {
    int64_t count = 0;
    bool many = false; // on any rank: known to all of them
    for (const Search& search : searches_)
        many = many || (search.stage == Stage::few && search.inside.count > orb.settings.few);
    for (const int32_t i : active_)
        count += segments_[static_cast<size_t>(i)].count;
    const auto make = [&] {
        candidates_.resize(count);
        if (orb.device == nullptr)
            return;
        orb.device->fetch_few(device_cells_, device_found_, candidates_.data());
        if (many)
            orb.device->check();
    };
    many&& comm != nullptr ? comm->together(make) : make();
    for (const int32_t i : active_) {
        const Segment& segment = segments_[static_cast<size_t>(i)];
        const bool listed = searches_[static_cast<size_t>(segment.slot)].listed;
        statistics_.records_read += listed ? 0 : segment.full;
    }
    if (orb.device == nullptr)
        write_candidates(orb);
}

void LevelLoop::write_candidates(const OrbRun& orb) {
    int64_t at = 0;
    for (const int32_t i : active_) {
        const Segment& segment = segments_[static_cast<size_t>(i)];
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        const RecordArrays list = orb.arrays[1 - side_] + segment.begin;
        const double* x = orb.coordinate(search.axis);
        const int32_t* index = orb.arrays[side_].index + segment.begin; // the list has places in it
        for (int64_t k = 0; k < segment.count; ++k) {
            const int32_t item = index[list.index[k]];
            candidates_[at++] = {ordered_image(x[item]), ordered_id(orb.problem.id_of(item)),
                                 list.weight_of(k), segment.slot};
        }
    }
}

} // namespace graft::decompose
