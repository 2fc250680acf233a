// SPDX-License-Identifier: BSD-3-Clause
// Routing by halving, then direct messages.
#include "comm/sparse_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

namespace graft::comm {

using core::Status;

namespace {

constexpr int first_tag = first_own_tag + 3, chunk_tag = first_own_tag + 4, payload_tag = first_own_tag + 5;

/// The message of a stage that always goes: how many notices there are, and the first of them.
struct First {
    static constexpr int64_t room = 21;
    int64_t count = 0;
    std::array<Notice, room> notices;
};
static_assert(sizeof(First) == 512);

using Chunk = std::array<Notice, 256>;

/// Who hands over to whom when the ranks [begin, end) are cut at `middle`; the upper half is never smaller.
struct Stage {
    int begin, middle, end;
    int partner;         // takes what I have for the other half
    int sources[2] = {}; // hand over to me
    int source_count = 0;

    Stage(int rank, int first, int last) : begin(first), middle(first + (last - first) / 2), end(last) {
        const int lower = middle - begin;
        const bool odd = end - middle > lower;
        if (rank < middle) {
            partner = rank + lower;
            sources[source_count++] = partner;
            if (odd && rank == middle - 1)
                sources[source_count++] = end - 1;
        } else if (odd && rank == end - 1) {
            partner = middle - 1;
        } else {
            partner = rank - lower;
            sources[source_count++] = partner;
        }
    }
};

/// The notices that a rank holds on their way. What arrives when memory has run out is dropped, so that all
/// stages run to their end on all ranks; the error is for agree().
class Router {
  public:
    /// An error that this rank has met already; its notices do not count then.
    Router(Communicator& comm, std::vector<Notice>& notices, std::exception_ptr error)
        : comm_(comm), notices_(notices), error_(std::move(error)) {}

    std::exception_ptr run() {
        prepare();
        for (int begin = 0, end = comm_.size(); end - begin > 1;) {
            const Stage stage(comm_.rank(), begin, end);
            hand_over(stage);
            (comm_.rank() < stage.middle ? end : begin) = stage.middle;
        }
        return error_;
    }

  private:
    void prepare() {
        int64_t index = 0;
        for (Notice& notice : notices_) {
            notice.from = comm_.rank();
            notice.index = index++;
        }
        try {
            for (const Notice& notice : notices_)
                if (notice.to < 0 || notice.to >= comm_.size())
                    core::fail(Status::argument, "a message is for rank %d; there are ranks 0 ... %d",
                               notice.to, comm_.size() - 1);
        } catch (...) {
            error_ = std::current_exception();
        }
        if (error_)
            notices_.clear();
    }

    void hand_over(const Stage& stage) {
        const bool low = comm_.rank() < stage.middle;
        const auto stays = std::partition(notices_.begin(), notices_.end(), [&](const Notice& notice) {
            return (notice.to < stage.middle) == low;
        });
        const int64_t kept = stays - notices_.begin();
        const int64_t leaving = static_cast<int64_t>(notices_.size()) - kept;
        std::array<First, 2> arriving;
        exchange_first(stage, kept, leaving, arriving);
        exchange_rest(stage, kept + std::min(leaving, First::room), leaving - First::room, arriving);
        notices_.erase(notices_.begin() + kept, notices_.begin() + kept + leaving);
    }

    void exchange_first(const Stage& stage, int64_t kept, int64_t leaving, std::array<First, 2>& arriving) {
        First mine;
        mine.count = leaving;
        std::copy_n(notices_.begin() + kept, std::min(leaving, First::room), mine.notices.begin());
        Request requests[3];
        int64_t started = 0;
        for (int s = 0; s < stage.source_count; ++s)
            requests[started++] =
                comm_.irecv(&arriving[static_cast<size_t>(s)], sizeof(First), stage.sources[s], first_tag);
        requests[started++] = comm_.isend(&mine, sizeof(First), stage.partner, first_tag);
        comm_.wait_all(started, requests);
        for (int s = 0; s < stage.source_count; ++s) {
            const First& first = arriving[static_cast<size_t>(s)];
            keep(first.notices.data(), std::min(first.count, First::room));
        }
    }

