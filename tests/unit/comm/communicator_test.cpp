// SPDX-License-Identifier: BSD-3-Clause
// One rank alone, the checks of a host's table, and what is counted.
#include "comm/communicator.hpp"
#include "thread_ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace {

using graft::comm::Communicator;
using graft::comm::create_thread_ranks;
using graft::comm::Operation;
using graft::comm::Request;
using graft::comm::run_ranks;
using graft::core::Error;
using graft::core::Status;

void expect_error(Status status, const std::string& text, const std::function<void()>& call) {
    try {
        call();
        ADD_FAILURE() << "no error; expected: " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status);
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

TEST(Alone, CollectivesKeepWhatIsThere) {
    for (const bool null_table : {false, true}) {
        std::unique_ptr<Communicator> made =
            null_table ? std::make_unique<Communicator>(nullptr) : std::make_unique<Communicator>();
        Communicator& comm = *made;
        EXPECT_TRUE(comm.alone());
        EXPECT_EQ(comm.rank(), 0);
        comm.barrier();
        double values[2] = {1.5, -2};
        comm.broadcast(values, 2, 0);
        comm.allreduce(values, 2, Operation::sum);
        EXPECT_EQ(values[0], 1.5);
        EXPECT_EQ(values[1], -2);
        double all[2] = {};
        comm.allgather(values, 2, all);
        EXPECT_EQ(all[1], -2);
        const int64_t bytes = 8, from = 8, to = 0;
        comm.alltoallv_bytes(values, &bytes, &from, all, &bytes, &to);
        EXPECT_EQ(all[0], -2);
        comm.set_deadline(1);
        EXPECT_EQ(comm.split(-1, 0), nullptr);
        const auto part = comm.split(3, 0);
        ASSERT_NE(part, nullptr);
        EXPECT_TRUE(part->alone());
        EXPECT_EQ(comm.traffic().bytes_sent, 0);
    }
}

TEST(Alone, MessagesToOneself) {
    Communicator comm;
    for (const bool receive_first : {false, true}) {
        int64_t sent[3] = {1, 2, 3}, got[3] = {};
        std::vector<Request> requests;
        for (int half = 0; half < 2; ++half)
            if ((half == 0) == receive_first) {
                requests.push_back(comm.irecv(&got[0], 8, 0, 5));
                requests.push_back(comm.irecv(&got[1], 8, 0, 6));
                requests.push_back(comm.irecv(&got[2], 8, 0, 5));
                requests.push_back(comm.irecv(nullptr, 0, 0, 7));
            } else {
                requests.push_back(comm.isend(&sent[0], 8, 0, 5));
                requests.push_back(comm.isend(&sent[1], 8, 0, 5));
                requests.push_back(comm.isend(&sent[2], 8, 0, 6));
                requests.push_back(comm.isend(nullptr, 0, 0, 7));
            }
        comm.wait_all(requests);
        EXPECT_EQ(got[0], 1);
        EXPECT_EQ(got[1], 3);
        EXPECT_EQ(got[2], 2);
    }
}

TEST(Alone, AMessageThatWasNeverSentIsAnErrorNotAWait) {
    Communicator comm;
    char data[4];
    Request request = comm.irecv(data, 4, 0, 9);
    expect_error(Status::communication, "tag 9", [&] { comm.wait_all(1, &request); });
    (void)comm.irecv(data, 4, 0, 10);
    expect_error(Status::communication, "has 3 bytes, but its receive expects 4",
                 [&] { (void)comm.isend("abc", 3, 0, 10); });
}

TEST(Alone, ThereIsNobodyElse) {
    Communicator comm;
    char data = 0;
    expect_error(Status::argument, "with rank 1", [&] { (void)comm.isend(&data, 1, 1, 0); });
    expect_error(Status::argument, "-1 bytes", [&] { (void)comm.irecv(&data, -1, 0, 0); });
}

class HostTable : public testing::Test {
  protected:
    ~HostTable() override { table_->comm_free(table_); }
    graft_comm_v1* const table_ = create_thread_ranks(1).front();
    graft_comm_v1 table = *table_;
    void refuse(Status status, const std::string& text) {
        expect_error(status, text, [&] { Communicator comm(&table); });
    }
};

TEST_F(HostTable, IsTakenAsItIs) {
    EXPECT_EQ(Communicator(&table).size(), 1);
    table.flags = GRAFT_COMM_DEVICE_AWARE;
    table.comm_error_text = nullptr;
    table.comm_set_deadline = nullptr;
    table.comm_fail = nullptr;
    Communicator comm(&table);
    comm.set_deadline(3);
    EXPECT_EQ(comm.sum(2.0), 2.0);
}

TEST_F(HostTable, AllMissingFunctionsAreNamed) {
    table.comm_bcast = nullptr;
    table.comm_waitall = nullptr;
    refuse(Status::argument, "function pointer comm_bcast, comm_waitall is NULL");
}

TEST_F(HostTable, EachFunctionIsLookedFor) {
    const auto without = [&](auto graft_comm_v1::*function, const char* name) {
        table = *table_;
        table.*function = nullptr;
        refuse(Status::argument, std::string("pointer ") + name + " is");
    };
    without(&graft_comm_v1::comm_barrier, "comm_barrier");
    without(&graft_comm_v1::comm_bcast, "comm_bcast");
    without(&graft_comm_v1::comm_allreduce, "comm_allreduce");
    without(&graft_comm_v1::comm_allgatherv, "comm_allgatherv");
    without(&graft_comm_v1::comm_alltoallv, "comm_alltoallv");
    without(&graft_comm_v1::comm_isend, "comm_isend");
    without(&graft_comm_v1::comm_irecv, "comm_irecv");
    without(&graft_comm_v1::comm_waitall, "comm_waitall");
    without(&graft_comm_v1::comm_split, "comm_split");
    without(&graft_comm_v1::comm_free, "comm_free");
}

TEST_F(HostTable, RanksThatCannotBe) {
    table.size = 0;
    refuse(Status::argument, "size is 0");
    table.size = 2;
    table.rank = 2;
    refuse(Status::argument, "rank is 2; expected 0 ... 1");
    table.rank = -1;
    refuse(Status::argument, "rank is -1");
}

TEST_F(HostTable, LayoutsOfAnotherAge) {
    table.struct_size = 8;
    refuse(Status::abi, "struct_size is 8");
    table.struct_size = 0x7fffffff;
    refuse(Status::abi, "struct_size is 2147483647");
    table = *table_;
    table.reserved[2] = 1;
    refuse(Status::abi, "reserved");
    table = *table_;
    table.flags = 6;
    refuse(Status::abi, "flags is 0x6");
    struct {
        graft_comm_v1 table;
        uint64_t more[2];
    } newer = {*table_, {0, 0}};
    newer.table.struct_size = sizeof newer;
    EXPECT_EQ(Communicator(&newer.table).size(), 1);
    newer.more[1] = 1; // a function that this library does not know and will not call
    EXPECT_EQ(Communicator(&newer.table).size(), 1);
}

TEST_F(HostTable, IsCopied) {
    Communicator comm(&table);
    table.comm_barrier = nullptr;
    table.size = 7;
    comm.barrier();
    EXPECT_EQ(comm.sum(1.0), 1.0);
}

TEST_F(HostTable, ClockIsTheTablesWhereItHasOne) {
    table.comm_time_s = [](void*) { return 42.0; };
    EXPECT_EQ(Communicator(&table).time_s(), 42.0);
    table.comm_time_s = nullptr;
    Communicator comm(&table);
    const double before_s = comm.time_s();
    EXPECT_GE(comm.time_s(), before_s);
}

TEST_F(HostTable, DeadlinesThatCannotBe) {
    Communicator comm(&table);
    expect_error(Status::argument, "deadline", [&] { comm.set_deadline(-1); });
    expect_error(Status::argument, "deadline", [&] { comm.set_deadline(std::nan("")); });
    comm.set_deadline(std::numeric_limits<double>::infinity());
    EXPECT_EQ(comm.sum(1.0), 1.0);
}

TEST(Traffic, CountsWhatLeavesTheRank) {
    run_ranks(4, [](Communicator& comm) {
        double values[10] = {};
        comm.broadcast(values, 10, 1);
        EXPECT_EQ(comm.traffic().bytes_sent, comm.rank() == 1 ? 80 : 0);
        const auto before = comm.traffic();
        comm.allreduce(values, 10, Operation::sum);
        int32_t one = 1;
        comm.allreduce(&one, 1, Operation::max);
        EXPECT_EQ(comm.traffic().bytes_sent - before.bytes_sent, 84);
        std::vector<Request> requests;
        char out[5] = {}, in[5] = {}, own[7] = {}, own_in[7] = {};
        requests.push_back(comm.irecv(in, 5, (comm.rank() + 1) % 4, 0));
        requests.push_back(comm.isend(out, 5, (comm.rank() + 3) % 4, 0));
        requests.push_back(comm.irecv(own_in, 7, comm.rank(), 0));
        requests.push_back(comm.isend(own, 7, comm.rank(), 0));
        comm.wait_all(requests);
        EXPECT_EQ(comm.traffic().bytes_sent - before.bytes_sent, 89);
        EXPECT_EQ(comm.traffic().messages - before.messages, 1);
        EXPECT_EQ(comm.traffic().collectives - before.collectives, 2);
        EXPECT_GT(comm.traffic().wait_s, before.wait_s);
    });
}

TEST(Size, IsSmall) {
    EXPECT_LE(sizeof(Communicator), 192u);
}

} // namespace
