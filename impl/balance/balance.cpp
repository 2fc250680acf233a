// SPDX-License-Identifier: BSD-3-Clause
// See balance.hpp. One run: agree on the scale, measure, ask whether to try, partition (and swap), measure
// what would be, ask whether to take.
#include "balance/balance.hpp"

#include "balance/bandwidth.hpp"
#include "balance/decision.hpp"
#include "balance/fuzzy.hpp"
#include "balance/loads.hpp"

#include <cmath>

namespace graft::balance {

using core::fail;
using core::Status;
using decompose::Shape;
using decompose::Strategy;

namespace {

/// A refused trial takes this much off the remembered cost, so that one slow balancing does not hold for
/// ever.
constexpr double forgetting = 0.9;

bool is_orb(Kind kind) {
    return kind == Kind::orb_central || kind == Kind::orb_distributed;
}
bool is_central(Kind kind) {
    return kind == Kind::orb_central || kind == Kind::prefix_central;
}

void check_settings(const Settings& settings, const Objects& objects, double bytes_per_item, double step_s) {
    if (!(settings.tolerance >= 1))
        fail(Status::argument, "balance.tolerance is %g; expected max / mean of the weight, 1 or more",
             settings.tolerance);
    if (!(settings.steps >= 0) || !(step_s >= 0) || !(bytes_per_item >= 0) ||
        !(settings.bandwidth_bytes_per_s >= 0))
        fail(Status::argument,
             "balance: steps %g, step time %g s, %g bytes per item, bandwidth %g bytes/s; expected 0 or more",
             settings.steps, step_s, bytes_per_item, settings.bandwidth_bytes_per_s);
    if (settings.fuzzy && !is_orb(settings.kind))
        fail(Status::argument,
             "balance.fuzzy works on the cuts of an ORB; expected balance.method orb-central or "
             "orb-distributed with it");
    if (settings.fuzzy && !(settings.super >= 1))
        fail(Status::argument, "balance.super is %g; expected 1 or more times the mean object",
             settings.super);
    if (!(settings.decompose.mix >= 0 && settings.decompose.mix <= 1))
        fail(Status::argument, "decompose.mix is %g; expected 0 (count) to 1 (cost)", settings.decompose.mix);
    const decompose::Points& points = objects.points;
    if (points.n < 0 || (points.n > 0 && (points.x == nullptr || points.y == nullptr)))
        fail(Status::argument, "balance: %lld objects without coordinates", static_cast<long long>(points.n));
}

decompose::Options options_of(const Settings& settings, int ranks) {
    decompose::Options options = settings.decompose;
    options.parts = ranks;
    options.shape = is_orb(settings.kind) ? Shape::orb : Shape::prefix;
    if (is_central(settings.kind))
        options.strategy = Strategy::central;
    else if (options.strategy == Strategy::halving || ranks > level_ranks)
        options.strategy = Strategy::halving;
    else
        options.strategy = Strategy::level;
    return options;
}

} // namespace

struct Balancer::State {
    explicit State(core::Memory& memory)
        : decomposer(memory), result(memory), partial(memory, "largest costs"), loads(memory, "loads") {}

