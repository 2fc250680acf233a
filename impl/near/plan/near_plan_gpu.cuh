// SPDX-License-Identifier: BSD-3-Clause
// A near-field plan on one device: the caller's arrays in any layout, a structure, a layout
// (near_table.hpp).
//
// Units (near_units.hpp): the lengths' power of two is chosen by the host, which waits for new points anyway; that
// of charges by the device, where the kernel that gathers them reads it: nothing waits for the charges.
//
// What a plan is at, from call to call, and the calls that lead on:
//
//   resting     nothing of it is enqueued,       send_points, send_charges: under_way
//               no stream is borrowed
//   under_way   a call has enqueued and has      take_points, and points or charges that are refused: resting
//               not come to its end              sum: summing
//                                                send_*: an error came between; waits for the device; under_way
//   summing     sums, whose end is an event      end, and charges or sums that are refused: resting
//
// Once the host has reset the device every call is refused, and destroy() forgets the plan without one of CUDA.
#pragma once

#include "backend/side_stream_gpu.cuh"
#include "near/layouts/layout_base_gpu.cuh"
#include "near/structure_parts_gpu.cuh"
#include "near/plan/caller_views.hpp"
#include "near/plan/look_at_sums_gpu.cuh"
#include "near/plan/near_table.hpp"
#include "particles/staging_gpu.cuh"

#include <memory>
#include <vector>

namespace graft::near {

class DeviceNear {
  public:
    virtual ~DeviceNear() = default;
    virtual void send_points(const particles::ArrayView* targets, const particles::ArrayView* sources,
                             void* stream) = 0;
    virtual void see_points(PointBounds& all) = 0;
    virtual void take_points(const PointBounds& all) = 0;
    virtual void send_charges(const particles::ArrayView* charges, const DeviceNearOutputs& outputs,
                              void* stream) = 0;
    virtual void sum(const DeviceNearOutputs& outputs) = 0;
    virtual void see_sums() = 0;
    virtual void end(DeviceNearReport* report) = 0;
    /// Whether the host has reset the device since: then it must be forgotten, not destroyed.
    virtual bool lost() const = 0;
};

/// What a kernel has seen of an array. All bits set to begin with; words are lowered.
struct Seen {
    unsigned long long first_bad, least, minus_most; // an index; keys of doubles, in their order
    unsigned long long blocks;                       // that are through
    double scale;                                    // of charges
};
/// Components of the caller's arrays as contiguous numbers on the device, or on the host. Array `place` is
/// put, and looked at, and taken, in this order.
template <typename T>
class NearInputs {
  public:
    NearInputs(backend::Queue& queue, const backend::Executor& executor, int32_t arrays, bool on_host);
    /// Where it is part of one: its points of the caller's (`some`, else all), on this device or at `far`.
    /// Numbers that are not finite or larger in magnitude than `most` are bad.
    void put(int32_t place, const particles::ArrayView& view, double most, const SomePoints* some = nullptr,
             OtherDevice* far = nullptr);
    /// What is seen of `parts` <= 2 arrays up to this one, the last, gives the scale of their charges.
    /// count_scale: whether there is one. Enqueued.
    void look(int32_t place, int32_t parts, bool count_scale);
    const Seen* seen(int32_t place) const { return seen_.data() + place; } // on the device
    /// Whether its numbers can be read where they are.
    bool direct(int32_t place) const { return items_[static_cast<size_t>(place)].direct; }
    /// Where they are; never direct: a copy times `scale` and *device_scale (NULL: 1).
    const T* take(int32_t place, bool direct, double scale, const double* device_scale);
    void forget(); // what has been seen (enqueued)
    void fetch();  // enqueued
    void wait_fetched() const;
    void waited() { staging_.restart(); }
    /// After fetch() and a wait: index (the caller's) of the first bad number, or -1; the numbers' bounds;
    /// the scale of charges.
    int64_t first_bad(int32_t place) const;
    void widen(int32_t place, int axis, PointBounds& bounds) const;
    double fetched_scale(int32_t place) const { return scale_of(&fetched_.data()[place].scale); }

