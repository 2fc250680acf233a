// SPDX-License-Identifier: BSD-3-Clause
// The level strategy with records on a device (a fake one, see fake/): the same cells, owners and order as on
// the CPU, whichever ranks have one, and one error on all ranks when a device breaks.
#include "gpu_runs.hpp"
#include "fake/records_gpu.hpp"

#include "fake_library.hpp"

using namespace sets;
using namespace device_runs;

namespace {

fake::Control& control() {
    return graft::test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
}

int32_t odd(int rank) {
    return rank % 2 == 1 ? rank : no_device;
}

void compare(const oracle::Set& set, const Options& options, const Borders& border, const std::string& name) {
    const auto wanted = run(set, options, border, no_rank);
    control().starts = 0;
    expect_same(run(set, options, border, every_rank), wanted, name + ", all on devices");
    EXPECT_EQ(control().starts, options.parts > 1 ? static_cast<int64_t>(border.size()) - 1 : 0);
    expect_same(run(set, options, border, odd), wanted, name + ", odd ranks on devices");
}

} // namespace

TEST(DeviceRecords, EveryKindOfSetOnSomeRanks) {
    control();
    for (const Kind kind :
         {Kind::uniform, Kind::clustered, Kind::lattice, Kind::one_place, Kind::two_places, Kind::line})
        for (const int ranks : {2, 3, 4})
            for (const int32_t parts : {1, 2, 3, 5, 7, 64}) {
                const int64_t n = 700;
                oracle::Set set = make(kind, n, 5, ranks == 3);
                if (ranks == 4)
                    add_costs(set, 4, 1);
                Options options;
                options.parts = parts;
                const std::string name = "kind " + std::to_string(static_cast<int>(kind)) + " ranks " +
                                         std::to_string(ranks) + " parts " + std::to_string(parts);
                compare(set, options, even(n, ranks), name);
                compare(set, options, all_on(n, ranks, 1), name + " all on rank 1");
            }
}

TEST(DeviceRecords, FindersTolerancesAndCaps) {
    control();
    oracle::Set set = make(Kind::clustered, 30011, 9);
    for (const bool weighted : {false, true}) {
        if (weighted)
            add_costs(set, 4, 1);
        for (const CutFinder finder : {CutFinder::bisection, CutFinder::histogram, CutFinder::sampled})
            for (const double tolerance : {0.0, 0.02}) {
                Options options;
                options.parts = 40;
                options.finder = finder;
                options.tolerance = tolerance;
                options.cap = finder == CutFinder::histogram ? 900 : 0;
                compare(set, options, uneven(30011, 3, 2),
                        "finder " + std::to_string(static_cast<int>(finder)) + " tolerance " +
                            std::to_string(tolerance) + (weighted ? " weighted" : ""));
            }
    }
    Options many;
    many.parts = 1000;
    compare(make(Kind::uniform, 20000, 3), many, even(20000, 2), "1000 parts");
}

TEST(DeviceRecords, AFullDeviceLeavesItsRankToTheCpu) {
    control().refusing = 1;
    const oracle::Set set = make(Kind::uniform, 5000, 3);
    Options options;
    options.parts = 12;
    const auto some = run(set, options, even(5000, 3), every_rank);
    control().refusing = -1;
    expect_same(some, run(set, options, even(5000, 3), no_rank), "full device");
    EXPECT_EQ(some[0].statistics.on_device, 1);
    EXPECT_EQ(some[1].statistics.on_device, 0);
}

TEST(DeviceRecords, ABrokenDeviceIsOneErrorOnAllRanks) {
    for (const Kind kind : {Kind::uniform, Kind::one_place}) {
        const oracle::Set set = make(kind, 3000, 3);
        Options options;
        options.parts = 6;
        options.device = device_by_rank;
        options.device_least = 0;
        bool broke = true;
        for (int64_t call = 0; broke; ++call) {
            ASSERT_LT(call, 200);
            control().failing_call = call, control().calls = 0, control().failing = 1;
            std::atomic<int> failed{0};
            comm::run_ranks(3, [&](comm::Communicator& comm) {
                core::Memory memory;
                Decomposer decomposer(memory);
                Result result(memory);
                try {
                    decomposer.run(comm, backend::Executor{memory, 1}, options,
                                   share_of(set, 1000 * comm.rank(), 1000 * comm.rank() + 1000), false,
                                   result);
                } catch (const core::Error& error) {
                    EXPECT_EQ(error.status(), core::Status::device) << error.what();
                    ++failed;
                }
                EXPECT_EQ(comm.sum(int64_t{1}), 3); // still good
            });
            broke = control().calls > call;
            EXPECT_EQ(failed, broke ? 3 : 0) << "call " << call;
        }
        control().failing = -1;
    }
}
