// Recursive halving: groups of ranks and the points of a cell are cut in two together (liu2022, listing 2.1).
//
// Invariant: at every step the ranks [first, first + cell.parts) are a group, and hold between them exactly
// the points of the cell. A step finds the cut (group_cut.hpp), moves points between the halves in pairs
// (passage.hpp), and goes on in the half that this rank is in. A small group's points are collected on its
// leader, who cuts them alone (subtree.hpp). At the end owners travel back the way the points came.
//
// Deviations from the source: the evaluation is done by every rank (no leader's broadcasts); the central
// solve also asks for few ranks, so that no leader holds O(P) cells; a rank that the pairs leave with more
// than twice its fair share and 64 points has the group spread its points first, so a rank never holds more
// than about four times the mean of its group, whatever the order in which the points came.
//
// A rank that fails on the way tells its group in the next reduction; the group then stops, all other groups
// go on to their end, where all ranks agree.
#include "core/error.hpp"
#include "decompose/group_cut.hpp"
#include "decompose/passage.hpp"
#include "decompose/path_tree.hpp"
#include "decompose/strategies.hpp"
#include "decompose/subtree.hpp"
#include "decompose/tree_gather.hpp"

#include <algorithm>
#include <functional>

namespace graft::decompose {

using core::Status;

namespace {

constexpr int32_t central_ranks = 512; // most ranks of a group that its leader may cut alone

struct Group {
    comm::Communicator* comm = nullptr;
    int first = 0;
    Cell cell{};
    int64_t count = 0;
    Wide weight = 0;

    bool leader() const { return comm->rank() == 0; }
    int64_t most_here() const { return 2 * (count / cell.parts) + 64; }
};

} // namespace

struct HalvingStrategy::State {
    explicit State(core::Memory& memory)
        : cut(memory), passage(memory), solver(memory), items(memory, "points on their way"),
          owners(memory, "owners of points on their way"), splits(memory, "cuts of a small group") {}

    void start(const Problem& problem, Result& result);
    void descend(const Problem& problem);
    void halve(const Problem& problem);
    void enter(const Problem& problem, bool right, const Cell& cell, int64_t count, Wide weight);
    void solve_centrally(const Problem& problem);
    void cut_empty(const Problem& problem);
    void finish(const Problem& problem, Result& result);
    void measure(const Problem& problem, Result& result);
    void allow_in_group(const std::function<void()>& allocate);
    void leave_groups();

    GroupCut cut;
    Passage passage;
    SubtreeSolver solver;
    core::Buffer<Item> items;
    core::Buffer<int32_t> owners;
    core::Buffer<Split> splits;

