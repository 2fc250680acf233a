// SPDX-License-Identifier: BSD-3-Clause
// Simulated ranks: clocks against closed forms, data against what MPI would deliver, failures and deadlocks.
#include "study/simulate/simulated_ranks.hpp"

#include "backend/step_count.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using graft::comm::Communicator;
using graft::comm::Operation;
using graft::comm::Request;
using graft::study::Simulator;
using graft::study::SimulatorOptions;
using graft::core::Memory;

constexpr double alpha = 3e-6, beta = 2e-9;

SimulatorOptions options_of(int ranks) {
    SimulatorOptions options;
    options.ranks = ranks;
    options.network.alpha_s = alpha;
    options.network.beta_s_per_byte = beta;
    options.gamma_s = 0; // computing is free: the clocks show messages only
    return options;
}

double time_of(int ranks, const Simulator::Body& body) {
    Simulator simulator(options_of(ranks));
    simulator.run(body);
    return simulator.time_s();
}

int ceil_log2(int n) {
    int depth = 0;
    while ((1 << depth) < n)
        ++depth;
    return depth;
}

const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 64, 100, 1000, 1024};

TEST(Simulated, BroadcastDeliversAtTheBinomialTreesPrice) {
    for (const int ranks : sizes) {
        const double time_s = time_of(ranks, [](Communicator& comm, Memory&) {
            std::vector<int64_t> data(125, comm.rank() == 0 ? 42 : 0);
            comm.broadcast(data.data(), 125, 0);
            EXPECT_EQ(std::count(data.begin(), data.end(), 42), 125);
        });
        EXPECT_NEAR(time_s, ceil_log2(ranks) * (alpha + beta * 1000), 1e-15) << ranks;
    }
}

TEST(Simulated, LongBroadcastIsScatterAndAllgather) {
    const int ranks = 64;
    const int64_t bytes = 1 << 18; // in all: less than where the ring begins
    const double time_s = time_of(ranks, [&](Communicator& comm, Memory&) {
        std::vector<char> data(bytes, comm.rank() == 5 ? 'x' : 'o');
        comm.broadcast(data.data(), bytes, 5);
        EXPECT_EQ(data.back(), 'x');
    });
    const double share = 1.0 - 1.0 / ranks;
    EXPECT_NEAR(time_s, 2 * (6 * alpha + share * bytes * beta), 1e-12);
}

TEST(Simulated, BarrierIsDissemination) {
    for (const int ranks : sizes)
        EXPECT_NEAR(time_of(ranks, [](Communicator& comm, Memory&) { comm.barrier(); }),
                    ceil_log2(ranks) * alpha, 1e-15);
}

TEST(Simulated, BarrierWaitsForTheLatest) {
    SimulatorOptions options = options_of(100);
    options.gamma_s = 1e-3;
    Simulator simulator(options);
    simulator.run([](Communicator& comm, Memory&) {
        if (comm.rank() == 37)
            graft::backend::count_work(5000);
        comm.barrier();
        EXPECT_GE(comm.time_s(), 5.0 + alpha); // nobody has left before it came
    });
    EXPECT_NEAR(simulator.time_s(), 5.0 + 7 * alpha, 1e-12);
}

TEST(Simulated, ShortAllreduceIsRecursiveDoubling) {
    for (const int ranks : sizes) {
        const double time_s = time_of(ranks, [&](Communicator& comm, Memory&) {
            int64_t values[3] = {comm.rank(), 1, -comm.rank()};
            comm.allreduce(values, 3, Operation::sum);
            EXPECT_EQ(values[0], int64_t{ranks} * (ranks - 1) / 2);
            EXPECT_EQ(values[1], ranks);
            EXPECT_EQ(comm.max(comm.rank() * 0.5), (ranks - 1) * 0.5);
            EXPECT_EQ(comm.min(comm.rank() + 7), 7);
        });
        const bool power = (ranks & (ranks - 1)) == 0;
        const int rounds = power ? ceil_log2(ranks) : ceil_log2(ranks) - 1 + 2; // folding in and out
        const double expected = rounds * (3 * alpha + beta * (24 + 8 + 4));
        EXPECT_LE(time_s, expected + 1e-15) << ranks; // folds of consecutive calls overlap
        EXPECT_GE(time_s, power ? expected - 1e-15 : expected / 2) << ranks;
    }
}

