// SPDX-License-Identifier: BSD-3-Clause
// The distributed prefix partition: key order over ranks, then one scan. See prefix_steps.hpp.
#include "backend/step_count.hpp"
#include "comm/collectives.hpp"
#include "decompose/curve/prefix_steps.hpp"

#include <algorithm>

namespace graft::decompose {
namespace {

/// The last place on the ranks so far that have points.
struct LastPosition {
    uint64_t key = 0;
    int64_t id = 0;
    int64_t there = 0;
    friend LastPosition operator+(const LastPosition& a, const LastPosition& b) {
        return b.there != 0 ? b : a;
    }
};

/// What the ranks so far hold, and their last place.
struct Below {
    PrefixSum place;
    LastPosition last;
    friend Below operator+(const Below& a, const Below& b) { return {a.place + b.place, a.last + b.last}; }
};

} // namespace

/// Collective. The items of each rank, sorted, stand behind those of the ranks below.
bool PrefixStrategy::State::in_order(const Problem& problem) {
    const core::Buffer<KeyItem>& items = group.items();
    const int64_t n = items.size();
    LastPosition last;
    if (n > 0) {
        const KeyItem& item = items[order.order()[n - 1]];
        last = {item.key, item.id, 1};
    }
    const LastPosition below = comm::exclusive_scan(problem.comm, last);
    int64_t wrong = 0;
    if (n > 0 && below.there != 0) {
        const KeyItem& first = items[order.order()[0]];
        wrong = first.key < below.key || (first.key == below.key && first.id < below.id) ? 1 : 0;
    }
    return problem.comm.max(wrong) == 0;
}

/// Collective. Halves ranks and keys until each rank has a stretch of the curve; even in count to two
/// percent a halving, which one or two rounds of bins find.
std::exception_ptr PrefixStrategy::State::bring_into_order(const Problem& problem) {
    GroupQuestion question;
    question.unit = true;
    question.bins = problem.options.bins;
    question.few = problem.options.threshold_b;
    question.last_key = CurveFrame(problem.box, problem.options.dimension, problem.options.curve).last_key();
    while (!group.stopped() && group.count() > 0 && group.ranks() > 1) {
        const int left_ranks = (group.ranks() + 1) / 2;
        const int64_t count = group.count();
        question.goal = CutGoal(count, static_cast<Wide>(count), group.ranks(), left_ranks, 0);
        question.slack = static_cast<Wide>(std::max(count / 50, count / (4 * group.ranks())));
        GroupAnswer answer;
        bool in_right = false;
        const bool halved = group.halve(question, left_ranks, answer, in_right);
        rounds += answer.rounds;
        passes += 2 * answer.rounds;
        if (!halved)
            continue;
        ++cuts;
        ++passes;
        (in_right ? question.first_key : question.last_key) = answer.border.image;
    }
    traffic = group.leave();
    if (group.whole_and_well())
        group.error() =
            caught([&] { order.sort(problem.executor, group.items().data(), group.items().size()); });
    return group.error();
}

/// Collective. All points stand in key order over ranks: their parts. A rank on which something is wrong goes
/// through the motions without points.
std::exception_ptr PrefixStrategy::State::cut_sorted(const Problem& problem, std::exception_ptr error) {
    comm::Communicator& comm = problem.comm;
    const core::Buffer<KeyItem>& items = group.items();
    const int64_t n = group.whole_and_well() ? items.size() : 0;
    Below own{{0, n}, {}};
    for (int64_t i = 0; i < n; ++i)
        own.place.weight += items[i].weight;
    if (n > 0)
        own.last = {items[order.order()[n - 1]].key, 0, 1};
    backend::count_work(n);
    const Below lower = comm::exclusive_scan(comm, own);
    const PrefixSum& below = lower.place;
    PrefixReach reach;
    const PrefixRule shared = rule(problem);
    if (shared.cap > 0) {
        PrefixWalk scout(shared, below);
        for (int64_t k = 0; k < n; ++k)
            scout.next(items[order.order()[k]].weight);
        reach = scout.reach();
        comm::exclusive_scan(comm, &reach, 1, &reach);
    }
    runs.clear();
    if (!error)
        error = caught([&] {
            owners.resize(n);
            walk(problem, items.data(), n, below, reach, lower.last.there != 0 ? &lower.last.key : nullptr);
            group.reserve_back();
        });
    PrefixRun mine;
    if (!runs.empty())
        mine = {runs.front().part, runs.back().part, runs.back().begin};
    weigh_runs(comm::exclusive_scan(comm, mine));
    passes += 2;
    return error;
}

void PrefixStrategy::State::run_distributed(const Problem& problem, Result& result) {
    const int64_t n = problem.points.n;
    problem.comm.together([&] {
        result.owner.resize(n);
        group.reserve(n, problem.count, problem.comm.size(), problem.options.bins);
        make_items(problem, group.items().data());
        order.sort(problem.executor, group.items().data(), n);
    });
    group.start(problem.comm, problem.count);
    std::exception_ptr error;
    if (!in_order(problem))
        error = bring_into_order(problem);
    error = cut_sorted(problem, error);
    const std::shared_ptr<KeyTable> table = finish(problem, error, result);
    std::copy_n(group.back(owners.data()), n, result.owner.data());
    table->add_points(problem.points, result.owner.data());
    result.domains = table;
}

} // namespace graft::decompose
