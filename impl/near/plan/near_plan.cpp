// SPDX-License-Identifier: BSD-3-Clause
// The plan's life: checks, boxes, the choice of a layout, executions.
#include "near/plan/near_plan.hpp"

#include "backend/gpu_library.hpp"
#include "core/timer.hpp"
#include "near/box_frame.hpp"
#include "near/near_units.hpp"
#include "near/plan/caller_views.hpp"
#include "near/plan/near_table.hpp"
#include "near/plan/plan_backend.hpp"

#include <cmath>
#include <utility>

namespace graft::near {

using core::fail;
using core::Status;
using near::Kernel;
using near::Layout;

struct NearPlan::State {
    State(core::Memory& given, const core::Log& given_log)
        : memory(given), log(given_log), structure(given), table_value(given, "radial table"),
          table_derivative(given, "radial table") {}

    core::Memory& memory;
    const core::Log& log;
    NearOptions options;
    Sums sums;
    OwnedStructure structure;
    core::Buffer<double> table_value, table_derivative;
    Structure view;
    int64_t targets = 0, sources = 0;
    std::unique_ptr<PlanBackend> backend;
    NearReport report;
    /// What the plan's calls make of it; the destructor ends what is in flight.
    ///   without_points  update: ready
    ///   ready           update: ready, with the old points where the new ones are refused (argument, value);
    ///                   without_points where it fails half way. begin: in_flight; where it fails: ready
    ///   in_flight       end: ready, failed or not
    enum class Stage { without_points, ready, in_flight } stage = Stage::without_points;
    bool on_host = true;
    int64_t allocations_before = 0;

