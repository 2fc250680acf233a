// SPDX-License-Identifier: BSD-3-Clause
// Cells from the tree's moments into a frame, packed for the M2P kernel.
#pragma once

#include "core/buffer.hpp"
#include "forces/frame.hpp"
#include "forces/m2p/m2p.hpp"
#include "moments/expansion.hpp"

#include <cstdint>

namespace graft::forces {

template <typename T>
class CellBuffer {
  public:
    /// Most cells in one filling: with all coefficients of order 4 they stay in the first-level cache.
    static constexpr int64_t capacity = 128;

    explicit CellBuffer(core::Memory& memory)
        : values_(memory, "M2P cells"), scratch_(memory, "M2P records"), widened_(memory, "M2P records") {}

    /// Packs `count` <= capacity nodes; variant.order is moments.order. `expansion` holds record_size(order,
    /// variant.traces()) numbers a node.
    void fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes, int64_t count,
              const Frame& frame, const CellVariant& variant);
    /// The same in double, from records in single precision.
    void fill(const moments::Moments& moments, const float* expansion, const int32_t* nodes, int64_t count,
              const Frame& frame, const CellVariant& variant) requires(sizeof(T) == 8);
    Cells<T> view() const { return {values_.data(), count_}; }

  private:
    void fill_rows(const moments::Moments& moments, const T* expansion, const int32_t* nodes,
                   const int32_t* record, int64_t count, const Frame& frame, const CellVariant& variant);
    void fill_places(const moments::Moments& moments, const int32_t* nodes, int64_t count, const Frame& frame,
                     const CellVariant& variant);
    // One row more than a power of two, so that the rows of one cell fall into different cache sets.
    static constexpr int64_t stride = capacity + source_pad;
    core::Buffer<T> values_;
    core::Buffer<T> scratch_; // the records, transposed
    core::Buffer<T> widened_; // records that were in single precision
    int64_t count_ = 0;
};

} // namespace graft::forces
