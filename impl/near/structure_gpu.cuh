// SPDX-License-Identifier: BSD-3-Clause
// A structure on the device: offsets, indices, and the neighbour boxes as runs of consecutive sources.
//
// The sources of a box's neighbours, in the order of its list, are numbered k = 0 ... m - 1: every layout
// sums in this order, and a point finds itself at own_first[box] + its place in the box. Neighbours whose
// sources follow each other are one run; empty ones are left out. Invariants: run_offset ascends, runs of a
// box are disjoint and ascending. Built by the host once for a structure: O(boxes + neighbours), and
// uploaded.
#pragma once

#include "backend/queue_gpu.cuh"
#include "near/source_runs.hpp"

namespace graft::near {

/// Which of a box's neighbours: all, itself alone, or all but itself (the paper's reference [10]).
enum class Neighbours { all, own, others };

struct RunsView {
    const int64_t* offset;    // boxes + 1
    const int2* run;          // begin, end: slots of sources
    const int32_t* sources;   // of a box: m
    const int32_t* own_first; // k of the box's first own point; -1: not in the list; NULL: no box has its own
};

/// The runs of every box, host and device.
class Runs {
  public:
    /// empty: boxes without targets have runs, too; else their m is 0.
    Runs(const Structure& structure, Neighbours which, bool empty, backend::Queue& queue);
    RunsView view() const noexcept;
    int64_t bytes() const noexcept;
    const HostRuns& host() const noexcept { return host_; }

  private:
    HostRuns host_;
    backend::DeviceBuffer<int64_t> offset_;
    backend::DeviceBuffer<int2> run_;
    backend::DeviceBuffer<int32_t> sources_, own_first_;
};

struct StructureView {
    int32_t targets, sources, boxes;
    const int32_t* target_offset; // boxes + 1
    const int32_t* box_of;        // of a target's slot
    const int32_t* target_index;  // NULL: slot s is point s
    const int32_t* source_index;
};

class DeviceStructure {
  public:
    /// Waits (uploads from pageable memory). Throws Error(unsupported) beyond 2^31 - 1 points or boxes.
    /// empty_boxes: those without targets have runs, too; for layouts that copy what every box has around it.
    DeviceStructure(const Structure& structure, backend::Queue& queue, bool empty_boxes = true);
    StructureView view() const noexcept;
    const Structure& host() const noexcept { return *structure_; }
    const Runs& all() const noexcept { return all_; }
    int64_t bytes() const noexcept;

  private:
    const Structure* structure_;
    Runs all_;
    /// source_index_: empty where points are the same, whose index stands in target_index_.
    backend::DeviceBuffer<int32_t> target_offset_, box_of_, target_index_, source_index_;
};

} // namespace graft::near
