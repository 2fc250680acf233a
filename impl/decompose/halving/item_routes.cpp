// SPDX-License-Identifier: BSD-3-Clause
// See item_routes.hpp.
#include "decompose/halving/item_routes.hpp"

#include "backend/step_count.hpp"
#include "comm/collectives.hpp"
#include "comm/sparse_exchange.hpp"

#include <algorithm>
#include <cstring>

namespace graft::decompose {
namespace {

constexpr int tag_header = 111, tag_ready = 112, tag_items = 113, tag_answers = 114;
constexpr int64_t failed_mark = -1;

/// What a rank tells a partner before the items.
struct Header {
    int64_t items = 0; // failed_mark: no items, I have failed
    int64_t room = 0;  // items that I can take from you without asking for memory
};

constexpr int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/// Share number k of n things in `shares` shares that differ by one at most: where it begins.
constexpr int64_t share_begin(int64_t n, int64_t k, int64_t shares) {
    return n / shares * k + std::min(k, n % shares);
}

/// The share that thing number `number` of n is in.
constexpr int64_t share_of(int64_t n, int64_t number, int64_t shares) {
    const int64_t small = n / shares, larger = n % shares; // so many shares have one more
    return number < larger * (small + 1) ? number / (small + 1)
                                         : larger + (number - larger * (small + 1)) / small;
}

} // namespace

Partners partners_of(int rank, const Halves& halves) {
    const int right_first = halves.first + halves.left_ranks;
    const bool left = rank < right_first;
    const int64_t mine = left ? halves.left_ranks : halves.right_ranks;
    const int64_t theirs = left ? halves.right_ranks : halves.left_ranks;
    const int64_t index = rank - (left ? halves.first : right_first);
    const int begin = left ? right_first : halves.first;
    if (mine >= theirs)
        return {begin + static_cast<int>(index * theirs / mine), 1};
    const int64_t from = divide_up(index * theirs, mine), to = divide_up((index + 1) * theirs, mine);
    return {begin + static_cast<int>(from), static_cast<int>(to - from)};
}

template <typename AnyItem>
void ItemRoutes<AnyItem>::start() {
    stages_.clear();
    peers_.clear();
    sides_.clear();
}

/// Notes who leaves, and moves those to outgoing_. Allocates before it touches anything.
template <typename AnyItem>
void ItemRoutes<AnyItem>::part(int axis, const Border& border, bool left, core::Buffer<AnyItem>& items,
                               Stage& stage) {
    stage.first_word = sides_.size();
    sides_.resize_keep(stage.first_word + divide_up(items.size(), 64));
    uint64_t* bits = sides_.data() + stage.first_word;
    std::fill(bits, sides_.end(), 0);
    int64_t leaving = 0;
    for (int64_t i = 0; i < items.size(); ++i)
        if (is_left(border, items[i], axis) != left) {
            bits[i / 64] |= uint64_t{1} << (i % 64);
            ++leaving;
        }
    outgoing_.resize(leaving);
    stage.items = items.size();
    stage.kept = leaving = 0;
    for (int64_t i = 0; i < stage.items; ++i)
        if ((bits[i / 64] >> (i % 64) & 1) != 0)
            outgoing_[leaving++] = items[i];
        else
            items[stage.kept++] = items[i];
    backend::count_work(2 * stage.items);
}

template <typename AnyItem>
void ItemRoutes<AnyItem>::halve(comm::Communicator& comm, const Halves& halves, int axis,
                                const Border& border, core::Buffer<AnyItem>& items, std::exception_ptr& error,
                                bool& lost) {
    const Partners partners = partners_of(comm.rank(), halves);
    Stage stage{0, 0, 0, peers_.size(), peers_.size() + static_cast<size_t>(partners.count)};
    if (!error) {
        try {
            part(axis, border, comm.rank() < halves.first + halves.left_ranks, items, stage);
        } catch (...) {
            error = std::current_exception();
        }
    }
    const int64_t leaving = error ? 0 : outgoing_.size();
    for (int k = 0; k < partners.count; ++k)
        peers_.push_back(
            {partners.first + k,
             share_begin(leaving, k + 1, partners.count) - share_begin(leaving, k, partners.count), 0});
    if (!error)
        items.resize(stage.kept);
    stages_.push_back(stage);
    swap(comm, stage, items, error, lost);
    lost = lost || error;
}

/// Headers, then leave to send where the room announced does not do, then the items.
template <typename AnyItem>
void ItemRoutes<AnyItem>::swap(comm::Communicator& comm, const Stage& stage, core::Buffer<AnyItem>& items,
                               std::exception_ptr& error, bool& lost) {
    const size_t count = stage.last_peer - stage.first_peer;
    Peer* peers = peers_.data() + stage.first_peer;
    std::vector<Header> mine(count), theirs(count);
    std::vector<int64_t> may_send(count, 1), may_receive(count, 1);
    requests_.clear();
    requests_.reserve(2 * count);
    const int64_t room = (items.capacity() - stage.kept) / static_cast<int64_t>(count);
    for (size_t k = 0; k < count; ++k) {
        mine[k] = {error ? failed_mark : peers[k].sent, room};
        requests_.push_back(comm.irecv(&theirs[k], sizeof(Header), peers[k].rank, tag_header));
        requests_.push_back(comm.isend(&mine[k], sizeof(Header), peers[k].rank, tag_header));
    }
    comm.wait_all(requests_);

    int64_t arriving = 0;
    for (size_t k = 0; k < count; ++k) {
        const bool both_well = !error && theirs[k].items != failed_mark;
        lost = lost || theirs[k].items == failed_mark;
        peers[k].sent = both_well ? peers[k].sent : 0;
        peers[k].received = both_well ? theirs[k].items : 0;
        arriving += peers[k].received;
    }
    int64_t granted = 1;
    try {
        if (!error)
            items.resize_keep(stage.kept + arriving);
    } catch (...) {
        error = std::current_exception();
        granted = 0;
    }
    for (size_t k = 0; k < count; ++k) {
        if (peers[k].received > room) {
            may_receive[k] = granted;
            requests_.push_back(comm.isend(&may_receive[k], sizeof(int64_t), peers[k].rank, tag_ready));
        }
        if (peers[k].sent > theirs[k].room)
            requests_.push_back(comm.irecv(&may_send[k], sizeof(int64_t), peers[k].rank, tag_ready));
    }
    if (!requests_.empty())
        comm.wait_all(requests_);

    // Who cannot take all refuses all that was not announced to fit; what did fit is sent all the same, and
    // must not be received behind the end.
    bool refused = granted == 0;
    for (size_t k = 0; k < count; ++k) {
        refused = refused || may_send[k] == 0;
        peers[k].received = may_receive[k] != 0 ? peers[k].received : 0;
        peers[k].sent = may_send[k] != 0 ? peers[k].sent : 0;
    }
    lost = lost || refused;
    send_items(comm, 0, stage, items);
}

template <typename AnyItem>
void ItemRoutes<AnyItem>::spread(comm::Communicator& group, int first, int64_t count,
                                 core::Buffer<AnyItem>& items, std::exception_ptr& error, bool& lost) {
    const int64_t share = divide_up(count, group.size());
    const int64_t surplus = std::max<int64_t>(0, items.size() - share);
    const int64_t begin = comm::exclusive_scan(group, surplus);
    const int64_t all = group.sum(surplus);
    Stage stage{items.size(), sides_.size(), items.size() - surplus, peers_.size(), 0};
    std::vector<comm::Notice> notices;
    const auto agree = [&](auto&& body) {
        try {
            group.together(body);
        } catch (const core::Error& failure) {
            if (failure.status() == core::Status::communication)
                throw;
            error = std::current_exception();
            lost = true;
        }
    };
    agree([&] {
        for (int64_t number = begin; number < begin + surplus;) {
            const int64_t to = share_of(all, number, group.size());
            const int64_t end = std::min(begin + surplus, share_begin(all, to + 1, group.size()));
            notices.push_back({.to = static_cast<int32_t>(to), .value = end - number});
            peers_.push_back({static_cast<int>(to) + first, end - number, 0});
            number = end;
        }
    });
    if (lost)
        return;
    try {
        comm::route(group, notices);
    } catch (const core::Error& failure) {
        if (failure.status() == core::Status::communication)
            throw;
        error = std::current_exception();
        lost = true;
        return;
    }
    int64_t arriving = 0;
    for (const comm::Notice& notice : notices)
        arriving += notice.value;
    agree([&] {
        for (const comm::Notice& notice : notices)
            peers_.push_back({notice.from + first, 0, notice.value});
        sides_.resize_keep(stage.first_word + divide_up(stage.items, 64));
        outgoing_.resize(surplus);
        items.resize_keep(std::max(items.size(), stage.kept + arriving));
        requests_.reserve(peers_.size());
    });
    if (lost)
        return;
    stage.last_peer = peers_.size();
    stages_.push_back(stage);
    uint64_t* bits = sides_.data() + stage.first_word;
    std::fill(bits, sides_.end(), 0);
    for (int64_t i = stage.kept; i < stage.items; ++i)
        bits[i / 64] |= uint64_t{1} << (i % 64);
    std::copy(items.data() + stage.kept, items.data() + stage.items, outgoing_.data());
    items.resize(stage.kept + arriving);
    send_items(group, first, stage, items);
}

/// Receives the stage's items behind those that stay, sends outgoing_.
template <typename AnyItem>
void ItemRoutes<AnyItem>::send_items(comm::Communicator& group, int first, const Stage& stage,
                                     core::Buffer<AnyItem>& items) {
    const AnyItem* from = outgoing_.data();
    AnyItem* to = items.data() + stage.kept;
    const int64_t size = sizeof(AnyItem);
    for (size_t p = stage.first_peer; p < stage.last_peer; ++p) {
        const Peer& peer = peers_[p];
        if (peer.received > 0)
            requests_.push_back(group.irecv(to, peer.received * size, peer.rank - first, tag_items));
        if (peer.sent > 0)
            requests_.push_back(group.isend(from, peer.sent * size, peer.rank - first, tag_items));
        to += peer.received;
        from += peer.sent;
    }
    if (!requests_.empty())
        group.wait_all(requests_);
}

template <typename AnyItem>
void ItemRoutes<AnyItem>::reserve_back(int64_t items_now) {
    int64_t most = items_now, travelling = 0;
    for (const Stage& stage : stages_) {
        int64_t sent = 0, received = 0;
        for (size_t p = stage.first_peer; p < stage.last_peer; ++p)
            sent += peers_[p].sent, received += peers_[p].received;
        most = std::max({most, stage.items, stage.kept + received});
        travelling = std::max(travelling, sent);
    }
    answers_.resize(most);
    returning_.resize(travelling);
}

template <typename AnyItem>
const int32_t* ItemRoutes<AnyItem>::back(comm::Communicator& comm, const int32_t* answers, int64_t n) {
    if (n > 0)
        std::memcpy(answers_.data(), answers, static_cast<size_t>(n) * sizeof(int32_t));
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage)
        undo(comm, *stage);
    return answers_.data();
}

