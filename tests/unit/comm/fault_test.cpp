// SPDX-License-Identifier: BSD-3-Clause
// Every call of every rank fails in turn, before and after the underlying call: no rank hangs, all get the
// communication status, and from then on every call says so at once.
#include "comm/collectives.hpp"
#include "comm/sparse_exchange.hpp"
#include "faulty_comm.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace graft::comm;
using graft::core::Buffer;
using graft::core::Error;
using graft::core::Memory;
using graft::core::Status;
using graft::test::Fault;
using graft::test::FaultTime;
using graft::test::FaultyRun;

/// Everything a communicator can do.
void all_calls(Communicator& comm) {
    const size_t P = static_cast<size_t>(comm.size());
    const int me = comm.rank(), next = (me + 1) % comm.size(), last = (me + comm.size() - 1) % comm.size();
    comm.barrier();
    int64_t value = me;
    comm.broadcast(&value, 1, comm.size() - 1);
    comm.allreduce(&value, 1, Operation::max);
    std::vector<int64_t> all(P), eights(P, 8), places(P), back(P);
    comm.allgather(&value, 1, all.data());
    for (size_t r = 0; r < P; ++r)
        places[r] = 8 * static_cast<int64_t>(r);
    comm.alltoallv_bytes(all.data(), eights.data(), places.data(), back.data(), eights.data(), places.data());
    std::vector<char> small(10), large(40000), small_got(10), large_got(40000);
    std::vector<Request> requests;
    requests.push_back(comm.irecv(small_got.data(), 10, last, 1));
    requests.push_back(comm.isend(small.data(), 10, next, 1));
    requests.push_back(comm.isend(large.data(), 40000, next, 2));
    requests.push_back(comm.irecv(large_got.data(), 40000, last, 2));
    comm.wait_all(requests);
    const auto part = comm.split(me % 2, me);
    part->guarded([&] { part->sum(1.0); });
}

void algorithms(Communicator& comm) {
    Memory memory;
    Contributions pieces(memory);
    Buffer<char> storage(memory);
    std::vector<Incoming> incoming;
    const std::vector<int64_t> sizes(static_cast<size_t>(comm.size()), 3);
    const std::vector<int64_t> places(sizes.size(), 0);
    exclusive_scan(comm, int64_t{1});
    gather_contributions(comm, comm.size() / 2, "abc", 3, pieces);
    scatter_pieces(comm, 0, "abc", sizes.data(), places.data(), storage);
    sparse_exchange(comm, {{0, "abc", 3}, {comm.rank(), "", 0}}, storage, incoming);
}

using Body = void (*)(Communicator&);

struct Outcome {
    Status first = Status::ok, second = Status::ok;
    std::string text;
    Call call = Call::unknown; // that the failure began in
    bool operator==(const Outcome& other) const { return first == other.first && second == other.second; }
};

/// One entry of the ABI: guarded and concluded.
Status entry(Communicator& comm, const std::function<void()>& body, std::string& text) {
    try {
        comm.guarded([&] {
            body();
            comm.conclude();
        });
    } catch (const Failure& error) {
        EXPECT_EQ(error.what(), comm.poison());
        EXPECT_EQ(error.began_in(), comm.failed_call());
        text = error.what();
        return error.status();
    }
    return Status::ok;
}

Outcome two_entries(graft_comm_v1* table, Body body) {
    Outcome outcome;
    Communicator comm(table);
    outcome.first = entry(
        comm, [&] { body(comm); }, outcome.text);
    const std::string before = comm.poison();
    outcome.call = comm.failed_call();
    outcome.second = entry(
        comm, [&] { comm.barrier(); }, outcome.text);
    if (!before.empty()) { // at once, with the first text
        EXPECT_EQ(outcome.second, Status::communication);
        EXPECT_EQ(outcome.text, before);
    }
    return outcome;
}

void expect_all_ranks_know(const FaultyRun& run, const std::vector<Outcome>& outcomes, int rank,
                           bool is_last) {
    EXPECT_TRUE(run.faults[static_cast<size_t>(rank)]->fired);
    for (const Outcome& outcome : outcomes)
        EXPECT_EQ(outcome, outcomes.front()) << outcome.text << " / " << outcomes.front().text;
    const Outcome& outcome = outcomes.front();
    if (is_last && outcomes.size() > 1) { // all had agreed
        EXPECT_EQ(outcome, Outcome());
        return;
    }
    EXPECT_EQ(outcome.second, Status::communication);
    const Fault& fault = *run.faults[static_cast<size_t>(rank)];
    for (const Outcome& other : outcomes) {
        if (other.first != Status::ok) {
            EXPECT_EQ(name_of(other.call), fault.names[static_cast<size_t>(fault.at - 1)]) << other.text;
        }
    }
    for (const Outcome& other : outcomes)
        for (const std::string& part : {std::string("injected"), "rank " + std::to_string(rank)})
            EXPECT_NE(other.text.find(part), std::string::npos) << other.text;
}

class Faults : public testing::TestWithParam<std::tuple<int, Body>> {};

