// SPDX-License-Identifier: BSD-3-Clause
// One error on all ranks: what together(), agree() and guarded() promise.
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>

namespace {

using graft::comm::Communicator;
using graft::comm::run_ranks;
using graft::comm::run_ranks_collecting;
using graft::core::Error;
using graft::core::fail;
using graft::core::Status;

/// Status and text of what the call throws; (ok, "") for nothing.
template <typename Call>
std::pair<Status, std::string> caught(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.status(), error.what()};
    } catch (const std::exception& error) {
        return {Status::ok, error.what()};
    }
    return {Status::ok, ""};
}

using Result = std::pair<Status, std::string>;

class Agreement : public testing::TestWithParam<int> {};

TEST_P(Agreement, BadInputOnEachRankInTurnIsOneErrorOnAll) {
    run_ranks(GetParam(), [](Communicator& comm) {
        for (int bad = 0; bad < comm.size(); ++bad) {
            const Result got = caught([&] {
                comm.guarded([&] {
                    comm.together([&] {
                        if (comm.rank() == bad)
                            fail(Status::value, "particle 7 has no place");
                    });
                    ADD_FAILURE();
                });
            });
            const std::string prefix = comm.size() > 1 ? "rank " + std::to_string(bad) + ": " : "";
            EXPECT_EQ(got, Result(Status::value, prefix + "particle 7 has no place"));
            EXPECT_EQ(comm.poison(), "");
            EXPECT_EQ(comm.sum(1.0), comm.size()); // still works
        }
    });
}

TEST_P(Agreement, TheLowestFailingRankSpeaks) {
    run_ranks(GetParam(), [](Communicator& comm) {
        const int first = comm.size() / 2;
        const Result got = caught([&] {
            comm.together([&] {
                if (comm.rank() >= first)
                    fail(comm.rank() % 2 == 0 ? Status::array : Status::memory, "from %d", comm.rank());
            });
        });
        EXPECT_EQ(got.first, first % 2 == 0 ? Status::array : Status::memory);
        EXPECT_NE(got.second.find("from " + std::to_string(first)), std::string::npos) << got.second;
    });
}

TEST_P(Agreement, ForeignExceptionsGetAStatus) {
    if (GetParam() == 1)
        return; // one rank alone throws what was thrown
    run_ranks(GetParam(), [](Communicator& comm) {
        const auto with = [&](auto exception) {
            return caught([&] {
                comm.together([&] {
                    if (comm.rank() == 1)
                        throw exception;
                });
            });
        };
        EXPECT_EQ(with(std::bad_alloc()).first, Status::memory);
        EXPECT_EQ(with(std::runtime_error("odd")), Result(Status::internal, "rank 1: odd"));
        EXPECT_EQ(with(7).first, Status::internal);
        const Result cut = with(std::runtime_error(std::string(5000, 'x')));
        EXPECT_EQ(cut.second, "rank 1: " + std::string(1000 - 8, 'x'));
    });
}

TEST_P(Agreement, ArgumentsGoodEverywhereCostOneReduction) {
    run_ranks(GetParam(), [](Communicator& comm) {
        comm.together([] {});
        EXPECT_EQ(comm.traffic().collectives, comm.size() > 1 ? 1 : 0);
        EXPECT_EQ(comm.traffic().bytes_sent, comm.size() > 1 ? 8 : 0);
    });
}

