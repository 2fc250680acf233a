// SPDX-License-Identifier: BSD-3-Clause
// The level-synchronous strategy: records made once, the level loop over them, owners written at the end.
#include "decompose/orb/cut_tree.hpp"
#include "decompose/orb/level_gpu.hpp"
#include "decompose/orb/level_loop.hpp"
#include "decompose/strategies.hpp"

#include "core/timer.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace graft::decompose {
namespace {

constexpr int64_t block_points = 1 << 16;
// A thread takes cells of so many points with all that is under them (both sets of arrays: 8 MiB, of a shared
// cache), and goes depth first through parts of them that fit its own cache (1 MiB).
constexpr int64_t thread_points = 1 << 18, cache_points = 1 << 15;
constexpr int64_t window_points = 1 << 17; // owners that are written while they are in the cache
constexpr int64_t gather_budget = 1 << 16; // candidates of all cells of a level

} // namespace

struct LevelStrategy::State {
    explicit State(core::Memory& memory)
        : records{RecordStore(memory), RecordStore(memory)}, order(memory, "part order"), memory(memory),
          loop(memory) {}

    void prepare(OrbRun& orb, bool alone);
    void make_records(OrbRun& orb);
    void finish(OrbRun& orb, Result& result);
    void cut(OrbRun& orb, comm::Communicator* comm);
    void cut_subtrees(OrbRun& orb, const std::vector<OpenCell>& subtrees);
    void write_owners(const OrbRun& orb, Result& result);
    void fill_statistics(const OrbRun& orb, Result& result);

    DeviceLevel device_alone;
    DeviceRecords device;
    RecordStore records[2];
    core::Buffer<int32_t> order;
    core::Memory& memory;
    std::vector<Cell> cells;
    std::vector<Amount> parts;
    std::vector<int64_t> part_end;
    LevelLoop loop;
    struct ThreadLoops {
        explicit ThreadLoops(core::Memory& memory) : outer(memory), inner(memory) {}
        LevelLoop outer, inner;
        std::vector<OpenCell> cells;
    };
    std::vector<ThreadLoops> thread_loops;
    LoopStatistics statistics;
};