TEST_P(Faults, EveryCallOfEveryRank) {
    const auto [size, body] = GetParam();
    std::vector<Outcome> outcomes(static_cast<size_t>(size));
    const auto start = std::chrono::steady_clock::now();
    graft::test::sweep_faults(
        size,
        [&, body = body](graft_comm_v1* table) {
            outcomes[static_cast<size_t>(table->rank)] = two_entries(table, body);
        },
        [&](const FaultyRun& run, int rank, int64_t at, FaultTime time, bool is_last) {
            SCOPED_TRACE("rank " + std::to_string(rank) + ", call " + std::to_string(at) + " (" +
                         run.faults[static_cast<size_t>(rank)]->names[static_cast<size_t>(at - 1)] + "), " +
                         (time == FaultTime::before ? "before" : "after"));
            expect_all_ranks_know(run, outcomes, rank, is_last);
        },
        100);
    // Far below the deadline: nobody waited for it.
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 60);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Faults,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7, 8),
                                          testing::Values(all_calls, algorithms)));

/// The words of a failure say nothing about where it began: the host's text is free.
TEST(Conclusion, IsDrawnFromTheCallAndNotFromTheWords) {
    for (const bool agreement : {false, true}) {
        std::vector<graft_comm_v1*> tables = create_thread_ranks(2, 100);
        for (graft_comm_v1* table : tables)
            table->comm_error_text = [](void*) -> const char* {
                return "allreduce, after all ranks had agreed: no";
            };
        const auto errors = run_tables(tables, [&](graft_comm_v1* table) {
            Communicator comm(table);
            if (table->rank == 0) {
                comm.conclude();
            } else { // leaves in its allreduce, or in a later call
                comm.min(int64_t{INT64_MAX});
                int64_t none = 99; // no such request: waitall fails
                if (!agreement)
                    table->comm_waitall(table->self, 1, &none);
                table->comm_fail(table->self, "left");
            }
        });
        EXPECT_EQ(errors[0] != nullptr, agreement);
        for (graft_comm_v1* table : tables)
            table->comm_free(table);
    }
}

/// A fault that peers cannot see: the table has no `fail`. The deadline ends the wait.
TEST(Deadline, EndsAWaitForARankThatLeftWithoutAWord) {
    std::vector<graft_comm_v1*> tables = create_thread_ranks(3);
    for (graft_comm_v1* table : tables)
        table->comm_set_deadline(table->self, 0.3);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::exception_ptr> errors = run_tables(tables, [](graft_comm_v1* table) {
        Communicator comm(table);
        if (table->rank != 1)
            comm.sum(1.0);
    });
    const double waited_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GE(waited_s, 0.25);
    EXPECT_LT(waited_s, 20);
    EXPECT_EQ(errors[1], nullptr);
    for (const size_t r : {0u, 2u}) {
        ASSERT_NE(errors[r], nullptr);
        try {
            std::rethrow_exception(errors[r]);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::communication);
            for (const char* part : {"waited 0.3 s", "allreduce", "for rank 1"})
                EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    }
    for (graft_comm_v1* table : tables)
        table->comm_free(table);
}