    void refuse_in_flight() const {
        if (stage == Stage::in_flight)
            fail(Status::call_order,
                 "near field: an execution of this plan is in flight; call near_field_end first");
    }
};

namespace {

void require_finite(double value, const char* name, double least) {
    if (!std::isfinite(value) || value < least)
        fail(Status::argument, "near field: %s is %g; expected a finite number%s", name, value,
             least == 0 ? " >= 0" : "");
}

/// What the arithmetic of a precision can hold: lengths are squared, tables' coefficients are up to 9 times
/// their values, and intervals of a table are numbered exactly.
struct Range {
    double length, value, knots;
    const char* words;
};

Range range_of(Precision precision) {
    const double length = near::most_coordinate(precision);
    if (precision == Precision::fp64)
        return {length, 1e306, 536870912.0, ""};
    return {length, 1e37, 16777216.0, " with pairs in single precision; take fp64, or other units"};
}

void require_at_most(double value, const char* name, double most, const Range& range) {
    if (!(std::abs(value) <= most))
        fail(Status::argument, "near field: %s is %g; expected at most %g in magnitude%s", name, value, most,
             range.words);
}

void check_table(const KernelOptions& kernel, const Range& range) {
    const RadialTable& table = kernel.table;
    if (kernel.kernel != Kernel::table) {
        if (!table.value.empty())
            fail(Status::argument,
                 "near field: a table is given, but the kernel is %s; expected kernel table, or no table",
                 std::string(near::name(kernel.kernel)).c_str());
        return;
    }
    if (table.value.size() < 2 || table.value.size() != table.derivative.size())
        fail(Status::argument,
             "near field: the table has %zu knots; expected 2 or more, each with value and derivative",
             table.value.size());
    if (!std::isfinite(table.begin) || !std::isfinite(table.step) || !(table.step > 0))
        fail(Status::argument,
             "near field: the table begins at %g with step %g; expected finite numbers, step > 0",
             table.begin, table.step);
    require_at_most(table.begin, "table_begin", range.length, range);
    require_at_most(table.step, "table_step", range.length, range);
    require_at_most(1 / table.step, "1 / table_step", range.length, range);
    require_at_most(static_cast<double>(table.value.size()), "the number of knots", range.knots, range);
    for (size_t i = 0; i < table.value.size(); ++i) {
        if (!std::isfinite(table.value[i]) || !std::isfinite(table.derivative[i]))
            fail(Status::value,
                 "near field: knot %zu of the table is %g with derivative %g; expected finite numbers", i,
                 table.value[i], table.derivative[i]);
        if (!(std::max(std::abs(table.value[i]), std::abs(table.derivative[i] * table.step)) <= range.value))
            fail(Status::value,
                 "near field: knot %zu of the table is %g with derivative %g; expected values, and "
                 "derivatives times table_step, of at most %g in magnitude%s",
                 i, table.value[i], table.derivative[i], range.value, range.words);
    }
}

void check_kernel(const KernelOptions& kernel, Precision precision) {
    const Range range = range_of(precision);
    const std::string word(near::name(kernel.kernel));
    require_finite(kernel.factor, "factor", -std::numeric_limits<double>::infinity());
    require_finite(kernel.softening, "softening", 0);
    require_finite(kernel.wave_number, "wave_number", 0);
    require_at_most(kernel.softening, "softening", range.length, range);
    require_at_most(kernel.wave_number, "wave_number", range.length, range);
    if (kernel.softening != 0 && kernel.kernel != Kernel::laplace)
        fail(Status::argument,
             "near field: softening is %g, but kernel %s has none; expected 0, or kernel laplace",
             kernel.softening, word.c_str());
    if (kernel.wave_number != 0 && kernel.kernel != Kernel::yukawa && kernel.kernel != Kernel::helmholtz)
        fail(Status::argument,
             "near field: wave_number is %g, but kernel %s has none; expected 0, or kernel yukawa or "
             "helmholtz",
             kernel.wave_number, word.c_str());
    check_table(kernel, range);
}

void check_sums(const Sums& sums) {
    const int32_t kernel = static_cast<int32_t>(sums.kernel.kernel);
    const int32_t precision = static_cast<int32_t>(sums.precision);
    check_dimension(sums.dimension);
    if (kernel < 0 || kernel > static_cast<int32_t>(Kernel::table))
        fail(Status::argument, "near field: kernel is %d; expected 0 (laplace) to 4 (table)", kernel);
    if (precision < 0 || precision > static_cast<int32_t>(Precision::fp64))
        fail(Status::argument, "near field: precision is %d; expected fp32, mixed or fp64", precision);
    if (sums.components < 1 || sums.components > most_components)
        fail(Status::argument, "near field: components is %d; expected 1 to %d charges a source",
             sums.components, most_components);
    if (sums.kernel.kernel == Kernel::helmholtz && sums.components % 2 != 0)
        fail(Status::argument,
             "near field: components is %d; helmholtz takes complex charges, so expected an even number "
             "(real and imaginary part of each)",
             sums.components);
    constexpr int32_t known = potential | gradient;
    if (sums.outputs == 0 || (sums.outputs & ~known) != 0)
        fail(Status::argument, "near field: outputs is %d; expected 1 (potential), 2 (gradient) or 3 (both)",
             sums.outputs);
    check_kernel(sums.kernel, sums.precision);
}

void check_axes(const particles::ArrayView (&view)[3], int64_t n, int dimension, const char* what) {
    for (int a = 0; a < dimension; ++a)
        if (view[a].n != n || (n > 0 && !view[a].present()))
            fail(Status::argument,
                 "near field: coordinate %d of the %s is missing, or has %lld items; expected %lld", a, what,
                 static_cast<long long>(view[a].n), static_cast<long long>(n));
}

/// Coordinates as doubles, for as long as boxes are made of them.
struct Positions {
    explicit Positions(core::Memory& memory)
        : x(memory, "x of points"), y(memory, "y of points"), z(memory, "z of points"),
          copy(memory, "coordinates of a GPU") {}
    core::Buffer<double> x, y, z;
    core::Buffer<char> copy;

