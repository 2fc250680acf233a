// SPDX-License-Identifier: BSD-3-Clause
// ranges on the device: sorted points, runs of neighbour sources, a few threads a target
// (near/tiles/lanes_per_target.hpp).
#include "near/layouts/layout_base_gpu.cuh"
#include "near/layouts/target_threads_gpu.cuh"
#include "near/tiles/lanes_per_target.hpp"

#include <algorithm>
#include <bit>

namespace graft::near {

namespace {

template <Precision precision>
class Ranges final : public LayoutBase<precision> {
  public:
    using Base = LayoutBase<precision>;
    using Stored = typename Base::Stored;
    Ranges(const DeviceStructure& structure, const Sums& sums, const DeviceLayoutOptions& options,
           backend::Queue& queue)
        : Base(structure, sums, options, queue), points_(structure, sums, true, queue),
          log_lanes_(log_lanes_of(structure, options)) {
        this->check_limit(Layout::ranges);
    }
    void set_points(const Coordinates<Stored>& targets, const Coordinates<Stored>& sources) override {
        this->clock_.begin(LayoutClock::collection, this->queue_.stream());
        points_.set_points(targets, sources);
        this->clock_.end(LayoutClock::collection, this->queue_.stream());
    }
    void set_charges(const Charges<Stored>& charges) override {
        this->clock_.begin(LayoutClock::charges, this->queue_.stream());
        points_.set_charges(charges);
        this->clock_.end(LayoutClock::charges, this->queue_.stream());
    }
    void run(const Fields<Stored>& fields) override {
        const cudaStream_t stream = this->queue_.stream();
        this->clock_.begin(LayoutClock::kernel, stream);
        this->passes(this->whole(this->structure_.all().view(), points_), fields, false, pass_components,
                     [&](const SumView<precision>& view, bool gradient) {
                         sum_targets(this->queue_, this->form_, gradient, view, RangesFeed{log_lanes_},
                                     this->options_.threads);
                     });
        this->clock_.end(LayoutClock::kernel, stream);
    }
    Times times() override { return this->of_kernels(); }
    int64_t bytes() const override { return this->structure_.bytes() + points_.bytes(); }

  private:
    static int32_t log_lanes_of(const DeviceStructure& structure, const DeviceLayoutOptions& options) {
        const int32_t lanes =
            options.source_lanes > 0
                ? options.source_lanes
                : near::near_target_lanes(static_cast<double>(structure.host().targets()),
                                           static_cast<double>(structure.all().host().pairs));
        return std::bit_width(static_cast<uint32_t>(std::min(lanes, 32))) - 1;
    }
    DevicePoints<Stored> points_;
    int32_t log_lanes_;
};

} // namespace

template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_ranges(const DeviceStructure& structure, const Sums& sums, const DeviceLayoutOptions& options,
                   backend::Queue& queue) {
    return std::make_unique<Ranges<precision>>(structure, sums, options, queue);
}
template std::unique_ptr<DeviceLayout<float>> make_device_ranges<Precision::fp32>(const DeviceStructure&,
                                                                                  const Sums&,
                                                                                  const DeviceLayoutOptions&,
                                                                                  backend::Queue&);
template std::unique_ptr<DeviceLayout<double>>
make_device_ranges<Precision::mixed>(const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                     backend::Queue&);
template std::unique_ptr<DeviceLayout<double>> make_device_ranges<Precision::fp64>(const DeviceStructure&,
                                                                                   const Sums&,
                                                                                   const DeviceLayoutOptions&,
                                                                                   backend::Queue&);

} // namespace graft::near
