// SPDX-License-Identifier: BSD-3-Clause
// ORB over several ranks with each rank's points on a GPU: the CPU's distributed run to the bit. Ranks go
// round the GPUs there are. Needs libgraft_cuda.so beside the program (or GRAFT_CUDA_LIBRARY).
#include "../../unit/decompose/gpu_runs.hpp"

#include "backend/gpu_library.hpp"
#include "device_fixture.cuh"

#include <cmath>

namespace graft::test {
namespace {

using namespace device_runs;

class RanksTest : public DeviceTest {
  protected:
    void SetUp() override {
        DeviceTest::SetUp();
        std::string why;
        if (!IsSkipped() && backend::find_cuda(&why) == nullptr)
            GTEST_SKIP() << why;
    }

    static void compare(const oracle::Set& set, const Options& options, const Borders& border,
                        const std::string& name) {
        SCOPED_TRACE(name + " parts " + std::to_string(options.parts) + " ranks " +
                     std::to_string(border.size() - 1));
        const auto on_devices = run(set, options, border, every_rank);
        for (const device_runs::Outcome& outcome : on_devices)
            EXPECT_EQ(outcome.statistics.on_device, options.parts > 1 ? 1 : 0);
        expect_same(on_devices, run(set, options, border, no_rank), name);
    }
};

Options of(int32_t parts) {
    Options options;
    options.parts = parts;
    return options;
}

TEST_F(RanksTest, EveryKindOfSet) {
    Cases cases(23);
    for (const Kind kind :
         {Kind::uniform, Kind::clustered, Kind::lattice, Kind::one_place, Kind::two_places, Kind::line})
        for (const int ranks : {2, 3, 4})
            for (const int32_t parts : {2, 3, 5, 7, 64, 1000}) {
                if (cases.skip())
                    continue;
                oracle::Set set = make(kind, 9001, 5, ranks == 3);
                if (ranks == 4)
                    add_costs(set, 4, 1);
                const std::string name = "kind " + std::to_string(static_cast<int>(kind));
                compare(set, of(parts), even(9001, ranks), name);
                if (parts == 7)
                    compare(set, of(parts), all_on(9001, ranks, 1), name + ", all on rank 1");
            }
}

TEST_F(RanksTest, FewPoints) {
    Cases cases(5);
    for (const int64_t n : {0, 1, 2, 3, 17, 300})
        for (const int32_t parts : {1, 2, 5, 64}) {
            if (cases.skip())
                continue;
            compare(make(Kind::uniform, n, 3), of(parts), even(n, 3), "few " + std::to_string(n));
        }
}

TEST_F(RanksTest, FindersTolerancesCapsAndMix) {
    const int64_t n = test_size(30011, 6011);
    oracle::Set set = make(Kind::clustered, n, 9);
    for (const bool weighted : {false, true}) {
        if (weighted)
            add_costs(set, 4, 1);
        for (const CutFinder finder : {CutFinder::bisection, CutFinder::histogram, CutFinder::sampled})
            for (const double tolerance : {0.0, 0.02}) {
                if (small_inputs() && weighted == (tolerance == 0))
                    continue; // every finder once with each
                Options options = of(40);
                options.finder = finder;
                options.tolerance = tolerance;
                options.cap = finder == CutFinder::histogram ? n * 3 / 100 : 0;
                options.mix = finder == CutFinder::sampled ? 0.5 : 1;
                options.bins = finder == CutFinder::histogram && tolerance > 0 ? 16384 : 0;
                compare(set, options, uneven(n, 3, 2),
                        "finder " + std::to_string(static_cast<int>(finder)) + (weighted ? " weighted" : ""));
            }
    }
}

TEST_F(RanksTest, TwoDimensions) {
    const int64_t n = test_size(20011, 5003);
    oracle::Set set = make(Kind::clustered, n, 9);
    set.z.clear();
    Options options = of(37);
    options.dimension = 2;
    compare(set, options, even(n, 2), "2-D");
}

TEST_F(RanksTest, SmallEnoughForSanitizers) {
    oracle::Set set = make(Kind::lattice, 5003, 9, true);
    compare(set, of(7), even(5003, 2), "lattice, ids");
    set = make(Kind::clustered, 5003, 9);
    add_costs(set, 4, 1);
    compare(set, of(20), even(5003, 2), "weighted");
}

TEST_F(RanksTest, ManyPoints) {
    const int64_t many = test_size(1000003, 20011), some = test_size(300007, 10007);
    oracle::Set set = make(Kind::clustered, many, 9);
    compare(set, of(1000), even(many, 2), "many");
    add_costs(set, 4, 1);
    compare(set, of(64), even(many, 4), "many, weighted");
    compare(make(Kind::lattice, some, 2), of(129), even(some, 2), "lattice");
    compare(make(Kind::one_place, some, 2), of(5), even(some, 2), "one place");
}

TEST_F(RanksTest, ADeviceThatDoesNotExistLeavesItToTheCpu) {
    const oracle::Set set = make(Kind::uniform, 5000, 3);
    const auto some = run(set, of(12), even(5000, 2), [](int rank) { return rank == 1 ? 1000 : 0; });
    EXPECT_EQ(some[0].statistics.on_device, 1);
    EXPECT_EQ(some[1].statistics.on_device, 0);
    expect_same(some, run(set, of(12), even(5000, 2), no_rank), "half on a device");
}

} // namespace
} // namespace graft::test
