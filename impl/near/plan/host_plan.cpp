// SPDX-License-Identifier: BSD-3-Clause
// The near field on this host: contiguous copies of the caller's arrays in the arithmetic's type, and a
// layout, in units of their own (near_units.hpp).
#include "backend/free_memory.hpp"
#include "core/timer.hpp"
#include "near/choice/choose.hpp"
#include "near/helmholtz_phases.hpp"
#include "near/plan/caller_views.hpp"
#include "near/plan/plan_backend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace graft::near {

namespace {

constexpr double usual_executes = 10;  // where the caller does not tell
constexpr double worth_a_change = 0.8; // of the time: less is noise
constexpr double share_of_free = 0.75; // of the memory, for a layout that nobody has limited
constexpr double surely_there = 1e9;   // bytes for which the system is not asked

template <typename T>
class HostBackend : public PlanBackend {
  public:
    explicit HostBackend(const PlanBackendInput& input)
        : structure_(input.structure), shape_(input.shape), given_(input.sums), sums_(input.sums),
          options_(input.options), executor_{input.memory, backend::resolve_threads(input.options.threads)},
          most_bytes_(options_.most_bytes > 0 ? options_.most_bytes : share_of_memory()) {
        for (int i = 0; i < 6; ++i)
            coordinates_.emplace_back(input.memory, "coordinates of a near field");
        for (int c = 0; c < sums_.components; ++c)
            charges_.emplace_back(input.memory, "charges of a near field");
        for (int c = 0; c < sums_.components * outputs_a_component(); ++c)
            fields_.emplace_back(input.memory, "sums of a near field");
    }

    void set_points(const NearPoints& points) override {
        executor_.threads = backend::resolve_threads(executor_.threads); // fewer in a child after fork
        choose_scale(points);
        const Coordinates<T> targets = import_axes(points.target, 0);
        const Coordinates<T> sources = structure_.same ? targets : import_axes(points.source, 1);
        n_targets_ = points.targets;
        n_sources_ = points.same ? points.targets : points.sources;
        if (layout_ == nullptr)
            choose(targets, sources);
        else
            choose_again();
        if (layout_ == nullptr)
            make_layout();
        layout_->set_points(targets, sources);
    }

    void begin(const NearSums& sums, void*) override {
        core::Timer timer;
        executor_.threads = backend::resolve_threads(executor_.threads);
        choose_charge_scales(sums);
        Charges<T> charges;
        for (int c = 0; c < sums_.components; ++c) {
            core::Buffer<T>& buffer = charges_[index(c)];
            buffer.resize(n_sources_);
            import_values(executor_, sums.charge[index(c)], {"charge", c}, near::most_charge(sums_.precision),
                          buffer.data(), charge_scale_[index(c)]);
            charges.component[index(c)] = buffer.data();
        }
        import_s_ = timer.lap();
        layout_->set_charges(charges);
        layout_->run(wanted(sums));
        near::learn(learned_, choice_.chosen(), layout_->times());
        timer.lap();
        write(sums);
        export_s_ = timer.lap();
    }

    void end() override {}

    void report(NearReport& report) const override {
        report.layout = choice_.layout;
        report.reason = words(by_);
        report.machine = options_.machine != nullptr ? options_.machine->name : "built-in";
        report.bytes_expected = near::bytes_of(choice_.layout, shape_, executor_.threads);
        const NearPrediction& p = choice_.chosen().predicted;
        report.predicted = {p.collection_s, p.charges_s, p.transfer_s,
                            p.kernel_s,     p.scatter_s, p.execution_s()};
        report.has_prediction = p.kernel_s > 0;
        report.prediction_error = p.error;
        report.times = layout_->times();
        report.import_s = import_s_;
        report.export_s = export_s_;
        report.bytes_layout = layout_->bytes();
        report.chunks = layout_->chunks();
        report.bytes_copies = 0;
        for (const auto* list : {&coordinates_, &charges_, &fields_})
            for (const core::Buffer<T>& buffer : *list)
                report.bytes_copies += buffer.capacity() * static_cast<int64_t>(sizeof(T));
    }

