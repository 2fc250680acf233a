// SPDX-License-Identifier: BSD-3-Clause
// Prefix sums and pieces over ranks against loops over all ranks.
#include "comm/collectives.hpp"
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>

namespace {

using graft::comm::Communicator;
using graft::comm::Contributions;
using graft::comm::exclusive_scan;
using graft::comm::gather_contributions;
using graft::comm::run_ranks;
using graft::comm::scatter_pieces;
using graft::core::Buffer;
using graft::core::Error;
using graft::core::Memory;
using graft::core::Status;

class Collectives : public testing::TestWithParam<int> {};

int64_t value_of(int rank, int64_t i) {
    return (rank * 7919 + i * 104729) % 1000003 - 500000;
}

TEST_P(Collectives, ScanIsTheSumOfLowerRanks) {
    run_ranks(GetParam(), [](Communicator& comm) {
        for (const int64_t count : {0, 1, 5}) {
            std::vector<int64_t> values(static_cast<size_t>(count)), expected(values.size(), 0);
            for (int64_t i = 0; i < count; ++i) {
                values[static_cast<size_t>(i)] = value_of(comm.rank(), i);
                for (int r = 0; r < comm.rank(); ++r)
                    expected[static_cast<size_t>(i)] += value_of(r, i);
            }
            exclusive_scan(comm, values.data(), count, values.data()); // in place
            EXPECT_EQ(values, expected);
        }
    });
}

TEST_P(Collectives, ScanOfOtherTypes) {
    run_ranks(GetParam(), [](Communicator& comm) {
        __extension__ typedef __int128 Wide;
        const Wide wide = static_cast<Wide>(1) << 100;
        EXPECT_TRUE(exclusive_scan(comm, wide) == wide * comm.rank());
        EXPECT_EQ(exclusive_scan(comm, 0.5), 0.5 * comm.rank());
    });
}

TEST(CollectivesCost, ScanTakesALogarithmOfMessages) {
    run_ranks(33, [](Communicator& comm) {
        exclusive_scan(comm, int64_t{1});
        EXPECT_LE(comm.traffic().messages, 6);
        EXPECT_EQ(comm.traffic().bytes_sent, 8 * comm.traffic().messages);
    });
}

std::vector<char> piece_of(int rank, int seed) {
    std::minstd_rand random(static_cast<unsigned>(rank * 31 + seed + 1));
    random();
    std::vector<char> piece(random() % 3 == 0 ? 0 : random() % 100);
    for (char& c : piece)
        c = static_cast<char>(random());
    return piece;
}

TEST_P(Collectives, PiecesReachTheRootInPlace) {
    run_ranks(GetParam(), [](Communicator& comm) {
        Memory memory;
        Contributions pieces(memory);
        for (int root = 0; root < comm.size(); ++root) {
            const std::vector<char> mine = piece_of(comm.rank(), root);
            gather_contributions(comm, root, mine.data(), static_cast<int64_t>(mine.size()), pieces);
            ASSERT_EQ(pieces.size(), comm.rank() == root ? comm.size() : 0);
            for (int r = 0; r < pieces.size(); ++r)
                EXPECT_EQ(std::vector<char>(pieces.data(r), pieces.data(r) + pieces.bytes(r)),
                          piece_of(r, root));
        }
    });
}

TEST_P(Collectives, PiecesLeaveTheRoot) {
    run_ranks(GetParam(), [](Communicator& comm) {
        Memory memory;
        Buffer<char> mine(memory);
        for (int root = 0; root < comm.size(); ++root) {
            std::vector<char> all(3);
            std::vector<int64_t> bytes, offset;
            for (int r = 0; r < comm.size() && comm.rank() == root; ++r) {
                const std::vector<char> piece = piece_of(r, root);
                bytes.push_back(static_cast<int64_t>(piece.size()));
                offset.push_back(static_cast<int64_t>(all.size()));
                all.insert(all.end(), piece.begin(), piece.end());
            }
            scatter_pieces(comm, root, all.data(), bytes.data(), offset.data(), mine);
            EXPECT_EQ(std::vector<char>(mine.begin(), mine.end()), piece_of(comm.rank(), root));
        }
    });
}

TEST_P(Collectives, RefusedMemoryOnOneRankIsOneErrorOnAll) {
    for (int refused = 0; refused < GetParam(); ++refused)
        run_ranks(GetParam(), [refused](Communicator& comm) {
            std::atomic<bool> refuse{comm.rank() == refused};
            graft::core::Allocator allocator;
            allocator.user = &refuse;
            allocator.allocate = [](void* user, int64_t bytes, int64_t alignment) -> void* {
                if (*static_cast<std::atomic<bool>*>(user))
                    return nullptr;
                return std::aligned_alloc(static_cast<size_t>(alignment),
                                          static_cast<size_t>((bytes + 63) / 64 * 64));
            };
            allocator.release = [](void*, void* pointer, int64_t) { std::free(pointer); };
            Memory memory(allocator);
            Contributions pieces(memory);
            Buffer<char> mine(memory);
            const std::vector<int64_t> eights(static_cast<size_t>(comm.size()), 8);
            const std::vector<int64_t> zeros(eights.size(), 0);
            const auto gather = [&] { gather_contributions(comm, 0, "12345678", 8, pieces); };
            const auto scatter = [&] {
                scatter_pieces(comm, 0, "12345678", eights.data(), zeros.data(), mine);
            };
            for (const std::function<void()>& call :
                 {std::function<void()>(gather), std::function<void()>(scatter)})
                try {
                    call();
                    ADD_FAILURE() << "no error on rank " << comm.rank();
                } catch (const Error& error) {
                    EXPECT_EQ(error.status(), Status::memory) << error.what();
                }
            refuse = false; // and the communicator still works
            gather();
            scatter();
            EXPECT_EQ(mine.size(), 8);
        });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, testing::Values(1, 2, 3, 4, 7, 8, 13));

} // namespace