TEST(Simulated, LongAllreduceIsReduceScatterAndAllgather) {
    const int ranks = 256;
    const int64_t count = 1 << 16;
    const double time_s = time_of(ranks, [&](Communicator& comm, Memory&) {
        std::vector<double> values(count, 1.0);
        comm.allreduce(values.data(), count, Operation::sum);
        EXPECT_EQ(values[count - 1], ranks);
    });
    const double bytes = 8.0 * count;
    EXPECT_NEAR(time_s, 2 * (8 * alpha + (1.0 - 1.0 / ranks) * bytes * beta), 1e-12);
}

double allgather_time(int ranks, int64_t count) {
    return time_of(ranks, [&](Communicator& comm, Memory&) {
        std::vector<int32_t> mine(static_cast<size_t>(count), comm.rank());
        std::vector<int32_t> all(static_cast<size_t>(count * ranks), -1);
        comm.allgather(mine.data(), count, all.data());
        for (int r = 0; r < ranks; ++r)
            EXPECT_EQ(all[static_cast<size_t>(r * count + count - 1)], r);
    });
}

TEST(Simulated, AllgatherByDoublingBruckAndRing) {
    EXPECT_NEAR(allgather_time(64, 10), 6 * alpha + 63 * 40 * beta, 1e-15);     // doubling
    EXPECT_NEAR(allgather_time(100, 10), 7 * alpha + 99 * 40 * beta, 1e-15);    // Bruck
    EXPECT_NEAR(allgather_time(100, 1000), 99 * (alpha + 4000 * beta), 1e-12);  // ring
    EXPECT_NEAR(allgather_time(256, 1000), 255 * (alpha + 4000 * beta), 1e-12); // ring, too long for doubling
}

TEST(Simulated, AllgatherOfUnequalBlocksDelivers) {
    time_of(6, [](Communicator& comm, Memory&) {
        const std::string mine(static_cast<size_t>(comm.rank()), static_cast<char>('a' + comm.rank()));
        const int64_t bytes[] = {0, 1, 2, 3, 4, 5}, offset[] = {0, 0, 1, 3, 6, 10};
        std::string all(15, '?');
        comm.allgatherv_bytes(mine.data(), comm.rank(), all.data(), bytes, offset);
        EXPECT_EQ(all, "bccdddeeeefffff");
    });
}

TEST(Simulated, AlltoallSendsOnlyWhatIsThere) {
    const int ranks = 16;
    Simulator simulator(options_of(ranks));
    simulator.run([&](Communicator& comm, Memory&) { // a shift by 3, 800 bytes each
        const int to = (comm.rank() + 3) % ranks, from = (comm.rank() + ranks - 3) % ranks;
        std::vector<int64_t> send_bytes(ranks, 0), receive_bytes(ranks, 0), offset(ranks, 0);
        send_bytes[static_cast<size_t>(to)] = receive_bytes[static_cast<size_t>(from)] = 800;
        std::vector<double> out(100, comm.rank()), in(100, -1);
        comm.alltoallv_bytes(out.data(), send_bytes.data(), offset.data(), in.data(), receive_bytes.data(),
                             offset.data());
        EXPECT_EQ(in[99], from);
    });
    EXPECT_NEAR(simulator.time_s(), alpha + 800 * beta, 1e-15);
    EXPECT_EQ(simulator.report().messages, ranks);
    EXPECT_EQ(simulator.report().bytes, ranks * 800);
}

TEST(Simulated, OneReceiverTakesOneMessageAfterTheOther) {
    const int ranks = 33;
    const double time_s = time_of(ranks, [&](Communicator& comm, Memory&) {
        std::vector<Request> requests;
        std::vector<char> data(100 * ranks, static_cast<char>(comm.rank()));
        for (int from = 1; from < ranks && comm.rank() == 0; ++from)
            requests.push_back(comm.irecv(&data[static_cast<size_t>(100 * from)], 100, from, 9));
        if (comm.rank() > 0)
            requests.push_back(comm.isend(data.data(), 100, 0, 9));
        comm.wait_all(requests);
        for (int from = 1; from < ranks && comm.rank() == 0; ++from)
            EXPECT_EQ(data[static_cast<size_t>(100 * from + 99)], from);
    });
    EXPECT_NEAR(time_s, alpha + 32 * 100 * beta, 1e-15);
}