  private:
    static size_t index(int i) { return static_cast<size_t>(i); }
    int outputs_a_component() const { return 1 + sums_.dimension; }
    core::Buffer<T>& field(int component, int output) {
        return fields_[index(component * outputs_a_component() + output)];
    }

    const model::Machine& machine() const {
        return options_.machine != nullptr ? *options_.machine : built_in_;
    }

    ChoiceOptions choice_options() const {
        ChoiceOptions options;
        options.way.threads = executor_.threads;
        options.way.most_bytes = most_bytes_;
        options.expected_executes = options_.executes > 0 ? options_.executes : usual_executes;
        options.every = options_.layout != near_layout_auto; // the one that is asked for is predicted all the same
        return options;
    }

    /// By prediction and trial, or the one that is asked for (whose prediction is told all the same).
    void choose(const Coordinates<T>& targets, const Coordinates<T>& sources) {
        const ChoiceOptions options = choice_options();
        if (options_.layout == near_layout_auto) {
            choice_ = near::choose_tried<T>(structure_, sums_, targets, sources, machine(), options,
                                            executor_.memory, learned_);
            by_ = choice_.tried ? ChosenBy::trial : ChosenBy::model;
            return;
        }
        const auto layout = static_cast<Layout>(options_.layout);
        refuse_over_cap(layout);
        choice_ = near::choose(shape_, machine(), options);
        choice_.layout = layout;
        by_ = ChosenBy::caller;
    }

    /// New coordinates: what executions took may speak for another layout. Drops the old one then.
    void choose_again() {
        if (options_.layout != near_layout_auto)
            return;
        const Choice choice = near::choose(shape_, machine(), choice_options(), learned_);
        const Candidate& now = choice.candidates[static_cast<size_t>(choice_.layout)];
        if (choice.layout == choice_.layout || choice.chosen().time_s > worth_a_change * now.time_s)
            return;
        choice_ = choice;
        by_ = ChosenBy::executions;
        layout_.reset();
    }

    /// The most that a layout may take where the caller sets no limit; 0: as much as it wants.
    double share_of_memory() const {
        if (options_.free_bytes > 0)
            return share_of_free * options_.free_bytes;
        double largest = 0;
        for (int k = 0; k < layouts; ++k)
            largest =
                std::max(largest, near::bytes_of(static_cast<Layout>(k), shape_, executor_.threads));
        return largest > surely_there ? share_of_free * backend::free_memory() : 0;
    }

    void refuse_over_cap(Layout layout) const {
        const double least = near::least_bytes_of(layout, shape_, executor_.threads);
        if (most_bytes_ > 0 && least > most_bytes_)
            core::fail(core::Status::memory,
                       "near field: layout %s needs at least %.4g bytes, but %s %.4g; allow more, or choose "
                       "another layout",
                       std::string(near::name(layout)).c_str(), least,
                       options_.most_bytes > 0 ? "near_field.memory allows"
                                               : "three quarters of the memory that is free are",
                       most_bytes_);
    }

    void make_layout() {
        LayoutOptions options;
        options.most_bytes = static_cast<int64_t>(most_bytes_);
        options.threads = executor_.threads;
        options.shape = &shape_;
        layout_ = near::make_layout<T>(choice_.layout, structure_, sums_, options, executor_.memory);
    }

    /// A new scale needs a layout with the new constants.
    void choose_scale(const NearPoints& points) {
        const double extent = extent_of(points);
        near::require_phases(given_, extent);
        const double scale = near::length_scale(given_, extent, scale_);
        if (layout_ != nullptr && scale == scale_)
            return;
        scale_ = scale;
        sums_.kernel = near::scaled_kernel(given_, scale);
        layout_.reset();
    }

    double extent_of(const NearPoints& points) const {
        PointBounds bounds;
        for (int a = 0; a < given_.dimension; ++a)
            for (const particles::ArrayView* view : {&points.target[a], &points.source[a]})
                if (view->present())
                    widen(executor_, *view, bounds.least[a], bounds.most[a]);
        return bounds.extent(given_.dimension);
    }

