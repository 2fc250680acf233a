// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving: groups of ranks and the points of a cell are cut in two together (liu2022, listing 2.1).
//
// A step finds the cut (group_cut.hpp), moves points between the halves in pairs (item_routes.hpp), and goes on
// in the half that this rank is in (rank_group.hpp). A small group's points are collected on its leader, who
// cuts them alone (subtree.hpp). At the end owners travel back the way the points came.
//
// Deviations from the source: the evaluation is done by every rank (no leader's broadcasts); the central
// solve also asks for few ranks, so that no leader holds O(P) cells; points are spread evenly when the pairs
// leave them uneven.
#include "decompose/halving/path_tree.hpp"
#include "decompose/halving/rank_group.hpp"
#include "decompose/strategies.hpp"
#include "decompose/orb/subtree.hpp"
#include "decompose/orb/tree_gather.hpp"

#include <algorithm>

namespace graft::decompose {
namespace {

constexpr int32_t central_ranks = 512; // most ranks of a group that its leader may cut alone

} // namespace

struct HalvingStrategy::State {
    explicit State(core::Memory& memory)
        : group(memory), solver(memory), owners(memory, "owners of points on their way"),
          splits(memory, "cuts of a small group") {}

    void start(const Problem& problem, Result& result);
    void descend(const Problem& problem);
    void halve(const Problem& problem);
    void solve_centrally(const Problem& problem);
    void cut_empty(const Problem& problem);
    void finish(const Problem& problem, Result& result);
    void note(const Problem& problem, double most_count, double most_weight, Statistics& statistics) const;

    RankGroup<Item> group;
    SubtreeSolver solver;
    core::Buffer<int32_t> owners;
    core::Buffer<Split> splits;

