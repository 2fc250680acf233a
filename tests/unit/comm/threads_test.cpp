// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks: every collective and message against what it must be, computed without communication.
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace {

using graft::comm::Communicator;
using graft::comm::Operation;
using graft::comm::Request;
using graft::comm::run_ranks;

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, KnowTheirPlace) {
    run_ranks(GetParam(), [](Communicator& comm) {
        EXPECT_EQ(comm.size(), GetParam());
        std::vector<int> all(static_cast<size_t>(comm.size()));
        const int mine = comm.rank();
        comm.allgather(&mine, 1, all.data());
        for (int r = 0; r < comm.size(); ++r)
            EXPECT_EQ(all[static_cast<size_t>(r)], r);
    });
}

TEST_P(Threads, BroadcastFromEveryRoot) {
    run_ranks(GetParam(), [](Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            int64_t data[3] = {comm.rank(), 7 * comm.rank(), -1};
            comm.broadcast(data, 3, root);
            EXPECT_EQ(data[0], root);
            EXPECT_EQ(data[1], 7 * root);
            comm.broadcast_bytes(nullptr, 0, root);
            std::vector<char> large(100000, static_cast<char>(comm.rank()));
            comm.broadcast_bytes(large.data(), 100000, root);
            EXPECT_EQ(large, std::vector<char>(100000, static_cast<char>(root)));
        }
    });
}

TEST_P(Threads, ReduceEveryTypeAndOperation) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const int P = comm.size(), r = comm.rank();
        EXPECT_EQ(comm.sum<int64_t>(r + 1), int64_t(P) * (P + 1) / 2);
        EXPECT_EQ(comm.sum<uint64_t>(UINT64_MAX), uint64_t(0) - uint64_t(P));
        EXPECT_EQ(comm.min<int32_t>(5 - r), 6 - P);
        EXPECT_EQ(comm.max<double>(0.5 * r), 0.5 * (P - 1));
        EXPECT_EQ(comm.max<uint64_t>(UINT64_MAX - uint64_t(r)), UINT64_MAX);
        EXPECT_EQ(comm.min<int64_t>(INT64_MIN + r), INT64_MIN);
        std::vector<double> values(1000);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = 1.0 / (1.0 + static_cast<double>(i) + r);
        comm.allreduce(values.data(), 1000, Operation::sum);
        for (size_t i = 0; i < values.size(); ++i) { // in rank order, to the bit
            double expected = 1.0 / (1.0 + static_cast<double>(i));
            for (int other = 1; other < P; ++other)
                expected += 1.0 / (1.0 + static_cast<double>(i) + other);
            EXPECT_EQ(values[i], expected);
        }
    });
}

/// Rank r has (r * 37) % 5 * scale bytes for rank `to`, more for higher ones; some have none.
int64_t bytes_between(int from, int to) {
    return (from * 37 + to * 11) % 5 * 7;
}
char byte_between(int from, int to, int64_t i) {
    return static_cast<char>(from * 31 + to * 17 + i);
}

TEST_P(Threads, GatherPiecesOfDifferentSizes) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const size_t P = static_cast<size_t>(comm.size());
        std::vector<int64_t> bytes(P), offset(P);
        int64_t total = 3;
        for (size_t r = 0; r < P; ++r) {
            bytes[r] = bytes_between(static_cast<int>(r), 0);
            offset[r] = total;
            total += bytes[r] + 1;
        }
        std::vector<char> send(static_cast<size_t>(bytes[static_cast<size_t>(comm.rank())]));
        for (size_t i = 0; i < send.size(); ++i)
            send[i] = byte_between(comm.rank(), 0, static_cast<int64_t>(i));
        std::vector<char> all(static_cast<size_t>(total), 'x');
        comm.allgatherv_bytes(send.data(), static_cast<int64_t>(send.size()), all.data(), bytes.data(),
                              offset.data());
        for (size_t r = 0; r < P; ++r) {
            for (int64_t i = 0; i < bytes[r]; ++i)
                EXPECT_EQ(all[static_cast<size_t>(offset[r] + i)], byte_between(static_cast<int>(r), 0, i));
            EXPECT_EQ(all[static_cast<size_t>(offset[r] + bytes[r])], 'x');
        }
    });
}

