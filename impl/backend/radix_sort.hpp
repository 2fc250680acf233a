// SPDX-License-Identifier: BSD-3-Clause
// Stable sort of 64-bit keys, each with a 32-bit value.
//
// Least significant digit first, 8 bits a pass; digits that are equal in all keys cost no pass. A stable sort
// has one result, so the threads that share the work leave no trace in it. Keeps its scratch between calls.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"

#include <cstdint>

namespace graft::backend {

class RadixSorter {
  public:
    explicit RadixSorter(core::Memory& memory)
        : keys_(memory, "sort keys"), values_(memory, "sort values"), counts_(memory, "sort histograms") {}

    /// Sorts both buffers (of equal size n < 2^31) by key; may swap them with the scratch. Throws
    /// Error(memory). Cost O(8 n), about 12 n bytes of scratch.
    void sort(const Executor& executor, core::Buffer<uint64_t>& keys, core::Buffer<int32_t>& values);

  private:
    core::Buffer<uint64_t> keys_;
    core::Buffer<int32_t> values_;
    core::Buffer<uint32_t> counts_;
};

} // namespace graft::backend
