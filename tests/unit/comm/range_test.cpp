// SPDX-License-Identifier: BSD-3-Clause
// Ranges: every collective against what it must deliver, and the price, on simulated ranks.
#include "comm/rank_range.hpp"
#include "study/simulate/simulated_ranks.hpp"
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using graft::comm::Communicator;
using graft::comm::Operation;
using graft::comm::Range;
using graft::comm::Request;
using graft::study::Simulator;
using graft::study::SimulatorOptions;
using graft::core::Memory;

SimulatorOptions options_of(int ranks) {
    SimulatorOptions options;
    options.ranks = ranks;
    options.network.alpha_s = 1e-5;
    options.network.beta_s_per_byte = 1e-9;
    options.gamma_s = 0;
    return options;
}

void run(int ranks, const Simulator::Body& body) {
    Simulator simulator(options_of(ranks));
    simulator.run(body);
}

/// All collectives of a range of the ranks [first, first + count).
void try_all(Communicator& whole, int first, int count) {
    Range range(whole, first, count);
    Communicator& comm = range.comm();
    ASSERT_EQ(comm.size(), count);
    ASSERT_EQ(comm.rank(), whole.rank() - first);
    comm.barrier();
    EXPECT_EQ(comm.sum(int64_t{comm.rank() + 1}), int64_t{count} * (count + 1) / 2);
    EXPECT_EQ(comm.max(comm.rank() * 1.5), (count - 1) * 1.5);
    EXPECT_EQ(comm.min(comm.rank() + 3), 3);
    for (int root = 0; root < count; root += 3) {
        std::vector<int64_t> data(7, comm.rank() == root ? root + 100 : 0);
        comm.broadcast(data.data(), 7, root);
        EXPECT_EQ(data[6], root + 100);
    }
    std::vector<int64_t> bytes, offset;
    int64_t total = 0;
    for (int r = 0; r < count; ++r) { // block r: r % 4 letters, in reverse places
        bytes.push_back(r % 4);
        total += r % 4;
    }
    for (int r = 0, end = static_cast<int>(total); r < count; ++r)
        offset.push_back(end -= r % 4);
    const std::string mine(static_cast<size_t>(comm.rank() % 4), static_cast<char>('a' + comm.rank() % 26));
    std::string all(static_cast<size_t>(total), '?');
    comm.allgatherv_bytes(mine.data(), comm.rank() % 4, all.data(), bytes.data(), offset.data());
    for (int r = 0; r < count; ++r)
        for (int64_t k = 0; k < r % 4; ++k)
            EXPECT_EQ(all[static_cast<size_t>(offset[static_cast<size_t>(r)] + k)], 'a' + r % 26);
    const auto size = static_cast<size_t>(count);
    std::vector<int64_t> eight(size, 8), at(size), out(size), in(size);
    for (size_t r = 0; r < size; ++r) {
        at[r] = static_cast<int64_t>(8 * r);
        out[r] = 1000 * comm.rank() + static_cast<int64_t>(r);
    }
    comm.alltoallv_bytes(out.data(), eight.data(), at.data(), in.data(), eight.data(), at.data());
    for (size_t r = 0; r < size; ++r)
        EXPECT_EQ(in[r], static_cast<int64_t>(1000 * r) + comm.rank());
    int64_t from_left = -1, own = comm.rank();
    std::vector<Request> requests{comm.irecv(&from_left, 8, (comm.rank() + count - 1) % count, 5),
                                  comm.isend(&own, 8, (comm.rank() + 1) % count, 5)};
    comm.wait_all(requests);
    EXPECT_EQ(from_left, (comm.rank() + count - 1) % count);
}

TEST(Range, EveryCollectiveInEveryRange) {
    for (const int ranks : {1, 2, 3, 5, 8, 13})
        for (int first = 0; first < ranks; ++first)
            for (int count = 1; count <= ranks - first; ++count)
                run(ranks, [&](Communicator& whole, Memory&) {
                    if (whole.rank() >= first && whole.rank() < first + count)
                        try_all(whole, first, count);
                });
}

TEST(Range, HalvesOfHalvesSideBySide) {
    run(37, [](Communicator& whole, Memory&) {
        int first = 0, count = 37;
        while (count > 1) {
            try_all(whole, first, count);
            const int left = (count + 1) / 2;
            const bool right = whole.rank() >= first + left;
            first += right ? left : 0;
            count = right ? count - left : left;
        }
    });
}

TEST(Range, SumsHaveTheSameBitsOnAllRanks) {
    std::vector<double> sums(11);
    run(11, [&](Communicator& whole, Memory&) {
        Range range(whole, 0, 11);
        sums[static_cast<size_t>(whole.rank())] = range.comm().sum(0.1 / (1 + whole.rank() * whole.rank()));
    });
    for (const double sum : sums)
        EXPECT_EQ(sum, sums[0]);
}

TEST(Range, CostsNothingToMakeAndLogPToUse) {
    Simulator simulator(options_of(64));
    simulator.run([](Communicator& whole, Memory&) {
        Range range(whole, whole.rank() / 32 * 32, 32);
        EXPECT_EQ(whole.time_s(), 0);
        range.comm().sum(int64_t{1});
    });
    EXPECT_NEAR(simulator.time_s(), 5 * (1e-5 + 8e-9), 1e-12);
}

TEST(Range, ErrorsAreAgreedWithinTheRange) {
    int failed = 0;
    run(8, [&](Communicator& whole, Memory&) {
        Range range(whole, whole.rank() / 4 * 4, 4);
        try {
            range.comm().together([&] {
                if (whole.rank() == 6)
                    graft::core::fail(graft::core::Status::value, "a bad value");
            });
        } catch (const graft::core::Error& error) {
            EXPECT_EQ(error.status(), graft::core::Status::value);
            EXPECT_GE(whole.rank(), 4);
            ++failed;
        }
        whole.barrier(); // the whole is still good
    });
    EXPECT_EQ(failed, 4);
}

TEST(Range, ARankThatGivesUpReleasesTheOthers) {
    int released = 0;
    run(6, [&](Communicator& whole, Memory&) {
        Range range(whole, whole.rank() / 3 * 3, 3);
        try {
            range.comm().guarded([&] {
                if (whole.rank() == 1)
                    throw std::runtime_error("broke down");
                range.comm().barrier();
            });
            whole.barrier();
        } catch (const graft::core::Error& error) {
            EXPECT_NE(std::string(error.what()).find("broke down"), std::string::npos) << error.what();
            ++released;
        }
    });
    EXPECT_EQ(released, 6);
}

TEST(Range, RefusesRanksOutside) {
    run(4, [](Communicator& whole, Memory&) {
        if (whole.rank() != 2)
            return;
        EXPECT_THROW(Range(whole, 0, 2), graft::core::Error);
        EXPECT_THROW(Range(whole, 2, 3), graft::core::Error);
        EXPECT_THROW(Range(whole, 2, 1).comm().split(0, 0), graft::core::Error);
    });
}

} // namespace
