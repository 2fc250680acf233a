// SPDX-License-Identifier: BSD-3-Clause
// The strategies behind Decomposer::run: same input, same owners, different ways of the data.
//
// Each is collective, fills owner, domains, and of the statistics imbalance_*, passes, iterations_per_cut,
// cuts, cuts_s and partition_s; run() adds the traffic and the total. When asked for, the permutation and
// part_offset are filled by run() unless a strategy has done so (part_offset not empty). Each keeps its
// working memory in a State of its own (Decomposer::State holds them all).
#pragma once

#include "decompose/checked_points.hpp"

namespace graft::decompose {

/// All cells of a level together (level.cpp).
class LevelStrategy {
  public:
    explicit LevelStrategy(core::Memory& memory);
    ~LevelStrategy();
    void run(const Problem& problem, Result& result);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Ranks and points halved together (halving.cpp).
class HalvingStrategy {
  public:
    explicit HalvingStrategy(core::Memory& memory);
    ~HalvingStrategy();
    void run(const Problem& problem, Result& result);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Error(argument): more points than one rank can take.
void check_central(int64_t count);

/// Gather, solve with the level strategy on one rank, scatter (central.cpp).
class CentralStrategy {
  public:
    explicit CentralStrategy(core::Memory& memory);
    ~CentralStrategy();
    void run(const Problem& problem, Result& result);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Space-filling-curve partition, central or distributed (prefix.cpp).
class PrefixStrategy {
  public:
    explicit PrefixStrategy(core::Memory& memory);
    ~PrefixStrategy();
    void run(const Problem& problem, Result& result);

    struct State; // prefix_steps.hpp

  private:
    std::unique_ptr<State> state_;
};

} // namespace graft::decompose
