// A near-field plan on one device: the caller's arrays in any layout, a structure, a layout
// (device_near.hpp).
#pragma once

#include "kernels/near/device_base.cuh"
#include "kernels/near/device_near.hpp"
#include "particles/device_staging.cuh"

#include <memory>
#include <vector>

namespace graft::kernels::near {

class DeviceNear {
  public:
    virtual ~DeviceNear() = default;
    virtual void set_points(const particles::ArrayView* targets, const particles::ArrayView* sources,
                            void* stream) = 0;
    virtual void begin(const particles::ArrayView* charges, const DeviceNearOutputs& outputs,
                       void* stream) = 0;
    virtual void end(DeviceNearReport& report) = 0;
    /// Whether the host has reset the device since: then it must be forgotten, not destroyed.
    virtual bool lost() const = 0;
};

/// One component of the caller's arrays as contiguous numbers on the device, or on the host.
template <typename T>
class NearInputs {
  public:
    NearInputs(backend::Queue& queue, const backend::Executor& executor, int32_t arrays, bool on_host);
    /// Array `place`; returns where it is: the caller's own memory where that fits. Device:
    /// enqueued.
    const T* put(int32_t place, const particles::ArrayView& view);
    /// Index of the first number of array `place` that is not finite, or -1; valid after fetch() and a wait.
    int64_t first_bad(int32_t place) const;
    void forget(); // what has been found (enqueued)
    void fetch();  // enqueued
    void waited() { staging_.restart(); }

  private:
    const T* put_on_device(int32_t place, const particles::ArrayView& view);
    const T* put_on_host(int32_t place, const particles::ArrayView& view);
    backend::Queue& queue_;
    const backend::Executor& executor_;
    bool on_host_;
    particles::DeviceStaging staging_;
    std::vector<backend::DeviceBuffer<T>> device_;
    std::vector<std::vector<T>> host_;
    std::vector<int64_t> host_bad_;
    backend::DeviceBuffer<unsigned long long> bad_;
    backend::PinnedBuffer<unsigned long long> fetched_;
};

/// Sums on their way to the caller's arrays, whose points that are in no box stay as they are.
template <typename T>
class NearOutputs {
  public:
    NearOutputs(backend::Queue& queue, const backend::Executor& executor, const DeviceStructure& structure)
        : queue_(queue), executor_(executor), structure_(structure) {}
    /// Where the layout is to write: the caller's memory where that fits, or a buffer of as many items.
    Fields<T> fields(const DeviceNearOutputs& outputs, const Sums& sums);
    void send();    // buffers to device arrays, or to page-locked memory (enqueued)
    void deliver(); // page-locked memory to host arrays; after a wait

  private:
    struct Item {
        particles::ArrayView view;
        backend::DeviceBuffer<T> buffer;
        backend::PinnedBuffer<T> pinned;
        bool used = false;
    };
    T* place(size_t k, const particles::ArrayView& view);
    int64_t targets() const { return structure_.host().targets(); }
    bool has_all(const Item& item) const { return targets() == item.view.n; } // points are in boxes
    backend::Queue& queue_;
    const backend::Executor& executor_;
    const DeviceStructure& structure_;
    std::vector<Item> items_; // 4 a component
    bool add_ = false;
};

} // namespace graft::kernels::near