TEST(Simulated, MessagesOfOneTagStayInOrderAndTravelWhileTheReceiverComputes) {
    SimulatorOptions options = options_of(2);
    options.gamma_s = 1e-6;
    Simulator simulator(options);
    simulator.run([](Communicator& comm, Memory&) {
        int values[2] = {7, 8};
        std::vector<Request> requests;
        for (int i = 0; i < 2; ++i)
            requests.push_back(comm.rank() == 0 ? comm.isend(&values[i], 4, 1, 0)
                                                : comm.irecv(&values[1 - i], 4, 0, 0));
        if (comm.rank() == 1)
            graft::backend::count_work(100);
        comm.wait_all(requests);
        EXPECT_EQ(values[0], comm.rank() == 0 ? 7 : 8);
        EXPECT_NEAR(comm.time_s(), comm.rank() == 0 ? 2 * (alpha + 4 * beta) : 1e-4, 1e-15);
    });
}

TEST(Simulated, NodesHaveTheirOwnLatency) {
    SimulatorOptions options = options_of(64);
    options.network.node_size = 8;
    options.network.node_alpha_s = 1e-7;
    options.network.node_beta_s_per_byte = 0;
    Simulator simulator(options);
    simulator.run([](Communicator& comm, Memory&) { comm.sum(int64_t{1}); });
    EXPECT_NEAR(simulator.time_s(), 3 * 1e-7 + 3 * (alpha + 8 * beta), 1e-15);
}

TEST(Simulated, SplitMakesGroupsOrderedByKey) {
    Simulator simulator(options_of(12));
    simulator.run([](Communicator& comm, Memory&) {
        const auto part = comm.split(comm.rank() % 3, -comm.rank());
        EXPECT_EQ(part->size(), 4);
        EXPECT_EQ(part->rank(), 3 - comm.rank() / 3);
        EXPECT_EQ(part->sum(int64_t{comm.rank()}), 4 * (comm.rank() % 3) + 18);
        const auto half = part->split(part->rank() / 2, 0);
        EXPECT_EQ(half->size(), 2);
        EXPECT_EQ(half->sum(1), 2);
        const auto some = comm.split(comm.rank() < 5 ? 1 : -1, 0); // a negative colour: in no part
        EXPECT_EQ(some != nullptr, comm.rank() < 5);
        EXPECT_EQ(some ? some->size() : 0, comm.rank() < 5 ? 5 : 0);
    });
}

TEST(Simulated, MeasuredTimeMovesTheClock) {
    SimulatorOptions options = options_of(3);
    options.gamma_s = -1;
    options.network.alpha_s = 0;
    options.network.beta_s_per_byte = 0;
    const auto spend = [](double seconds) {
        timespec start{}, now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        do {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        } while (static_cast<double>(now.tv_sec - start.tv_sec) +
                     1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec) <
                 seconds);
    };
    double clock_s[2];
    for (const double scale : {1.0, 10.0}) {
        options.measured_scale = scale;
        Simulator simulator(options);
        simulator.run([&](Communicator& comm, Memory&) {
            spend(comm.rank() == 1 ? 0.02 : 0.001);
            comm.barrier();
        });
        clock_s[scale > 1] = simulator.time_s();
    }
    EXPECT_GE(clock_s[0], 0.019);
    EXPECT_LE(clock_s[0], 0.1);
    EXPECT_GE(clock_s[1], 0.19);
}

TEST(Simulated, TwoRunsAreEqualToTheLastBit) {
    double clock_s[2] = {};
    for (double& c : clock_s) {
        SimulatorOptions options = options_of(50);
        options.gamma_s = 1.7e-9;
        Simulator simulator(options);
        simulator.run([](Communicator& comm, Memory&) {
            for (int round = 0; round < 5; ++round) {
                graft::backend::count_work(1000 + 37 * (comm.rank() * round % 11));
                comm.sum(static_cast<double>(comm.rank()));
            }
        });
        c = simulator.time_s();
    }
    EXPECT_GT(clock_s[0], 0);
    EXPECT_EQ(clock_s[0], clock_s[1]);
}

