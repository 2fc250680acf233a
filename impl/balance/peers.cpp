// See peers.hpp.
#include "balance/peers.hpp"

#include <cstring>
#include <vector>

namespace graft::balance {

int64_t Shares::total() const {
    int64_t sum = 0;
    for (const int64_t value : count)
        sum += value;
    return sum;
}

// TODO: sparse exchange; until then O(ranks) data.
void exchange_shares(comm::Communicator& comm, const Shares& to, Shares& from) {
    const size_t ranks = static_cast<size_t>(comm.size());
    std::vector<int64_t> sent, received, bytes, offset;
    comm.together([&] {
        sent.assign(ranks, 0);
        received.assign(ranks, 0);
        bytes.assign(ranks, sizeof(int64_t));
        offset.resize(ranks);
        for (size_t r = 0; r < ranks; ++r)
            offset[r] = static_cast<int64_t>(r * sizeof(int64_t));
        for (int64_t k = 0; k < to.size(); ++k)
            sent[static_cast<size_t>(to.rank[k])] = to.count[k];
    });
    comm.alltoallv_bytes(sent.data(), bytes.data(), offset.data(), received.data(), bytes.data(),
                         offset.data());
    comm.together([&] {
        from.clear();
        for (size_t r = 0; r < ranks; ++r)
            if (received[r] > 0) {
                from.rank.push_back(static_cast<int32_t>(r));
                from.count.push_back(received[r]);
            }
    });
}

void exchange_bytes(comm::Communicator& comm, const Shares& to, const void* send, int64_t bytes,
                    const Shares& from, void* receive) {
    constexpr int tag = 72;
    std::vector<comm::Request> requests;
    comm.together([&] { requests.reserve(static_cast<size_t>(to.size() + from.size())); });
    char* target = static_cast<char*>(receive);
    char* own = nullptr;
    for (int64_t k = 0; k < from.size(); target += from.count[k++] * bytes)
        if (from.rank[k] == comm.rank())
            own = target;
        else
            requests.push_back(comm.irecv(target, from.count[k] * bytes, from.rank[k], tag));
    const char* source = static_cast<const char*>(send);
    for (int64_t k = 0; k < to.size(); source += to.count[k++] * bytes)
        if (to.rank[k] == comm.rank())
            std::memcpy(own, source, static_cast<size_t>(to.count[k] * bytes));
        else
            requests.push_back(comm.isend(source, to.count[k] * bytes, to.rank[k], tag));
    comm.wait_all(requests);
}

} // namespace graft::balance