    /// Of each component; the parts of complex charges have one.
    void choose_charge_scales(const NearSums& sums) {
        charge_scale_.fill(1);
        if (given_.precision == Precision::fp64)
            return;
        const int together = given_.kernel.kernel == Kernel::helmholtz ? 2 : 1;
        for (int c = 0; c < given_.components; c += together) {
            double least = 0, most = 0;
            for (int k = 0; k < together; ++k)
                widen(executor_, sums.charge[index(c + k)], least, most);
            for (int k = 0; k < together; ++k)
                charge_scale_[index(c + k)] = near::charge_scale(std::max(-least, most));
        }
    }

    Coordinates<T> import_axes(const particles::ArrayView (&view)[3], int set) {
        const T* at[3] = {nullptr, nullptr, nullptr};
        for (int a = 0; a < sums_.dimension; ++a) {
            core::Buffer<T>& buffer = coordinates_[index(3 * set + a)];
            buffer.resize(view[a].n);
            import_values(executor_, view[a], {near_axis_names[set][a]},
                          near::most_coordinate(sums_.precision), buffer.data(), scale_);
            at[a] = buffer.data();
        }
        return {at[0], at[1], at[2]};
    }

    T* room(const particles::ArrayView& view, int component, int output) {
        if (!view.present())
            return nullptr;
        core::Buffer<T>& buffer = field(component, output);
        buffer.resize(n_targets_);
        return buffer.data();
    }

    Fields<T> wanted(const NearSums& sums) {
        Fields<T> fields;
        for (int c = 0; c < sums_.components; ++c) {
            fields.potential[index(c)] = room(sums.potential[index(c)], c, 0);
            for (int a = 0; a < sums_.dimension; ++a)
                fields.gradient[index(c)][index(a)] = room(sums.gradient[index(c)][index(a)], c, 1 + a);
        }
        return fields;
    }

    /// body(value, scale, index, view, name) for each array that is wanted.
    template <typename Body>
    void for_results(const NearSums& sums, const Body& body) {
        const bool all = structure_.targets() == n_targets_; // points outside of all boxes stay as they are
        const auto index_of = all ? std::span<const int64_t>() : structure_.target_index;
        const auto one = [&](const particles::ArrayView& view, int c, int output) {
            if (view.present())
                body(field(c, output).data(),
                     (output == 0 ? scale_ : scale_ * scale_) / charge_scale_[index(c)], index_of,
                     view, sum_name(output, c));
        };
        for (int c = 0; c < sums_.components && structure_.targets() > 0; ++c) {
            one(sums.potential[index(c)], c, 0);
            for (int a = 0; a < sums_.dimension; ++a)
                one(sums.gradient[index(c)][index(a)], c, 1 + a);
        }
    }

    void write(const NearSums& sums) {
        for_results(sums,
                    [&](const T* value, double scale, auto points, auto& view, ArrayName name) {
                        check_values<T>(executor_, value, scale, points, view, name);
                    });
        for_results(sums, [&](const T* value, double scale, auto points, auto& view, ArrayName) {
            export_values<T>(executor_, value, scale, points, view);
        });
    }

    Structure structure_;
    const Shape& shape_;
    const Sums& given_;
    Sums sums_; // the kernel's lengths times scale_
    const NearOptions& options_;
    backend::Executor executor_;
    double most_bytes_ = 0; // of the layout's arrays; 0: no limit
    std::vector<core::Buffer<T>> coordinates_, charges_, fields_;
    std::unique_ptr<HostLayout<T>> layout_;
    model::Machine built_in_; // empty: the model's built-in numbers
    Learned learned_;
    Choice choice_;
    ChosenBy by_ = ChosenBy::model;
    double scale_ = 1; // from the caller's lengths to the layout's
    std::array<double, most_components> charge_scale_{};
    int64_t n_targets_ = 0, n_sources_ = 0;
    double import_s_ = 0, export_s_ = 0;
};

} // namespace

std::unique_ptr<PlanBackend> make_near_host(const PlanBackendInput& input) {
    if (input.sums.precision == Precision::fp32)
        return std::make_unique<HostBackend<float>>(input);
    return std::make_unique<HostBackend<double>>(input);
}

} // namespace graft::near
