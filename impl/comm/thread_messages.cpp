// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point messages of threads: halves are matched when the second one is started, in order within a
// tag.
//
// Small payloads are kept by the inbox, so that their sends are complete at once; large ones are copied once,
// from the sender's buffer to the receiver's, as MPI's rendezvous does: their sends wait for the receive.
// Either buffer may be in a GPU's memory: then the GPU copies, from one to another without passing through
// the host's.
#include "comm/thread_group.hpp"

#include "backend/gpu_library.hpp"
#include "core/error.hpp"

#include <cstring>

namespace graft::comm {

namespace {

constexpr int64_t kept_bytes = 16384; // of the largest message that the inbox keeps

/// Where no GPU has been looked for, nobody has memory on one.
bool on_device(const backend::CudaTable* cuda, const void* data) {
    int32_t kind = 0, device = -1;
    backend::DeviceError error;
    if (cuda == nullptr)
        return false;
    backend::raise(cuda->pointer_kind(data, &kind, &device, &error), error);
    return device >= 0;
}

/// Returns when it is done. Throws Error(device).
void copy_payload(void* to, const void* from, int64_t bytes) {
    const backend::CudaTable* const cuda = backend::known_cuda();
    backend::DeviceError error;
    if (on_device(cuda, to) || on_device(cuda, from))
        backend::raise(cuda->copy(to, from, bytes, &error), error);
    else
        std::memcpy(to, from, static_cast<size_t>(bytes));
}

} // namespace

std::string ThreadGroup::describe_message(const Transfer& transfer) const {
    return core::format(transfer.receives ? "a message from rank %d (tag %d, %lld bytes)"
                                          : "rank %d to receive a message (tag %d, %lld bytes)",
                        name(transfer.receives ? transfer.from : transfer.to), transfer.tag,
                        static_cast<long long>(transfer.bytes));
}

/// Copies outside the lock; until it is done, neither side may leave its wait.
void ThreadGroup::deliver(Lock& lock, Transfer& sent, Transfer& wanted, Call call) {
    if (sent.bytes != wanted.bytes)
        fail_and_throw(
            core::format("rank %d sends %lld bytes with tag %d to rank %d, whose receive expects %lld",
                         name(sent.from), static_cast<long long>(sent.bytes), sent.tag, name(sent.to),
                         static_cast<long long>(wanted.bytes)),
            call);
    std::string wrong;
    sent.state = wanted.state = Transfer::State::copying;
    if (sent.bytes > 0) {
        lock.unlock();
        try {
            copy_payload(wanted.target, sent.source, sent.bytes);
        } catch (const core::Error& error) {
            wrong = error.what();
        }
        lock.lock();
    }
    sent.state = wanted.state = Transfer::State::done;
    inbox(sent.from).changed.notify_all();
    inbox(sent.to).changed.notify_all();
    if (!wrong.empty())
        fail_and_throw(core::format("the message from rank %d to rank %d (tag %d) was not copied: %s",
                                    name(sent.from), name(sent.to), sent.tag, wrong.c_str()),
                       call);
}

std::shared_ptr<Transfer> ThreadGroup::send(int from, int to, int tag, const void* data, int64_t bytes) {
    auto mine = std::make_shared<Transfer>();
    mine->from = from;
    mine->to = to;
    mine->tag = tag;
    mine->bytes = bytes;
    mine->source = static_cast<const char*>(data);
    Lock lock(mutex_);
    ensure_good();
    const auto channel = inbox(to).channels.try_emplace({from, tag}).first;
    auto& [sent, wanted] = channel->second;
    if (!wanted.empty()) {
        const std::shared_ptr<Transfer> theirs = std::move(wanted.front());
        wanted.pop_front();
        if (wanted.empty())
            inbox(to).channels.erase(channel);
        deliver(lock, *mine, *theirs, Call::isend);
        return mine;
    }
    if (bytes <= kept_bytes) {
        mine->kept.resize(static_cast<size_t>(bytes));
        if (bytes > 0)
            copy_payload(mine->kept.data(), mine->source, bytes);
        mine->source = mine->kept.data();
        mine->state = Transfer::State::done;
    }
    sent.push_back(mine);
    return mine;
}

std::shared_ptr<Transfer> ThreadGroup::receive(int from, int to, int tag, void* data, int64_t bytes) {
    auto mine = std::make_shared<Transfer>();
    mine->receives = true;
    mine->from = from;
    mine->to = to;
    mine->tag = tag;
    mine->bytes = bytes;
    mine->target = static_cast<char*>(data);
    Lock lock(mutex_);
    ensure_good();
    const auto channel = inbox(to).channels.try_emplace({from, tag}).first;
    auto& [sent, wanted] = channel->second;
    if (sent.empty()) {
        wanted.push_back(mine);
        return mine;
    }
    const std::shared_ptr<Transfer> theirs = std::move(sent.front());
    sent.pop_front();
    if (sent.empty())
        inbox(to).channels.erase(channel);
    deliver(lock, *theirs, *mine, Call::irecv);
    return mine;
}

void ThreadGroup::wait(int rank, const Transfer& transfer, double deadline_s) {
    Lock lock(mutex_);
    const int peer = transfer.receives ? transfer.from : transfer.to;
    const auto done = [&] { return transfer.state == Transfer::State::done; };
    const auto hopeless = [&] {
        return gone_[static_cast<size_t>(peer)] != 0 && transfer.state == Transfer::State::waiting;
    };
    if (!wait_until(lock, inbox(rank).changed, deadline_s, [&] { return done() || hopeless(); })) {
        ensure_good();
        fail_and_throw(core::format("rank %d waited %g s for %s", name(rank), deadline_s,
                                    describe_message(transfer).c_str()),
                       Call::waitall);
    }
    if (!done())
        fail_and_throw(core::format("rank %d waits for %s, but that rank has freed its communicator",
                                    name(rank), describe_message(transfer).c_str()),
                       Call::waitall);
}

void ThreadGroup::withdraw(const std::shared_ptr<Transfer>& mine) {
    Lock lock(mutex_);
    if (mine->state == Transfer::State::waiting) {
        Inbox& where = inbox(mine->to);
        const auto channel = where.channels.find({mine->from, mine->tag});
        if (channel != where.channels.end()) { // one whose partner expects other bytes has been taken out
            std::erase(mine->receives ? channel->second.wanted : channel->second.sent, mine);
            if (channel->second.wanted.empty() && channel->second.sent.empty())
                where.channels.erase(channel);
        }
        mine->state = Transfer::State::done;
    }
    inbox(mine->receives ? mine->to : mine->from).changed.wait(lock, [&] {
        return mine->state == Transfer::State::done;
    });
}

} // namespace graft::comm
