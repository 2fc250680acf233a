// SPDX-License-Identifier: BSD-3-Clause
// Matching of a rank's messages to itself.
#include "comm/self_messages.hpp"

#include "core/error.hpp"

#include <cstring>

namespace graft::comm {

using core::Status;

namespace {

void deliver(const void* from, int64_t sent_bytes, void* to, int64_t wanted_bytes, int tag) {
    if (sent_bytes != wanted_bytes)
        core::fail(Status::communication,
                   "a message of a rank to itself with tag %d has %lld bytes, but its receive expects %lld",
                   tag, static_cast<long long>(sent_bytes), static_cast<long long>(wanted_bytes));
    if (sent_bytes > 0)
        std::memcpy(to, from, static_cast<size_t>(sent_bytes));
}

} // namespace

int64_t SelfMessages::send(const void* data, int64_t bytes, int tag) {
    Channel& channel = channels_[tag];
    if (channel.wanted.empty()) {
        const char* first = static_cast<const char*>(data);
        channel.sent.emplace_back(first, first + bytes);
    } else {
        const Receive receive = channel.wanted.front();
        channel.wanted.pop_front();
        open_.erase(receive.request);
        deliver(data, bytes, receive.data, receive.bytes, tag);
    }
    return next_request_++;
}

int64_t SelfMessages::receive(void* data, int64_t bytes, int tag) {
    Channel& channel = channels_[tag];
    if (channel.sent.empty()) {
        channel.wanted.push_back({next_request_, data, bytes});
        open_.emplace(next_request_, tag);
    } else {
        const std::vector<char> message = std::move(channel.sent.front());
        channel.sent.pop_front();
        deliver(message.data(), static_cast<int64_t>(message.size()), data, bytes, tag);
    }
    return next_request_++;
}

void SelfMessages::wait(int64_t request) {
    const auto found = open_.find(request);
    if (found != open_.end())
        core::fail(Status::communication,
                   "one rank alone waits for a message to itself with tag %d that it has not sent; start the "
                   "send before waiting for the receive",
                   found->second);
}

} // namespace graft::comm
