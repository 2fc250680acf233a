// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are not there: every rank is a fiber of the calling thread with a clock of its own, so that the
// distributed algorithms run unchanged on tens of thousands of ranks of a machine of given latency and
// bandwidth.
//
// Data is really exchanged; time is computed. A message of b bytes costs alpha + beta b along the algorithm
// that MPICH would choose (study/simulate/simulated_cost.hpp); computation between two calls of the communicator costs
// the thread time it took here, or gamma seconds for every elementary step counted (backend/step_count.hpp), which
// makes two runs equal to the last bit. A collective is worked out when its last rank arrives, in O(P log P)
// arithmetic and without switching fibers per message. Point to point: each rank has one port each way that
// takes one message after the other; sends are buffered. Ranks run in a fixed order, so everything but
// measured time is deterministic. When no rank can go on, every waiting call fails with a text that says
// which ranks wait for what. Source: liu2022 section 2.1.3.
#pragma once

#include "comm/communicator.hpp"
#include "study/simulate/simulated_cost.hpp"
#include "core/memory.hpp"

#include <functional>
#include <memory>

namespace graft::study {

struct SimulatorOptions {
    int32_t ranks = 1;
    Network network;
    double gamma_s = -1;       // seconds per elementary step; negative: measured thread time
    double measured_scale = 1; // seconds on a simulated rank per second measured here
    /// A split gathers the colours and keys of all ranks on all ranks, this many bytes each, as
    /// MPI_Comm_split does. 0: it costs nothing (parts that are ranges of ranks can be made without asking).
    int64_t split_bytes = 8;
    int64_t stack_bytes = 256 << 10; // per rank; only touched pages cost memory
};

struct SimulatorReport {
    double time_s = 0; // the latest clock
    double wall_s = 0;
    int64_t messages = 0, bytes = 0; // all hops of all collectives, and point to point
    int64_t collectives = 0;         // each counted once for all its ranks
    int64_t switches = 0;
    /// By what was called: barrier, broadcast, allreduce, allgather, alltoall, split, messages.
    struct Kind {
        int64_t calls = 0, messages = 0, bytes = 0;
    };
    Kind kinds[7];
    int64_t rank_bytes_peak = 0; // most bytes that one rank held through its core::Memory
};

class Simulator {
  public:
    /// Throws Error(argument) for fewer than one rank, a negative alpha or beta, or a node size below one.
    explicit Simulator(const SimulatorOptions& options);
    ~Simulator();
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;

    /// What one rank does: its communicator, and memory of its own whose peak is reported.
    using Body = std::function<void(comm::Communicator&, core::Memory&)>;
    /// Runs the body on all ranks, clocks from zero, until all have ended. An exception that leaves a body is
    /// kept, the other ranks run on; afterwards that of the first rank to fail is thrown.
    /// Not to be called from inside a body.
    void run(const Body& body);

    /// Of the last run.
    const SimulatorReport& report() const;
    double time_s() const { return report().time_s; }
    /// The clock of one rank at its end.
    double time_s(int32_t rank) const;

    /// The simulated rank whose own code runs on this thread now; -1: none, or the simulator's.
    static int32_t current_rank() noexcept;

    struct State; // simulated_state.hpp

  private:
    std::unique_ptr<State> state_;
};

} // namespace graft::study