std::string text_of(const std::exception_ptr& error) {
    if (!error)
        return "";
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

void expect_texts(const std::vector<std::exception_ptr>& errors, const std::vector<std::string>& parts) {
    for (size_t r = 0; r < errors.size(); ++r)
        for (const std::string& part : parts)
            EXPECT_NE(text_of(errors[r]).find(part), std::string::npos)
                << "rank " << r << " says '" << text_of(errors[r]) << "', not '" << part << "'";
}

TEST(Deadline, NamesTheMessageThatNeverCame) {
    expect_texts(run_ranks_collecting(
                     2,
                     [](Communicator& comm) {
                         char data[100000] = {};
                         std::vector<Request> requests;
                         requests.push_back(comm.rank() == 0 ? comm.irecv(data, 5, 1, 17)
                                                             : comm.isend(data, sizeof data, 0, 18));
                         comm.wait_all(requests);
                     },
                     0.2),
                 {"waited 0.2 s for ", "(tag 1"});
}

TEST(Disagreement, OfCollectives) {
    expect_texts(run_ranks_collecting(3,
                                      [](Communicator& comm) {
                                          double x = 1;
                                          if (comm.rank() == 0)
                                              comm.sum(x);
                                          else
                                              comm.broadcast(&x, 1, 0);
                                      }),
                 {"ranks disagree", "rank 0 calls allreduce(count 1", "bcast(bytes 8, root 0)"});
}

TEST(Disagreement, OfSizesRootsTypesAndOperations) {
    double x[3] = {};
    int64_t n = 0;
    const std::function<void(Communicator&)> bodies[] = {
        [&](Communicator& comm) {
            double y[3] = {};
            comm.broadcast(y, 1 + comm.rank(), 0);
        },
        [&](Communicator& comm) {
            double y[3] = {};
            comm.broadcast(y, 1, comm.rank());
        },
        [&](Communicator& comm) {
            double y[3] = {};
            comm.allreduce(y, 1 + comm.rank(), Operation::sum);
        },
        [&](Communicator& comm) { comm.rank() == 0 ? void(comm.sum(x[0])) : void(comm.sum(n)); },
        [&](Communicator& comm) { comm.rank() == 0 ? comm.min(n) : comm.max(n); },
    };
    for (const auto& body : bodies)
        expect_texts(run_ranks_collecting(2, body), {"ranks disagree: rank 0 calls "});
}

TEST(Disagreement, OfBytesGatheredExchangedAndSent) {
    expect_texts(run_ranks_collecting(3,
                                      [](Communicator& comm) {
                                          char mine[2] = {}, all[6] = {};
                                          comm.allgather(mine, comm.rank() == 1 ? 2 : 1, all);
                                      }),
                 {"ranks disagree in allgatherv"});
    expect_texts(run_ranks_collecting(2,
                                      [](Communicator& comm) {
                                          char data[8] = {}, got[8] = {};
                                          const int64_t out[2] = {4, 4}, in[2] = {4, comm.rank() + 3};
                                          const int64_t places[2] = {0, 4};
                                          comm.alltoallv_bytes(data, out, places, got, in, places);
                                      }),
                 {"ranks disagree in alltoallv: rank 1 sends 4 bytes to rank 0, which expects 3"});
    expect_texts(run_ranks_collecting(2,
                                      [](Communicator& comm) {
                                          char data[8] = {};
                                          std::vector<Request> requests;
                                          requests.push_back(comm.rank() == 0 ? comm.isend(data, 8, 1, 4)
                                                                              : comm.irecv(data, 7, 0, 4));
                                          comm.wait_all(requests);
                                          comm.barrier();
                                      }),
                 {"rank 0 sends 8 bytes with tag 4 to rank 1, whose receive expects 7"});
}

TEST(Arguments, OfTheTableAreCheckedAndEndItForAll) {
    const std::pair<std::function<void(Communicator&)>, const char*> calls[] = {
        {[](Communicator& comm) {
             char c = 0;
             (void)comm.isend(&c, 1, 2, 0);
         },
         "the peer is no rank, found 2"},
        {[](Communicator& comm) {
             char c = 0;
             (void)comm.irecv(&c, 1, 0, 32768);
         },
         "the tag must be 0 ... 32767"},
        {[](Communicator& comm) { (void)comm.isend(nullptr, 1, 0, 0); }, "the buffer is NULL"},
        {[](Communicator& comm) {
             char c = 0;
             comm.broadcast_bytes(&c, -1, 0);
         },
         "expected 0 bytes or more"},
        {[](Communicator& comm) {
             Request bogus = 99;
             comm.wait_all(1, &bogus);
         },
         "no such request"},
    };
    for (const auto& [call, text] : calls)
        expect_texts(run_ranks_collecting(2,
                                          [&, call = call](Communicator& comm) {
                                              if (comm.rank() == 1)
                                                  call(comm);
                                              comm.barrier();
                                          }),
                     {text, "rank 1: "});
}

/// A rank that fails in the whole releases peers that wait in a part it is not in.
TEST(Parts, FailWithTheWhole) {
    const auto errors = run_ranks_collecting(3, [](Communicator& comm) {
        comm.guarded([&] {
            const auto part = comm.split(comm.rank() == 2 ? 1 : 0, 0);
            if (comm.rank() == 2)
                throw std::runtime_error("no more");
            if (comm.rank() == 1)
                comm.barrier();
            part->guarded([&] { part->barrier(); });
        });
    });
    expect_texts(errors, {"rank 2 gave up: ", "no more"});
}

/// A part that fails is not the whole: its ranks may go on there.
TEST(Parts, FailAlone) {
    run_ranks(4, [](Communicator& comm) {
        const auto part = comm.split(comm.rank() / 2, 0);
        try {
            part->guarded([&] {
                if (comm.rank() == 3)
                    throw std::runtime_error("only here");
                part->barrier();
            });
            EXPECT_LT(comm.rank(), 2);
        } catch (const Error& error) {
            EXPECT_GE(comm.rank(), 2) << error.what();
        }
        EXPECT_EQ(comm.sum(1.0), 4);
    });
}

TEST(Freed, AFreedTableIsNotWaitedFor) {
    const std::vector<graft_comm_v1*> tables = create_thread_ranks(3, 100);
    const auto errors = run_tables(tables, [](graft_comm_v1* table) {
        if (table->rank == 1)
            return table->comm_free(table);
        Communicator comm(table);
        if (table->rank == 0)
            comm.barrier();
        char data = 0;
        Request request = comm.irecv(&data, 1, 1, 0);
        comm.wait_all(1, &request);
    });
    EXPECT_NE(text_of(errors[0]).find("freed its communicator"), std::string::npos) << text_of(errors[0]);
    EXPECT_NE(text_of(errors[2]).find("freed its communicator"), std::string::npos) << text_of(errors[2]);
    tables[0]->comm_free(tables[0]);
    tables[2]->comm_free(tables[2]);
}

} // namespace
