// SPDX-License-Identifier: BSD-3-Clause
// Sums per owner, for the owners that occur: no place for every rank.
//
// Invariant: entries keep the order in which owners were met; for_each goes by ascending rank.
#pragma once

#include "backend/executor.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace graft::balance {

template <typename Value>
class OwnerTable {
  public:
    /// The value of a rank; Value() when it is new. Without branches that random owners would mispredict. May
    /// throw std::bad_alloc.
    Value& at(int32_t rank) {
        const Slot* slot = find(rank);
        return values_[static_cast<size_t>(slot != nullptr ? slot->index : insert(rank))];
    }
    template <typename Body>
    void for_each(Body&& body) const {
        std::vector<size_t> order(ranks_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranks_[a] < ranks_[b]; });
        for (const size_t k : order)
            body(ranks_[k], values_[k]);
    }
    /// Adds the values of another table, rank by rank.
    void add(const OwnerTable& other) {
        other.for_each([&](int32_t rank, const Value& value) { at(rank).add(value); });
    }

  private:
    struct Slot {
        int32_t rank = -1; // free
        int32_t index = 0; // into ranks_ and values_
    };

    size_t start_of(int32_t rank) const {
        return static_cast<size_t>(static_cast<uint32_t>(rank) * 2654435769u >> 7) & (slots_.size() - 1);
    }
    const Slot* find(int32_t rank) const {
        if (slots_.empty())
            return nullptr;
        for (size_t k = start_of(rank);; k = (k + 1) & (slots_.size() - 1)) {
            if (slots_[k].rank == rank)
                return &slots_[k];
            if (slots_[k].rank < 0)
                return nullptr;
        }
    }
    int32_t insert(int32_t rank) {
        if (4 * (ranks_.size() + 1) > slots_.size())
            widen();
        ranks_.push_back(rank);
        values_.push_back(Value());
        place(rank, static_cast<int32_t>(ranks_.size()) - 1);
        return static_cast<int32_t>(ranks_.size()) - 1;
    }
    void place(int32_t rank, int32_t index) {
        size_t k = start_of(rank);
        while (slots_[k].rank >= 0)
            k = (k + 1) & (slots_.size() - 1);
        slots_[k] = {rank, index};
    }
    void widen() {
        slots_.assign(std::max<size_t>(64, 2 * slots_.size()), Slot());
        for (size_t k = 0; k < ranks_.size(); ++k)
            place(ranks_[k], static_cast<int32_t>(k));
    }

    std::vector<Slot> slots_; // open addressing, at most a quarter full
    std::vector<int32_t> ranks_;
    std::vector<Value> values_;
};

/// table.at(owner[i]) gets item i by include(value, i), or a whole run of items of one owner by
/// include_run(value, begin, end); in blocks and runs that do not depend on the threads.
template <typename Value, typename Include, typename IncludeRun>
void sum_by_owner(const backend::Executor& executor, const int32_t* owner, int64_t n,
                  OwnerTable<Value>& table, Include&& include, IncludeRun&& include_run) {
    constexpr int64_t block = 1 << 18, run = 64;
    const auto is_run = [&](int64_t begin, int64_t end) {
        int32_t differ = 0;
        for (int64_t i = begin; i < end; ++i)
            differ |= owner[i] ^ owner[begin];
        return differ == 0;
    };
    std::vector<OwnerTable<Value>> parts(static_cast<size_t>((n + block - 1) / block));
    executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
        OwnerTable<Value>& part = parts[static_cast<size_t>(begin / block)];
        for (int64_t first = begin; first < end; first += run) {
            const int64_t last = std::min(end, first + run);
            if (is_run(first, last)) {
                include_run(part.at(owner[first]), first, last);
                continue;
            }
            for (int64_t i = first; i < last; ++i)
                include(part.at(owner[i]), i);
        }
    });
    for (const OwnerTable<Value>& part : parts)
        table.add(part);
}

} // namespace graft::balance
