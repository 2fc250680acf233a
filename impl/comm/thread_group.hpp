// SPDX-License-Identifier: BSD-3-Clause
// What the threads of one in-process communicator share: a rendezvous for collectives and an inbox per rank.
//
// One mutex guards everything but the copying of payloads. A collective completes when its last rank arrives
// (then, and only then, is it checked and combined); ranks that copy from each other's buffers leave it
// together. A completed collective succeeds on all ranks, whatever fails later; an incomplete one fails on
// all. No call returns while a peer still copies from or to its buffers.
#pragma once

#include "comm/failure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace graft::comm {

/// What one rank brings to a collective. `call` and `agreed` must be the same on all ranks.
struct Contribution {
    Call call = Call::unknown;
    const char* names[3] = {}; // of what stands in `agreed`: "bytes", "root"
    std::array<int64_t, 3> agreed = {};
    const void* send = nullptr;
    const int64_t* send_bytes = nullptr;  // one value (allgatherv) or one per rank (alltoallv)
    const int64_t* send_offset = nullptr; // alltoallv
    int32_t colour = 0, key = 0;          // split
};

class ThreadGroup;

/// A rank's seat in a part.
struct Seat {
    std::shared_ptr<ThreadGroup> part;
    int rank = 0;
};

/// A message half: a send or a receive that has been started.
struct Transfer {
    enum class State { waiting, copying, done };
    State state = State::waiting;
    bool receives = false;
    int from = 0, to = 0, tag = 0;
    int64_t bytes = 0;
    const char* source = nullptr; // sends; points into `kept` when the message is small
    char* target = nullptr;       // receives
    std::vector<char> kept;
};

class ThreadGroup {
  public:
    /// names: what messages call the ranks, their numbers in the group that all was split from.
    explicit ThreadGroup(std::vector<int> names);

    int size() const noexcept { return static_cast<int>(contributions_.size()); }
    int name(int rank) const { return names_[static_cast<size_t>(rank)]; }
    /// What a rank brought to the collective that has just completed.
    const Contribution& of(int rank) const { return contributions_[static_cast<size_t>(rank)]; }

    /// Meets all ranks. `complete` runs once, on the last rank to arrive, alone. `copy`, where given, then
    /// runs on all ranks at once and may read what the others brought; it returns "" or what it found wrong.
    /// Throws Error(communication) on all ranks when they disagree, one fails, or the deadline passes.
    void collective(int rank, const Contribution& mine, double deadline_s,
                    const std::function<void()>& complete, const std::function<std::string()>& copy);

    /// Made by `complete`, read by all ranks after collective() has returned and before they call the next.
    std::vector<char> combined;
    std::vector<Seat> seats;

    /// Start a message, and wait for one. Throw Error(communication).
    std::shared_ptr<Transfer> send(int from, int to, int tag, const void* data, int64_t bytes);
    std::shared_ptr<Transfer> receive(int from, int to, int tag, void* data, int64_t bytes);
    void wait(int rank, const Transfer& transfer, double deadline_s);
    /// Takes back what has not been matched, or waits for the running copy to end: the buffer is free then.
    void withdraw(const std::shared_ptr<Transfer>& mine);

    /// From now on every call on this group and on its parts throws Failure(text, began_in).
    void fail(const std::string& text, Call began_in);
    /// Where the failure that ended the group began; unknown while it is good.
    Call failed_call();
    /// A part of this group that fails with it. Call it from `complete` only.
    void adopt(const std::shared_ptr<ThreadGroup>& part);
    /// This rank will never call again.
    void leave(int rank);

  private:
    using Lock = std::unique_lock<std::mutex>;
    struct Channel { // messages of one tag from one rank
        std::deque<std::shared_ptr<Transfer>> sent, wanted;
    };
    struct Inbox {
        std::map<std::pair<int, int>, Channel> channels; // (from, tag)
        std::condition_variable changed;
    };

    void ensure_good() const;
    [[noreturn]] void fail_and_throw(const std::string& text, Call began_in);
    void fail_locked(const std::string& text, Call began_in);
    /// False: not done, because the group has failed or the deadline (0 = none) has passed.
    template <typename Done>
    bool wait_until(Lock& lock, std::condition_variable& changed, double deadline_s, Done done) {
        const auto over = [&] { return done() || !failure_.empty(); };
        if (deadline_s > 0)
            changed.wait_for(
                lock, std::chrono::nanoseconds(static_cast<int64_t>(std::min(deadline_s, 1e9) * 1e9)), over);
        else
            changed.wait(lock, over);
        return done();
    }
    void check_agreement(Call call);
    void depart_together(Lock& lock, const std::string& wrong, Call call);
    std::string missing_ranks() const;
    void deliver(Lock& lock, Transfer& sent, Transfer& wanted, Call call);
    Inbox& inbox(int rank) { return *inboxes_[static_cast<size_t>(rank)]; }

    std::string describe_message(const Transfer& transfer) const;

    const std::vector<int> names_;
    std::mutex mutex_;
    std::string failure_; // "" while good
    Call failed_call_ = Call::unknown;
    std::vector<std::weak_ptr<ThreadGroup>> parts_;
    std::vector<char> gone_; // ranks that have left
    int gone_count_ = 0;

    std::vector<Contribution> contributions_;
    std::vector<int64_t> arrived_at_; // the number of the last collective that a rank arrived at
    int64_t completed_ = 0;           // collectives so far
    int arrived_ = 0;
    std::condition_variable complete_;
    int left_ = 0;
    int64_t departures_ = 0;
    std::string wrong_; // what a copy found
    std::condition_variable departed_;

    std::vector<std::unique_ptr<Inbox>> inboxes_;
};

} // namespace graft::comm