    decompose::Decomposer decomposer;
    decompose::Result result;
    core::Buffer<double> partial;
    core::Buffer<Load> loads;
    Bandwidth bandwidth;
    double known_cost_s = 0; // of the last balancing, the same on all ranks
    std::shared_ptr<decompose::Decomposition> domains;
};

namespace {

/// What one call works on.
struct Call {
    comm::Communicator& comm;
    const backend::Executor& executor;
    const Settings& settings;
    const Objects& objects;
    double bytes_per_item;
    double step_s;
    Report& report;
    Scale scale;
};

/// Collective: validation, the largest cost, then the sums. Two agreements and two reductions.
Load agree_on_scale(Call& call, core::Buffer<double>& partial, core::Buffer<Load>& loads) {
    const decompose::Points& points = call.objects.points;
    const bool costs = points.cost != nullptr, none = points.n <= 0; // no items, no say
    double most[4] = {0, 0, none || costs ? 0.0 : 1.0, none || !costs ? 0.0 : 1.0};
    call.comm.together([&] {
        check_settings(call.settings, call.objects, call.bytes_per_item, call.step_s);
        most[0] = largest_cost(call.executor, points, partial);
        most[1] = call.step_s;
    });
    call.comm.allreduce(most, 4, comm::Operation::max);
    call.scale =
        Scale(most[0], call.settings.decompose.mix, call.comm.size(), call.settings.decompose.dimension);
    call.step_s = most[1];
    Load load;
    call.comm.together([&] {
        if (most[2] > 0 && most[3] > 0)
            fail(Status::argument,
                 "balance: some ranks give costs and some do not; expected all or none (a rank "
                 "without objects may give either)");
        load = local_load(call.executor, points, call.scale, loads);
    });
    double sums[2] = {load.work, static_cast<double>(load.items)};
    call.comm.allreduce(sums, 2, comm::Operation::sum);
    call.scale.set_sums(sums[0], static_cast<int64_t>(sums[1]));
    return load;
}

/// Collective: the heaviest object over the mean load of a rank, how many are heavier than that, and the
/// host's chance to split them.
void meet_super_objects(Call& call, const SplitObject& split, core::Buffer<double>& partial) {
    const decompose::Points& points = call.objects.points;
    const Scale& scale = call.scale;
    const double mean = 1.0 / scale.ranks();
    const double mean_load = scale.work_in_units_of_cost(scale.work() / scale.ranks());
    double heaviest = 0, counts[2] = {0, 0};
    call.comm.together([&] {
        heaviest = heaviest_item(call.executor, points, scale, partial);
        for (int64_t i = 0; heaviest > mean && i < points.n; ++i) {
            if (scale.item_weight(points, i) <= mean)
                continue;
            counts[0] += 1;
            const int32_t pieces =
                split ? split(i, points.cost != nullptr ? points.cost[i] : 1.0, mean_load) : 1;
            counts[1] += pieces > 1 ? pieces : 0;
        }
    });
    call.report.heaviest = call.comm.max(heaviest) * scale.ranks();
    call.comm.allreduce(counts, 2, comm::Operation::sum);
    call.report.super_objects = static_cast<int64_t>(counts[0]);
    call.report.pieces = static_cast<int64_t>(counts[1]);
}

/// Collective. Items and bytes that would leave their ranks, and the seconds that takes on the busiest one.
void expect_migration(Call& call, const core::Buffer<int32_t>& owner, Bandwidth& bandwidth) {
    const double* bytes = call.objects.bytes;
    const int32_t rank = call.comm.rank();
    double moved[2] = {0, 0}; // no branches: owners may be random
    for (int64_t i = 0; i < call.objects.points.n; ++i) {
        const double leaves = owner[i] != rank ? 1 : 0;
        moved[0] += leaves;
        moved[1] += leaves * (bytes != nullptr ? bytes[i] : call.bytes_per_item);
    }
    const double most_bytes = call.comm.max(moved[1]);
    call.comm.allreduce(moved, 2, comm::Operation::sum);
    call.report.items_moved = static_cast<int64_t>(moved[0]);
    call.report.bytes_moved = static_cast<int64_t>(moved[1]);
    const double given = call.settings.bandwidth_bytes_per_s;
    const double rate = given > 0 ? given : bandwidth.agree(call.comm, call.executor.memory);
    call.report.move_s = rate > 0 ? most_bytes / rate : 0;
}

/// Collective. The new owners into `owner`.
void partition(Call& call, decompose::Decomposer& decomposer, decompose::Result& result,
               core::Buffer<int32_t>& owner) {
    const double start_s = call.comm.time_s();
    decomposer.run(call.comm, call.executor, options_of(call.settings, call.comm.size()), call.objects.points,
                   false, result);
    call.report.statistics = result.statistics;
    call.report.strategy_s = call.comm.max(call.comm.time_s() - start_s);
    owner.swap(result.owner);
}

/// Collective. Swaps where asked for, then measures what would be. The measures before hold the weights.
void measure_after(Call& call, core::Buffer<int32_t>& owner, core::Buffer<Load>& loads) {
    const decompose::Points& points = call.objects.points;
    const auto future = [&] {
        return future_load(call.comm, call.executor, points, call.scale, owner.data(), loads);
    };
    Load load = future();
    if (call.settings.fuzzy && call.scale.items() > 0) {
        const FuzzyReport fuzzy =
            swap_across_cuts(call.comm, call.executor, points, call.scale, load, call.settings, owner);
        call.report.swapped = fuzzy.super_objects;
        call.report.swapped_small = fuzzy.small_objects;
        call.report.locality_lost = fuzzy.locality_lost;
        load = future();
    }
    call.report.after = measure(call.comm, load, call.scale, call.settings.shapes);
}

} // namespace

Balancer::Balancer(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
Balancer::~Balancer() = default;

void Balancer::run(comm::Communicator& comm, const backend::Executor& executor, const Settings& settings,
                   const Objects& objects, double bytes_per_item, double step_s, const SplitObject& split,
                   core::Buffer<int32_t>& owner, Report& report) {
    report = Report();
    const double start_s = comm.time_s();
    Call call{comm, executor, settings, objects, bytes_per_item, step_s, report, {}};
    const Load load = agree_on_scale(call, state_->partial, state_->loads);
    const auto keep_old = [&] {
        for (int64_t i = 0; i < objects.points.n; ++i)
            owner[i] = comm.rank();
        report.after = report.before;
        report.items_moved = report.bytes_moved = report.swapped = report.swapped_small = 0;
    };
    comm.together([&] { owner.resize(objects.points.n); });
    report.before = measure(comm, load, call.scale, settings.shapes);
    const double before = report.before.imbalance_weight;
    if (settings.force || before > settings.tolerance)
        meet_super_objects(call, split, state_->partial);
    report.init_s = comm.max(comm.time_s() - start_s);
    report.decision =
        worth_trying(settings, {before, report.heaviest, call.step_s, state_->known_cost_s}, report.reason);
    if (report.decision != Decision::taken) {
        if (report.decision == Decision::not_worth_it)
            state_->known_cost_s *= forgetting;
        keep_old();
        report.cost_s = report.init_s;
        return;
    }
    partition(call, state_->decomposer, state_->result, owner);
    measure_after(call, owner, state_->loads);
    expect_migration(call, owner, state_->bandwidth);
    const double after = report.after.imbalance_weight;
    report.gain_s = gain_s(call.step_s, settings.steps, before, after);
    report.decision = worth_taking(settings, {before, after, call.step_s, report.move_s}, report.reason);
    if (report.decision == Decision::taken)
        state_->domains = state_->result.domains;
    else
        keep_old();
    report.cost_s = comm.max(comm.time_s() - start_s);
    state_->known_cost_s = report.cost_s + report.move_s;
}

void Balancer::note_migration(double seconds, int64_t bytes) {
    state_->bandwidth.note(seconds, bytes);
}

std::shared_ptr<decompose::Decomposition> Balancer::domains() const {
    return state_->domains;
}

} // namespace graft::balance
