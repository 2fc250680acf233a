// SPDX-License-Identifier: BSD-3-Clause
// balance and balance_objects.
#include "context.hpp"
#include "entries.hpp"
#include "points.hpp"

#include <cmath>

namespace graft::capi {

using balance::CostSource;
using core::fail;
using core::Status;
using particles::ArrayView;

namespace {

constexpr double default_bytes_per_item = 64; // positions, velocities, mass and an id
constexpr const char* decision_words[] = {"balanced", "not-worth-it", "kept-old", "taken"};

void add_measures(Figures::Numbers& numbers, const char* when, const balance::Measures& m) {
    const std::pair<const char*, double> list[] = {
        {"imbalance_work", m.imbalance_work},
        {"imbalance_count", m.imbalance_count},
        {"imbalance_weight", m.imbalance_weight},
        {"work_max", m.work_max},
        {"work_mean", m.work_mean},
        {"neighbours", m.neighbours},
        {"surface", m.surface},
    };
    for (const auto& [name, value] : list)
        numbers.emplace_back(core::format("%s.%s", when, name), value);
}

Figures::Numbers numbers_of(const balance::Report& r) {
    Figures::Numbers numbers = {{"items_moved", static_cast<double>(r.items_moved)},
                                {"bytes_moved", static_cast<double>(r.bytes_moved)},
                                {"gain_s", r.gain_s},
                                {"move_s", r.move_s},
                                {"super_objects", static_cast<double>(r.super_objects)},
                                {"pieces", static_cast<double>(r.pieces)},
                                {"heaviest", r.heaviest},
                                {"swapped", static_cast<double>(r.swapped)},
                                {"swapped_small", static_cast<double>(r.swapped_small)},
                                {"locality_lost", r.locality_lost},
                                {"time_s.init", r.init_s},
                                {"time_s.strategy", r.strategy_s},
                                {"time_s.total", r.cost_s}};
    add_measures(numbers, "before", r.before);
    add_measures(numbers, "after", r.after);
    return numbers;
}

/// What both entries have read from their own structs.
struct Request {
    PointViews views;
    ArrayView owner;
    double step_s = 0;
    double bytes_per_item = default_bytes_per_item;
    balance::SplitObject split;
};

void run(graft_context& context, comm::Communicator& ranks, const Request& request,
         balance::Settings settings) {
    settings.decompose.device = device_of_domains(context);
    settings.decompose.dimension = context.solver.settings().dimension;
    const backend::Executor executor = executor_of(context);
    DomainState& state = *context.domains;
    balance::Objects objects;
    objects.points = agree_points(ranks, request.views, state.points);
    objects.bytes = request.views.bytes.present() ? state.points.bytes.data() : nullptr;
    balance::Report report;
    state.balancer.run(ranks, executor, settings, objects, request.bytes_per_item, request.step_s,
                       request.split, state.owner, report);
    ranks.conclude();
    if (request.owner.present())
        export_integers(executor, state.owner.data(), request.views.n, 0, request.owner);
    if (report.decision == balance::Decision::taken)
        state.domains = state.balancer.domains();
    const char* decision = decision_words[static_cast<int>(report.decision)];
    context.figures.note("balance", [&] {
        return Figures::Content{numbers_of(report), {{"decision", decision}, {"reason", report.reason}}};
    });
    context.solver.log().write(core::LogLevel::info, report.reason);
}

double seconds(double given, const char* name) {
    if (!(given >= 0) || !std::isfinite(given))
        fail(Status::argument, "%s is %g; expected a number >= 0, 0 for unknown", name, given);
    return given;
}

ArrayView required_owner(const graft_array* owner, const char* name, int64_t n) {
    if (owner == nullptr)
        fail(Status::argument, "%s is NULL; expected an array of n integers", name);
    return read_new_owner(owner, name, n);
}

/// What a force evaluation takes on this rank, the waiting for others not included; 0 before any.
double last_step_s(const engine::Report& report) {
    return report.valid ? std::max(0.0, report.time_s.total - report.ranks.wait_s) : 0;
}

/// The view of a contiguous array of this rank.
ArrayView view_of(const double* values, int64_t n) {
    ArrayView view;
    view.data = const_cast<char*>(reinterpret_cast<const char*>(values));
    view.n = n;
    view.item_stride = view.component_stride = sizeof(double);
    return view;
}

/// Interactions of each particle in the last compute; `time`: the seconds that these took, by this rank's
/// speed.
void last_work(const engine::Solver& solver, CostSource source, int64_t n, core::Buffer<double>& work) {
    const engine::Report& report = solver.report();
    const char* name = source == CostSource::time ? "time" : "interactions";
    if (report.valid && report.n != n)
        fail(Status::call_order,
             "balance.cost is %s, but the last compute had %lld particles on this rank and balance has %lld; "
             "expected a compute with these particles before. Or set balance.cost to given or count",
             name, static_cast<long long>(report.n), static_cast<long long>(n));
    work.resize(std::max<int64_t>(n, 1));
    solver.work_of_particles(work.data());
    if (source != CostSource::time)
        return;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += work[i];
    const double factor = sum > 0 ? last_step_s(report) / sum : 0;
    for (int64_t i = 0; i < n; ++i)
        work[i] *= factor;
}

/// Replaces the host's costs by those that balance.cost asks for.
void choose_cost(const engine::Solver& solver, CostSource source, PointViews& views,
                 core::Buffer<double>& work) {
    if (source == CostSource::given && views.n > 0 && !views.cost.present())
        fail(Status::argument, "balance.cost is given, but particles.cost is NULL; expected an array of n "
                               "costs. Or set balance.cost to interactions, time or count");
    if (source == CostSource::given)
        return;
    views.cost = {};
    if (source == CostSource::count)
        return;
    last_work(solver, source, views.n, work);
    views.cost = view_of(work.data(), views.n);
}

void read_balancing(const graft_balancing* given, double known_step_s, Request& request) {
    const graft_balancing b = read_struct(given, "balancing");
    request.owner = required_owner(b.owner, "balancing.owner", request.views.n);
    request.step_s = seconds(b.step_s, "balancing.step_s") > 0 ? b.step_s : known_step_s;
    if (seconds(b.bytes_per_item, "balancing.bytes_per_item") > 0)
        request.bytes_per_item = b.bytes_per_item;
}

balance::SplitObject split_of(const graft_objects& objects) {
    if (objects.split == nullptr)
        return {};
    return [split = objects.split, user = objects.split_user](int64_t object, double load, double mean) {
        return split(user, object, load, mean);
    };
}

} // namespace

int32_t balance(graft_context* context, const graft_particles* particles,
                const graft_balancing* balancing) noexcept {
    return collective(context, "balance", [&](comm::Communicator& ranks) {
        const int dimension = context->solver.settings().dimension;
        const balance::Settings& settings = context->options.balance;
        Request request;
        ranks.together([&] {
            request.views = view_particles(particles, dimension);
            read_balancing(balancing, last_step_s(context->solver.report()), request);
            choose_cost(context->solver, settings.cost, request.views, context->domains->work);
            import_points(executor_of(*context), request.views, dimension, context->domains->points);
        });
        run(*context, ranks, request, settings);
    });
}

int32_t balance_objects(graft_context* context, const graft_objects* objects) noexcept {
    return collective(context, "balance_objects", [&](comm::Communicator& ranks) {
        const int dimension = context->solver.settings().dimension;
        Request request;
        ranks.together([&] {
            const graft_objects o = read_struct(objects, "objects");
            request.views = view_objects(o, dimension);
            request.owner = required_owner(o.owner, "objects.owner", o.n);
            request.step_s = seconds(o.step_s, "objects.step_s");
            request.split = split_of(o);
            import_points(executor_of(*context), request.views, dimension, context->domains->points);
        });
        run(*context, ranks, request, context->options.balance);
    });
}

} // namespace graft::capi