LevelStrategy::LevelStrategy(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
LevelStrategy::~LevelStrategy() = default;

void LevelStrategy::State::prepare(OrbRun& orb, bool alone) {
    const Problem& problem = orb.problem;
    const Options& options = problem.options;
    const bool cut = options.parts > 1;
    cells.assign(2 * static_cast<size_t>(options.parts), Cell{});
    cells[1] = root_cell(problem.box, options.parts);
    parts.assign(static_cast<size_t>(options.parts), {});
    part_end.assign(static_cast<size_t>(options.parts), 0);
    FinderSettings& settings = orb.settings;
    settings.finder = options.finder;
    settings.slack = problem.slack();
    const auto chosen = std::bit_floor(static_cast<uint32_t>(std::max(2, options.bins)));
    settings.most_bins = options.bins > 0 ? static_cast<int32_t>(std::min(chosen, 1U << 16)) : 4096;
    settings.few = options.finder == CutFinder::bisection ? 1
                   : alone                                ? 64
                           : std::clamp<int64_t>(gather_budget / options.parts, 8, 256);
    for (int axis = 0; axis < options.dimension && problem.count > 0; ++axis) // of all ranks
        orb.frame[axis] = KeyFrame(problem.box.lower[axis], problem.box.upper[axis]);
    if (!alone && cut) // between collectives nothing may be refused
        loop.reserve(
            std::min(problem.points.n, std::max<int64_t>(gather_budget, options.parts * settings.few)));
    orb.device = !alone && cut && device.start(problem, orb.frame) ? &device : nullptr;
    if (orb.device == nullptr)
        make_records(orb);
}

void LevelStrategy::State::make_records(OrbRun& orb) {
    const Problem& problem = orb.problem;
    const bool weighted = !problem.weights.unit();
    const int64_t n = problem.options.parts > 1 ? problem.points.n : 0;
    for (int side = 0; side < 2; ++side) {
        records[side].resize(n, problem.options.dimension, weighted);
        orb.arrays[side] = records[side].arrays();
    }
    const RecordArrays& arrays = orb.arrays[0];
    problem.executor.for_blocks(n, block_points, [&](int64_t begin, int64_t end, int) {
        for (int axis = 0; axis < problem.options.dimension; ++axis)
            make_keys(orb.coordinate(axis) + begin, end - begin, orb.frame[axis], arrays.key[axis] + begin);
        std::iota(arrays.index + begin, arrays.index + end, static_cast<int32_t>(begin));
        for (int64_t i = begin; weighted && i < end; ++i) {
            const uint64_t weight = problem.weights(i);
            arrays.weight[0][i] = static_cast<uint32_t>(weight);
            arrays.weight[1][i] = static_cast<uint32_t>(weight >> 32);
        }
    });
}

void LevelStrategy::State::cut(OrbRun& orb, comm::Communicator* comm) {
    const Problem& problem = orb.problem;
    const int64_t n = problem.points.n;
    const std::vector<OpenCell> roots = {{1, 0, 0, n, {problem.count, problem.weight}}};
    statistics = {};
    loop.reset_statistics();
    if (problem.options.parts == 1) {
        std::iota(orb.order, orb.order + n, 0);
        parts[0] = roots[0].all;
        part_end[0] = n;
        return;
    }
    std::vector<OpenCell> subtrees;
    loop.run(orb, problem.executor, comm, roots, comm == nullptr ? thread_points : 0, subtrees);
    statistics = loop.statistics();
    cut_subtrees(orb, subtrees);
}

void LevelStrategy::State::cut_subtrees(OrbRun& orb, const std::vector<OpenCell>& subtrees) {
    const Problem& problem = orb.problem;
    core::Timer timer;
    while (static_cast<int>(thread_loops.size()) < std::max(1, problem.executor.threads))
        thread_loops.emplace_back(memory);
    for (ThreadLoops& own : thread_loops) {
        own.outer.reset_statistics();
        own.inner.reset_statistics();
    }
    const backend::Executor single{problem.executor.memory, 1};
    problem.executor.for_blocks(static_cast<int64_t>(subtrees.size()), 1,
                                [&](int64_t i, int64_t, int thread) {
                                    ThreadLoops& own = thread_loops[static_cast<size_t>(thread)];
                                    std::vector<OpenCell> none;
                                    own.cells.clear();
                                    own.outer.run(orb, single, nullptr, {subtrees[static_cast<size_t>(i)]},
                                                  cache_points, own.cells);
                                    for (const OpenCell& cell : own.cells)
                                        own.inner.run(orb, single, nullptr, {cell}, 0, none);
                                });
    LoopStatistics inner;
    for (const ThreadLoops& own : thread_loops) {
        inner.add(own.outer.statistics());
        inner.add(own.inner.statistics());
    }
    // The clocks of threads run side by side: their shares of the time that passed.
    const double share = timer.seconds() / std::max(inner.cuts_s + inner.partition_s, 1e-9);
    inner.cuts_s *= share;
    inner.partition_s *= share;
    statistics.add(inner);
}

/// Parts are runs of rising indices. Windows of the owners' array are filled one after the other, each from
/// all parts, so that no write leaves the cache.
void LevelStrategy::State::write_owners(const OrbRun& orb, Result& result) {
    const int64_t n = orb.problem.points.n;
    const size_t count = part_end.size();
    constexpr int64_t windows = 8; // of one task, which keeps its place in each part
    int32_t* owner = result.owner.data();
    const int32_t* sorted = orb.order;
    orb.problem.executor.for_blocks(n, windows * window_points, [&](int64_t begin, int64_t end, int) {
        std::vector<int64_t> at(count);
        for (size_t p = 0; p < count; ++p) {
            const int32_t* first = sorted + (p == 0 ? 0 : part_end[p - 1]);
            at[p] = std::lower_bound(first, sorted + part_end[p], static_cast<int32_t>(begin)) - sorted;
        }
        for (int64_t window = begin; window < end; window += window_points) {
            const int64_t limit = std::min(end, window + window_points);
            for (size_t p = 0; p < count; ++p) {
                int64_t i = at[p];
                for (; i < part_end[p] && sorted[i] < limit; ++i)
                    owner[sorted[i]] = static_cast<int32_t>(p);
                at[p] = i;
            }
        }
    });
}

void LevelStrategy::State::finish(OrbRun& orb, Result& result) {
    if (orb.device == nullptr) {
        write_owners(orb, result);
    } else {
        device.finish(part_end, result.owner.data(), orb.problem.with_permutation ? orb.order : nullptr);
        device.check();
        result.statistics.on_device = 1;
        result.statistics.upload_s = device.upload_s();
    }
    fill_statistics(orb, result);
}

void LevelStrategy::State::fill_statistics(const OrbRun& orb, Result& result) {
    Statistics& out = result.statistics;
    const Problem& problem = orb.problem;
    int64_t most = 0;
    Wide heaviest = 0;
    for (const Amount& part : parts) {
        most = std::max(most, part.count);
        heaviest = std::max(heaviest, part.weight);
    }
    const double count = static_cast<double>(parts.size());
    if (problem.count > 0) {
        out.imbalance_count = static_cast<double>(most) * count / static_cast<double>(problem.count);
        out.imbalance_weight = to_double(heaviest) * count / to_double(problem.weight);
    }
    const int64_t n = std::max<int64_t>(problem.points.n, 1);
    out.passes = (statistics.records_read + n - 1) / n;
    out.cuts = statistics.cuts;
    out.iterations_per_cut =
        statistics.cuts > 0 ? static_cast<double>(statistics.rounds) / static_cast<double>(statistics.cuts)
                            : 0;
    out.cuts_s = statistics.cuts_s;
    out.partition_s = statistics.partition_s;
}

void LevelStrategy::run(const Problem& problem, Result& result) {
    State& state = *state_;
    if (state.device_alone.run(problem, result))
        return;
    OrbRun orb{problem, {}, {}, nullptr, state.cells, state.parts, state.part_end, {}, nullptr};
    const bool alone = problem.comm.alone();
    const auto begin = [&] {
        result.owner.resize(problem.points.n);
        if (problem.with_permutation)
            result.part_offset.resize(int64_t{problem.options.parts} + 1);
        state.prepare(orb, alone);
        core::Buffer<int32_t>& order = problem.with_permutation ? result.permutation : state.order;
        order.resize(problem.with_permutation || orb.device == nullptr ? problem.points.n : 0);
        orb.order = order.data();
    };
    const auto end = [&] {
        state.finish(orb, result);
        if (problem.with_permutation) {
            result.part_offset[0] = 0;
            std::copy(state.part_end.begin(), state.part_end.end(), result.part_offset.begin() + 1);
        }
        result.domains = std::make_shared<CutTree>(problem.options.parts, state.cells);
    };
    problem.comm.together([&] {
        begin();
        if (alone)
            state.cut(orb, nullptr);
    });
    if (!alone)
        state.cut(orb, &problem.comm);
    problem.comm.together(end);
}

} // namespace graft::decompose
