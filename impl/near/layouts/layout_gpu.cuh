// SPDX-License-Identifier: BSD-3-Clause
// A layout on the device: layout.hpp for arrays in device memory and work on a queue.
//
// Life as on the host: make -> set_points (collection) -> set_charges -> run, the last two any number of
// times. All of it is enqueued; nothing waits for the device but what says so, and nothing is allocated from
// the second call on. collect_on_host: the layouts with copies (indexed, replicated...) are filled by host
// threads, as in the paper, and go to the device through page-locked buffers, a chunk while the one before is
// summed; set_points and set_charges then take host arrays, and run() waits for buffers that are still on
// their way.
#pragma once

#include "backend/queue_gpu.cuh"
#include "near/structure_gpu.cuh"
#include "near/layouts/layout.hpp"

#include <memory>

namespace graft::near {

struct DeviceLayoutOptions {
    int64_t most_bytes = 0; // of the layout's arrays on the device; 0: no limit
    bool collect_on_host = false;
    int32_t host_threads = 0; // 0: OpenMP's
    int32_t threads = 128;    // of a block, a multiple of 32
    // tiled: a box's targets stand in BX lanes, BY lanes share its sources; 0: by the cost of each box.
    // BY = 1 is the one-dimensional shape. ranges: source_lanes share a target, 1, 2, 4 ... 32; 0: as
    // near_target_lanes (near/tiles/lanes_per_target.hpp) says of the whole.
    int32_t target_lanes = 0, source_lanes = 0;
    int32_t window = 1 << 16; // tiled: boxes that are sorted by shape together
    // tiled: pairs of boxes are summed once for both sides, 1, or not, -1; 0: as sums_pairs_once (mutual.hpp)
    // says of the structure. 1 only with mutual lists and what else is asked there of the sums.
    int32_t pairs_once = 0;
    // tiled: blocks of threads for boxes with few targets, as small_box_blocks (tile_rule.hpp) says of the
    // whole; 2: to be asked of the structure.
    int32_t small_blocks = 2;
};

template <typename T>
class DeviceLayout {
  public:
    virtual ~DeviceLayout() = default;
    /// Points that come from now on are the caller's times `lengths`, by their own scale or before: the
    /// kernel's lengths follow. Sums are multiplied by these two, powers of two. At first all are 1.
    virtual void set_units(double lengths, double of_potentials, double of_gradients) = 0;
    /// Device arrays (collect_on_host: host arrays) in the caller's order; they may change afterwards.
    virtual void set_points(const Coordinates<T>& targets, const Coordinates<T>& sources) = 0;
    virtual void set_charges(const Charges<T>& charges) = 0;
    /// Writes the fields that are not NULL, device arrays in the caller's order. Same bits every run.
    virtual void run(const Fields<T>& fields) = 0;
    virtual int64_t bytes() const = 0; // of device memory, the structure's arrays included
    virtual int32_t chunks() const = 0;
    /// Chunks of the last run() that had come from the host before the sums of the chunk before were done: of
    /// a pipeline with long kernels all but the first, of one that waits none. Waits for the end; 0 where
    /// nothing is sent in chunks.
    virtual int32_t chunks_ahead() { return 0; }
    /// Of the last set_points, set_charges and run: waits for their end.
    virtual Times times() = 0;
};

/// Bytes that a layout will hold on the device, the structure's included, before anything is built; chunked
/// layouts with most_bytes hold that much at most, but for the structure. shape: of structure and sums. Cost
/// O(1), of `indexed` O(points), whose arrays reach to the last point that an index names.
double device_bytes_of(Layout layout, const Structure& structure, const Shape& shape,
                       const DeviceLayoutOptions& options);

/// The structure must outlive the layout. Throws Error(memory, device, unsupported).
template <typename T>
std::unique_ptr<DeviceLayout<T>> make_device_layout(Layout layout, const DeviceStructure& structure,
                                                    const Sums& sums, const DeviceLayoutOptions& options,
                                                    backend::Queue& queue);

} // namespace graft::near
