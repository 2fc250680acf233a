// SPDX-License-Identifier: BSD-3-Clause
// Several GPUs, see gpu_plans.hpp. Every part is a plan of libgraft_cuda on a device of its own, which
// takes its points out of the caller's arrays and puts its sums there.
#include "near/plan/gpu_plans.hpp"

#include "near/choice/layout_trial_gpu.hpp"
#include "near/mutual.hpp"
#include "near/structure_parts.hpp"
#include "near/tiles/tile_rule.hpp"
#include "near/tiles/lanes_per_target.hpp"

#include <algorithm>
#include <vector>

namespace graft::near {

using core::fail;
using core::Status;

namespace {

/// One GPU's share.
struct Share {
    StructurePart part;
    Structure structure;
    DevicePlan plan{nullptr, nullptr}; // of the two above
    DeviceNearReport done;
};

/// Every call is made of all shares before one of them is waited for.
class DevicesBackend : public PlanBackend {
  public:
    DevicesBackend(const PlanBackendInput& input, const backend::CudaTable& cuda, int32_t first,
                   int32_t count, Layout layout, ChosenBy by)
        : sums_(input.sums), table_(*cuda.near), layout_(layout), by_(by) {
        DeviceNearOptions options;
        options.layout = layout;
        options.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options.host_threads = input.options.threads;
        if (layout == Layout::tiled) { // of the whole: the same bits with any number of devices
            options.pairs_once = near::sums_pairs_once(input.structure, sums_, options.most_bytes) ? 1 : -1;
            options.small_blocks = near::small_box_blocks(input.structure);
        }
        if (layout == Layout::ranges)
            options.source_lanes = near::near_target_lanes(static_cast<double>(input.shape.targets),
                                                            static_cast<double>(input.shape.pairs));
        std::vector<StructurePart> parts = near::cut_structure(input.structure, count);
        const int32_t devices = require_devices(cuda, count);
        for (int32_t k = 0; k < count; ++k) {
            shares_.push_back(std::make_unique<Share>());
            Share& share = *shares_.back();
            share.part = std::move(parts[static_cast<size_t>(k)]);
            share.structure = share.part.view();
            const PartPoints points = share.part.points();
            options.part = &points;
            options.device = (first + k) % devices;
            backend::DeviceError error;
            void* made = nullptr;
            const int32_t status = table_.create(&options, &share.structure, &sums_, &made, &error);
            share.plan = DevicePlan(made, table_.destroy);
            backend::raise(status, error);
        }
    }
    DevicesBackend(const DevicesBackend&) = delete;
    DevicesBackend& operator=(const DevicesBackend&) = delete;

    void set_points(const NearPoints& given) override {
        NearPoints points = given;
        for (auto* const set : {&points.target, &points.source})
            for (particles::ArrayView& axis : *set)
                read_on_host(axis, points.stream);
        PointBounds all;
        each([&](const Share& share, backend::DeviceError& error) {
            return table_.send_points(share.plan.get(), points.target, points.source, points.stream, &error);
        });
        each([&](const Share& share, backend::DeviceError& error) {
            return table_.see_points(share.plan.get(), &all, &error);
        });
        each([&](const Share& share, backend::DeviceError& error) {
            return table_.take_points(share.plan.get(), &all, &error);
        });
    }

    void begin(const NearSums& given, void* stream) override {
        NearSums sums = given;
        for (size_t c = 0; c < most_components; ++c) {
            read_on_host(sums.charge[c], stream);
            read_on_host(sums.potential[c], stream);
            for (particles::ArrayView& axis : sums.gradient[c])
                read_on_host(axis, stream);
        }
        const DeviceNearOutputs outputs = device_outputs(sums);
        const auto send = [&](const Share& share, backend::DeviceError& error) {
            return table_.send_charges(share.plan.get(), sums.charge.data(), &outputs, stream, &error);
        };
        const auto sum = [&](const Share& share, backend::DeviceError& error) {
            return table_.sum(share.plan.get(), &outputs, &error);
        };
        try {
            if (any_on_device(sums)) {
                each(send);
                each(sum);
            } else // one works while the next one's charges are packed
                each([&](const Share& share, backend::DeviceError& error) {
                    const int32_t status = send(share, error);
                    return status != 0 ? status : sum(share, error);
                });
        } catch (...) {
            drop();
            throw;
        }
    }

    /// Outputs are written when the charges and sums of all shares have been seen to be numbers.
    void end() override {
        try {
            each([&](const Share& share, backend::DeviceError& error) {
                return table_.see_sums(share.plan.get(), &error);
            });
            allocated_ = 0;
            each([&](Share& share, backend::DeviceError& error) {
                const int64_t before = share.done.allocations;
                const int32_t status = table_.end(share.plan.get(), &share.done, &error);
                allocated_ += share.done.allocations - before;
                return status;
            });
        } catch (...) {
            drop();
            throw;
        }
    }

    int64_t allocations() const override { return allocated_; }