    std::vector<Cell> path; // from the root to the group's cell
    Wide weight = 0;        // of the group's points
    bool solved = false;    // by the group's leader
    double count_max = 0, weight_max = 0;
    int64_t rounds = 0, cuts = 0, passes = 0;
    comm::Traffic traffic; // of the groups' communicators
};

void HalvingStrategy::State::start(const Problem& problem, Result& result) {
    const Points& points = problem.points;
    solved = false;
    count_max = weight_max = 0;
    rounds = cuts = passes = 0;
    weight = problem.weight;
    path.clear();
    problem.comm.together([&] {
        path.reserve(64);
        path.push_back(root_cell(problem.box, problem.options.parts));
        result.owner.resize(points.n);
        group.reserve(points.n, problem.count, problem.comm.size(), problem.options.bins);
        for (int64_t i = 0; i < points.n; ++i)
            group.items()[i] = {
                {points.x[i], points.y[i], problem.coordinate(2, i)}, problem.weights(i), problem.id_of(i)};
    });
    group.start(problem.comm, problem.count);
}

void HalvingStrategy::State::halve(const Problem& problem) {
    Cell& cell = path.back();
    const Options& options = problem.options;
    GroupQuestion question;
    question.goal = CutGoal(group.count(), weight, cell.parts, options.cap);
    question.slack = problem.slack();
    question.axis = cut_axis(cell, options.dimension);
    question.lower = cell.lower[question.axis];
    question.upper = cell.upper[question.axis];
    question.unit = problem.weights.unit();
    question.bins = options.bins;
    question.few = options.threshold_b;
    GroupAnswer answer;
    bool in_right = false;
    const bool halved = group.halve(question, question.goal.parts_left, answer, in_right);
    rounds += answer.rounds;
    passes += 2 * answer.rounds;
    if (!halved)
        return;
    ++cuts;
    ++passes;
    Cell left{}, right{};
    cut_cell(cell, question.axis, to_cut(answer.border), left, right);
    weight = in_right ? weight - answer.weight : answer.weight;
    path.push_back(in_right ? right : left);
}

/// Phases 7 and 8: the leader gets all points, cuts, and sends back owners and cuts.
void HalvingStrategy::State::solve_centrally(const Problem& problem) {
    core::Buffer<Item>& items = group.items();
    const Cell cell = path.back();
    TreeGather tree;
    tree.plan(group.comm(), items.size());
    group.allow([&] {
        items.resize_keep(tree.subtree_items());
        owners.resize(tree.subtree_items());
        splits.resize(cell.parts - 1);
        if (group.leader())
            solver.reserve(group.count());
    });
    if (group.stopped())
        return;
    tree.gather(group.comm(), items.data(), sizeof(Item));
    if (group.leader()) {
        solver.solve(items.data(), group.count(), cell, weight, problem.options.dimension,
                     problem.options.cap, owners.data(), splits.data());
        count_max = static_cast<double>(solver.count_max());
        weight_max = to_double(solver.weight_max());
        cuts += cell.parts - 1;
    }
    group.comm().broadcast(splits.data(), splits.size(), 0);
    tree.back(group.comm(), owners.data(), sizeof(int32_t));
    items.resize(tree.own_items());
    Cell top{};
    std::vector<Cell> below;
    follow_splits(cell, splits.data(), problem.comm.rank(), top, below);
    path.back() = top;
    path.insert(path.end(), below.begin(), below.end());
    solved = true;
}

/// Nobody has points: every rank knows all cuts.
void HalvingStrategy::State::cut_empty(const Problem& problem) {
    while (path.back().parts > 1) {
        Cell& cell = path.back();
        const int axis = cut_axis(cell, problem.options.dimension);
        Cell left{}, right{};
        cut_cell(cell, axis, middle_cut(cell, axis), left, right);
        path.push_back(problem.comm.rank() >= right.first_part ? right : left);
    }
}

void HalvingStrategy::State::descend(const Problem& problem) {
    const Options& options = problem.options;
    while (!group.stopped() && !solved && group.count() > 0 && path.back().parts > 1)
        if (group.count() <= options.threshold_a && path.back().parts <= central_ranks)
            solve_centrally(problem);
        else
            halve(problem);
    if (!group.stopped() && !solved && group.count() == 0)
        cut_empty(problem);
    traffic = group.leave();
}

/// Agrees that all is well and on the heaviest part, in one reduction; then owners go back.
void HalvingStrategy::State::finish(const Problem& problem, Result& result) {
    std::shared_ptr<Decomposition> domains;
    if (group.whole_and_well())
        group.error() = caught([&] {
            if (!solved) {
                owners.resize(group.items().size());
                std::fill(owners.begin(), owners.end(), problem.comm.rank());
            }
            group.reserve_back();
            domains = std::make_shared<PathTree>(problem.options.parts, problem.comm.rank(), path);
        });
    if (!solved) {
        count_max = static_cast<double>(group.count());
        weight_max = to_double(weight);
    }
    double most[3] = {count_max, weight_max, group.error() ? 1.0 : 0.0};
    problem.comm.allreduce(most, 3, comm::Operation::max);
    if (most[2] > 0)
        problem.comm.agree(group.error());
    const int32_t* answers = group.back(owners.data());
    std::copy_n(answers, result.owner.size(), result.owner.data());
    result.domains = std::move(domains);
    note(problem, most[0], most[1], result.statistics);
}

void HalvingStrategy::State::note(const Problem& problem, double most_count, double most_weight,
                                  Statistics& statistics) const {
    const double parts = problem.options.parts;
    statistics.imbalance_count =
        problem.count > 0 ? most_count * parts / static_cast<double>(problem.count) : 1;
    statistics.imbalance_weight = problem.weight > 0 ? most_weight * parts / to_double(problem.weight) : 1;
    statistics.passes = passes;
    statistics.cuts = cuts;
    statistics.iterations_per_cut = cuts > 0 ? static_cast<double>(rounds) / static_cast<double>(cuts) : 0;
    statistics.collectives += traffic.collectives;
    statistics.bytes += traffic.bytes_sent;
    statistics.messages += traffic.messages;
}

HalvingStrategy::HalvingStrategy(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
HalvingStrategy::~HalvingStrategy() = default;

void HalvingStrategy::run(const Problem& problem, Result& result) {
    const double start_s = problem.comm.time_s();
    state_->start(problem, result);
    state_->descend(problem);
    const double cut_s = problem.comm.time_s();
    state_->finish(problem, result);
    result.statistics.cuts_s = cut_s - start_s;
    result.statistics.partition_s = problem.comm.time_s() - cut_s;
}

} // namespace graft::decompose
