// SPDX-License-Identifier: BSD-3-Clause
// A structure's neighbour boxes as runs of consecutive sources, made by host threads for a device
// (structure_gpu.cuh).
//
// The sources of a box's neighbours, in the order of its list, are numbered k = 0 ... m - 1. Neighbours whose
// sources follow each other are one run; empty ones are left out. Invariants: offset ascends, the runs of a
// box are disjoint and ascending; the same for any number of threads.
#pragma once

#include "near/near_field.hpp"

#include <memory>
#include <span>

namespace graft::near {

/// An array whose values are not set to begin with: threads that write them ask the system for its pages,
/// each for its own.
template <typename T>
class RawArray {
  public:
    RawArray() = default;
    explicit RawArray(size_t size) : data_(std::make_unique_for_overwrite<T[]>(size)), size_(size) {}
    std::span<T> all() noexcept { return {data_.get(), size_}; }
    std::span<const T> all() const noexcept { return {data_.get(), size_}; }
    T& operator[](size_t k) noexcept { return data_[k]; }
    const T& operator[](size_t k) const noexcept { return data_[k]; }
    size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

  private:
    std::unique_ptr<T[]> data_;
    size_t size_ = 0;
};

struct SlotRun {  // int2
    int32_t x, y; // begin, end: slots of sources
};

struct HostRuns {
    RawArray<int64_t> offset; // boxes + 1
    RawArray<SlotRun> run;
    RawArray<int32_t> sources; // of a box: m
    RawArray<int32_t> own; // k of the box's first own point, -1: not in the list; empty: no box has its own
    int32_t most = 0;      // largest m
    int64_t pairs = 0;     // sum of m times the box's targets
};

struct RunsOptions {
    bool itself = true, others = true; // which of a box's neighbours
    bool empty = true;                 // boxes without targets have runs, too; else their m is 0
    int32_t threads = 0;               // 0: OpenMP's
};

/// Cost O(boxes + neighbours) over the threads, 2 to 4 ns a neighbour of one of them.
HostRuns merge_runs(const Structure& structure, const RunsOptions& options);

} // namespace graft::near
