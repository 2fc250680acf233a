// SPDX-License-Identifier: BSD-3-Clause
// Calls of the table, with their failures turned into errors. agreement.cpp has agree() and give_up().
#include "comm/communicator.hpp"

#include "comm/self_messages.hpp"
#include "comm/table_checks.hpp"

#include <chrono>
#include <cmath>
#include <cstring>

namespace graft::comm {

using core::Status;

namespace {

double steady_time_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void require_self(int peer, int64_t bytes) {
    if (peer != 0 || bytes < 0)
        core::fail(Status::argument,
                   "one rank alone: a message of %lld bytes with rank %d; expected rank 0 and 0 "
                   "bytes or more",
                   static_cast<long long>(bytes), peer);
}

} // namespace

Communicator::Communicator() = default;

Communicator::Communicator(const graft_comm_v1* table) {
    if (table == nullptr)
        return;
    take(*table);
    root_rank_ = rank_;
}

Communicator::~Communicator() {
    if (owned_ != nullptr)
        owned_->comm_free(owned_);
}

void Communicator::take(const graft_comm_v1& given) {
    table_ = std::make_unique<const graft_comm_v1>(read_table(given));
    rank_ = table_->rank;
    size_ = table_->size;
}

double Communicator::time_s() const {
    return table_ != nullptr && table_->comm_time_s != nullptr ? table_->comm_time_s(table_->self) : steady_time_s();
}

void Communicator::set_deadline(double seconds) {
    ensure_good();
    if (!(seconds >= 0))
        core::fail(Status::argument, "the deadline of a communicator is %g s; expected 0 (none) or more",
                   seconds);
    if (table_ == nullptr || table_->comm_set_deadline == nullptr)
        return;
    if (const int32_t status = table_->comm_set_deadline(table_->self, seconds); status != 0)
        lose(core::format("set_deadline failed (status %d)", status));
}

void Communicator::ensure_good() const {
    if (!poison_.empty())
        throw Failure(poison_, failed_call_);
}

/// Runs one of the table's functions with the stopwatch on.
template <typename Function>
int32_t Communicator::timed(Function&& function) {
    const double start_s = time_s();
    const int32_t status = function(*table_);
    traffic_.wait_s += time_s() - start_s;
    return status;
}

/// The same; a status other than 0 ends this communicator.
template <typename Function>
void Communicator::checked(Call what, Function&& function) {
    if (const int32_t status = timed(function); status != 0)
        lose(failure_text(what, status));
}

void Communicator::poison_peers(const std::string& text) noexcept {
    if (table_ != nullptr && table_->comm_fail != nullptr)
        table_->comm_fail(table_->self, text.c_str());
}

/// What peers are told, too.
std::string Communicator::failure_text(Call what, int32_t status) const {
    const char* told = table_->comm_error_text != nullptr ? table_->comm_error_text(table_->self) : nullptr;
    return core::format("%s failed (status %d)%s%s", name_of(what), status,
                        told != nullptr && *told != '\0' ? ": " : "", told != nullptr ? told : "");
}

/// Every later call of this rank fails with the text.
void Communicator::note_failure(std::string text) {
    poison_ = std::move(text);
    if (table_ != nullptr && table_->comm_failed_call != nullptr)
        failed_call_ = static_cast<Call>(table_->comm_failed_call(table_->self));
}

void Communicator::lose(const std::string& text) {
    poison_peers(text);
    note_failure(core::format("rank %d: %s", root_rank_, text.c_str()));
    throw Failure(poison_, failed_call_);
}

/// A peer that waits no more because the agreement broke on it was in the allreduce; nothing else can have kept it
/// from the barrier. All other failures are of the barrier itself.
void Communicator::conclude(const std::exception_ptr& error) {
    agree(error);
    if (size_ == 1)
        return;
    ++traffic_.collectives;
    const int32_t status = timed([](const graft_comm_v1& table) { return table.comm_barrier(table.self); });
    if (status == 0)
        return;
    const std::string text = failure_text(Call::barrier, status);
    poison_peers(text);
    note_failure(core::format("rank %d: after all ranks had agreed: %s", root_rank_, text.c_str()));
    if (failed_call_ == Call::allreduce) {
        poison_ = core::format("rank %d: %s", root_rank_, text.c_str());
        throw Failure(poison_, failed_call_);
    }
}

SelfMessages& Communicator::self_messages() {
    if (!self_messages_)
        self_messages_ = std::make_unique<SelfMessages>();
    return *self_messages_;
}

void Communicator::barrier() {
    ensure_good();
    ++traffic_.collectives;
    if (table_ != nullptr)
        checked(Call::barrier, [](const graft_comm_v1& table) { return table.comm_barrier(table.self); });
}

void Communicator::broadcast_bytes(void* data, int64_t bytes, int root) {
    ensure_good();
    ++traffic_.collectives;
    if (table_ == nullptr)
        return;
    if (root == rank_ && size_ > 1)
        traffic_.bytes_sent += bytes;
    checked(Call::bcast,
            [&](const graft_comm_v1& table) { return table.comm_bcast(table.self, data, bytes, root); });
}

void Communicator::allreduce_values(void* data, int64_t count, int32_t dtype, Operation operation) {
    ensure_good();
    ++traffic_.collectives;
    if (table_ == nullptr)
        return;
    if (size_ > 1)
        traffic_.bytes_sent += count * (dtype == GRAFT_I32 ? 4 : 8);
    checked(Call::allreduce, [&](const graft_comm_v1& table) {
        return table.comm_allreduce(table.self, data, data, count, dtype, static_cast<int32_t>(operation));
    });
}

void Communicator::allgatherv_bytes(const void* send, int64_t send_bytes, void* receive,
                                    const int64_t* receive_bytes, const int64_t* receive_offset) {
    ensure_good();
    ++traffic_.collectives;
    if (table_ == nullptr) {
        if (send_bytes > 0)
            std::memmove(static_cast<char*>(receive) + receive_offset[0], send,
                         static_cast<size_t>(send_bytes));
        return;
    }
    if (size_ > 1)
        traffic_.bytes_sent += send_bytes;
    checked(Call::allgatherv, [&](const graft_comm_v1& table) {
        return table.comm_allgatherv(table.self, send, send_bytes, receive, receive_bytes, receive_offset);
    });
}

void Communicator::allgather_bytes(const void* send, int64_t bytes, void* receive) {
    ensure_good();
    std::vector<int64_t> receive_bytes(static_cast<size_t>(size_), bytes);
    std::vector<int64_t> receive_offset(static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r)
        receive_offset[static_cast<size_t>(r)] = r * bytes;
    allgatherv_bytes(send, bytes, receive, receive_bytes.data(), receive_offset.data());
}

void Communicator::alltoallv_bytes(const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                                   void* receive, const int64_t* receive_bytes,
                                   const int64_t* receive_offset) {
    ensure_good();
    ++traffic_.collectives;
    if (table_ == nullptr) {
        if (send_bytes[0] > 0)
            std::memmove(static_cast<char*>(receive) + receive_offset[0],
                         static_cast<const char*>(send) + send_offset[0], static_cast<size_t>(send_bytes[0]));
        return;
    }
    for (int r = 0; r < size_; ++r)
        traffic_.bytes_sent += r == rank_ ? 0 : send_bytes[r];
    checked(Call::alltoallv, [&](const graft_comm_v1& table) {
        return table.comm_alltoallv(table.self, send, send_bytes, send_offset, receive, receive_bytes,
                               receive_offset);
    });
}

Request Communicator::isend(const void* data, int64_t bytes, int to, int tag) {
    ensure_good();
    if (table_ == nullptr) {
        require_self(to, bytes);
        return self_messages().send(data, bytes, tag);
    }
    if (to != rank_) {
        ++traffic_.messages;
        traffic_.bytes_sent += bytes;
    }
    Request request = 0;
    checked(Call::isend, [&](const graft_comm_v1& table) {
        return table.comm_isend(table.self, data, bytes, to, tag, &request);
    });
    return request;
}

Request Communicator::irecv(void* data, int64_t bytes, int from, int tag) {
    ensure_good();
    if (table_ == nullptr) {
        require_self(from, bytes);
        return self_messages().receive(data, bytes, tag);
    }
    Request request = 0;
    checked(Call::irecv, [&](const graft_comm_v1& table) {
        return table.comm_irecv(table.self, data, bytes, from, tag, &request);
    });
    return request;
}

void Communicator::wait_all(int64_t count, Request* requests) {
    ensure_good();
    if (table_ == nullptr) {
        for (int64_t i = 0; i < count; ++i)
            self_messages().wait(requests[i]);
        return;
    }
    checked(Call::waitall,
            [&](const graft_comm_v1& table) { return table.comm_waitall(table.self, count, requests); });
}

std::unique_ptr<Communicator> Communicator::split(int colour, int key) {
    ensure_good();
    ++traffic_.collectives;
    auto part = std::make_unique<Communicator>();
    if (table_ != nullptr) {
        graft_comm_v1* table = nullptr;
        const int32_t given = colour < 0 ? INT32_MAX : colour; // not every table takes "in no part"
        checked(Call::split,
                [&](const graft_comm_v1& parent) { return parent.comm_split(parent.self, given, key, &table); });
        if (table == nullptr)
            lose("split: it returned no table");
        part->owned_ = table;
        part->take(*table);
    }
    part->root_rank_ = root_rank_;
    part->ancestors_ = ancestors_;
    part->ancestors_.push_back(this);
    if (colour < 0)
        part.reset();
    return part;
}

} // namespace graft::comm