    Group group;
    std::vector<std::unique_ptr<comm::Communicator>> groups; // all so far: a part may need its whole to live
    std::vector<Cell> path;
    std::exception_ptr error; // of this rank
    bool lost = false;        // this rank or a partner has failed: the group must hear of it
    bool stopped = false;     // the group knows that one of its ranks has failed
    bool spread = false;      // the points have been spread in this group
    bool solved = false;      // by the group's leader
    double count_max = 0, weight_max = 0;
    int64_t rounds = 0, cuts = 0, passes = 0;
    comm::Traffic traffic; // of the groups' communicators
};

void HalvingStrategy::State::start(const Problem& problem, Result& result) {
    const Points& points = problem.points;
    error = nullptr;
    lost = stopped = spread = solved = false;
    count_max = weight_max = 0;
    rounds = cuts = passes = 0;
    traffic = {};
    path.clear();
    groups.clear();
    passage.start();
    group = Group{};
    group.comm = &problem.comm;
    group.cell = root_cell(problem.box, problem.options.parts);
    group.count = problem.count;
    group.weight = problem.weight;
    problem.comm.together([&] {
        cut.reserve_bins(problem.options.bins);
        path.reserve(64);
        groups.reserve(64);
        result.owner.resize(points.n);
        items.resize(std::max(points.n, group.most_here() + group.most_here() / 2));
        items.resize(points.n);
        for (int64_t i = 0; i < points.n; ++i)
            items[i] = {
                {points.x[i], points.y[i], problem.coordinate(2, i)}, problem.weights(i), problem.id_of(i)};
    });
    path.push_back(group.cell);
}

/// Local work that all ranks of the group must be able to do, or the group is stopped.
void HalvingStrategy::State::allow_in_group(const std::function<void()>& allocate) {
    try {
        group.comm->together([&] {
            try {
                if (!error && !lost)
                    allocate();
            } catch (...) {
                error = std::current_exception();
            }
            if (error)
                std::rethrow_exception(error);
            if (lost)
                core::fail(Status::memory, "points were lost where another rank failed");
        });
    } catch (const core::Error& failure) {
        if (failure.status() == Status::communication)
            throw;
        stopped = true;
    }
}

void HalvingStrategy::State::leave_groups() {
    for (; !groups.empty(); groups.pop_back())
        if (groups.back())
            traffic += groups.back()->traffic();
}

void HalvingStrategy::State::enter(const Problem& problem, bool right, const Cell& cell, int64_t count,
                                   Wide weight) {
    if (group.cell.parts > 2) { // two ranks that part need no communicators, nor does one alone
        const int colour = cell.parts == 1 ? -1 : right ? 1 : 0;
        groups.push_back(group.comm->split(colour, problem.comm.rank()));
        group.comm = groups.back().get();
    }
    group.first = cell.first_part;
    group.cell = cell;
    group.count = count;
    group.weight = weight;
    spread = false;
    path.push_back(cell);
}

void HalvingStrategy::State::halve(const Problem& problem) {
    try {
        if (!error)
            cut.reserve(items.size());
    } catch (...) {
        error = std::current_exception();
    }
    Cell& cell = path.back();
    const Options& options = problem.options;
    GroupQuestion question;
    question.goal = CutGoal(group.count, group.weight, cell.parts, options.cap);
    question.slack = problem.slack();
    question.axis = cut_axis(cell, options.dimension);
    question.lower = cell.lower[question.axis];
    question.upper = cell.upper[question.axis];
    question.unit = problem.weights.unit();
    question.bins = options.bins;
    question.few = options.threshold_b;
    const bool gone = error || lost;
    const GroupAnswer answer = cut.find(*group.comm, items.data(), gone ? 0 : items.size(), question, gone,
                                        !spread && items.size() > group.most_here());
    rounds += answer.rounds;
    passes += 2 * answer.rounds;
    stopped = answer.failed;
    if (stopped)
        return;
    if (answer.crowded) {
        passage.spread(*group.comm, group.first, group.count, items, error, lost);
        spread = true;
        stopped = lost; // on all ranks alike
        return;
    }
    ++cuts, ++passes;
    Cell left{}, right{};
    cut_cell(cell, question.axis, answer.cut, left, right);
    const Halves halves{group.first, left.parts, right.parts};
    passage.halve(problem.comm, halves, question.axis, answer.cut, items, error, lost);
    if (problem.comm.rank() >= right.first_part)
        enter(problem, true, right, group.count - answer.count, group.weight - answer.weight);
    else
        enter(problem, false, left, answer.count, answer.weight);
}

/// Phases 7 and 8: the leader gets all points, cuts, and sends back owners and cuts.
void HalvingStrategy::State::solve_centrally(const Problem& problem) {
    TreeGather tree;
    tree.plan(*group.comm, error || lost ? 0 : items.size());
    const Cell cell = path.back();
    allow_in_group([&] {
        items.resize_keep(tree.subtree_items());
        owners.resize(tree.subtree_items());
        splits.resize(cell.parts - 1);
        if (group.leader())
            solver.reserve(group.count);
    });
    if (stopped)
        return;
    tree.gather(*group.comm, items.data(), sizeof(Item));
    if (group.leader()) {
        solver.solve(items.data(), group.count, cell, group.weight, problem.options.dimension,
                     problem.options.cap, owners.data(), splits.data());
        count_max = static_cast<double>(solver.count_max());
        weight_max = to_double(solver.weight_max());
        cuts += cell.parts - 1;
    }
    group.comm->broadcast(splits.data(), splits.size(), 0);
    tree.back(*group.comm, owners.data(), sizeof(int32_t));
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
    while (!stopped && group.count > 0 && path.back().parts > 1 && !solved)
        if (group.count <= options.threshold_a && path.back().parts <= central_ranks)
            solve_centrally(problem);
        else
            halve(problem);
    if (!stopped && !solved && group.count == 0)
        cut_empty(problem);
    leave_groups();
}

void HalvingStrategy::State::measure(const Problem& problem, Result& result) {
    if (!solved) {
        count_max = static_cast<double>(group.count);
        weight_max = to_double(group.weight);
    }
    double most[2] = {count_max, weight_max};
    problem.comm.allreduce(most, 2, comm::Operation::max);
    Statistics& statistics = result.statistics;
    const double parts = problem.options.parts;
    statistics.imbalance_count = problem.count > 0 ? most[0] * parts / static_cast<double>(problem.count) : 1;
    statistics.imbalance_weight = problem.weight > 0 ? most[1] * parts / to_double(problem.weight) : 1;
    statistics.passes = passes;
    statistics.cuts = cuts;
    statistics.iterations_per_cut = cuts > 0 ? static_cast<double>(rounds) / static_cast<double>(cuts) : 0;
    statistics.collectives += traffic.collectives;
    statistics.bytes += traffic.bytes_sent;
    statistics.messages += traffic.messages;
}

void HalvingStrategy::State::finish(const Problem& problem, Result& result) {
    std::shared_ptr<Decomposition> domains;
    try {
        if (!error && !lost && !stopped) {
            if (!solved) {
                owners.resize(items.size());
                std::fill(owners.begin(), owners.end(), problem.comm.rank());
            }
            passage.reserve_back(items.size());
            domains = std::make_shared<PathTree>(problem.options.parts, problem.comm.rank(), path);
        }
    } catch (...) {
        error = std::current_exception();
    }
    problem.comm.agree(error);
    const int32_t* answers = passage.back(problem.comm, owners.data(), items.size());
    std::copy_n(answers, result.owner.size(), result.owner.data());
    result.domains = std::move(domains);
}

HalvingStrategy::HalvingStrategy(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
HalvingStrategy::~HalvingStrategy() = default;

void HalvingStrategy::run(const Problem& problem, Result& result) {
    const double start_s = problem.comm.time_s();
    state_->start(problem, result);
    state_->descend(problem);
    const double cut_s = problem.comm.time_s();
    state_->finish(problem, result);
    state_->measure(problem, result);
    result.statistics.cuts_s = cut_s - start_s;
    result.statistics.partition_s = problem.comm.time_s() - cut_s;
}

} // namespace graft::decompose
