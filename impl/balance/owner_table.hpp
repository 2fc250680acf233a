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
    /// The value of a rank; Value() when it is new. May throw std::bad_alloc.
    Value& at(int32_t rank) {
        if (rank == last_rank_)
            return values_[static_cast<size_t>(last_)];
        size_t slot = find(rank);
        if (slots_.empty() || slots_[slot] < 0)
            slot = insert(rank);
        last_rank_ = rank;
        last_ = slots_[slot];
        return values_[static_cast<size_t>(last_)];
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
    size_t find(int32_t rank) const {
        if (slots_.empty())
            return 0;
        const size_t mask = slots_.size() - 1;
        size_t slot = static_cast<size_t>(static_cast<uint32_t>(rank) * 2654435769u) & mask;
        while (slots_[slot] >= 0 && ranks_[static_cast<size_t>(slots_[slot])] != rank)
            slot = (slot + 1) & mask;
        return slot;
    }
    size_t insert(int32_t rank) {
        if (2 * (ranks_.size() + 1) > slots_.size())
            widen();
        const size_t slot = find(rank);
        slots_[slot] = static_cast<int32_t>(ranks_.size());
        ranks_.push_back(rank);
        values_.push_back(Value());
        return slot;
    }
    void widen() {
        slots_.assign(std::max<size_t>(16, 2 * slots_.size()), -1);
        for (size_t k = 0; k < ranks_.size(); ++k)
            slots_[find(ranks_[k])] = static_cast<int32_t>(k);
    }

    std::vector<int32_t> slots_; // index into ranks_ and values_, -1: free
    std::vector<int32_t> ranks_;
    std::vector<Value> values_;
    int32_t last_rank_ = -1, last_ = 0;
};

/// table.at(owner[i]) gets item i by include(value, i), in blocks that do not depend on the threads.
template <typename Value, typename Include>
void sum_by_owner(const backend::Executor& executor, const int32_t* owner, int64_t n,
                  OwnerTable<Value>& table, Include&& include) {
    constexpr int64_t block = 1 << 18;
    std::vector<OwnerTable<Value>> parts(static_cast<size_t>((n + block - 1) / block));
    executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
        OwnerTable<Value>& part = parts[static_cast<size_t>(begin / block)];
        for (int64_t i = begin; i < end; ++i)
            include(part.at(owner[i]), i);
    });
    for (const OwnerTable<Value>& part : parts)
        table.add(part);
}

} // namespace graft::balance
