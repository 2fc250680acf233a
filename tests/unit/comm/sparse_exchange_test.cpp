// SPDX-License-Identifier: BSD-3-Clause
// Messages that nobody expects, against a table of all messages that every rank can work out by itself.
#include "comm/sparse_exchange.hpp"
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using graft::comm::Communicator;
using graft::comm::Incoming;
using graft::comm::Notice;
using graft::comm::Outgoing;
using graft::comm::route;
using graft::comm::run_ranks;
using graft::comm::sparse_exchange;
using graft::core::Buffer;
using graft::core::Error;
using graft::core::Memory;
using graft::core::Status;

struct Message {
    int from, to;
    std::vector<char> bytes;
    bool operator==(const Message&) const = default;
};

enum class Pattern { none, random, all_to_one, one_to_all, everyone_to_everyone, many };

/// What `from` sends, the same wherever it is computed.
std::vector<Message> messages_of(int from, int size, Pattern pattern, int seed) {
    std::mt19937 random(static_cast<unsigned>(from * 1000 + seed));
    std::vector<Message> messages;
    const auto add = [&](int to) {
        std::vector<char> bytes(random() % 4 == 0 ? 0 : random() % 300);
        for (char& c : bytes)
            c = static_cast<char>(random());
        messages.push_back({from, to, std::move(bytes)});
    };
    const int count = pattern == Pattern::random                 ? static_cast<int>(random() % 6)
                      : pattern == Pattern::many                 ? (from % 2 == 0 ? 700 : 0)
                      : pattern == Pattern::all_to_one           ? 1
                      : pattern == Pattern::everyone_to_everyone ? size
                      : pattern == Pattern::one_to_all           ? (from == size / 2 ? size : 0)
                                                                 : 0;
    const bool in_turn = pattern == Pattern::everyone_to_everyone || pattern == Pattern::one_to_all;
    for (int k = 0; k < count; ++k)
        add(pattern == Pattern::all_to_one ? size - 1
            : in_turn                      ? size - 1 - k
                                           : static_cast<int>(random() % static_cast<unsigned>(size)));
    return messages;
}

class SparseExchange : public testing::TestWithParam<int> {};

TEST_P(SparseExchange, DeliversEverythingInOrder) {
    for (const Pattern pattern : {Pattern::none, Pattern::random, Pattern::all_to_one, Pattern::one_to_all,
                                  Pattern::everyone_to_everyone, Pattern::many})
        run_ranks(GetParam(), [pattern](Communicator& comm) {
            Memory memory;
            Buffer<char> storage(memory);
            std::vector<Incoming> incoming;
            for (int seed = 0; seed < 3; ++seed) {
                const std::vector<Message> mine = messages_of(comm.rank(), comm.size(), pattern, seed);
                std::vector<Outgoing> outgoing;
                for (const Message& message : mine)
                    outgoing.push_back(
                        {message.to, message.bytes.data(), static_cast<int64_t>(message.bytes.size())});
                sparse_exchange(comm, outgoing, storage, incoming);
                std::vector<Message> expected, got;
                for (int from = 0; from < comm.size(); ++from)
                    for (const Message& message : messages_of(from, comm.size(), pattern, seed))
                        if (message.to == comm.rank())
                            expected.push_back(message);
                for (const Incoming& message : incoming) {
                    got.push_back({message.from, comm.rank(), {message.data, message.data + message.bytes}});
                    EXPECT_EQ(reinterpret_cast<uintptr_t>(message.data) % 16, 0u);
                }
                EXPECT_EQ(got, expected);
            }
        });
}

TEST_P(SparseExchange, RoutesNotices) {
    run_ranks(GetParam(), [](Communicator& comm) {
        std::vector<Notice> notices; // to oneself, to the next, and twice to rank 0
        const int next = (comm.rank() + 1) % comm.size();
        for (const int to : {comm.rank(), next, 0, 0})
            notices.push_back({.to = to, .value = 100 * comm.rank() + to});
        route(comm, notices);
        const size_t to_first = comm.rank() == 0 ? 2 * static_cast<size_t>(comm.size()) : 0;
        ASSERT_EQ(notices.size(), 2 + to_first);
        for (size_t k = 0; k < notices.size(); ++k) {
            EXPECT_EQ(notices[k].to, comm.rank());
            EXPECT_EQ(notices[k].value, 100 * notices[k].from + comm.rank());
            if (k > 0) {
                EXPECT_TRUE(std::pair(notices[k - 1].from, notices[k - 1].index) <
                            std::pair(notices[k].from, notices[k].index));
            }
        }
    });
}

TEST_P(SparseExchange, ABadMessageOnOneRankIsOneErrorOnAll) {
    for (int bad = 0; bad < GetParam(); ++bad)
        for (const Outgoing& message : {Outgoing{GetParam(), nullptr, 0}, Outgoing{0, nullptr, -1}})
            run_ranks(GetParam(), [&](Communicator& comm) {
                Memory memory;
                Buffer<char> storage(memory);
                std::vector<Incoming> incoming;
                std::vector<Outgoing> outgoing = {{0, "abc", 3}};
                if (comm.rank() == bad)
                    outgoing.push_back(message);
                try {
                    sparse_exchange(comm, outgoing, storage, incoming);
                    ADD_FAILURE();
                } catch (const Error& error) {
                    EXPECT_EQ(error.status(), Status::argument) << error.what();
                }
                outgoing.resize(1);
                sparse_exchange(comm, outgoing, storage, incoming);
                EXPECT_EQ(incoming.size(), comm.rank() == 0 ? static_cast<size_t>(comm.size()) : 0u);
            });
}

INSTANTIATE_TEST_SUITE_P(Sizes, SparseExchange, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 29));

TEST(SparseExchangeCost, FewNoticesTakeALogarithmOfMessages) {
    for (const int size : {16, 61})
        run_ranks(size, [](Communicator& comm) {
            std::vector<Notice> notices = {{.to = (comm.rank() * 7 + 3) % comm.size()}};
            route(comm, notices);
            EXPECT_LE(comm.traffic().messages, comm.size() == 16 ? 4 : 6);
            EXPECT_LE(comm.traffic().bytes_sent, 6 * 512 + 8);
        });
}

} // namespace
