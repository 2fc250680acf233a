// SPDX-License-Identifier: BSD-3-Clause
// Many ranks, random messages of random sizes between collectives and parts: everything arrives, once,
// intact.
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace {

using graft::comm::Communicator;
using graft::comm::Request;
using graft::comm::run_ranks;

struct Planned {
    int from, to, tag;
    int64_t bytes;
    char first;
};

/// The round's messages, the same on every rank.
std::vector<Planned> plan(int round, int size) {
    std::mt19937 random(static_cast<unsigned>(round * 1009 + size));
    std::vector<Planned> messages(static_cast<size_t>(4 * size));
    for (Planned& message : messages) {
        message.from = static_cast<int>(random() % static_cast<unsigned>(size));
        message.to = static_cast<int>(random() % static_cast<unsigned>(size));
        message.tag = static_cast<int>(random() % 3);
        const unsigned kind = random() % 100;
        message.bytes = kind < 20   ? 0
                        : kind < 70 ? static_cast<int64_t>(random() % 1000)
                        : kind < 98 ? static_cast<int64_t>(random() % 60000)
                                    : 1500000;
        message.first = static_cast<char>(random());
    }
    return messages;
}

char byte_at(const Planned& message, size_t i) {
    return static_cast<char>(message.first + i * 7);
}

/// Sends and receives in an order of this rank's own, which is that of the plan within a (peer, tag).
void exchange(Communicator& comm, int round) {
    const std::vector<Planned> messages = plan(round, comm.size());
    std::vector<std::vector<char>> buffers(messages.size()), own(messages.size());
    std::vector<Request> requests;
    std::mt19937 random(static_cast<unsigned>(comm.rank() + 31 * round));
    const auto start = [&](bool receives) {
        for (size_t k = 0; k < messages.size(); ++k) {
            const Planned& message = messages[k];
            if (receives && message.to == comm.rank()) {
                buffers[k].resize(static_cast<size_t>(message.bytes));
                requests.push_back(comm.irecv(buffers[k].data(), message.bytes, message.from, message.tag));
            }
            if (!receives && message.from == comm.rank()) {
                own[k].resize(static_cast<size_t>(message.bytes));
                for (size_t i = 0; i < own[k].size(); ++i)
                    own[k][i] = byte_at(message, i);
                requests.push_back(comm.isend(own[k].data(), message.bytes, message.to, message.tag));
            }
        }
    };
    const bool receive_first = random() % 2 == 0;
    start(receive_first);
    start(!receive_first);
    std::shuffle(requests.begin(), requests.end(), random);
    comm.wait_all(requests);
    for (size_t k = 0; k < messages.size(); ++k)
        for (size_t i = 0; i < buffers[k].size(); ++i)
            ASSERT_EQ(buffers[k][i], byte_at(messages[k], i)) << "message " << k << ", byte " << i;
}

TEST(Stress, MessagesCollectivesAndParts) {
    run_ranks(24, [](Communicator& comm) {
        for (int round = 0; round < 6; ++round) {
            exchange(comm, round);
            EXPECT_EQ(comm.sum<int64_t>(round), round * comm.size());
            const auto part = comm.split((comm.rank() * 7 + round) % 3, -comm.rank());
            exchange(*part, round);
            const auto half = part->split(part->rank() % 2, 0);
            for (int k = 0; k < 20; ++k)
                EXPECT_EQ(half->sum<int64_t>(k), k * half->size());
            part->barrier();
        }
    });
}

TEST(Stress, ManyRanks) {
    run_ranks(200, [](Communicator& comm) {
        exchange(comm, 1);
        for (int k = 0; k < 10; ++k)
            EXPECT_EQ(comm.max<int32_t>(comm.rank() + k), comm.size() - 1 + k);
    });
}

/// A failure at a random moment in the middle of it all: everyone comes back, and no buffer is touched later
/// (address sanitizer sees).
TEST(Stress, FailureAtAnyMoment) {
    for (int seed = 0; seed < 20; ++seed) {
        const auto errors = graft::comm::run_ranks_collecting(
            9,
            [seed](Communicator& comm) {
                std::minstd_rand random(static_cast<unsigned>(seed * 100 + comm.rank() + 1));
                comm.guarded([&] {
                    for (int round = 0; round < 5; ++round) {
                        if (comm.rank() == seed % 9 && round == seed % 5)
                            throw std::runtime_error("enough");
                        const auto part = comm.split(static_cast<int>(random() % 2), 0);
                        exchange(*part, round);
                        exchange(comm, round);
                    }
                });
            },
            1000);
        for (const auto& error : errors)
            EXPECT_NE(error, nullptr);
    }
}

/// A rank that fails while a peer copies into another's buffer: the buffer's owner comes back only after
/// that.
TEST(Stress, NobodyWritesAfterTheCallHasReturned) {
    constexpr int64_t bytes = 64 << 20;
    std::atomic<bool> sending{false};
    for (int attempt = 0; attempt < 3; ++attempt, sending = false)
        graft::comm::run_ranks_collecting(3, [&](Communicator& comm) {
            std::vector<char> data(comm.rank() < 2 ? bytes : 0, 'x');
            comm.barrier();
            if (comm.rank() == 2) {
                while (!sending)
                    std::this_thread::yield();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                throw std::runtime_error("enough");
            }
            std::vector<Request> requests;
            if (comm.rank() == 0)
                requests.push_back(comm.irecv(data.data(), bytes, 1, 0));
            if (comm.rank() == 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the receive is there first
                sending = true;
                requests.push_back(comm.isend(data.data(), bytes, 0, 0));
            }
            try {
                comm.wait_all(requests);
            } catch (const graft::core::Error&) {
                std::fill(data.begin(), data.end(), 'y');
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                EXPECT_EQ(std::count(data.begin(), data.end(), 'y'), bytes) << "rank " << comm.rank();
            }
        });
}

} // namespace