TEST(Simulated, DeadlockIsReportedToAllRanksByClass) {
    std::vector<std::string> texts(8);
    Simulator simulator(options_of(8));
    simulator.run([&](Communicator& comm, Memory&) {
        if (comm.rank() == 7)
            return;
        try {
            if (comm.rank() == 2) {
                int value = 0;
                std::vector<Request> requests{comm.irecv(&value, 4, 3, 11)};
                comm.wait_all(requests);
            } else {
                comm.barrier();
            }
        } catch (const graft::core::Error& error) {
            EXPECT_EQ(error.status(), graft::core::Status::communication);
            texts[static_cast<size_t>(comm.rank())] = error.what();
        }
    });
    for (int r = 0; r < 7; ++r) {
        const std::string& text = texts[static_cast<size_t>(r)];
        EXPECT_NE(text.find("deadlock"), std::string::npos) << r << ": " << text;
        EXPECT_NE(text.find("6 wait in barrier among 8 ranks (communicator 0) (0, 1, 3, 4, ...)"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("from its rank 3 with tag 11 (2)"), std::string::npos) << text;
        EXPECT_NE(text.find("1 have ended"), std::string::npos) << text;
    }
}

TEST(Simulated, CollectivesThatDoNotFitFailOnAllRanks) {
    std::vector<int> failed(5, 0);
    Simulator simulator(options_of(5));
    simulator.run([&](Communicator& comm, Memory&) {
        try {
            int64_t value = 1;
            if (comm.rank() == 3)
                comm.broadcast(&value, 1, 0);
            else
                comm.sum(value);
        } catch (const graft::core::Error&) {
            failed[static_cast<size_t>(comm.rank())] = 1;
        }
    });
    EXPECT_EQ(std::accumulate(failed.begin(), failed.end(), 0), 5);
}

TEST(Simulated, ARankThatGivesUpReleasesItsPeersEverywhere) {
    std::vector<std::string> texts(9);
    Simulator simulator(options_of(9));
    simulator.run([&](Communicator& comm, Memory&) {
        try {
            comm.guarded([&] {
                const auto part = comm.split(comm.rank() / 3, 0);
                if (comm.rank() == 4)
                    throw std::runtime_error("rank 4 broke down");
                part->guarded([&] { part->barrier(); });
                comm.barrier();
            });
        } catch (const graft::core::Error& error) {
            texts[static_cast<size_t>(comm.rank())] = error.what();
        }
    });
    for (const std::string& text : texts)
        EXPECT_NE(text.find("rank 4 broke down"), std::string::npos) << text;
}

TEST(Simulated, ExceptionsLiveThroughSwitches) {
    int caught = 0;
    Simulator simulator(options_of(40));
    simulator.run([&](Communicator& comm, Memory&) {
        try {
            throw comm.rank();
        } catch (int rank) {
            comm.barrier(); // other ranks throw and catch meanwhile
            try {
                throw std::runtime_error(std::to_string(rank));
            } catch (const std::exception& inner) {
                comm.barrier();
                EXPECT_EQ(inner.what(), std::to_string(comm.rank()));
            }
            EXPECT_EQ(rank, comm.rank());
            EXPECT_EQ(std::uncaught_exceptions(), 0);
            try {
                throw; // the run time must know which exception this rank is handling
            } catch (int again) {
                EXPECT_EQ(again, comm.rank());
            }
            ++caught;
        }
    });
    EXPECT_EQ(caught, 40);
}

TEST(Simulated, TheFirstExceptionComesOutOfRun) {
    Simulator simulator(options_of(4));
    try {
        simulator.run([](Communicator& comm, Memory&) {
            if (comm.rank() == 2)
                throw std::runtime_error("the cause");
            comm.barrier();
        });
        FAIL() << "no exception";
    } catch (const std::exception& error) {
        EXPECT_STREQ(error.what(), "the cause");
    }
}

TEST(Simulated, ReportsTheMostThatOneRankHeld) {
    Simulator simulator(options_of(10));
    simulator.run([](Communicator& comm, Memory& memory) {
        graft::core::Buffer<char> data(memory, "a test");
        data.resize(1000 * (comm.rank() + 1));
        comm.barrier();
    });
    EXPECT_GE(simulator.report().rank_bytes_peak, 10000);
    EXPECT_LT(simulator.report().rank_bytes_peak, 11000);
}

TEST(Simulated, SixtyFourThousandRanks) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "takes long under a sanitizer";
#endif
    const int ranks = 65536;
    const double time_s = time_of(ranks, [&](Communicator& comm, Memory&) {
        EXPECT_EQ(comm.sum(int64_t{comm.rank()}), int64_t{ranks} * (ranks - 1) / 2);
    });
    EXPECT_NEAR(time_s, 16 * (alpha + 8 * beta), 1e-12);
}

TEST(Simulated, RefusesImpossibleOptions) {
    for (const int bad : {0, 1, 2}) {
        SimulatorOptions options = options_of(4);
        if (bad == 0)
            options.ranks = 0;
        if (bad == 1)
            options.network.alpha_s = -1;
        if (bad == 2)
            options.network.node_size = 0;
        EXPECT_THROW(Simulator simulator(options), graft::core::Error) << bad;
    }
}

} // namespace
