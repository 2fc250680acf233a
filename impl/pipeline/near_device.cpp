// The near field on a GPU: everything is done behind the table of libgraft_cuda.so; arrays of the caller go
// there as they are, in whatever memory.
#include "backend/cuda_library.hpp"
#include "kernels/near/device_near.hpp"
#include "pipeline/near_devices.hpp"

#include <algorithm>

namespace graft::pipeline {

using core::fail;
using core::Status;

namespace {

/// Points a box below which ranges wins on an H200, charges gathered anew by each execution (gpu/near.md).
constexpr double few_targets = 3;

struct LayoutChoice {
    near::Layout layout;
    const char* reason;
};

LayoutChoice choose(const NearSideInput& input) {
    if (input.options.layout != near_layout_auto)
        return {static_cast<near::Layout>(input.options.layout), "as near_field.layout says"};
    if (input.shape.mean < few_targets)
        return {near::Layout::ranges, "ranges is the fastest on GPUs with few points a box"};
    return {near::Layout::tiled, "tiled is the fastest on GPUs in general"};
}

class DeviceSide : public NearSide {
  public:
    DeviceSide(const NearSideInput& input, const near::DeviceNearTable& table, int32_t device,
               const LayoutChoice& choice)
        : table_(table), reason_(choice.reason) {
        near::DeviceNearOptions options;
        options.device = device;
        options.layout = choice.layout;
        options.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options.host_threads = input.options.threads;
        layout_ = options.layout;
        backend::DeviceError error;
        backend::raise(table_.create(&options, &input.structure, &input.sums, &plan_, &error), error);
    }
    ~DeviceSide() override { table_.destroy(plan_); }
    DeviceSide(const DeviceSide&) = delete;
    DeviceSide& operator=(const DeviceSide&) = delete;

    void set_points(const NearPoints& points) override {
        backend::DeviceError error;
        backend::raise(table_.set_points(plan_, points.target, points.source, points.stream, &error), error);
    }

    void begin(const NearSums& sums, void* stream) override {
        near::DeviceNearOutputs outputs;
        for (size_t c = 0; c < near::most_components; ++c) {
            outputs.potential[c] = sums.potential[c];
            for (size_t a = 0; a < 3; ++a)
                outputs.gradient[c][a] = sums.gradient[c][a];
        }
        outputs.add = sums.add ? 1 : 0;
        backend::DeviceError error;
        backend::raise(table_.begin(plan_, sums.charge.data(), &outputs, stream, &error), error);
    }

    void end() override {
        const int64_t before = done_.allocations;
        backend::DeviceError error;
        backend::raise(table_.end(plan_, &done_, &error), error);
        allocated_ = done_.allocations - before;
    }

    int64_t allocations() const override { return allocated_; }

    void report(NearReport& report) const override {
        report.backend = "cuda";
        report.layout = layout_;
        report.reason = reason_;
        report.times = done_.times;
        report.bytes_layout = done_.bytes;
        report.bytes_copies = done_.bytes_pinned;
        report.chunks = done_.chunks;
        report.device_name = done_.device_name;
    }

  private:
    const near::DeviceNearTable& table_;
    const char* reason_;
    near::Layout layout_ = near::Layout::tiled;
    void* plan_ = nullptr;
    near::DeviceNearReport done_;
    int64_t allocated_ = 0;
};

/// Below, the way to the GPU and back costs more than the pairs on a core: 1e7 pairs are about 5 ms of one.
constexpr double least_gpu_pairs = 1e7;

/// cuda.device, or the device of the coordinates, or the first.
int32_t device_of(const backend::CudaTable& cuda, const NearOptions& options, const NearPoints& points) {
    int32_t kind = 0, device = options.device.device;
    if (device < 0 && points.on_device()) {
        const bool targets = points.target[0].present() && !points.target[0].on_host();
        backend::DeviceError error;
        backend::raise(
            cuda.pointer_kind((targets ? points.target : points.source)[0].data, &kind, &device, &error),
            error);
    }
    return std::max(0, device);
}

} // namespace

std::unique_ptr<NearSide> make_near_device(const NearSideInput& input, const NearPoints& points) {
    const bool device_arrays = points.on_device();
    const Backend backend = input.options.backend;
    const bool needed = backend == Backend::cuda || device_arrays;
    if (backend == Backend::cpu || (!needed && static_cast<double>(input.shape.pairs) < least_gpu_pairs))
        return nullptr;
    std::string why;
    const backend::CudaTable* const cuda = backend::find_cuda(&why);
    if (cuda == nullptr && needed)
        fail(Status::device, "near field: no GPU can be used: %s", why.c_str());
    if (cuda == nullptr || cuda->near == nullptr)
        return nullptr;
    const LayoutChoice choice = choose(input);
    const int32_t device = device_of(*cuda, input.options, points);
    if (input.options.devices > 1)
        return make_near_devices(input, *cuda, device, input.options.devices, choice.layout, choice.reason);
    return std::make_unique<DeviceSide>(input, *cuda->near, device, choice);
}

} // namespace graft::pipeline
