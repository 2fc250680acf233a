// SPDX-License-Identifier: BSD-3-Clause
// What every device layout has: its problem, its clock, and the passes over groups of components.
#pragma once

#include "near/layouts/layout_gpu.cuh"
#include "near/near_points_gpu.cuh"
#include "near/near_units.hpp"

namespace graft::near {

/// The steps of a layout's life, timed by events, which are made at their first mark: most layouts use a
/// dozen of them, and all together would take longer than the rest of a small plan.
class LayoutClock {
  public:
    enum Step { collection, charges, transfer, kernel, total, points, steps };
    LayoutClock() = default;
    ~LayoutClock();
    LayoutClock(const LayoutClock&) = delete;
    LayoutClock& operator=(const LayoutClock&) = delete;
    void begin(Step step, cudaStream_t stream) { mark(step, 0, stream); }
    void end(Step step, cudaStream_t stream) { mark(step, 1, stream); }
    /// Seconds between the marks of a step, 0 where it was never done. Waits for the end.
    double seconds(Step step);
    /// For pieces of one step: kept apart, at most `pieces` of them, and added up by seconds().
    static constexpr int pieces = 64;
    void begin_piece(Step step, int piece, cudaStream_t stream) { mark(step, 2 * piece, stream); }
    void end_piece(Step step, int piece, cudaStream_t stream) { mark(step, 2 * piece + 1, stream); }
    void forget(Step step) { used_[step] = 0; }
    /// Pieces whose `step` ended before `other` of the piece before did, both within `total`. Waits.
    int32_t ahead(Step step, Step other);

  private:
    void mark(Step step, int place, cudaStream_t stream);
    static double between(cudaEvent_t begin, cudaEvent_t end); // seconds; waits for the end
    cudaEvent_t events_[steps][2 * pieces] = {};
    int used_[steps] = {};
};

/// A radial table's cubics on the device, and the other constants.
template <typename Real>
class DeviceConstants {
  public:
    DeviceConstants(const KernelOptions& kernel, backend::Queue& queue); // waits
    Constants<Real> view() const noexcept;
    void set_wave_number(double wave_number) noexcept {
        constants_.wave_number = static_cast<Real>(wave_number);
    }

  private:
    Constants<Real> constants_;
    backend::DeviceBuffer<Real> table_;
};

template <Precision precision>
class LayoutBase : public DeviceLayout<typename Numbers<precision>::Stored> {
  public:
    using Stored = typename Numbers<precision>::Stored;
    using Real = typename Numbers<precision>::Real;
    LayoutBase(const DeviceStructure& structure, const Sums& sums, const DeviceLayoutOptions& options,
               backend::Queue& queue)
        : structure_(structure), sums_(sums), options_(options), queue_(queue),
          form_(form_of(sums.kernel, sizeof(Real) == 4)), constants_(sums.kernel, queue), given_(sums) {
        if (form_ == Form::softened)
            form_ = Form::laplace; // see near_sum_gpu.cuh
        set_units(1, 1, 1);
    }
    void set_units(double lengths, double of_potentials, double of_gradients) override {
        sums_.kernel = scaled_kernel(given_, lengths);
        constants_.set_wave_number(sums_.kernel.wave_number);
        factor_ = static_cast<Stored>(sums_.kernel.factor * of_potentials);
        gradient_factor_ = static_cast<Stored>(sums_.kernel.factor * of_gradients);
    }
    Times times() override {
        Times t;
        t.collection_s = clock_.seconds(LayoutClock::collection);
        t.charges_s = clock_.seconds(LayoutClock::charges);
        t.transfer_s = clock_.seconds(LayoutClock::transfer);
        t.kernel_s = clock_.seconds(LayoutClock::kernel);
        t.total_s = clock_.seconds(LayoutClock::total);
        return t;
    }
    int32_t chunks() const override { return 1; }

  protected:
    /// times() where an execution is its kernels, and nothing else is marked: an event takes a microsecond or
    /// two of an execution of 70.
    Times of_kernels() {
        Times t = LayoutBase::times();
        t.total_s = t.kernel_s;
        return t;
    }
    /// For layouts that are not made in pieces. Throws Error(memory) when they hold more than they may.
    void check_limit(Layout layout) const {
        const int64_t held = this->bytes() - structure_.bytes();
        if (options_.most_bytes > 0 && held > options_.most_bytes)
            core::fail(core::Status::memory,
                       "near field on a GPU, layout %s: %lld bytes, memory allows %lld; allow more, or cut "
                       "the problem",
                       std::string(name(layout)).c_str(), static_cast<long long>(held),
                       static_cast<long long>(options_.most_bytes));
    }
    /// A view of all boxes for the passes below.
    SumView<precision> whole(const RunsView& runs, const DevicePoints<Stored>& points) const {
        SumView<precision> v{};
        v.boxes = structure_.view(), v.runs = runs;
        v.target = points.target(), v.source = points.source();
        v.charge = points.charge(), v.charge_stride = points.charge_stride();
        v.count = v.boxes.targets;
        v.softening_square = static_cast<Real>(sums_.kernel.softening * sums_.kernel.softening);
        if (sums_.kernel.kernel != Kernel::laplace ||
            form_of(sums_.kernel, sizeof(Real) == 4) != Form::softened)
            v.softening_square = 0;
        v.constants = constants_.view();
        return v;
    }
    /// body(view, with gradients) for the components in groups of what next(form, left) says.
    template <typename Next, typename Body>
    void passes(SumView<precision> v, const Fields<Stored>& fields, bool add, Next&& next,
                Body&& body) const {
        for (int32_t first = 0; first < sums_.components; first += v.components) {
            v.first_component = first;
            v.components = next(form_, sums_.components - first);
            bool gradient = false;
            v.results = {};
            v.results.factor = factor_, v.results.gradient_factor = gradient_factor_, v.results.add = add;
            for (int32_t c = 0; c < v.components; ++c) {
                v.results.potential[c] = fields.potential[first + c];
                for (int axis = 0; axis < sums_.dimension; ++axis) {
                    v.results.gradient[c][axis] = fields.gradient[first + c][axis];
                    gradient = gradient || v.results.gradient[c][axis] != nullptr;
                }
            }
            body(v, gradient);
        }
    }
    const DeviceStructure& structure_;
    Sums sums_;
    DeviceLayoutOptions options_;
    backend::Queue& queue_;
    Form form_;
    DeviceConstants<Real> constants_;
    LayoutClock clock_;

  private:
    Sums given_; // with the kernel's lengths as the caller has them
    Stored factor_ = 1, gradient_factor_ = 1;
};

/// Makers of the layouts, one a file.
template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_ranges(const DeviceStructure&, const Sums&, const DeviceLayoutOptions&, backend::Queue&);
template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_copies(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&, backend::Queue&);
template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_tiled(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&, backend::Queue&);

} // namespace graft::near
