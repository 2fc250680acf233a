// SPDX-License-Identifier: BSD-3-Clause
// How ranks come to throw one error: agree() and give_up() of the Communicator.
#include "comm/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace graft::comm {

using core::Error;
using core::Status;

namespace {

constexpr int64_t longest_message = 1000; // bytes of an error text that travel

/// An Error that every rank of `source` throws at the same point.
class AgreedError : public Error {
  public:
    AgreedError(Status status, std::string message, const Communicator* source)
        : Error(status, std::move(message)), source_(source) {}
    const Communicator* source() const noexcept { return source_; }

  private:
    const Communicator* source_;
};

struct Described {
    Status status = Status::ok;
    std::string text;
};

Described describe(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return {e.status(), e.what()};
    } catch (const std::bad_alloc&) {
        return {Status::memory, core::no_memory_text};
    } catch (const std::exception& e) {
        return {Status::internal, e.what()};
    } catch (...) {
        return {Status::internal, core::unknown_exception_text};
    }
}

/// What agree() reduces by minimum: the lowest failing rank wins and brings its status and its text's length.
struct Vote {
    static constexpr int64_t all_well = INT64_MAX;
    static constexpr int status_bits = 12, length_bits = 12;

    static int64_t of(int rank, const Described& failure) {
        const int64_t status = static_cast<int64_t>(failure.status);
        return (static_cast<int64_t>(rank) << status_bits | status) << length_bits |
               std::min(static_cast<int64_t>(failure.text.size()), longest_message);
    }
    static int rank(int64_t vote) { return static_cast<int>(vote >> (status_bits + length_bits)); }
    static Status status(int64_t vote) {
        return static_cast<Status>(vote >> length_bits & ((1 << status_bits) - 1));
    }
    static int64_t length(int64_t vote) { return vote & ((1 << length_bits) - 1); }
};

} // namespace

void Communicator::give_up(const std::exception_ptr& error) {
    ensure_good();
    const Described failure = describe(error);
    if (size_ == 1 && failure.status != Status::communication)
        std::rethrow_exception(error);
    try {
        std::rethrow_exception(error);
    } catch (const AgreedError& agreed) {
        if (agreed.source() == this)
            throw;
        for (const Communicator* ancestor : ancestors_)
            if (agreed.source() == ancestor)
                throw;
    } catch (...) {
        // told below
    }
    const std::string text =
        core::format("%s (status %d): %s",
                     failure.status == Status::communication ? "its communication failed"
                                                             : "an error that the other ranks could not see",
                     static_cast<int>(failure.status), failure.text.c_str());
    poison_peers(text);
    note_failure(core::format("rank %d gave up: %s", rank_, text.c_str()));
    throw Failure(poison_, failed_call_);
}

void Communicator::agree(const std::exception_ptr& error) {
    ensure_good();
    if (size_ == 1) {
        if (error)
            std::rethrow_exception(error);
        return;
    }
    Described mine = error ? describe(error) : Described{};
    if (error)
        mine.text.insert(0, core::format("rank %d: ", root_rank_));
    int64_t vote = error ? Vote::of(rank_, mine) : Vote::all_well;
    try {
        allreduce(&vote, 1, Operation::min);
    } catch (const Error&) {
        if (error) // what this rank wanted to say may explain it
            poison_ += "; before that, " + mine.text;
        throw Failure(poison_, failed_call_);
    }
    if (vote == Vote::all_well)
        return;
    char text[longest_message + 1] = {};
    const int64_t length = Vote::length(vote);
    const int first = Vote::rank(vote);
    if (first == rank_)
        std::memcpy(text, mine.text.data(), static_cast<size_t>(length));
    broadcast(text, length, first);
    throw AgreedError(Vote::status(vote), text, this);
}

} // namespace graft::comm
