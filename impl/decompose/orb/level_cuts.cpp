// SPDX-License-Identifier: BSD-3-Clause
// Finding the cuts of all open cells of a level together, see level_loop.hpp.
#include "decompose/orb/cell_rule.hpp"
#include "decompose/orb/level_loop.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

namespace graft::decompose {
namespace {

// Counters that one pass reduces, and sampled points of all ranks: every rank handles all of them, so they
// stay fewer than the points it reads.
constexpr int64_t counters_most = 1 << 18, counters_least = 1 << 12, points_a_counter = 4;
constexpr size_t points_a_thread = 1 << 14; // of samples that threads share
constexpr int64_t samples_most = 1 << 20, samples_least = 1 << 10, points_a_sample = 16;

/// Points to sample of a cell: the cost of sorting the sample against that of the points left in its bracket.
int64_t sample_size(int64_t inside) {
    const double best = std::pow(0.13 * static_cast<double>(inside), 2.0 / 3.0);
    return std::clamp<int64_t>(static_cast<int64_t>(best), 32, 16384);
}

uint64_t pack(uint32_t key, float share) {
    return uint64_t{key} << 32 | std::bit_cast<uint32_t>(share);
}

void add(RecordSum& to, const RecordSum& from) {
    std::atomic_ref<uint64_t>(to.count).fetch_add(from.count, std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(to.low).fetch_add(from.low, std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(to.high).fetch_add(from.high, std::memory_order_relaxed);
}

} // namespace

void LevelLoop::find_cuts(OrbRun& orb, const backend::Executor& executor, comm::Communicator* comm) {
    for (Search& search : searches_) {
        if (search.goal.count == 0) {
            search.cut = middle_cut(orb.cells[static_cast<size_t>(search.cell)], search.axis);
            search.stage = Stage::found;
        } else if (search.low == search.high || search.inside.count <= orb.settings.few) {
            search.stage = Stage::few;
        }
    }
    for (;;) {
        active_.clear();
        for (size_t i = 0; i < segments_.size(); ++i)
            if (searches_[static_cast<size_t>(segments_[i].slot)].stage == Stage::search)
                active_.push_back(static_cast<int32_t>(i));
        if (active_.empty())
            break;
        load_ = 0;
        for (const Search& search : searches_)
            load_ += search.stage == Stage::search ? search.span_count : 0;
        load_ /= comm != nullptr ? comm->size() : 1;
        take_samples(orb, comm);
        plan_passes(orb, executor);
        sweep(orb, executor);
        reduce(orb, comm);
        draw_conclusions(orb);
    }
    collect_few(orb, executor);
    make_candidates(orb, comm);
    decide_exactly(comm, orb.settings.few, orb.device != nullptr ? orb.device->error() : nullptr, candidates_,
                   searches_);
    for (const Search& search : searches_) {
        statistics_.rounds += search.rounds;
        ++statistics_.cuts;
    }
}

void LevelLoop::sample_cell(const OrbRun& orb, const Search& search, int64_t wanted, uint64_t* out) {
    const Segment& first = segments_[static_cast<size_t>(search.first_segment)];
    const Segment& last = segments_[static_cast<size_t>(search.first_segment + search.segments - 1)];
    const int64_t count = last.begin + last.full - first.begin, size = std::min(wanted, count);
    const RecordArrays arrays = orb.arrays[side_] + first.begin;
    const bool weigh = arrays.weighted() && !search.goal.by_count;
    const float stands_for =
        size > 0 ? static_cast<float>(static_cast<double>(count) / static_cast<double>(size)) : 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < size; ++i) {
        const int64_t at = (2 * i + 1) * count / (2 * size);
        const uint32_t key = arrays.key[search.axis][at];
        if (key < search.low || key > search.high)
            continue;
        const float weight = weigh ? static_cast<float>(arrays.weight_of(at)) : 1.0F;
        out[kept++] = pack(key, weight * stands_for);
    }
    std::fill(out + kept, out + wanted, no_sample);
}

void LevelLoop::take_samples(const OrbRun& orb, comm::Communicator* comm) {
    sampled_.clear();
    int64_t wanted = 0;
    for (size_t slot = 0; slot < searches_.size(); ++slot)
        if (searches_[slot].stage == Stage::search && wants_sample(orb.settings, searches_[slot])) {
            sampled_.push_back(static_cast<int32_t>(slot));
            wanted = std::max(wanted, sample_size(searches_[slot].inside.count));
        }
    samples_.clear();
    const int64_t ranks = comm != nullptr ? comm->size() : 1, cells = static_cast<int64_t>(sampled_.size());
    if (cells == 0)
        return;
    const int64_t budget = std::clamp(load_ / points_a_sample, samples_least, samples_most);
    const int64_t each =
        std::min((wanted + ranks - 1) / ranks + (ranks > 1 ? 8 : 0), budget / (ranks * cells));
    if (each < 8) { // too many cells or ranks for samples
        sampled_.clear();
        return;
    }
    sample_size_ = each;
    sample_.resize(static_cast<size_t>(cells * each));
    if (orb.device != nullptr)
        sample_on_device(orb);
    for (int64_t i = 0; orb.device == nullptr && i < cells; ++i)
        sample_cell(orb, searches_[static_cast<size_t>(sampled_[static_cast<size_t>(i)])], each,
                    sample_.data() + i * each);
    if (comm == nullptr) {
        samples_.swap(sample_);
        return;
    }
    samples_.resize(static_cast<size_t>(ranks * cells * each));
    comm->allgather(sample_.data(), cells * each, samples_.data());
}

void LevelLoop::unpack_samples(size_t which, std::vector<SamplePoint>& points) const {
    const auto each = static_cast<size_t>(sample_size_), block = each * sampled_.size(); // of one rank
    for (size_t rank = 0; rank < samples_.size(); rank += block)
        for (size_t i = rank + which * each; i < rank + (which + 1) * each; ++i) {
            const auto share = std::bit_cast<float>(static_cast<uint32_t>(samples_[i]));
            if (share >= 0)
                points.push_back({static_cast<uint32_t>(samples_[i] >> 32), share});
        }
}

/// Sorting up to 2^20 sampled points is what takes time here: cells are shared out to the threads.
void LevelLoop::plan_passes(const OrbRun& orb, const backend::Executor& executor) {
    FinderSettings settings = orb.settings;
    planned_.clear();
    size_t next = 0;
    for (size_t slot = 0; slot < searches_.size(); ++slot) {
        if (searches_[slot].stage != Stage::search)
            continue;
        const bool sampled = next < sampled_.size() && sampled_[next] == static_cast<int32_t>(slot);
        planned_.push_back({static_cast<int32_t>(slot), sampled ? static_cast<int32_t>(next++) : -1});
    }
    const auto open = static_cast<int64_t>(planned_.size());
    const int64_t budget = std::clamp(load_ / points_a_counter, counters_least, counters_most);
    const auto share = static_cast<int32_t>(std::bit_floor(static_cast<uint64_t>(budget / open)));
    settings.most_bins = std::clamp(share, std::min(16, settings.most_bins), settings.most_bins);
    points_.resize(static_cast<size_t>(std::max(1, executor.threads)));
    const bool many = samples_.size() >= points_a_thread; // else starting threads takes longer
    const backend::Executor own{executor.memory, many ? executor.threads : 1};
    own.for_blocks(open, 1, [&](int64_t i, int64_t, int thread) {
        const auto [slot, sample] = planned_[static_cast<size_t>(i)];
        std::vector<SamplePoint>& points = points_[static_cast<size_t>(thread)];
        points.clear();
        if (sample >= 0)
            unpack_samples(static_cast<size_t>(sample), points);
        plan_pass(settings, points, searches_[static_cast<size_t>(slot)]);
    });
    int64_t payload = 0;
    for (const Planned& planned : planned_) {
        Search& search = searches_[static_cast<size_t>(planned.slot)];
        search.payload = payload;
        payload += search.bins + 1;
    }
    counters_.assign(static_cast<size_t>(payload), RecordSum{});
}

void LevelLoop::sweep_segment(OrbRun& orb, Segment& segment, Search& search) {
    const int axis = search.axis;
    RecordArrays from = orb.arrays[side_] + segment.begin;
    const RecordArrays list = orb.arrays[1 - side_] + segment.begin;
    if (search.listed)
        from = list;
    else
        from.index = nullptr; // a list has places in it, for indices
    const int64_t n = search.listed ? segment.count : segment.full;
    std::vector<RecordSum> own;
    RecordSum* counters = counters_.data() + search.payload;
    if (search.segments > 1) {
        own.assign(static_cast<size_t>(search.bins) + 1, RecordSum{});
        counters = own.data();
    }
    if (search.bins == 0) {
        counters[0] = sum_left(from, axis, n, search.first);
    } else if (search.collect) {
        segment.count = collect(from, axis, n, search.first, search.last, list, counters[0]);
        RecordSum none;
        add_to_histogram(list, axis, segment.count, search.first, search.last, search.shift, counters + 1,
                         none);
    } else {
        add_to_histogram(from, axis, n, search.first, search.last, search.shift, counters + 1, counters[0]);
    }
    for (size_t i = 0; i < own.size(); ++i)
        if (own[i].count > 0)
            add(counters_[static_cast<size_t>(search.payload) + i], own[i]);
}

void LevelLoop::sweep(OrbRun& orb, const backend::Executor& executor) {
    for (const int32_t i : active_) {
        const Segment& segment = segments_[static_cast<size_t>(i)];
        const Search& search = searches_[static_cast<size_t>(segment.slot)];
        statistics_.records_read += search.listed ? segment.count : segment.full;
    }
    if (orb.device != nullptr) {
        sweep_on_device(orb);
        return;
    }
    executor.for_each(
        static_cast<int64_t>(active_.size()),
        [&](int64_t i) {
            Segment& segment = segments_[static_cast<size_t>(active_[static_cast<size_t>(i)])];
            sweep_segment(orb, segment, searches_[static_cast<size_t>(segment.slot)]);
        },
        1);
}

void LevelLoop::reduce(const OrbRun& orb, comm::Communicator* comm) {
    const size_t n = counters_.size();
    const bool weigh = weighted(orb);
    amounts_.resize(n);
    if (comm != nullptr) {
        // All weights together may fit one lane; else three of 42 bits.
        const bool narrow = orb.problem.weight < (Wide{1} << 63);
        constexpr uint64_t mask = (uint64_t{1} << 42) - 1;
        const size_t lanes = !weigh ? 1 : narrow ? 2 : 4;
        lanes_.resize(lanes * n + 1);
        lanes_[lanes * n] = orb.device != nullptr && orb.device->error() ? 1 : 0;
        for (size_t i = 0; i < n; ++i) {
            uint64_t* out = lanes_.data() + lanes * i;
            const Wide weight = counters_[i].weight();
            out[0] = counters_[i].count;
            for (size_t lane = 1; lane < lanes; ++lane)
                out[lane] =
                    static_cast<uint64_t>(weight >> (42 * (lane - 1))) & (narrow ? ~uint64_t{0} : mask);
        }
        comm->allreduce(lanes_.data(), static_cast<int64_t>(lanes_.size()), comm::Operation::sum);
        if (lanes_[lanes * n] > 0)
            comm->agree(orb.device != nullptr ? orb.device->error() : nullptr);
        for (size_t i = 0; i < n; ++i) {
            const uint64_t* in = lanes_.data() + lanes * i;
            amounts_[i] = {static_cast<int64_t>(in[0]), weigh ? 0 : static_cast<Wide>(in[0])};
            for (size_t lane = 1; lane < lanes; ++lane)
                amounts_[i].weight += static_cast<Wide>(in[lane]) << (42 * (lane - 1));
        }
        return;
    }
    for (size_t i = 0; i < n; ++i)
        amounts_[i] = {static_cast<int64_t>(counters_[i].count),
                       weigh ? counters_[i].weight() : static_cast<Wide>(counters_[i].count)};
}

void LevelLoop::draw_conclusions(const OrbRun& orb) {
    const geometry::Box& box = orb.problem.box;
    for (Search& search : searches_)
        if (search.stage == Stage::search)
            narrow(orb.settings, amounts_.data() + search.payload, orb.frame[search.axis],
                   box.lower[search.axis], box.upper[search.axis], search);
}

} // namespace graft::decompose
