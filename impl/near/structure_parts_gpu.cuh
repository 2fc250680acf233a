// SPDX-License-Identifier: BSD-3-Clause
// Parts of a near field on several GPUs (structure_parts.hpp): which of the caller's points a plan has, and the
// caller's arrays where they are on another GPU than the plan. There the numbers of the part are picked and
// travel as one piece from GPU to GPU; sums travel back and are spread there.
#pragma once

#include "backend/side_stream_gpu.cuh"
#include "near/plan/look_at_sums_gpu.cuh"
#include "near/plan/near_table.hpp"
#include "particles/array_view_gpu.cuh"

#include <memory>
#include <vector>

namespace graft::near {

/// Some of the caller's points, which a part has at its places 0, 1, ... On the host and on one device.
class SomePoints {
  public:
    struct Run { // of numbers that follow each other
        int64_t number, place, count;
    };
    /// Waits.
    SomePoints(std::span<const int64_t> numbers, backend::Queue& queue);
    /// The same ones on another device.
    SomePoints(const SomePoints& from, backend::Queue& queue);
    int64_t size() const noexcept { return static_cast<int64_t>(numbers_.size()); }
    int64_t number(int64_t k) const noexcept { return numbers_[static_cast<size_t>(k)]; }
    std::span<const int32_t> numbers() const noexcept { return numbers_; }
    /// All points, where they are a few long runs; else none.
    const std::vector<Run>& runs() const noexcept { return runs_; }
    const int32_t* on_device() const noexcept { return device_.data(); }

  private:
    void upload(backend::Queue& queue);
    std::vector<int32_t> numbers_;
    std::vector<Run> runs_;
    backend::DeviceBuffer<int32_t> device_;
};
/// A run's items of a view.
particles::ArrayView items_of(particles::ArrayView view, const SomePoints::Run& run);

/// The power of two that charges were multiplied by: 1 where nothing was seen of them, or scale is NULL.
GRAFT_HD inline double scale_of(const double* scale) {
    return scale != nullptr && *scale > 0 ? *scale : 1;
}

/// to[k] = item numbers[k] of a view, as it is; numbers NULL: item k. Enqueued.
void pick_items(backend::Queue& queue, const particles::ArrayView& from, const int32_t* numbers, int64_t n,
                char* to);

/// Items numbers[k] of a view (=|+=) from[places[k]] times `units` over *scale (NULL: 1). NULL lists: k.
/// Nothing where the look at all sums has found a bad one (on this device; NULL: not asked). Enqueued.
template <typename T>
void spread_sums(backend::Queue& queue, const T* from, const int32_t* places, const int32_t* numbers,
                 int64_t n, bool add, double units, const double* scale, const LookedSums* looked,
                 const particles::ArrayView& to);

/// Places of arrays: the caller's, the sums, and what was seen of charges and sums.
inline constexpr int32_t first_far_field = 6 + most_components,
                         far_charges = first_far_field + 4 * most_components, far_looked = far_charges + 1;

/// A plan's arrays on another GPU.
class OtherDevice {
  public:
    /// own: the part's targets.
    OtherDevice(int32_t device, backend::Queue& near, const SomePoints& targets, const SomePoints& sources,
                const SomePoints& own);
    ~OtherDevice();
    OtherDevice(const OtherDevice&) = delete;
    OtherDevice& operator=(const OtherDevice&) = delete;
    int32_t device() const noexcept { return memory_.device(); }
    int64_t allocations() const noexcept { return memory_.allocations(); }
    int64_t bytes() const noexcept { return memory_.bytes_held(); }
    /// The caller's stream there, or NULL: what follows is in its order.
    void start(cudaStream_t stream) noexcept { queue_.borrow(stream); }
    /// The part's items of a view to `to` on the plan's device, in the order of both sides' work. Array
    /// `place`: each has memory of its own here.
    void bring(int32_t place, const particles::ArrayView& view, const SomePoints& some, char* to);
    /// What is given here next waits for what the plan's stream has been given.
    void follow();
    /// Bytes on the plan's device to this one, and where they are then.
    const void* carry(int32_t place, const void* from, int64_t bytes);
    /// The part's own sums, on the plan's device, to a view; scale and looked: on this device.
    template <typename T>
    void give(int32_t place, const T* from, bool add, double units, const double* scale, const LookedSums* looked,
              const particles::ArrayView& to);
    /// What the plan's stream is given next waits for what has been given here.
    void join();

  private:
    struct CurrentDevice; // the far device is the current one
    const SomePoints& copy_of(const SomePoints& near) const;
    char* buffer(int32_t place, int64_t bytes);
    int32_t near_device_;
    backend::Queue& near_;
    backend::DeviceMemory memory_;
    backend::Queue queue_;
    backend::Event far_event_;
    std::unique_ptr<backend::Event> near_event_;
    const SomePoints* near_lists_[3];
    std::unique_ptr<SomePoints> lists_[3];
    std::vector<backend::DeviceBuffer<char>> buffers_;
};

} // namespace graft::near