    void report(NearReport& report) const override {
        report.backend = "gpu";
        report.layout = layout_;
        report.reason = words(by_);
        report.times = {};
        report.chunks = 0;
        report.bytes_layout = report.bytes_copies = report.bytes_kept = 0;
        for (const auto& share : shares_) { // they work at the same time: the longest
            const Times& t = share->done.times;
            for (double Times::*field :
                 {&Times::collection_s, &Times::charges_s, &Times::transfer_s,
                  &Times::kernel_s, &Times::scatter_s, &Times::total_s})
                report.times.*field = std::max(report.times.*field, t.*field);
            report.bytes_layout += share->done.bytes;
            report.bytes_kept += share->done.bytes_kept;
            report.bytes_copies += share->done.bytes_pinned + share->part.bytes();
            report.chunks = std::max(report.chunks, share->done.chunks);
        }
        report.device_name = core::format("%zu x %s", shares_.size(), shares_.front()->done.device_name);
    }

  private:
    static bool any_on_device(const NearSums& sums) {
        const auto there = [](const particles::ArrayView& view) { return view.present() && !view.on_host(); };
        bool any = false;
        for (size_t c = 0; c < most_components; ++c)
            any = any || there(sums.charge[c]) || there(sums.potential[c]) ||
                  std::any_of(sums.gradient[c].begin(), sums.gradient[c].end(), there);
        return any;
    }
    /// Managed memory is of no GPU's, and no GPU has the stream of another: the host reads and writes it,
    /// when what the stream holds is done.
    void read_on_host(particles::ArrayView& view, void* stream) const {
        if (view.memory != particles::MemorySpace::managed || !view.present())
            return;
        backend::DeviceError error;
        if (stream != nullptr)
            backend::raise(table_.wait(view.data, stream, &error), error);
        view.memory = particles::MemorySpace::host;
    }
    /// Ends what has begun; what is not written yet is not.
    void drop() noexcept {
        for (const auto& share : shares_) {
            backend::DeviceError error;
            (void)table_.end(share->plan.get(), nullptr, &error);
        }
    }
    template <typename Call>
    void each(Call&& call) {
        for (const auto& share : shares_) {
            backend::DeviceError error;
            backend::raise(call(*share, error), error);
        }
    }
    const Sums& sums_;
    const DeviceNearTable& table_;
    Layout layout_;
    ChosenBy by_;
    std::vector<std::unique_ptr<Share>> shares_;
    int64_t allocated_ = 0;
};

constexpr double further_device_s = 6e-5; // calls of an execution, and the wait for one more
constexpr double least_saving = 0.05;     // of an execution: less is the model's error
constexpr double uneven = 1.03;           // parts of whole boxes, and the points of neighbours
// More for each number of the host's, charge or sum, than in one piece: blocks, or one by one by its list
// (16 threads of the H200s' host).
constexpr double number_s = 6e-11, random_number_s = 4.5e-10;
constexpr double usual_link_bytes_per_s = 1e11;

} // namespace

int32_t require_devices(const backend::CudaTable& cuda, int32_t count) {
    int32_t found = 0;
    backend::DeviceError error;
    backend::raise(cuda.device_count(&found, &error), error);
    if (found < count)
        fail(Status::device,
             "near field: near_field.devices is %d, but this host has %d GPUs; expected at most %d", count,
             found, found);
    return found;
}

DeviceNearOutputs device_outputs(const NearSums& sums) {
    DeviceNearOutputs outputs;
    for (size_t c = 0; c < most_components; ++c) {
        outputs.potential[c] = sums.potential[c];
        for (size_t a = 0; a < 3; ++a)
            outputs.gradient[c][a] = sums.gradient[c][a];
    }
    return outputs;
}

int32_t best_device_count(const NearPrediction& one, const Shape& shape, const model::Link& link,
                          NearArrays arrays, int32_t most) {
    const double outputs = ((shape.outputs & potential) != 0 ? 1 : 0) +
                           ((shape.outputs & gradient) != 0 ? shape.dimension : 0);
    const double numbers = shape.components * (static_cast<double>(shape.sources) +
                                               outputs * static_cast<double>(shape.targets));
    const double rate =
        link.gpu_gpu_bandwidth_bytes_per_s > 0 ? link.gpu_gpu_bandwidth_bytes_per_s : usual_link_bytes_per_s;
    const double number_bytes = shape.precision == Precision::fp32 ? 4 : 8;
    const double apart_s = numbers * (arrays == NearArrays::host_at_random ? random_number_s : number_s);
    int32_t best = 1;
    double saved_s = 0;
    for (int32_t count = 2; count <= most; ++count) {
        const double others = static_cast<double>(count - 1) / count; // of the work, on the further ones
        const double cost_s = arrays == NearArrays::device ? others * numbers * number_bytes / rate : apart_s;
        const double now_s =
            one.kernel_s * (1 - uneven * (1 - others)) - cost_s - further_device_s * (count - 1);
        if (now_s > saved_s) {
            best = count;
            saved_s = now_s;
        }
    }
    return saved_s > least_saving * one.execution_s() ? best : 1;
}

std::unique_ptr<PlanBackend> make_near_devices(const PlanBackendInput& input, const backend::CudaTable& cuda,
                                               int32_t first, int32_t count, Layout layout, ChosenBy by) {
    return std::make_unique<DevicesBackend>(input, cuda, first, count, layout, by);
}

} // namespace graft::near
