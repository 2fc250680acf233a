// SPDX-License-Identifier: BSD-3-Clause
// The points and charges of a near field on the device, in the order of the boxes (slots) or of the caller.
#pragma once

#include "near/near_sum_gpu.cuh"
#include "near/layouts/layout.hpp"

namespace graft::near {

/// Points with their charges, gathered by the device: 16 bytes a point in float, 32 in double, and the
/// charges again by component where there are several.
template <typename T>
class DevicePoints {
  public:
    /// sorted: by slot; else the caller's order.
    DevicePoints(const DeviceStructure& structure, const Sums& sums, bool sorted, backend::Queue& queue);
    static double bytes_of(const Structure& structure, int32_t components, bool sorted);

    /// Device arrays; enqueued. One read and one write of each.
    void set_points(const Coordinates<T>& targets, const Coordinates<T>& sources);
    void set_charges(const Charges<T>& charges);
    const Point<T>* target() const noexcept {
        return structure_.host().same ? source_.data() : target_.data();
    }
    const Point<T>* source() const noexcept { return source_.data(); }
    const T* charge() const noexcept { return charge_.data(); }
    /// 0 with one component, which stands in the points.
    int64_t charge_stride() const noexcept { return components_ > 1 ? sources_ : 0; }
    int64_t bytes() const noexcept;

  private:
    const DeviceStructure& structure_;
    backend::Queue& queue_;
    int32_t components_;
    bool sorted_, flat_;
    int64_t targets_, sources_; // entries of the arrays
    backend::DeviceBuffer<Point<T>> target_, source_;
    backend::DeviceBuffer<T> charge_; // empty with one component
};

} // namespace graft::near