    Points read(const backend::Executor& executor, const particles::ArrayView (&view)[3], int64_t n,
                      int dimension, int set, double most) {
        core::Buffer<double>* const axes[3] = {&x, &y, &z};
        for (int a = 0; a < dimension; ++a) {
            axes[a]->resize(n);
            import_values(executor, on_host(view[a], copy), {near_axis_names[set][a]}, most, axes[a]->data());
        }
        return {n, x.data(), y.data(), z.data()};
    }
};

/// Arrays that a GPU can write are complete when what the caller's stream holds is done. Managed ones are
/// read as they are where libgraft_cuda.so cannot be used, as nobody can wait then.
void wait_for(const NearPoints& points) {
    const particles::ArrayView* view = points.on_device();
    const bool needed = view != nullptr;
    for (const auto* set : {&points.target, &points.source})
        for (const particles::ArrayView& axis : *set)
            if (view == nullptr && axis.present() && axis.on_device())
                view = &axis;
    if (view == nullptr || points.stream == nullptr)
        return;
    std::string why;
    const backend::CudaTable* const cuda = needed ? &backend::require_cuda() : backend::find_cuda(&why);
    if (cuda == nullptr || cuda->near == nullptr)
        return;
    backend::DeviceError error;
    backend::raise(cuda->near->wait(view->data, points.stream, &error), error);
}

BoxReport make_boxes(const backend::Executor& executor, const NearRequest& request,
                           OwnedStructure& structure) {
    wait_for(request.points);
    const int dimension = request.sums.dimension;
    const double most = near::most_coordinate(request.sums.precision);
    Positions of_targets(executor.memory), of_sources(executor.memory);
    const NearPoints& p = request.points;
    const Points targets = of_targets.read(executor, p.target, p.targets, dimension, 0, most);
    if (p.same)
        return near::build_boxes(executor, *request.boxes, targets, nullptr, structure);
    const Points sources = of_sources.read(executor, p.source, p.sources, dimension, 1, most);
    return near::build_boxes(executor, *request.boxes, targets, &sources, structure);
}

void check_layout(int32_t layout) {
    if (layout != near_layout_auto && (layout < 0 || layout >= layouts))
        fail(Status::argument, "near field: layout is %d; expected a layout's number, 0 to %d, or auto",
             layout, layouts - 1);
}

void refuse_on_host(bool on_host, const particles::ArrayView& view, const char* what) {
    if (on_host && !view.on_host())
        fail(Status::unsupported,
             "near field: %s are in device memory, but this plan computes on the CPU; make it with "
             "backend: gpu or auto, or give host arrays",
             what);
}

/// Where the plan computes on the CPU.
void refuse_device_points(bool on_host, const NearPoints& points) {
    for (const auto* set : {&points.target, &points.source})
        for (const particles::ArrayView& view : *set)
            refuse_on_host(on_host && view.present(), view, "coordinates");
}

void copy_table(Sums& sums, core::Buffer<double>& value, core::Buffer<double>& derivative) {
    RadialTable& table = sums.kernel.table;
    const int64_t knots = static_cast<int64_t>(table.value.size());
    value.resize(knots);
    derivative.resize(knots);
    std::copy(table.value.begin(), table.value.end(), value.begin());
    std::copy(table.derivative.begin(), table.derivative.end(), derivative.begin());
    table.value = {value.data(), static_cast<size_t>(knots)};
    table.derivative = {derivative.data(), static_cast<size_t>(knots)};
}

} // namespace

NearPlan::NearPlan(core::Memory& memory, const core::Log& log, const NearRequest& request)
    : state_(std::make_unique<State>(memory, log)) {
    core::Timer timer;
    State& s = *state_;
    s.options = request.options;
    s.sums = request.sums;
    check_sums(s.sums);
    check_layout(s.options.layout);
    const NearPoints& points = request.points;
    check_axes(points.target, points.targets, s.sums.dimension, "targets");
    if (!points.same)
        check_axes(points.source, points.sources, s.sums.dimension, "sources");
    refuse_device_points(s.options.backend == settings::Backend::cpu, points);
    copy_table(s.sums, s.table_value, s.table_derivative);
    s.targets = points.targets;
    s.sources = points.same ? points.targets : points.sources;
    const backend::Executor executor{memory, backend::resolve_threads(s.options.threads)};
    if (request.structure != nullptr)
        near::read_structure(executor, *request.structure, s.structure);
    else
        s.report.boxes = make_boxes(executor, request, s.structure);
    s.view = s.structure.view();
    s.report.shape = near::shape_of(s.view, s.sums, executor.threads);
    const PlanBackendInput input{memory, s.view, s.report.shape, s.sums, s.options};
    s.backend = make_near_device(input, points);
    s.on_host = s.backend == nullptr;
    if (s.on_host)
        s.backend = make_near_host(input);
    s.backend->set_points(points);
    s.stage = State::Stage::ready;
    s.backend->report(s.report);
    s.report.bytes_structure = s.structure.bytes();
    s.report.create_s = timer.seconds();
    log.write(core::LogLevel::info, core::format("near field: layout %s on the %s: %s",
                                                 std::string(near::name(s.report.layout)).c_str(),
                                                 s.report.backend, s.report.reason.c_str()));
}

NearPlan::~NearPlan() {
    if (begun())
        try {
            state_->backend->end();
        } catch (...) { // nobody's concern any more
        }
}

namespace {

void require_same_points(const NearPoints& points, int64_t targets, int64_t sources, bool same) {
    const int64_t given = points.same ? points.targets : points.sources;
    if (points.same != same || points.targets != targets || given != sources)
        fail(Status::argument,
             "near field: update with %lld targets and %lld sources%s, but the plan is of %lld and %lld%s; "
             "expected the same points. Make a new plan for others",
             static_cast<long long>(points.targets), static_cast<long long>(given),
             points.same ? " (the same)" : "", static_cast<long long>(targets),
             static_cast<long long>(sources), same ? " (the same)" : "");
}

void check_coordinates(const backend::Executor& executor, const NearPoints& points, const Sums& sums) {
    const double most = near::most_coordinate(sums.precision);
    for (int a = 0; a < sums.dimension; ++a) {
        if (points.target[a].on_host())
            import_values<double>(executor, points.target[a], {near_axis_names[0][a]}, most, nullptr);
        if (!points.same && points.source[a].on_host())
            import_values<double>(executor, points.source[a], {near_axis_names[1][a]}, most, nullptr);
    }
}

/// One view of a component's output: wanted only where the plan makes it, of the right size.
void check_output(const particles::ArrayView& view, bool made, int64_t n, const char* name, int component) {
    if (!view.present())
        return;
    if (!made)
        fail(Status::argument,
             "near field: %s[%d] is given, but the plan was made without %ss (outputs); expected NULL", name,
             component, name);
    if (view.n != n)
        fail(Status::array, "near field: %s[%d] has %lld items; expected %lld, one a target", name, component,
             static_cast<long long>(view.n), static_cast<long long>(n));
}

void check_component(const NearSums& given, const Sums& sums, int c, int64_t targets, int64_t sources) {
    const size_t i = static_cast<size_t>(c);
    if (sources > 0 && !given.charge[i].present())
        fail(Status::argument, "near field: charge component %d is missing; expected %d components", c,
             sums.components);
    if (given.charge[i].n != sources)
        fail(Status::array, "near field: charge component %d has %lld items; expected %lld, one a source", c,
             static_cast<long long>(given.charge[i].n), static_cast<long long>(sources));
    check_output(given.potential[i], (sums.outputs & potential) != 0, targets, "potential", c);
    for (int a = 0; a < sums.dimension; ++a)
        check_output(given.gradient[i][static_cast<size_t>(a)], (sums.outputs & gradient) != 0, targets,
                     "gradient", c);
}

void check_overlaps(const NearSums& given, const Sums& sums) {
    constexpr size_t most = static_cast<size_t>(most_components) * 5;
    std::array<NamedView, most> views;
    size_t count = 0;
    const auto add = [&](const particles::ArrayView& view, const char* name, int c, bool written) {
        if (view.present())
            views[count++] = {view, {name, c}, written};
    };
    for (int c = 0; c < sums.components; ++c) {
        const size_t i = static_cast<size_t>(c);
        add(given.charge[i], "charge", c, false);
        add(given.potential[i], "potential", c, true);
        add(given.gradient[i][0], "gradient x", c, true);
        add(given.gradient[i][1], "gradient y", c, true);
        if (sums.dimension == 3)
            add(given.gradient[i][2], "gradient z", c, true);
    }
    refuse_overlaps({views.data(), count});
}

} // namespace

void NearPlan::update(const NearPoints& points) {
    State& s = *state_;
    s.refuse_in_flight();
    core::Timer timer;
    require_same_points(points, s.targets, s.sources, s.view.same);
    check_axes(points.target, s.targets, s.sums.dimension, "targets");
    if (!points.same)
        check_axes(points.source, s.sources, s.sums.dimension, "sources");
    refuse_device_points(s.on_host, points);
    const backend::Executor executor{s.memory, backend::resolve_threads(s.options.threads)};
    check_coordinates(executor, points, s.sums);
    const State::Stage before = std::exchange(s.stage, State::Stage::without_points);
    try {
        s.backend->set_points(points);
    } catch (const core::Error& error) { // what is refused is not taken
        if (error.status() == Status::argument || error.status() == Status::value)
            s.stage = before;
        throw;
    }
    s.stage = State::Stage::ready;
    s.report.update_s = timer.seconds();
    ++s.report.updates;
}

void NearPlan::begin(const NearSums& sums, void* stream) {
    State& s = *state_;
    s.refuse_in_flight();
    if (s.stage == State::Stage::without_points)
        fail(Status::call_order,
             "near field: the last update of this plan failed, so that it has no complete coordinates; "
             "expected an update that succeeds before near_field_begin");
    for (int c = 0; c < s.sums.components; ++c) {
        check_component(sums, s.sums, c, s.targets, s.sources);
        const size_t i = static_cast<size_t>(c);
        refuse_on_host(s.on_host, sums.charge[i], "charges");
        refuse_on_host(s.on_host, sums.potential[i], "potentials");
        for (const particles::ArrayView& view : sums.gradient[i])
            refuse_on_host(s.on_host, view, "gradients");
    }
    check_overlaps(sums, s.sums);
    s.allocations_before = s.memory.allocations();
    s.backend->begin(sums, stream);
    s.stage = State::Stage::in_flight;
}

void NearPlan::end() {
    State& s = *state_;
    if (!begun())
        fail(Status::call_order, "near field: nothing is in flight; expected near_field_begin before it");
    s.stage = State::Stage::ready;
    s.backend->end();
    s.backend->report(s.report);
    s.report.allocations = s.memory.allocations() - s.allocations_before + s.backend->allocations();
    s.report.executed = true;
    ++s.report.executes;
}

void NearPlan::execute(const NearSums& sums) {
    begin(sums, nullptr);
    end();
}

bool NearPlan::begun() const noexcept {
    return state_->stage == State::Stage::in_flight;
}
const Sums& NearPlan::sums() const noexcept {
    return state_->sums;
}
int64_t NearPlan::targets() const noexcept {
    return state_->targets;
}
int64_t NearPlan::sources() const noexcept {
    return state_->sources;
}
bool NearPlan::same() const noexcept {
    return state_->view.same;
}
int32_t NearPlan::device() const noexcept {
    return state_->backend->device();
}
const NearReport& NearPlan::report() const noexcept {
    return state_->report;
}

} // namespace graft::near
