// SPDX-License-Identifier: BSD-3-Clause
// Sorts items by the rank they go to: a stable sort of small integers, O(n) whatever the number of ranks.
#pragma once

#include "backend/executor.hpp"
#include "backend/radix_sort.hpp"
#include "balance/peers.hpp"

#include <cstdint>

namespace graft::balance {

class OwnerSorter {
  public:
    explicit OwnerSorter(core::Memory& memory)
        : counts_(memory, "owner histograms"), keys_(memory, "owner keys"), sorter_(memory) {}

    /// order = items sorted by owner, stable; shares = the owners met and their items. Throws Error(value)
    /// naming the first owner outside [0, ranks), Error(memory), Error(argument) for n >= 2^31.
    void sort(const backend::Executor& executor, const int32_t* owner, int64_t n, int32_t ranks,
              core::Buffer<int32_t>& order, Shares& shares);

  private:
    void sort_few(const backend::Executor& executor, const int32_t* owner, int64_t n, int32_t ranks,
                  core::Buffer<int32_t>& order, Shares& shares);
    void sort_many(const backend::Executor& executor, const int32_t* owner, int64_t n,
                   core::Buffer<int32_t>& order, Shares& shares);

    core::Buffer<int64_t> counts_;
    core::Buffer<uint64_t> keys_;
    backend::RadixSorter sorter_;
};

} // namespace graft::balance
