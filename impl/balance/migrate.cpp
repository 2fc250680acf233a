// SPDX-License-Identifier: BSD-3-Clause
// See migrate.hpp. Messages carry at most send_bytes / 2 bytes: for each field the records of the message's
// items, field after field.
#include "balance/migrate.hpp"

#include "balance/check_fields.hpp"

namespace graft::balance {

using particles::ArrayView;

namespace {

constexpr int tag = 71;

} // namespace

/// One move of all fields in one direction.
struct Migration::Move {
    int fields = 0;
    const ArrayView* from = nullptr;
    const ArrayView* to = nullptr;
    const Shares* out = nullptr;      // whom we send to
    const Shares* in = nullptr;       // who sends to us
    const int32_t* gather = nullptr;  // forward: items to send stand at from[order]
    const int32_t* scatter = nullptr; // back: items received go to to[order]
    int64_t own_from = 0, own_to = 0; // places of the own share in the sequences of out and in
    int rank = 0;
    int64_t item_bytes = 0, items_per_message = 1;
    bool overlap = false;

    int64_t message_items(int64_t left) const { return std::min(left, items_per_message); }
    Strided source(int field, int64_t first) const {
        return gather != nullptr ? items_of(from[field], gather + first) : items_of(from[field], first);
    }
    Strided target(int field, int64_t first) const {
        return scatter != nullptr ? items_of(to[field], scatter + first) : items_of(to[field], first);
    }
    /// Items [first, first + n) of the outgoing sequence to records at `data`.
    void pack(const backend::Executor& executor, int64_t first, int64_t n, char* data) const {
        for (int f = 0; f < fields; ++f) {
            copy_items(executor, from[f], source(f, first), packed(data, from[f]), n);
            data += n * packed_bytes(from[f]);
        }
    }
    void unpack(const backend::Executor& executor, int64_t first, int64_t n, char* data) const {
        for (int f = 0; f < fields; ++f) {
            copy_items(executor, to[f], packed(data, to[f]), target(f, first), n);
            data += n * packed_bytes(to[f]);
        }
    }
    void copy_own(const backend::Executor& executor, int64_t n) const {
        for (int f = 0; f < fields; ++f)
            copy_items(executor, from[f], source(f, own_from), target(f, own_to), n);
    }
};

Migration::Migration(core::Memory& memory, int64_t send_bytes)
    : send_bytes_(send_bytes), sorter_(memory), order_(memory, "migration order"), to_(memory), from_(memory),
      send_(memory, "migration send"), receive_(memory, "migration receive") {}

void Migration::plan(comm::Communicator& comm, const backend::Executor& executor, const int32_t* owner,
                     int64_t n) {
    planned_ = false;
    comm.together([&] { sorter_.sort(executor, owner, n, comm.size(), order_, to_); });
    exchange_shares(comm, to_, from_);
    before_ = n;
    after_ = from_.total();
    set_own_share(comm.rank());
    items_moved_ = before_ - own_;
    comm.together([&] {
        if (after_ > INT32_MAX)
            core::fail(core::Status::argument,
                       "owner: %lld items would arrive on one rank; expected at most %d. Spread them wider",
                       static_cast<long long>(after_), INT32_MAX);
    });
    planned_ = true;
}

void Migration::set_own_share(int rank) {
    own_ = own_order_ = own_after_ = 0;
    for (int64_t k = 0; k < to_.size() && to_.rank[k] <= rank; ++k)
        (to_.rank[k] == rank ? own_ : own_order_) += to_.count[k];
    for (int64_t k = 0; k < from_.size() && from_.rank[k] < rank; ++k)
        own_after_ += from_.count[k];
}

void Migration::forward(comm::Communicator& comm, const backend::Executor& executor, int fields,
                        const ArrayView* from, const ArrayView* to) {
    Move move{fields, from, to, &to_, &from_, order_.data(), nullptr, own_order_, own_after_, comm.rank()};
    comm.together([&] { check_fields(planned_, fields, from, before_, to, after_); });
    run(comm, executor, move);
}

void Migration::back(comm::Communicator& comm, const backend::Executor& executor, int fields,
                     const ArrayView* from, const ArrayView* to) {
    Move move{fields, from, to, &from_, &to_, nullptr, order_.data(), own_after_, own_order_, comm.rank()};
    comm.together([&] { check_fields(planned_, fields, from, after_, to, before_); });
    run(comm, executor, move);
}

void Migration::run(comm::Communicator& comm, const backend::Executor& executor, Move& move) {
    check_same_fields(comm, move.fields, move.from);
    for (int f = 0; f < move.fields; ++f)
        move.item_bytes += packed_bytes(move.from[f]);
    if (move.item_bytes == 0)
        return;
    comm.together([&] { prepare(executor, move); });
    post_receives(comm, move);
    send_all(comm, executor, move);
    comm.wait_all(receives_);
    comm.conclude(); // everything is everywhere: from here on nothing can fail
    write_all(executor, move);
}

/// All that may fail on one rank alone: memory, and room for the requests.
void Migration::prepare(const backend::Executor& executor, Move& move) {
    move.items_per_message = std::max<int64_t>(1, send_bytes_ / 2 / move.item_bytes);
    move.overlap = any_overlap(move.fields, move.from, move.to);
    const int64_t arriving = move.in->total() - own_, leaving = move.out->total() - own_;
    const int64_t half = std::min(leaving, move.items_per_message) * move.item_bytes;
    receive_.resize((arriving + (move.overlap ? own_ : 0)) * move.item_bytes);
    send_.resize(2 * half);
    bytes_moved_ = leaving * move.item_bytes;
    const auto messages = [&](const Shares& shares) {
        int64_t count = 0;
        for (int64_t k = 0; k < shares.size(); ++k)
            count += shares.rank[k] == move.rank
                         ? 0
                         : (shares.count[k] + move.items_per_message - 1) / move.items_per_message;
        return static_cast<size_t>(count);
    };
    receives_.clear();
    sends_[0].clear();
    sends_[1].clear();
    receives_.reserve(messages(*move.in));
    for (auto& sends : sends_)
        sends.reserve(messages(*move.out));
    if (move.overlap)
        move.pack(executor, move.own_from, own_, receive_.data() + arriving * move.item_bytes);
}

void Migration::post_receives(comm::Communicator& comm, const Move& move) {
    char* data = receive_.data();
    for (int64_t k = 0; k < move.in->size(); ++k)
        for (int64_t left = move.in->rank[k] == move.rank ? 0 : move.in->count[k]; left > 0;) {
            const int64_t items = move.message_items(left);
            receives_.push_back(comm.irecv(data, items * move.item_bytes, move.in->rank[k], tag));
            data += items * move.item_bytes;
            left -= items;
        }
}

/// Peers above this rank first, so that not everyone sends to rank 0 at once.
void Migration::send_all(comm::Communicator& comm, const backend::Executor& executor, const Move& move) {
    const Shares& out = *move.out;
    const int64_t half_bytes = send_.size() / 2;
    int64_t start = 0, start_item = 0; // the first peer above this rank
    while (start < out.size() && out.rank[start] <= move.rank)
        start_item += out.count[start++];
    int64_t used = 0;
    int half = 0;
    for (int64_t step = 0, first = start_item; step < out.size(); ++step) {
        const int64_t k = (start + step) % out.size();
        first = k == 0 ? 0 : first;
        for (int64_t left = out.rank[k] == move.rank ? 0 : out.count[k], item = first; left > 0;) {
            const int64_t items = move.message_items(left);
            if (used + items * move.item_bytes > half_bytes) {
                half = 1 - half;
                used = 0;
                comm.wait_all(sends_[half]);
            }
            char* data = send_.data() + half * half_bytes + used;
            move.pack(executor, item, items, data);
            sends_[half].push_back(comm.isend(data, items * move.item_bytes, out.rank[k], tag));
            used += items * move.item_bytes;
            item += items;
            left -= items;
        }
        first += out.count[k];
    }
    comm.wait_all(sends_[0]);
    comm.wait_all(sends_[1]);
}

void Migration::write_all(const backend::Executor& executor, const Move& move) {
    char* data = receive_.data();
    if (move.overlap)
        move.unpack(executor, move.own_to, own_, data + receive_.size() - own_ * move.item_bytes);
    else
        move.copy_own(executor, own_);
    for (int64_t k = 0, first = 0; k < move.in->size(); first += move.in->count[k++])
        for (int64_t left = move.in->rank[k] == move.rank ? 0 : move.in->count[k], item = first; left > 0;) {
            const int64_t items = move.message_items(left);
            move.unpack(executor, item, items, data);
            data += items * move.item_bytes;
            item += items;
            left -= items;
        }
}

void Migration::release() noexcept {
    send_.release();
    receive_.release();
}

} // namespace graft::balance