TEST_P(Threads, EveryoneToEveryone) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const size_t P = static_cast<size_t>(comm.size());
        const int me = comm.rank();
        std::vector<int64_t> out(P), out_offset(P), in(P), in_offset(P);
        std::vector<char> send, receive;
        int64_t total = 0;
        for (size_t r = 0; r < P; ++r) {
            const int peer = static_cast<int>(r);
            out[r] = bytes_between(me, peer);
            out_offset[r] = static_cast<int64_t>(send.size());
            for (int64_t i = 0; i < out[r]; ++i)
                send.push_back(byte_between(me, peer, i));
            in[r] = bytes_between(peer, me);
            in_offset[r] = total;
            total += in[r];
        }
        receive.resize(static_cast<size_t>(total));
        comm.alltoallv_bytes(send.data(), out.data(), out_offset.data(), receive.data(), in.data(),
                             in_offset.data());
        for (size_t r = 0; r < P; ++r)
            for (int64_t i = 0; i < in[r]; ++i)
                EXPECT_EQ(receive[static_cast<size_t>(in_offset[r] + i)],
                          byte_between(static_cast<int>(r), me, i));
    });
}

TEST_P(Threads, MessagesKeepTheirOrderWithinATag) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const int next = (comm.rank() + 1) % comm.size(),
                  last = (comm.rank() + comm.size() - 1) % comm.size();
        const int64_t sizes[] = {0, 1, 16384, 16385, 100000, 8}; // kept by the inbox, and copied once
        std::vector<Request> requests;
        std::vector<std::vector<char>> sent, got;
        for (const bool receive_first : {true, false}) {
            for (int half = 0; half < 2; ++half)
                for (int i = 0; i < 6; ++i)
                    for (int tag : {3, 32000}) {
                        const size_t bytes = static_cast<size_t>(sizes[i]);
                        if ((half == 0) == receive_first) {
                            got.emplace_back(bytes, 'x');
                            requests.push_back(comm.irecv(got.back().data(), sizes[i], last, tag));
                        } else {
                            sent.emplace_back(bytes, static_cast<char>(comm.rank() + 10 * i + tag));
                            requests.push_back(comm.isend(sent.back().data(), sizes[i], next, tag));
                        }
                    }
            comm.wait_all(requests);
            EXPECT_TRUE(requests.empty());
            for (size_t k = 0; k < got.size(); ++k)
                for (const char c : got[k])
                    ASSERT_EQ(c,
                              static_cast<char>(last + 10 * static_cast<int>(k / 2) + (k % 2 ? 32000 : 3)));
            got.clear();
            sent.clear();
        }
    });
}

TEST_P(Threads, SplitAndSplitAgain) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const int P = comm.size(), me = comm.rank();
        const auto part = comm.split(me % 3, -me); // reversed
        const int expected_size = (P - me % 3 + 2) / 3;
        EXPECT_EQ(part->size(), expected_size);
        EXPECT_EQ(part->rank(), expected_size - 1 - me / 3);
        EXPECT_EQ(part->max<int32_t>(me) % 3, me % 3);
        const auto single = part->split(part->rank(), 0);
        EXPECT_EQ(single->size(), 1);
        EXPECT_EQ(single->sum<int32_t>(me), me);
        EXPECT_EQ(comm.sum<int32_t>(1), P);
        const auto some = comm.split(me == 0 ? -1 : 5, 0);
        EXPECT_EQ(some == nullptr, me == 0);
        if (some) {
            EXPECT_EQ(some->sum<int32_t>(1), P - 1);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Threads, testing::Values(1, 2, 3, 4, 7, 8, 33));

TEST(Threads, RethrowTheErrorThatWasNoEcho) {
    try {
        run_ranks(4, [](Communicator& comm) {
            if (comm.rank() == 2)
                throw std::runtime_error("the cause");
            comm.barrier();
        });
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the cause");
    }
}

} // namespace
