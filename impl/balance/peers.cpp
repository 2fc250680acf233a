// See peers.hpp.
#include "balance/peers.hpp"

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

} // namespace graft::balance
