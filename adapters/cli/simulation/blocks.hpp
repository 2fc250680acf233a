// SPDX-License-Identifier: BSD-3-Clause
// The particles of a run over the ranks: given out by rank 0, moved to where they belong, brought together
// for files. With one rank nothing is moved. Invariant: state.place[i] is the place of particle i in the
// input, so that files keep the order of the input whatever the ranks did.
#pragma once

#include "ranks/ranks.hpp"
#include "simulation/state.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace graft::cli {

class Blocks {
  public:
    explicit Blocks(Ranks& ranks) : ranks_(ranks) {}

    /// Rank 0's state to all: its numbers to everyone, its particles in contiguous blocks. Names of bodies
    /// stay on rank 0.
    void scatter(State& state);
    /// Gives every rank a compact part of space of equal particle count (Graft's decomposition).
    void decompose(State& state, Solver& solver);
    /// The same by measured work, where the library finds it worth its cost.
    void balance(State& state, Solver& solver);
    /// The state of all ranks on rank 0, in the order of the input; the others get an empty one.
    State gather(const State& state);

  private:
    void move(State& state, Solver& solver, const std::vector<std::int32_t>& owner);

    Ranks& ranks_;
    std::vector<std::string> names_; // of all, on rank 0
};

} // namespace graft::cli