    /// Notices from `next` on, `leaving` of them, in chunks; what arrives is appended behind, so places stay.
    void exchange_rest(const Stage& stage, int64_t next, int64_t leaving,
                       const std::array<First, 2>& arriving) {
        constexpr int64_t room = std::tuple_size_v<Chunk>;
        int64_t left[2] = {arriving[0].count - First::room, arriving[1].count - First::room};
        if (leaving <= 0 && left[0] <= 0 && left[1] <= 0)
            return;
        std::array<Chunk, 2> chunks;
        for (;;) {
            Request requests[3];
            int64_t started = 0;
            for (int s = 0; s < stage.source_count; ++s)
                if (left[s] > 0)
                    requests[started++] =
                        comm_.irecv(chunks[static_cast<size_t>(s)].data(), bytes(std::min(left[s], room)),
                                    stage.sources[s], chunk_tag);
            if (leaving > 0)
                requests[started++] = comm_.isend(&notices_[static_cast<size_t>(next)],
                                                  bytes(std::min(leaving, room)), stage.partner, chunk_tag);
            if (started == 0)
                return;
            comm_.wait_all(started, requests);
            for (int s = 0; s < stage.source_count; ++s, left[s - 1] -= room)
                if (left[s] > 0)
                    keep(chunks[static_cast<size_t>(s)].data(), std::min(left[s], room));
            next += room;
            leaving -= room;
        }
    }

    static int64_t bytes(int64_t count) { return count * static_cast<int64_t>(sizeof(Notice)); }

    void keep(const Notice* first, int64_t count) {
        try {
            if (!error_)
                notices_.insert(notices_.end(), first, first + count);
        } catch (...) {
            error_ = std::current_exception();
        }
    }

    Communicator& comm_;
    std::vector<Notice>& notices_;
    std::exception_ptr error_;
};

int64_t aligned(int64_t bytes) {
    return (bytes + 15) / 16 * 16;
}

/// Who sends to me and how much, and room for it.
void make_room(const std::vector<Notice>& notices, core::Buffer<char>& storage,
               std::vector<Incoming>& incoming, std::vector<Request>& requests, size_t outgoing) {
    int64_t total = 0;
    for (const Notice& notice : notices)
        total += aligned(notice.value);
    storage.resize(total);
    incoming.clear();
    incoming.reserve(notices.size());
    requests.reserve(notices.size() + outgoing);
    const char* place = storage.data();
    for (const Notice& notice : notices) {
        incoming.push_back({notice.from, notice.value, place});
        place += aligned(notice.value);
    }
}

void route(Communicator& comm, std::vector<Notice>& notices, std::exception_ptr error) {
    comm.agree(Router(comm, notices, std::move(error)).run());
    std::sort(notices.begin(), notices.end(), [](const Notice& a, const Notice& b) {
        return std::tie(a.from, a.index) < std::tie(b.from, b.index);
    });
}

void announce(const std::vector<Outgoing>& outgoing, std::vector<Notice>& notices) {
    notices.reserve(outgoing.size());
    for (const Outgoing& message : outgoing) {
        if (message.bytes < 0)
            core::fail(Status::argument, "a message to rank %d has %lld bytes", message.to,
                       static_cast<long long>(message.bytes));
        notices.push_back({.to = message.to, .value = message.bytes});
    }
}

} // namespace

void route(Communicator& comm, std::vector<Notice>& notices) {
    route(comm, notices, nullptr);
}

void sparse_exchange(Communicator& comm, const std::vector<Outgoing>& outgoing, core::Buffer<char>& storage,
                     std::vector<Incoming>& incoming) {
    std::vector<Notice> notices;
    std::exception_ptr error;
    try {
        announce(outgoing, notices);
    } catch (...) {
        error = std::current_exception();
    }
    route(comm, notices, std::move(error));
    std::vector<Request> requests;
    comm.together([&] { make_room(notices, storage, incoming, requests, outgoing.size()); });
    for (const Incoming& message : incoming)
        requests.push_back(
            comm.irecv(const_cast<char*>(message.data), message.bytes, message.from, payload_tag));
    for (const Outgoing& message : outgoing)
        requests.push_back(comm.isend(message.data, message.bytes, message.to, payload_tag));
    comm.wait_all(requests);
}

} // namespace graft::comm