  private:
    struct Item {
        particles::ArrayView raw; // on the device, of the caller's type; n: of the part
        const SomePoints* some = nullptr;
        bool direct = false; // contiguous numbers of type T
        double most = 0;
        backend::DeviceBuffer<char> sent;
        backend::PinnedBuffer<char> picked;
        backend::DeviceBuffer<T> copy;
        std::vector<T> host;
        int64_t host_bad = -1;
    };
    void send(const particles::ArrayView& view, char* to);
    particles::ArrayView send_all(Item& item, const particles::ArrayView& view);
    particles::ArrayView pick(Item& item, const particles::ArrayView& view, const SomePoints& some,
                              OtherDevice* far);
    void put_on_host(Item& item, const particles::ArrayView& view);
    backend::Queue& queue_;
    const backend::Executor& executor_;
    bool on_host_;
    particles::DeviceStaging staging_;
    std::vector<Item> items_;
    backend::DeviceBuffer<Seen> seen_;
    backend::PinnedBuffer<Seen> fetched_;
    backend::Event there_;
};

/// Sums on their way to the caller's arrays, whose points that are in no box stay as they are.
template <typename T>
class NearOutputs {
  public:
    NearOutputs(backend::Queue& queue, const backend::Executor& executor, const DeviceStructure& structure,
                const SomePoints* own)
        : queue_(queue), executor_(executor), structure_(structure), own_(own),
          looked_(queue.memory(), "near field: a look at the sums"),
          fetched_look_(queue.memory(), "near field: a look at the sums"), seen_(queue.memory()) {
        looked_.resize(1), fetched_look_.resize(1);
    }
    /// Where the layout is to write: the caller's memory where that fits, or a buffer of as many items.
    Fields<T> fields(const DeviceNearOutputs& outputs, const Sums& sums, OtherDevice* far);
    /// Buffers to device arrays, or to page-locked memory (enqueued): potentials and gradients times these
    /// units, over the scale of their component's charges. charges: on the device, those of component 0;
    /// NULL: they have no scale.
    void send(const double (&units)[2], const Seen* charges);
    /// The first sum that would be no finite number in the caller's array.
    struct BadSum {
        ArrayName name;
        int64_t item = -1; // none
        double value = 0;
    };
    /// Waits for all sums; units and scale as of deliver().
    BadSum see(const double (&units)[2], const std::vector<double>& scale);
    /// Page-locked memory to host arrays, each as soon as it is there. scale: of each component.
    void deliver(const double (&units)[2], const std::vector<double>& scale);

  private:
    struct Item {
        particles::ArrayView view;
        backend::DeviceBuffer<T> buffer;
        backend::PinnedBuffer<T> pinned;
        std::unique_ptr<backend::Event> there;
        bool used = false, direct = false;
    };
    T* place(size_t k, const particles::ArrayView& view);
    void send_item(size_t k, double units, const double* scale, const LookedSums* looked);
    void rescale(const double (&units)[2], const Seen* charges);
    void look(const double (&units)[2], const Seen* charges);
    bool adds_on_host(const Item& item) const { return item.used && item.view.add && !item.view.on_device(); }
    void see_added(size_t k, double factor, BadSum& bad) const;
    template <typename To>
    void put_item(const Item& item, double factor) const;
    template <typename To>
    void put_run(const T* from, const particles::ArrayView& to, double factor) const;
    int64_t targets() const { return structure_.host().targets(); }
    /// Numbers of a field: the caller's points, or the part's, of which its own come first.
    int64_t entries(const Item& item) const { return own_ != nullptr ? targets() : item.view.n; }
    bool has_all(const Item& item) const { return targets() == entries(item); } // points are in boxes
    backend::Queue& queue_;
    const backend::Executor& executor_;
    const DeviceStructure& structure_;
    const SomePoints* own_;
    OtherDevice* far_ = nullptr;
    std::vector<Item> items_; // 4 a component
    backend::DeviceBuffer<LookedSums> looked_;
    backend::PinnedBuffer<LookedSums> fetched_look_;
    backend::Event seen_;
};

} // namespace graft::near
