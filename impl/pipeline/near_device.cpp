// The near field on a GPU: everything is done behind the table of libgraft_cuda.so; arrays of the caller go
// there as they are, in whatever memory.
#include "backend/cuda_library.hpp"
#include "kernels/near/choose.hpp"
#include "kernels/near/device_near.hpp"
#include "pipeline/near_devices.hpp"

#include <algorithm>
#include <utility>

namespace graft::pipeline {

using core::fail;
using core::Status;

namespace {

constexpr double usual_executes = 10;  // where the caller does not tell
constexpr double worth_a_change = 0.8; // of the time: less is noise

/// By prediction; the model's numbers are those of the machine file where it has a GPU's.
class DeviceChoice {
  public:
    DeviceChoice(const NearSideInput& input, bool host_arrays)
        : shape_(input.shape), asked_(input.options.layout != near_layout_auto) {
        if (input.options.machine != nullptr)
            machine_ = *input.options.machine;
        options_.way.backend = model::NearBackend::cuda;
        options_.way.host_arrays = host_arrays;
        options_.way.most_bytes = asked_ ? 0 : input.options.most_bytes; // the device refuses or cuts it
        options_.expected_executes = input.options.executes > 0 ? input.options.executes : usual_executes;
        choice_ = near::choose(shape_, machine_, options_);
        reason_ = "predicted to be fastest";
        if (asked_)
            choice_.layout = static_cast<near::Layout>(input.options.layout),
            reason_ = "as near_field.layout says";
    }
    near::Layout layout() const { return choice_.layout; }
    const char* reason() const { return reason_; }
    const near::Candidate& chosen() const { return choice_.chosen(); }
    void learn(const near::Times& times) { near::learn(learned_, choice_.chosen(), times); }
    /// Whether what executions took speaks for another layout, which is then chosen.
    bool changes() {
        if (asked_)
            return false;
        const near::Choice choice = near::choose(shape_, machine_, options_, learned_);
        const near::Candidate& now = choice.candidates[static_cast<size_t>(choice_.layout)];
        if (choice.layout == choice_.layout || choice.chosen().time_s > worth_a_change * now.time_s)
            return false;
        choice_ = choice;
        reason_ = "learned from the executions so far";
        return true;
    }
    void report(NearReport& report) const {
        const model::NearPrediction& p = chosen().predicted;
        report.layout = layout(), report.reason = reason_;
        report.predicted = {p.collection_s, p.charges_s, p.transfer_s,
                            p.kernel_s,     p.scatter_s, p.execution_s()};
        report.has_prediction = p.kernel_s > 0;
        report.prediction_error = p.error;
        report.machine = p.measured ? machine_.name : "built-in";
    }

  private:
    const near::Shape& shape_;
    bool asked_;
    model::Machine machine_;
    near::ChoiceOptions options_;
    near::Learned learned_;
    near::Choice choice_;
    const char* reason_;
};

class DeviceSide : public NearSide {
  public:
    DeviceSide(const NearSideInput& input, const near::DeviceNearTable& table, int32_t device,
               bool host_arrays)
        : structure_(input.structure), sums_(input.sums), table_(table), choice_(input, host_arrays) {
        options_.device = device;
        options_.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options_.host_threads = input.options.threads;
        create();
    }
    ~DeviceSide() override { table_.destroy(plan_); }
    DeviceSide(const DeviceSide&) = delete;
    DeviceSide& operator=(const DeviceSide&) = delete;

    void set_points(const NearPoints& points) override {
        if (choice_.changes()) {
            table_.destroy(std::exchange(plan_, nullptr));
            create();
        }
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
        choice_.learn(done_.times);
    }

    int64_t allocations() const override { return allocated_; }

    void report(NearReport& report) const override {
        report.backend = "cuda";
        choice_.report(report);
        report.times = done_.times;
        report.bytes_layout = done_.bytes;
        report.bytes_copies = done_.bytes_pinned;
        report.chunks = done_.chunks;
        report.device_name = done_.device_name;
    }

  private:
    void create() {
        options_.layout = choice_.layout();
        done_ = {};
        backend::DeviceError error;
        backend::raise(table_.create(&options_, &structure_, &sums_, &plan_, &error), error);
    }
    const near::Structure& structure_;
    const near::Sums& sums_;
    const near::DeviceNearTable& table_;
    near::DeviceNearOptions options_;
    DeviceChoice choice_;
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
    const int32_t device = device_of(*cuda, input.options, points);
    if (input.options.devices > 1) {
        const DeviceChoice choice(input, true);
        return make_near_devices(input, *cuda, device, input.options.devices, choice.layout(),
                                 choice.reason());
    }
    return std::make_unique<DeviceSide>(input, *cuda->near, device, !device_arrays);
}

} // namespace graft::pipeline
