// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous of threads in collectives, and how one rank's failure reaches all. Messages:
// thread_messages.cpp.
#include "comm/thread_group.hpp"

#include "core/error.hpp"

namespace graft::comm {

namespace {

std::string describe(const Contribution& mine) {
    std::string text = name_of(mine.call);
    const char* separator = "(";
    for (size_t i = 0; i < mine.agreed.size(); ++i)
        if (mine.names[i] != nullptr) {
            text +=
                core::format("%s%s %lld", separator, mine.names[i], static_cast<long long>(mine.agreed[i]));
            separator = ", ";
        }
    return *separator == ',' ? text + ")" : text;
}

bool agree(const Contribution& a, const Contribution& b) {
    return a.call == b.call && a.agreed == b.agreed;
}

} // namespace

ThreadGroup::ThreadGroup(std::vector<int> names)
    : names_(std::move(names)), gone_(names_.size()), contributions_(names_.size()),
      arrived_at_(names_.size()) {
    for (size_t r = 0; r < names_.size(); ++r)
        inboxes_.push_back(std::make_unique<Inbox>());
}

void ThreadGroup::ensure_good() const {
    if (!failure_.empty())
        throw Failure(failure_, failed_call_);
}

void ThreadGroup::fail_locked(const std::string& text, Call began_in) {
    if (!failure_.empty())
        return;
    failure_ = text;
    failed_call_ = began_in;
    complete_.notify_all();
    for (const auto& inbox : inboxes_)
        inbox->changed.notify_all();
    for (const auto& part : parts_) // locks go from a group to its parts, never back
        if (const auto alive = part.lock())
            alive->fail(text, began_in);
}

void ThreadGroup::fail(const std::string& text, Call began_in) {
    const Lock lock(mutex_);
    fail_locked(text, began_in);
}

Call ThreadGroup::failed_call() {
    const Lock lock(mutex_);
    return failed_call_;
}

void ThreadGroup::fail_and_throw(const std::string& text, Call began_in) {
    fail_locked(text, began_in);
    throw Failure(failure_, failed_call_);
}

void ThreadGroup::adopt(const std::shared_ptr<ThreadGroup>& part) {
    std::erase_if(parts_, [](const std::weak_ptr<ThreadGroup>& old) { return old.expired(); });
    parts_.push_back(part);
}

void ThreadGroup::leave(int rank) {
    const Lock lock(mutex_);
    gone_[static_cast<size_t>(rank)] = 1;
    ++gone_count_;
    if (arrived_ > 0)
        fail_locked(core::format("rank %d freed its communicator while others wait for it in %s", name(rank),
                                 missing_ranks().c_str()),
                    Call::unknown);
    for (const auto& inbox : inboxes_) // who waits for a message from it looks again
        inbox->changed.notify_all();
}

std::string ThreadGroup::missing_ranks() const {
    std::string waiting_in;
    std::string missing;
    int count = 0;
    for (int r = 0; r < size(); ++r)
        if (arrived_at_[static_cast<size_t>(r)] > completed_)
            waiting_in = describe(of(r));
        else if (++count <= 4)
            missing += core::format("%s%d", count > 1 ? ", " : "", name(r));
    if (count > 4)
        missing += core::format(" and %d more", count - 4);
    return core::format("%s, collective %lld of this communicator, for rank%s %s", waiting_in.c_str(),
                        static_cast<long long>(completed_) + 1, count > 1 ? "s" : "", missing.c_str());
}

void ThreadGroup::check_agreement(Call call) {
    for (int r = 1; r < size(); ++r)
        if (!agree(of(0), of(r)))
            fail_and_throw(core::format("ranks disagree: rank %d calls %s, rank %d %s", name(0),
                                        describe(of(0)).c_str(), name(r), describe(of(r)).c_str()),
                           call);
}

void ThreadGroup::collective(int rank, const Contribution& mine, double deadline_s,
                             const std::function<void()>& complete,
                             const std::function<std::string()>& copy) {
    Lock lock(mutex_);
    ensure_good();
    contributions_[static_cast<size_t>(rank)] = mine;
    arrived_at_[static_cast<size_t>(rank)] = completed_ + 1;
    const int64_t number = ++arrived_ == size() ? 0 : completed_ + 1;
    if (gone_count_ > 0)
        fail_and_throw(core::format("rank %d waits in %s; a rank has freed its communicator", name(rank),
                                    missing_ranks().c_str()),
                       mine.call);
    if (number == 0) {
        check_agreement(mine.call);
        if (complete)
            complete();
        arrived_ = 0;
        ++completed_;
        complete_.notify_all();
    } else if (!wait_until(lock, complete_, deadline_s, [&] { return completed_ >= number; })) {
        ensure_good();
        fail_and_throw(
            core::format("rank %d waited %g s in %s", name(rank), deadline_s, missing_ranks().c_str()),
            mine.call);
    }
    if (copy) {
        lock.unlock();
        const std::string wrong = copy();
        lock.lock();
        depart_together(lock, wrong, mine.call);
    }
}

void ThreadGroup::depart_together(Lock& lock, const std::string& wrong, Call call) {
    if (wrong_.empty())
        wrong_ = wrong;
    const int64_t number = departures_ + 1;
    if (++left_ == size()) {
        left_ = 0;
        ++departures_;
        departed_.notify_all();
    } else { // not to be interrupted: copying ends, and peers copy from this rank's buffers until then
        departed_.wait(lock, [&] { return departures_ >= number; });
    }
    if (!wrong_.empty())
        fail_and_throw(wrong_, call);
}

} // namespace graft::comm
