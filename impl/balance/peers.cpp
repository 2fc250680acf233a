// SPDX-License-Identifier: BSD-3-Clause
// See peers.hpp.
#include "balance/peers.hpp"

#include "comm/sparse_exchange.hpp"

#include <cstring>
#include <vector>

namespace graft::balance {

int64_t Shares::total() const {
    int64_t sum = 0;
    for (const int64_t value : count)
        sum += value;
    return sum;
}

void exchange_shares(comm::Communicator& comm, const Shares& to, Shares& from) {
    std::vector<comm::Notice> notices;
    comm.together([&] {
        notices.resize(static_cast<size_t>(to.size()));
        for (int64_t k = 0; k < to.size(); ++k) {
            notices[static_cast<size_t>(k)].to = to.rank[k];
            notices[static_cast<size_t>(k)].value = to.count[k];
        }
    });
    comm::route(comm, notices);
    comm.together([&] {
        from.clear();
        for (const comm::Notice& notice : notices) {
            from.rank.push_back(notice.from);
            from.count.push_back(notice.value);
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