TEST_P(Agreement, AnythingElsePoisons) {
    if (GetParam() == 1)
        return;
    for (int bad = 0; bad < GetParam(); ++bad)
        run_ranks(
            GetParam(),
            [bad](Communicator& comm) {
                const Result got = caught([&] {
                    comm.guarded([&] { // nested
                        comm.guarded([&] {
                            comm.barrier();
                            if (comm.rank() == bad)
                                fail(Status::memory, "no room for 3 bytes");
                            comm.sum(1.0);
                        });
                    });
                });
                EXPECT_EQ(got.first, Status::communication);
                for (const std::string& part :
                     {"rank " + std::to_string(bad), std::string("no room for 3 bytes"),
                      std::string("status 200")})
                    EXPECT_NE(got.second.find(part), std::string::npos) << got.second;
                EXPECT_EQ(comm.poison(), got.second);
                bool ran = false;
                EXPECT_EQ(caught([&] { comm.together([&] { ran = true; }); }), got);
                EXPECT_FALSE(ran);
                EXPECT_EQ(caught([&] { comm.guarded([&] { comm.barrier(); }); }), got);
                EXPECT_EQ(caught([&] { (void)comm.isend(nullptr, 0, 0, 0); }), got);
                EXPECT_EQ(caught([&] { (void)comm.split(0, 0); }), got);
            },
            1000); // nobody waits for the deadline, or this test would
}

/// Rank 1 leaves for good while rank 0 has something to say: its words are not lost.
TEST(BrokenAgreement, KeepsWhatThisRankHadToSay) {
    const auto errors = run_ranks_collecting(2, [](Communicator& comm) {
        if (comm.rank() == 1)
            throw std::runtime_error("gone");
        comm.together([] { fail(Status::value, "particle 3 is not a number"); });
    });
    const Result got = caught([&] { std::rethrow_exception(errors[0]); });
    EXPECT_EQ(got.first, Status::communication);
    EXPECT_NE(got.second.find("gone"), std::string::npos) << got.second;
    EXPECT_NE(got.second.find("particle 3 is not a number"), std::string::npos) << got.second;
}

/// An agreed error that was caught leaves no trace: the next one, which nobody agreed on, poisons.
TEST_P(Agreement, IsOfOneErrorOnly) {
    if (GetParam() == 1)
        return;
    run_ranks(GetParam(), [](Communicator& comm) {
        const Result got = caught([&] {
            comm.guarded([&] {
                try {
                    comm.together([] { fail(Status::value, "everywhere"); });
                } catch (const Error&) {
                    // expected
                }
                if (comm.rank() == 0)
                    fail(Status::value, "here only");
                comm.barrier();
            });
        });
        EXPECT_EQ(got.first, Status::communication);
        EXPECT_NE(got.second.find("here only"), std::string::npos);
    });
}

TEST(AgreementOfParts, IsNotThatOfTheWhole) {
    const auto errors = run_ranks_collecting(4, [](Communicator& comm) {
        const auto part = comm.split(comm.rank() / 2, 0);
        comm.guarded([&] {
            part->guarded([&] {
                part->together([&] {
                    if (comm.rank() == 3)
                        fail(Status::value, "bad");
                });
            });
            comm.barrier();
        });
    });
    for (const auto& error : errors) {
        const Result got = caught([&] { std::rethrow_exception(error); });
        EXPECT_EQ(got.first, Status::communication);
        EXPECT_NE(got.second.find("rank 3: bad"), std::string::npos) << got.second; // 3 in the whole
    }
}

TEST(AgreementOfParts, PassesTheWholesUnchanged) {
    run_ranks(4, [](Communicator& comm) {
        const auto part = comm.split(comm.rank() / 2, 0);
        const auto small = part->split(0, 0);
        const Result got = caught([&] {
            comm.guarded([&] {
                small->guarded([&] {
                    comm.together([&] {
                        if (comm.rank() == 2)
                            fail(Status::value, "bad");
                    });
                });
            });
        });
        EXPECT_EQ(got, Result(Status::value, "rank 2: bad"));
        EXPECT_EQ(comm.sum(1.0), 4);
        EXPECT_EQ(small->sum(1.0), 2);
    });
}

TEST(OneRank, ThrowsWhatWasThrown) {
    Communicator comm;
    EXPECT_THROW(comm.guarded([] { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_THROW(comm.together([] { throw std::out_of_range(""); }), std::out_of_range);
    EXPECT_EQ(comm.poison(), "");
    EXPECT_EQ(comm.sum(2.5), 2.5);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Agreement, testing::Values(1, 2, 3, 4, 7, 8));

} // namespace
