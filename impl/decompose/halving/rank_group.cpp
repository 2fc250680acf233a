// SPDX-License-Identifier: BSD-3-Clause
// See rank_group.hpp.
#include "decompose/halving/rank_group.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace graft::decompose {

template <typename AnyItem>
void RankGroup<AnyItem>::reserve(int64_t n, int64_t count, int ranks, int bins) {
    cut_.reserve_bins(bins);
    groups_.reserve(64);
    items_.resize(std::max(n, 3 * (count / ranks) + 96)); // most halvings then ask for no memory
    items_.resize(n);
}

template <typename AnyItem>
void RankGroup<AnyItem>::start(comm::Communicator& whole, int64_t count) {
    whole_ = comm_ = &whole;
    groups_.clear();
    routes_.start();
    first_ = 0;
    ranks_ = whole.size();
    count_ = count;
    error_ = nullptr;
    lost_ = stopped_ = spread_ = false;
}

template <typename AnyItem>
void RankGroup<AnyItem>::allow(const std::function<void()>& body) {
    try {
        comm_->together([&] {
            try {
                if (!error_ && !lost_)
                    body();
            } catch (...) {
                error_ = std::current_exception();
            }
            if (error_)
                std::rethrow_exception(error_);
            if (lost_)
                core::fail(core::Status::memory, "points were lost where another rank failed");
        });
    } catch (const core::Error& failure) {
        if (failure.status() == core::Status::communication)
            throw;
        stopped_ = true;
    }
}

template <typename AnyItem>
bool RankGroup<AnyItem>::halve(const GroupQuestion& question, int left_ranks, GroupAnswer& answer,
                               bool& in_right) {
    try {
        if (!error_)
            cut_.reserve(items_.size());
    } catch (...) {
        error_ = std::current_exception();
    }
    const bool gone = error_ || lost_;
    answer = cut_.find(*comm_, items_.data(), gone ? 0 : items_.size(), question, gone,
                       !spread_ && items_.size() > most_here());
    stopped_ = answer.failed;
    if (stopped_)
        return false;
    if (answer.crowded) {
        routes_.spread(*comm_, first_, count_, items_, error_, lost_);
        spread_ = true;
        stopped_ = lost_; // on all ranks alike
        return false;
    }
    const Halves halves{first_, left_ranks, ranks_ - left_ranks};
    routes_.halve(*whole_, halves, question.axis, answer.border, items_, error_, lost_);
    in_right = whole_->rank() >= first_ + left_ranks;
    enter(in_right, left_ranks, answer);
    return true;
}

template <typename AnyItem>
void RankGroup<AnyItem>::enter(bool right, int left_ranks, const GroupAnswer& answer) {
    const int ranks = right ? ranks_ - left_ranks : left_ranks;
    first_ += right ? left_ranks : 0;
    ranks_ = ranks;
    if (ranks_ > 1) { // one rank alone needs no communicator
        groups_.push_back(std::make_unique<comm::Range>(*whole_, first_, ranks_));
        comm_ = &groups_.back()->comm();
    }
    count_ = right ? count_ - answer.count : answer.count;
    spread_ = false;
}

template <typename AnyItem>
comm::Traffic RankGroup<AnyItem>::leave() {
    comm::Traffic traffic;
    for (; !groups_.empty(); groups_.pop_back())
        traffic.collectives += groups_.back()->comm().traffic().collectives;
    comm_ = whole_;
    return traffic;
}

template class RankGroup<Item>;
template class RankGroup<KeyItem>;

} // namespace graft::decompose
