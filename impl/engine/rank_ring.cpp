// SPDX-License-Identifier: BSD-3-Clause
// See rank_ring.hpp.
#include "engine/rank_ring.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int tag = 10;

/// A block is x..., y..., z..., charge..., and softening... if lengths.
Sources view_of(const core::Buffer<double>& block, int64_t count, bool lengths) {
    const double* at = block.data();
    return {at, at + count, at + 2 * count, at + 3 * count, lengths ? at + 4 * count : nullptr, count};
}

} // namespace

void Ring::run(comm::Communicator& comm, const Sources& own, bool lengths,
               const std::function<void(const Sources&, bool)>& sum) {
    if (comm.alone()) {
        sum(own, false);
        return;
    }
    const int ranks = comm.size(), rank = comm.rank();
    const int64_t width = lengths ? 5 : 4;
    comm.together([&] {
        counts_.resize(static_cast<size_t>(ranks));
        requests_.reserve(2);
    });
    comm.allgather(&own.count, 1, counts_.data());
    comm.together([&] {
        const int64_t most = *std::max_element(counts_.begin(), counts_.end());
        here_.resize(most * width + 1);
        next_.resize(most * width + 1);
        const double* from[5] = {own.x, own.y, own.z, own.charge, own.softening};
        for (int c = 0; c < width && own.count > 0; ++c)
            std::copy_n(from[c], own.count, here_.data() + c * own.count);
    });
    const auto bytes = [&](int of) {
        return counts_[static_cast<size_t>(of)] * width * static_cast<int64_t>(sizeof(double));
    };
    std::exception_ptr error;
    for (int step = 0; step < ranks; ++step) {
        const int at_hand = (rank - step + ranks) % ranks, coming = (at_hand - 1 + ranks) % ranks;
        if (step + 1 < ranks) {
            requests_.push_back(comm.irecv(next_.data(), bytes(coming), (rank - 1 + ranks) % ranks, tag));
            requests_.push_back(comm.isend(here_.data(), bytes(at_hand), (rank + 1) % ranks, tag));
        }
        try {
            if (!error)
                sum(step == 0 ? own : view_of(here_, counts_[static_cast<size_t>(at_hand)], lengths),
                    step > 0);
        } catch (...) { // the others count on this rank to pass on what it gets
            error = std::current_exception();
        }
        comm.wait_all(requests_);
        here_.swap(next_);
    }
    comm.agree(error);
}

} // namespace graft::engine