/// Answers of received items go back, those of the items that left arrive and find their places.
template <typename AnyItem>
void ItemRoutes<AnyItem>::undo(comm::Communicator& comm, const Stage& stage) {
    const int64_t size = sizeof(int32_t);
    const int32_t* from = answers_.data() + stage.kept;
    int32_t* to = returning_.data();
    for (size_t p = stage.first_peer; p < stage.last_peer; ++p) {
        const Peer& peer = peers_[p];
        if (peer.sent > 0)
            requests_.push_back(comm.irecv(to, peer.sent * size, peer.rank, tag_answers));
        if (peer.received > 0)
            requests_.push_back(comm.isend(from, peer.received * size, peer.rank, tag_answers));
        from += peer.received;
        to += peer.sent;
    }
    if (!requests_.empty())
        comm.wait_all(requests_);
    // From the last item down: what stays is in front of its place.
    const uint64_t* bits = sides_.data() + stage.first_word;
    int64_t kept = stage.kept, left = to - returning_.data();
    for (int64_t i = stage.items - 1; i >= 0; --i)
        answers_[i] = (bits[i / 64] >> (i % 64) & 1) != 0 ? returning_[--left] : answers_[--kept];
    backend::count_work(stage.items);
}

template class ItemRoutes<Item>;
template class ItemRoutes<KeyItem>;

} // namespace graft::decompose
