// SPDX-License-Identifier: BSD-3-Clause
// The central strategy: all points to rank 0 along a binomial tree, the level strategy there, owners back.
//
// Equation 2.2 of liu2022: log2 P latencies, every byte once through rank 0's port, O(N log P) work there.
// Rank 0 is the root whoever has most points: a host that gathers needs the memory there anyway. Points
// without ids travel with implied ones, so that ties are cut as everywhere else. Rank 0 holds O(N + parts)
// data, the others no more than their subtree of the binomial tree while the points pass.
#include "core/error.hpp"
#include "decompose/orb/central_tree.hpp"
#include "decompose/strategies.hpp"
#include "decompose/orb/tree_gather.hpp"

#include <bit>
#include <cstring>
#include <limits>

namespace graft::decompose {
namespace {

struct Box6 {
    double lower[3], upper[3];
};

} // namespace

void check_central(int64_t count) {
    if (count > std::numeric_limits<int32_t>::max())
        core::fail(
            core::Status::argument,
            "decompose: the central strategy would bring %lld points to rank 0, which can take %d; use "
            "a distributed strategy",
            static_cast<long long>(count), std::numeric_limits<int32_t>::max());
}

struct CentralStrategy::State {
    explicit State(core::Memory& memory)
        : level(memory), words(memory, "points on their way to rank 0"),
          owners(memory, "owners on rank 0"), column{core::Buffer<double>(memory, "gathered x"),
                                                     core::Buffer<double>(memory, "gathered y"),
                                                     core::Buffer<double>(memory, "gathered z"),
                                                     core::Buffer<double>(memory, "gathered cost")},
          id(memory, "gathered ids"), boxes(memory, "boxes of the parts"), solved(memory) {}

    void pack(const Problem& problem);
    void solve(const Problem& problem);
    void fill_boxes();
    void agree(comm::Communicator& comm, const std::exception_ptr& error, Statistics& statistics) const;

    LevelStrategy level;
    TreeGather tree, ranks;
    core::Buffer<uint64_t> words; // per point: the columns there are, then the id
    core::Buffer<int32_t> owners;
    core::Buffer<double> column[4];
    core::Buffer<int64_t> id;
    core::Buffer<Box6> boxes;
    Result solved;
    bool has[4] = {}; // x, y, z, cost
    int64_t words_per_point = 0;
};

void CentralStrategy::State::pack(const Problem& problem) {
    const Points& points = problem.points;
    const double* source[4] = {points.x, points.y, points.z, points.cost};
    words.resize(tree.subtree_items() * words_per_point);
    owners.resize(tree.subtree_items());
    uint64_t* word = words.data();
    for (int64_t i = 0; i < points.n; ++i) {
        for (int c = 0; c < 4; ++c)
            if (has[c])
                *word++ = std::bit_cast<uint64_t>(source[c][i]);
        *word++ = static_cast<uint64_t>(problem.id_of(i));
    }
}

/// On rank 0: the gathered points as one rank's, and their partition.
void CentralStrategy::State::solve(const Problem& problem) {
    const int64_t n = problem.count;
    check_central(n);
    for (int c = 0; c < 4; ++c)
        column[c].resize(has[c] ? n : 0);
    id.resize(n);
    const uint64_t* word = words.data();
    for (int64_t i = 0; i < n; ++i) {
        for (int c = 0; c < 4; ++c)
            if (has[c])
                column[c][i] = std::bit_cast<double>(*word++);
        id[i] = static_cast<int64_t>(*word++);
    }
    const auto data = [&](int c) { return has[c] ? column[c].data() : nullptr; };
    const Points points{n, data(0), data(1), data(2), data(3), id.data()};
    Options options = problem.options;
    options.strategy = Strategy::level;
    comm::Communicator alone;
    solved.statistics = {};
    level.run(prepare(alone, problem.executor, options, points, false), solved);
    std::copy_n(solved.owner.data(), n, owners.data());
}

/// On rank 0: the boxes to send.
void CentralStrategy::State::fill_boxes() {
    for (int32_t part = 0; part < boxes.size(); ++part) {
        const geometry::Box box = solved.domains->box_of(part);
        std::copy_n(box.lower, 3, boxes[part].lower);
        std::copy_n(box.upper, 3, boxes[part].upper);
    }
}

/// Collective. Rank 0 tells how well it did, and all whether anything is wrong.
void CentralStrategy::State::agree(comm::Communicator& comm, const std::exception_ptr& error,
                                   Statistics& statistics) const {
    const Statistics& mine = solved.statistics;
    double told[6] = {
        mine.imbalance_count,    mine.imbalance_weight,          static_cast<double>(mine.passes),
        mine.iterations_per_cut, static_cast<double>(mine.cuts), error ? 1.0 : 0.0};
    if (comm.rank() != 0)
        std::fill_n(told, 5, 0.0);
    comm.allreduce(told, 6, comm::Operation::max);
    if (told[5] > 0)
        comm.agree(error);
    statistics.imbalance_count = told[0];
    statistics.imbalance_weight = told[1];
    statistics.passes = static_cast<int64_t>(told[2]);
    statistics.iterations_per_cut = told[3];
    statistics.cuts = static_cast<int64_t>(told[4]);
}

CentralStrategy::CentralStrategy(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
CentralStrategy::~CentralStrategy() = default;

void CentralStrategy::run(const Problem& problem, Result& result) {
    State& state = *state_;
    comm::Communicator& comm = problem.comm;
    if (comm.alone()) {
        state.level.run(problem, result);
        return;
    }
    const double start_s = comm.time_s();
    const bool root = comm.rank() == 0;
    const bool has[4] = {true, true, problem.options.dimension == 3, !problem.weights.unit()};
    std::copy_n(has, 4, state.has);
    state.words_per_point = 3 + (has[2] ? 1 : 0) + (has[3] ? 1 : 0);
    const bool own = problem.options.parts == comm.size(); // every rank learns the box of its part
    state.tree.plan(comm, problem.points.n);
    state.ranks.plan_one_each(comm);
    comm.together([&] {
        result.owner.resize(problem.points.n);
        state.pack(problem);
        state.boxes.resize(own ? state.ranks.subtree_items() : 0);
    });
    state.tree.gather(comm, state.words.data(), state.words_per_point * 8);
    const double gathered_s = comm.time_s();
    std::shared_ptr<CentralTree> tree;
    const std::exception_ptr error = caught([&] {
        std::vector<Cell> cells;
        if (root) {
            state.solve(problem);
            cells = state.solved.domains->cells();
            state.fill_boxes();
        }
        tree = std::make_shared<CentralTree>(problem.options.parts, std::move(cells));
    });
    state.agree(comm, error, result.statistics);
    const double cut_s = comm.time_s();
    state.tree.back(comm, state.owners.data(), sizeof(int32_t));
    std::copy_n(state.owners.data(), problem.points.n, result.owner.data());
    if (own) {
        state.ranks.back(comm, state.boxes.data(), sizeof(Box6));
        geometry::Box box;
        std::copy_n(state.boxes[0].lower, 3, box.lower);
        std::copy_n(state.boxes[0].upper, 3, box.upper);
        tree->set_own(comm.rank(), box);
    }
    result.domains = tree;
    result.statistics.gather_s = gathered_s - start_s;
    result.statistics.cuts_s = cut_s - start_s;
    result.statistics.partition_s = comm.time_s() - cut_s;
}

} // namespace graft::decompose
