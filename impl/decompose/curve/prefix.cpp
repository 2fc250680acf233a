// SPDX-License-Identifier: BSD-3-Clause
// What all strategies of the prefix partition share, and the central one. See prefix_steps.hpp.
#include "backend/step_count.hpp"
#include "decompose/curve/prefix_steps.hpp"

#include <algorithm>
#include <numeric>

namespace graft::decompose {

void KeyOrder::sort(const backend::Executor& executor, const KeyItem* items, int64_t n) {
    constexpr int64_t few = 2048;
    const auto before = [items](int32_t a, int32_t b) {
        return items[a].key < items[b].key || (items[a].key == items[b].key && items[a].id < items[b].id);
    };
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0);
    backend::count_work(backend::sort_work(n));
    if (n <= few) {
        std::sort(order_.begin(), order_.end(), before);
        return;
    }
    keys_.resize(n);
    for (int64_t i = 0; i < n; ++i)
        keys_[i] = items[i].key;
    sorter_.sort(executor, keys_, order_);
    for (int64_t begin = 0, end; begin < n; begin = end) { // heaps of equal keys: by id
        for (end = begin + 1; end < n && keys_[end] == keys_[begin];)
            ++end;
        if (end - begin > 1)
            std::sort(order_.begin() + begin, order_.begin() + end, before);
    }
}

void PrefixStrategy::State::make_items(const Problem& problem, KeyItem* items) const {
    const Points& points = problem.points;
    const CurveFrame frame(problem.box, problem.options.dimension, problem.options.curve);
    problem.executor.for_each(points.n, [&](int64_t i) {
        items[i] = {frame.key(points.x[i], points.y[i], problem.coordinate(2, i)), problem.weights(i),
                    problem.id_of(i)};
    });
}

PrefixRule PrefixStrategy::State::rule(const Problem& problem) const {
    return {problem.weight, problem.count, problem.options.parts, problem.options.cap};
}

void PrefixStrategy::State::walk(const Problem& problem, const KeyItem* items, int64_t n,
                                 const PrefixSum& place, PrefixReach reach, const uint64_t* key_below) {
    const PrefixRule shared = rule(problem);
    PrefixWalk walk(shared, place, reach);
    runs.clear();
    splitters.clear();
    for (int64_t k = 0; k < n; ++k) {
        const int32_t i = order.order()[k];
        const PrefixSum before = walk.place();
        const int32_t part = walk.next(items[i].weight);
        owners[i] = part;
        if (runs.empty() || runs.back().part != part) {
            runs.push_back({part, before, before});
            // Only coincident keys need the id: a point asked for without one then still finds its part.
            const uint64_t* key_before = k > 0 ? &items[order.order()[k - 1]].key : key_below;
            const bool tie = key_before != nullptr && *key_before == items[i].key;
            splitters.push_back({items[i].key, tie ? items[i].id : lowest_id, part});
        }
        runs.back().end = walk.place();
    }
    backend::count_work(n);
}

void PrefixStrategy::State::weigh_runs(const PrefixRun& below) {
    count_max = weight_max = 0;
    for (const Run& run : runs) {
        const bool goes_on = &run == &runs.front() && run.part == below.last_part;
        const PrefixSum& begin = goes_on ? below.begin : run.begin;
        count_max = std::max(count_max, static_cast<double>(run.end.count - begin.count));
        weight_max = std::max(weight_max, to_double(run.end.weight - begin.weight));
    }
}

/// All is well, statistics and domains, in one reduction.
std::shared_ptr<KeyTable> PrefixStrategy::State::finish(const Problem& problem, std::exception_ptr error,
                                                        Result& result) {
    std::shared_ptr<KeyTable> table;
    if (!error)
        error = caught([&] {
            table = std::make_shared<KeyTable>(
                CurveFrame(problem.box, problem.options.dimension, problem.options.curve),
                problem.options.parts, splitters, problem.points.n);
        });
    double most[3] = {count_max, weight_max, error ? 1.0 : 0.0};
    problem.comm.allreduce(most, 3, comm::Operation::max);
    if (most[2] > 0)
        problem.comm.agree(error);
    Statistics& statistics = result.statistics;
    const double parts = problem.options.parts;
    if (problem.count > 0) {
        statistics.imbalance_count = most[0] * parts / static_cast<double>(problem.count);
        statistics.imbalance_weight = most[1] * parts / to_double(problem.weight);
    }
    statistics.passes = passes;
    statistics.cuts = cuts;
    statistics.iterations_per_cut = cuts > 0 ? static_cast<double>(rounds) / static_cast<double>(cuts) : 0;
    statistics.collectives += traffic.collectives;
    statistics.bytes += traffic.bytes_sent;
    statistics.messages += traffic.messages;
    return table;
}

/// Everything to rank 0, sorted and cut there, owners back.
void PrefixStrategy::State::run_central(const Problem& problem, Result& result) {
    comm::Communicator& comm = problem.comm;
    const bool root = comm.rank() == 0;
    const int64_t n = problem.points.n;
    const double start_s = comm.time_s();
    tree.plan(comm, n);
    comm.together([&] {
        if (root)
            check_central(problem.count);
        result.owner.resize(n);
        gathered.resize(tree.subtree_items());
        owners.resize(tree.subtree_items());
        make_items(problem, gathered.data());
    });
    tree.gather(comm, gathered.data(), sizeof(KeyItem));
    result.statistics.gather_s = comm.time_s() - start_s;
    runs.clear();
    splitters.clear();
    const std::exception_ptr error = caught([&] {
        if (!root)
            return;
        order.sort(problem.executor, gathered.data(), problem.count);
        walk(problem, gathered.data(), problem.count, {}, {}, nullptr);
    });
    weigh_runs({});
    passes = 2;
    cuts = root ? problem.options.parts - 1 : 0;
    const std::shared_ptr<KeyTable> table = finish(problem, error, result);
    tree.back(comm, owners.data(), sizeof(int32_t));
    std::copy_n(owners.data(), n, result.owner.data());
    table->add_points(problem.points, result.owner.data());
    result.domains = table;
}

PrefixStrategy::PrefixStrategy(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
PrefixStrategy::~PrefixStrategy() = default;

void PrefixStrategy::run(const Problem& problem, Result& result) {
    State& state = *state_;
    const double start_s = problem.comm.time_s();
    state.rounds = state.cuts = state.passes = 0;
    state.traffic = {};
    if (problem.options.strategy == Strategy::central)
        state.run_central(problem, result);
    else if (problem.options.strategy == Strategy::halving)
        state.run_distributed(problem, result);
    else
        state.run_level(problem, result);
    result.statistics.cuts_s = problem.comm.time_s() - start_s;
}

} // namespace graft::decompose
