// SPDX-License-Identifier: BSD-3-Clause
// See sort_owners.hpp.
#include "balance/sort_owners.hpp"

#include <atomic>
#include <cstring>

namespace graft::balance {

using core::fail;
using core::Status;

namespace {

constexpr int32_t few_ranks = 1024;         // up to here one counting pass; histograms stay in the cache
constexpr int64_t smallest_block = 1 << 15; // items, so that the histograms cost little beside them

void check_owners(const backend::Executor& executor, const int32_t* owner, int64_t n, int32_t ranks) {
    std::atomic<int64_t> bad{n};
    executor.for_blocks(n, smallest_block, [&](int64_t begin, int64_t end, int) {
        bool any = false;
        for (int64_t i = begin; i < end; ++i)
            any |= static_cast<uint32_t>(owner[i]) >= static_cast<uint32_t>(ranks);
        for (int64_t i = begin; any && i < end; ++i)
            if (static_cast<uint32_t>(owner[i]) >= static_cast<uint32_t>(ranks)) {
                int64_t first = bad.load();
                while (i < first && !bad.compare_exchange_weak(first, i)) {
                }
                break;
            }
    });
    if (const int64_t i = bad.load(); i < n)
        fail(Status::value,
             "owner: item %lld goes to rank %d; expected a rank in 0 ... %d (there are %d ranks). Check that "
             "the "
             "owners were made for this communicator, and that they are 32-bit integers",
             static_cast<long long>(i), owner[i], ranks - 1, ranks);
}

} // namespace

void OwnerSorter::sort(const backend::Executor& executor, const int32_t* owner, int64_t n, int32_t ranks,
                       core::Buffer<int32_t>& order, Shares& shares) {
    if (n < 0 || n > INT32_MAX)
        fail(Status::argument, "owner: %lld items on one rank; expected 0 ... %d", static_cast<long long>(n),
             INT32_MAX);
    if (n > 0 && owner == nullptr)
        fail(Status::argument, "owner is NULL but there are %lld items", static_cast<long long>(n));
    check_owners(executor, owner, n, ranks);
    shares.clear();
    if (ranks <= few_ranks)
        sort_few(executor, owner, n, ranks, order, shares);
    else
        sort_many(executor, owner, n, order, shares);
}

/// Counting sort: a histogram per block of items, their scan, and every block writes on its own.
void OwnerSorter::sort_few(const backend::Executor& executor, const int32_t* owner, int64_t n, int32_t ranks,
                           core::Buffer<int32_t>& order, Shares& shares) {
    const int64_t block = std::max(smallest_block, (n + executor.threads - 1) / executor.threads);
    const int64_t blocks = std::max<int64_t>(1, (n + block - 1) / block);
    counts_.resize(blocks * ranks);
    order.resize(n);
    std::memset(counts_.data(), 0, static_cast<size_t>(counts_.size()) * sizeof(int64_t));
    executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
        int64_t* counts = counts_.data() + begin / block * ranks;
        for (int64_t i = begin; i < end; ++i)
            ++counts[owner[i]];
    });
    int64_t position = 0;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        const int64_t start = position;
        for (int64_t b = 0; b < blocks; ++b)
            position += std::exchange(counts_[b * ranks + rank], position);
        if (position > start) {
            shares.rank.push_back(rank);
            shares.count.push_back(position - start);
        }
    }
    executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
        int64_t* places = counts_.data() + begin / block * ranks;
        for (int64_t i = begin; i < end; ++i)
            order[places[owner[i]]++] = static_cast<int32_t>(i);
    });
}

/// Radix sort: no array has a place for every rank.
void OwnerSorter::sort_many(const backend::Executor& executor, const int32_t* owner, int64_t n,
                            core::Buffer<int32_t>& order, Shares& shares) {
    keys_.resize(n);
    order.resize(n);
    executor.for_each(n, [&](int64_t i) {
        keys_[i] = static_cast<uint64_t>(owner[i]);
        order[i] = static_cast<int32_t>(i);
    });
    sorter_.sort(executor, keys_, order);
    for (int64_t i = 0, start = 0; i < n; ++i)
        if (i + 1 == n || keys_[i + 1] != keys_[i]) {
            shares.rank.push_back(static_cast<int32_t>(keys_[i]));
            shares.count.push_back(i + 1 - start);
            start = i + 1;
        }
}

} // namespace graft::balance
