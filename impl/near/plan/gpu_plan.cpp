// SPDX-License-Identifier: BSD-3-Clause
// The near field on a GPU: everything is done behind the table of libgraft_cuda.so; arrays of the caller go
// there as they are, in whatever memory.
#include "backend/gpu_library.hpp"
#include "near/choice/choose.hpp"
#include "near/choice/layout_trial_gpu.hpp"
#include "near/mutual.hpp"
#include "near/plan/gpu_plans.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace graft::near {

using core::fail;
using core::Status;

namespace {

constexpr double usual_executes = 10;  // where the caller does not tell
constexpr double worth_a_change = 0.8; // of the time: less is noise

/// By prediction, a trial, and what executions took; the model's numbers are those of the machine file where
/// it has a GPU's.
class DeviceChoice {
  public:
    DeviceChoice(const PlanBackendInput& input, bool host_arrays)
        : shape_(input.shape),
          by_(input.options.layout != near_layout_auto ? ChosenBy::caller : ChosenBy::model) {
        if (input.options.machine != nullptr)
            machine_ = *input.options.machine;
        options_.way.backend = NearBackend::cuda;
        options_.way.host_arrays = host_arrays;
        options_.way.most_bytes = asked() ? 0 : input.options.most_bytes; // the device refuses or cuts it
        options_.expected_executes = input.options.executes > 0 ? input.options.executes : usual_executes;
        options_.every = asked();
        choose(input);
        if (asked())
            choice_.layout = static_cast<Layout>(input.options.layout);
    }
    Layout layout() const { return choice_.layout; }
    ChosenBy by() const { return by_; }
    const Candidate& chosen() const { return choice_.chosen(); }
    const model::Link& link() const { return machine_.link; }
    /// DeviceNearOptions::pairs_once, as far as it is known.
    int32_t pairs_once() const { return pairs_once_; }
    /// The winner's plan; none where nothing was tried.
    DevicePlan try_out(const DeviceTrialInput& input) {
        if (asked())
            return {nullptr, input.table.destroy};
        DeviceTrial trial = near::choose_tried_on_device(input, shape_, machine_, options_, learned_);
        if (trial.choice.tried) {
            choice_ = trial.choice;
            by_ = ChosenBy::trial;
        }
        return std::move(trial.plan);
    }
    void learn(const Times& events) {
        near::learn(learned_, chosen(), near::device_times(chosen(), events));
        executed_ = true;
    }
    /// Another choice, if what executions took speaks for one: its executions with their share of a new plan
    /// against executions alone.
    std::optional<Choice> better() const {
        if (asked() || !executed_)
            return std::nullopt;
        const Choice choice = near::choose(shape_, machine_, options_, learned_);
        const Candidate& now = choice.candidates[number(choice_.layout)];
        if (choice.layout == choice_.layout || refused_[number(choice.layout)] ||
            choice.chosen().time_s > worth_a_change * now.execution_s)
            return std::nullopt;
        return choice;
    }
    void take(const Choice& choice) {
        choice_ = choice;
        by_ = ChosenBy::executions;
    }
    void refuse(Layout layout) { refused_[number(layout)] = true; }
    void report(NearReport& report) const {
        const NearPrediction& p = chosen().predicted;
        report.layout = layout();
        report.reason = words(by_);
        report.predicted = {p.collection_s, p.charges_s, p.transfer_s,
                            p.kernel_s,     p.scatter_s, p.execution_s()};
        report.has_prediction = p.kernel_s > 0;
        report.prediction_error = p.error;
        report.machine = p.measured ? machine_.name : "built-in";
    }

  private:
    static size_t number(Layout layout) { return static_cast<size_t>(layout); }
    bool asked() const { return by_ == ChosenBy::caller; }
    /// Whether the lists are mutual takes a part of a plan's time: looked at where tiled would be taken.
    void choose(const PlanBackendInput& input) {
        const auto most_bytes = static_cast<int64_t>(input.options.most_bytes);
        const auto tiled = static_cast<int32_t>(Layout::tiled);
        options_.way.pairs_once = near::bytes_of_pairs_once(shape_, most_bytes) > 0;
        choice_ = near::choose(shape_, machine_, options_);
        const bool taken = asked() ? input.options.layout == tiled : choice_.layout == Layout::tiled;
        if (options_.way.pairs_once && taken)
            pairs_once_ = near::sums_pairs_once(input.structure, input.sums, most_bytes) ? 1 : -1;
        if (pairs_once_ < 0) {
            options_.way.pairs_once = false;
            choice_ = near::choose(shape_, machine_, options_);
        }
    }

    const Shape& shape_;
    ChosenBy by_;
    bool executed_ = false;
    int32_t pairs_once_ = 0;
    model::Machine machine_;
    ChoiceOptions options_;
    Learned learned_;
    Choice choice_;
    std::array<bool, layouts> refused_{}; // there was no room for them beside the plan in use
};

class DeviceBackend : public PlanBackend {
  public:
    DeviceBackend(const PlanBackendInput& input, const DeviceNearTable& table, int32_t device,
                  const NearPoints& points)
        : structure_(input.structure), sums_(input.sums), table_(table), plan_(nullptr, table.destroy),
          choice_(input, points.on_device() == nullptr) {
        options_.device = device;
        options_.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options_.host_threads = input.options.threads;
        options_.pairs_once = choice_.pairs_once();
        plan_ = choice_.try_out(
            {table_, options_, structure_, sums_, points.target, points.source, points.stream});
        backend::DeviceError error;
        if (plan_ == nullptr)
            backend::raise(create(choice_.layout(), plan_, error), error);
    }

