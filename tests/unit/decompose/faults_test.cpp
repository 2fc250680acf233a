// SPDX-License-Identifier: BSD-3-Clause
// Every communicator call that a partition makes fails in turn, on every rank, before and after the
// underlying call: all ranks end with the communication status, none hangs, none succeeds alone.
#include "faulty_comm.hpp"
#include "sets_on_ranks.hpp"

using namespace sets;

namespace {

void sweep(Options options, int ranks) {
    oracle::Set set = make(Kind::lattice, 60, 3, true);
    add_costs(set, 4, 1);
    options.parts = ranks;
    options.threshold_b = 6;
    const Borders border = all_on(60, ranks, 0);
    const auto body = [&](graft_comm_v1* table) {
        comm::Communicator comm(table);
        core::Memory memory;
        const backend::Executor executor{memory, 1};
        Decomposer decomposer(memory);
        Result result(memory);
        const auto r = static_cast<size_t>(comm.rank());
        comm.guarded([&] {
            decomposer.run(comm, executor, options, share_of(set, border[r], border[r + 1]), false, result);
            result.domains->complete(comm);
            comm.conclude();
        });
    };
    test::sweep_faults(
        ranks, body,
        [&](const test::FaultyRun& run, int rank, int64_t at, test::FaultTime, bool is_last) {
            ASSERT_TRUE(run.faults[static_cast<size_t>(rank)]->fired);
            for (const std::exception_ptr& error : run.errors) {
                // The very last call is conclude()'s meeting: by then all have agreed that all is well.
                ASSERT_EQ(error == nullptr, is_last) << "call " << at << " of rank " << rank;
                try {
                    if (error)
                        std::rethrow_exception(error);
                } catch (const core::Error& e) {
                    EXPECT_EQ(e.status(), core::Status::communication) << e.what();
                }
            }
        },
        5);
}

} // namespace

TEST(Faults, Halving) {
    Options options;
    options.strategy = Strategy::halving;
    options.threshold_a = 0;
    sweep(options, 4);
    options.threshold_a = 40;
    sweep(options, 4);
}

TEST(Faults, Central) {
    Options options;
    options.strategy = Strategy::central;
    sweep(options, 3);
}

TEST(Faults, Prefix) {
    Options options;
    options.shape = Shape::prefix;
    for (const Strategy strategy : {Strategy::central, Strategy::halving, Strategy::level}) {
        options.strategy = strategy;
        sweep(options, 4);
    }
}
