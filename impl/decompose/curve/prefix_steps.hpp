// SPDX-License-Identifier: BSD-3-Clause
// The strategies of the prefix partition, and the steps that they share.
//
// central: keys to rank 0, sorted and cut there (liu2022, equation 2.5). distributed (Strategy::halving):
// points that do not lie in key order over ranks are brought into it by halvings at the key (rank_group.hpp),
// loose ones, by count; then each rank sorts its own, an exclusive scan tells the weight before its first
// point, and the rule (prefix_rule.hpp) gives every point its part (equation 2.6, without O(P) data). level:
// the borders of all parts are searched for together; points stay where they are; O(parts) data. All give the
// same owners.
#pragma once

#include "backend/radix_sort.hpp"
#include "decompose/curve/key_table.hpp"
#include "decompose/curve/prefix_rule.hpp"
#include "decompose/checked_points.hpp"
#include "decompose/halving/rank_group.hpp"
#include "decompose/strategies.hpp"
#include "decompose/orb/tree_gather.hpp"

namespace graft::decompose {

/// Positions of items in the order of (key, id).
class KeyOrder {
  public:
    explicit KeyOrder(core::Memory& memory)
        : sorter_(memory), keys_(memory, "keys to sort"), order_(memory, "key order") {}
    /// Throws Error(memory). n < 2^31.
    void sort(const backend::Executor& executor, const KeyItem* items, int64_t n);
    const int32_t* order() const { return order_.data(); }

  private:
    backend::RadixSorter sorter_;
    core::Buffer<uint64_t> keys_;
    core::Buffer<int32_t> order_;
};

struct PrefixStrategy::State {
    explicit State(core::Memory& memory)
        : group(memory), order(memory), owners(memory, "owners in key order"),
          gathered(memory, "keys on rank 0") {}

    void make_items(const Problem& problem, KeyItem* items) const;
    PrefixRule rule(const Problem& problem) const;
    /// Owners of n items that are sorted, from `place` on; their splitters; the heaviest runs. key_below: the last
    /// key before them, NULL for none.
    void walk(const Problem& problem, const KeyItem* items, int64_t n, const PrefixSum& place,
              PrefixReach reach, const uint64_t* key_below);
    /// The heaviest of the parts that end or are on this rank; begin: of the run that lower ranks end with.
    void weigh_runs(const PrefixRun& below);
    /// Collective. error: what this rank has met. The domains, for add_points() and the result.
    std::shared_ptr<KeyTable> finish(const Problem& problem, std::exception_ptr error, Result& result);

    void run_central(const Problem& problem, Result& result);
    void run_distributed(const Problem& problem, Result& result);
    bool in_order(const Problem& problem);
    std::exception_ptr bring_into_order(const Problem& problem);
    std::exception_ptr cut_sorted(const Problem& problem, std::exception_ptr error);
    void run_level(const Problem& problem, Result& result);

    RankGroup<KeyItem> group;
    KeyOrder order;
    TreeGather tree;
    core::Buffer<int32_t> owners;
    core::Buffer<KeyItem> gathered;

    struct Run {
        int32_t part;
        PrefixSum begin, end;
    };
    std::vector<Run> runs;
    std::vector<Splitter> splitters;
    double count_max = 0, weight_max = 0;
    int64_t rounds = 0, cuts = 0, passes = 0;
    comm::Traffic traffic;
};

} // namespace graft::decompose