    void set_points(const NearPoints& points) override {
        if (const std::optional<Choice> other = choice_.better()) {
            if (change_to(other->layout, points)) {
                choice_.take(*other);
                return;
            }
            choice_.refuse(other->layout);
        }
        backend::DeviceError error;
        backend::raise(give(plan_, points, error), error);
    }

    void begin(const NearSums& sums, void* stream) override {
        const DeviceNearOutputs outputs = device_outputs(sums);
        backend::DeviceError error;
        backend::raise(table_.begin(plan_.get(), sums.charge.data(), &outputs, stream, &error), error);
    }

    void end() override {
        const int64_t before = done_.allocations;
        backend::DeviceError error;
        backend::raise(table_.end(plan_.get(), &done_, &error), error);
        allocated_ = done_.allocations - before;
        choice_.learn(done_.times);
    }

    int32_t device() const override { return options_.device; }
    int64_t allocations() const override { return allocated_; }

    void report(NearReport& report) const override {
        report.backend = "gpu";
        choice_.report(report);
        report.times = done_.times;
        report.bytes_layout = done_.bytes;
        report.bytes_copies = done_.bytes_pinned;
        report.bytes_kept = done_.bytes_kept;
        report.chunks = done_.chunks;
        report.device_name = done_.device_name;
    }

  private:
    int32_t create(Layout layout, DevicePlan& plan, backend::DeviceError& error) {
        options_.layout = layout;
        void* made = nullptr;
        const int32_t status = table_.create(&options_, &structure_, &sums_, &made, &error);
        plan.reset(made);
        return status;
    }
    int32_t give(const DevicePlan& plan, const NearPoints& points, backend::DeviceError& error) {
        return table_.set_points(plan.get(), points.target, points.source, points.stream, &error);
    }
    /// The old plan goes only when the new one has the points: without room for both, false, and nothing has
    /// changed. Throws for bad points.
    bool change_to(Layout layout, const NearPoints& points) {
        backend::DeviceError error;
        DevicePlan made(nullptr, table_.destroy);
        int32_t status = create(layout, made, error);
        if (status == 0)
            status = give(made, points, error);
        if (status == static_cast<int32_t>(Status::memory) ||
            status == static_cast<int32_t>(Status::unsupported))
            return false;
        backend::raise(status, error);
        plan_ = std::move(made);
        done_ = {};
        return true;
    }

    const Structure& structure_;
    const Sums& sums_;
    const DeviceNearTable& table_;
    DeviceNearOptions options_;
    DevicePlan plan_;
    DeviceChoice choice_;
    DeviceNearReport done_;
    int64_t allocated_ = 0;
};

/// Below, the way to the GPU and back costs more than the pairs on a core: 1e7 pairs are about 5 ms of one.
constexpr double least_gpu_pairs = 1e7;

/// gpu.device, or the device of the coordinates, or the first.
int32_t device_of(const backend::CudaTable& cuda, const NearOptions& options, const NearPoints& points) {
    int32_t kind = 0, device = options.device.device;
    if (const particles::ArrayView* view = points.on_device(); device < 0 && view != nullptr) {
        backend::DeviceError error;
        backend::raise(cuda.pointer_kind(view->data, &kind, &device, &error), error);
    }
    return std::max(0, device);
}

} // namespace

std::unique_ptr<PlanBackend> make_near_device(const PlanBackendInput& input, const NearPoints& points) {
    const bool device_arrays = points.on_device() != nullptr;
    const settings::Backend backend = input.options.backend;
    const bool needed = backend == settings::Backend::cuda || device_arrays;
    if (backend == settings::Backend::cpu || (!needed && static_cast<double>(input.shape.pairs) < least_gpu_pairs))
        return nullptr;
    std::string why;
    const backend::CudaTable* const cuda = backend::find_cuda(&why);
    if (cuda == nullptr && needed)
        fail(Status::device, "near field: no GPU can be used: %s", why.c_str());
    if (cuda == nullptr || cuda->near == nullptr)
        return nullptr;
    const int32_t device = device_of(*cuda, input.options, points);
    if (input.options.devices > 1) {
        require_devices(*cuda, input.options.devices);
        const DeviceChoice choice(input, !device_arrays);
        const bool in_order = input.structure.target_index.empty() && input.structure.source_index.empty();
        const NearArrays arrays = device_arrays ? NearArrays::device
                                  : in_order    ? NearArrays::host_in_order
                                                : NearArrays::host_at_random;
        const int32_t count = best_device_count(choice.chosen().predicted, input.shape, choice.link(), arrays,
                                                input.options.devices);
        if (count > 1)
            return make_near_devices(input, *cuda, device, count, choice.layout(), choice.by());
    }
    return make_near_one_device(input, *cuda->near, device, points);
}

std::unique_ptr<PlanBackend> make_near_one_device(const PlanBackendInput& input, const DeviceNearTable& table,
                                                  int32_t device, const NearPoints& points) {
    return std::make_unique<DeviceBackend>(input, table, device, points);
}

} // namespace graft::near
