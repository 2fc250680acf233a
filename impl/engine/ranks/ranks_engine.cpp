// SPDX-License-Identifier: BSD-3-Clause
// See ranks_engine.hpp.
#include "engine/ranks/ranks_engine.hpp"

#include "core/error.hpp"
#include "engine/tree_tuning.hpp"
#include "moments/expansion.hpp"

#include <algorithm>
#include <vector>

namespace graft::engine {

namespace {

void check_levels(int levels) {
    if (levels > essential::most_sent_levels)
        core::fail(core::Status::unsupported,
                   "the tree has %d levels; ranks with GPUs walk at most %d. Particles are too close "
                   "together: use a larger "
                   "tree.leaf, or backend cpu on all ranks",
                   levels, essential::most_sent_levels);
}

} // namespace

CpuRanks::CpuRanks(CpuEngine& engine, core::Memory& memory)
    : engine_(engine), conductor_(memory), exchange_(memory), boxes_(memory, "boxes of particles") {}

RankEngine CpuRanks::begin_request(CpuComputation& c, const Placement& placement) {
    c_ = &c;
    placement_ = &placement;
    return {&conductor_, &cpu_ranks_table(), this};
}

void CpuRanks::end_request() {
    c_->environment.tuning.after(c_->report, settings_.leaf, settings_.group);
    c_->report.time_s.ranks = std::max(0.0, conductor_.times().exchange_s - own_s_);
}

TreeForce::State::Job CpuRanks::job() const {
    return {c_->executor,   settings_,  engine_.problem_, c_->all.with_potential, engine_.workspaces_,
            engine_.field_, c_->report, c_->comm,         c_->environment.log};
}

essential::RankExchange::Frame CpuRanks::exchange_frame() {
    return {c_->executor, settings_, tree().forest, shape_};
}

void CpuRanks::begin(settings::Precision precision, const RankWish& wish, RankFacts& facts) {
    const core::Timer timer;
    precision_ = precision;
    CpuComputation& c = *c_;
    particles::Problem& problem = engine_.problem_;
    placement_->require_reach();
    engine_.import(c);
    problem.periodic = nullptr;
    problem.range = {};
    engine_.work_.resize(0);
    c.all.with_potential = wish.with_potential;
    c.all.with_sums = wish.with_sums;
    c.all.per_particle_softening = wish.per_particle;
    engine_.field_.resize(problem.target_count(), wish.with_potential);
    facts = {};
    facts.n = problem.n;
    facts.targets = problem.target_count();
    facts.magnitude = engine_.charges_.magnitude;
    facts.lightest = engine_.charges_.lightest;
    geometry::Box box;
    for (int64_t i = 0; i < problem.n; ++i)
        box.include(problem.x[i], problem.y[i], problem.z[i]);
    for (int a = 0; a < 3; ++a) {
        facts.corners[a] = -box.lower[a];
        facts.corners[3 + a] = box.upper[a];
    }
    if (problem.n > 0) {
        facts.first[0] = problem.x[0];
        facts.first[1] = problem.y[0];
        facts.first[2] = problem.z[0];
    }
    facts.has_last = c.settings.mac_history && !problem.points && problem.last.size() == problem.n;
    c.report.forget_counts();
    c.report.time_s = {};
    c.report.time_s.import = timer.seconds();
}

void CpuRanks::build(const RankFrame& frame, essential::RankShape& shape) {
    CpuComputation& c = *c_;
    const particles::Problem& problem = engine_.problem_;
    frame_ = frame;
    c.all.particles = engine_.all_particles_ = frame.all_particles;
    c.all.charges.lightest = frame.lightest;
    engine_.scale_sources(c, frame.scale);
    engine_.gather_targets(c.executor);
    settings_ = c.settings;
    settings_.precision = precision_;
    c.environment.tuning.before(settings_, problem.n, problem.all_targets && !problem.points,
                                "several ranks");
    if (frame.has_box) {
        settings_.has_box = true;
        std::copy_n(frame.lower, 3, settings_.box_lower);
        std::copy_n(frame.upper, 3, settings_.box_upper);
    }
    if (!engine_.tree_force_)
        engine_.tree_force_ = std::make_unique<TreeForce>(engine_.memory_);
    tree().build_own(job());
    check_levels(tree().forest.tree.levels());
    exchange_.begin();
    const int64_t number = settings_.precision == settings::Precision::fp64 ? sizeof(double) : sizeof(float);
    shape = shape_ = {
        essential::RankContent::all, problem.per_particle_softening,
        static_cast<int32_t>(moments::record_size(settings_.order, tree().has_traces(job())) * number),
        moments::term_count(settings_.order)};
}

/// Runs of groups, each with the box of all, the largest factor and softening.
int64_t CpuRanks::cover_targets(lists::Group* groups, int64_t most) {
    const core::Buffer<lists::Group>& own = tree().targets.groups();
    const int64_t count = std::min(most, own.size());
    for (int64_t r = 0; r < count; ++r) {
        const int64_t begin = own.size() * r / count, end = own.size() * (r + 1) / count;
        lists::Group run = own[begin];
        for (int64_t g = begin + 1; g < end; ++g) {
            run.count += own[g].count;
            run.target.box.include(own[g].target.box);
            run.target.factor = std::max(run.target.factor, own[g].target.factor);
            run.target.softening = std::max(run.target.softening, own[g].target.softening);
        }
        groups[r] = run;
    }
    return count;
}

int64_t CpuRanks::cover_particles(lists::Group* groups, int64_t most) {
    tree().cover_particles(boxes_);
    const int64_t count = std::min(most, boxes_.size());
    std::copy_n(boxes_.begin(), count, groups);
    for (int64_t k = count; k < boxes_.size(); ++k)
        groups[most - 1].target.box.include(boxes_[k].target.box);
    return count;
}

void CpuRanks::keep_off(const geometry::Box* boxes, int64_t count) {
    tree().forest.keep_off_pieces(c_->executor, settings_, {boxes, boxes + count});
}

void CpuRanks::pack(essential::RankContent content, int32_t rank, const lists::Target* boxes, int32_t count,
                    essential::RankHeader& header) {
    header = exchange_.pack(exchange_frame(), content, rank, boxes, count);
}

void* CpuRanks::receive(int64_t bytes) {
    return room_ = exchange_.receive(bytes);
}

void CpuRanks::take(essential::RankContent content, const RankArrival* arrivals, int32_t count) {
    std::vector<essential::RankExchange::Arrival> came;
    came.reserve(static_cast<size_t>(count));
    for (int32_t k = 0; k < count; ++k)
        came.push_back({arrivals[k].header, room_ + arrivals[k].offset});
    content == essential::RankContent::masses ? exchange_.take_masses(exchange_frame(), came)
                                              : exchange_.take(exchange_frame(), came);
}

void CpuRanks::scale_targets(bool use_last) {
    if (tree().forest.tree.node_count() > 0)
        tree().scale_groups(job(), use_last);
    if (!use_last)
        essential::RankExchange::drop_masses(exchange_frame());
}

/// Sets the field.
void CpuRanks::evaluate_own() {
    const core::Timer timer;
    TreeForce::State& own = tree();
    if (engine_.problem_.n > 0) {
        own.evaluate(job(), 0, own.targets.group_count(), false);
    } else {
        particles::RawField& field = engine_.field_;
        for (core::Buffer<double>* values : {&field.ax, &field.ay, &field.az, &field.potential})
            std::fill(values->begin(), values->end(), 0.0);
        std::fill(own.pair_counts.begin(), own.pair_counts.end(), 0);
        std::fill(own.cell_counts.begin(), own.cell_counts.end(), 0);
    }
    own_s_ = timer.seconds();
}

void CpuRanks::evaluate_all(RankOutcome& outcome) {
    CpuComputation& c = *c_;
    const core::Timer timer;
    TreeForce::State& own = tree();
    if (exchange_.nodes() > 0)
        own.evaluate(job(), 0, own.targets.group_count(), true);
    own.tell(job());
    c.order = FieldOrder::tree;
    const bool of_particles = !engine_.problem_.points;
    if (c.all.with_potential && of_particles)
        engine_.remove_self_potential(c);
    const FieldView field = engine_.view(c);
    NetForce net;
    if (c.settings.conserve_momentum && of_particles)
        net = sum_net_force(c.executor, field, engine_.sums_);
    const Totals totals = check_own();
    if (core::Buffer<double>& last = engine_.problem_.last; c.settings.mac_history && last.size() != engine_.problem_.n) {
        last.resize(engine_.problem_.n); // room for write(), which must not fail
        last.resize(0);
    }
    outcome = {};
    outcome.pairs = c.report.pairs;
    outcome.cells = c.report.cells;
    std::copy_n(totals.value, Totals::count, outcome.totals);
    std::copy_n(net.value, NetForce::count, outcome.net_force);
    outcome.scale = frame_.scale;
    outcome.nodes = exchange_.nodes();
    outcome.particles = exchange_.particles();
    outcome.own_s = own_s_;
    outcome.remote_s = timer.seconds();
}

/// Totals of the own targets; throws for results that the host's types cannot hold, but sums, which are of all ranks.
Totals CpuRanks::check_own() {
    CpuComputation& c = *c_;
    const FieldView field = engine_.view(c);
    Totals totals;
    if (c.all.with_sums && !engine_.problem_.points)
        totals = sum_own(c.executor, field, frame_.centre, engine_.sums_);
    Outputs fields = c.request.outputs;
    fields.virial = fields.energy = {};
    check_results(c.executor, c.settings, fields, field, totals);
    return totals;
}

void CpuRanks::take_off(const double* net_force, double* totals) {
    CpuComputation& c = *c_;
    NetForce net;
    std::copy_n(net_force, NetForce::count, net.value);
    take_off_net_force(c.executor, engine_.view(c), net, engine_.field_);
    std::copy_n(check_own().value, Totals::count, totals);
}

void CpuRanks::write(const double* totals) {
    const core::Timer timer;
    CpuComputation& c = *c_;
    std::copy_n(totals, Totals::count, c.totals.value);
    engine_.remember(c, c.settings);
    write_results(c.executor, c.settings, c.request.outputs, engine_.view(c), c.totals);
    c.report.time_s.output = timer.seconds();
}

} // namespace graft::engine
