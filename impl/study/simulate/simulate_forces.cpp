// SPDX-License-Identifier: BSD-3-Clause
// See simulate_forces.hpp.
#include "study/simulate/simulate_forces.hpp"

#include "balance/migrate.hpp"
#include "study/simulate/simulate_balance.hpp"
#include "study/simulate/simulated_ranks.hpp"
#include "core/error.hpp"
#include "decompose/decompose.hpp"
#include "engine/solver.hpp"

#include <algorithm>
#include <cmath>

namespace graft::study {

namespace {

constexpr int64_t stack_bytes = 1 << 20; // the solver's frames are larger than the balancers'

particles::ArrayView view_of(double* data, int64_t n) {
    return {reinterpret_cast<char*>(data), particles::ElementType::f64, 1, n, 8, 8};
}

/// Three coordinates of n particles, one array after the other.
struct Cloud {
    explicit Cloud(core::Memory& memory) : values(memory, "particles of a study") {}
    core::Buffer<double> values;
    int64_t n = 0;
    void resize(int64_t count) {
        n = count;
        values.resize(3 * count);
    }
    double* axis(int a) { return values.data() + a * n; }
};

/// Collective. This rank's particles: made by index, then moved to the domains of an ORB.
void settle(comm::Communicator& comm, const backend::Executor& executor, const ForceStudy& study,
            Cloud& cloud) {
    Cloud made(executor.memory);
    made.resize(study.particles_per_rank);
    for (int64_t i = 0; i < made.n; ++i) {
        const StudyObject object =
            study::study_object(study.seed, comm.rank() * study.particles_per_rank + i, 0);
        for (int a = 0; a < 3; ++a)
            made.axis(a)[i] = object.x[a];
    }
    decompose::Options options;
    options.parts = comm.size();
    options.strategy = decompose::Strategy::halving;
    decompose::Points points;
    points.n = made.n;
    points.x = made.axis(0);
    points.y = made.axis(1);
    points.z = made.axis(2);
    decompose::Decomposer decomposer(executor.memory);
    decompose::Result result(executor.memory);
    decomposer.run(comm, executor, options, points, false, result);
    balance::Migration migration(executor.memory);
    migration.plan(comm, executor, result.owner.data(), made.n);
    comm.together([&] { cloud.resize(migration.count_after()); });
    particles::ArrayView from[3], to[3];
    for (int a = 0; a < 3; ++a) {
        from[a] = view_of(made.axis(a), made.n);
        to[a] = view_of(cloud.axis(a), cloud.n);
    }
    migration.forward(comm, executor, 3, from, to);
}

/// Adds the figures of one rank; the means are sums until all have been added.
void add(const engine::Report& report, double start_s, double end_s, ForceStudyResult& result) {
    const engine::Report::Ranks& ranks = report.ranks;
    result.total_s = std::max(result.total_s, end_s - start_s);
    result.wait_max_s = std::max(result.wait_max_s, ranks.wait_s);
    result.wait_mean_s += ranks.wait_s;
    result.bytes_sent_max = std::max(result.bytes_sent_max, ranks.bytes_sent);
    result.bytes_sent_mean += static_cast<double>(ranks.bytes_sent);
    result.messages_max = std::max(result.messages_max, ranks.messages);
    result.messages_mean += static_cast<double>(ranks.messages);
    result.collectives_mean += static_cast<double>(ranks.collectives);
    result.particles_mean += static_cast<double>(ranks.particles);
    result.nodes_mean += static_cast<double>(ranks.nodes);
    result.rounds = std::max(result.rounds, ranks.rounds);
    result.pairs += report.pairs;
    result.cells += report.cells;
    result.imbalance = ranks.imbalance;
}

void play(comm::Communicator& comm, core::Memory& memory, const ForceStudy& study, ForceStudyResult& result) {
    const backend::Executor executor{memory, 1};
    Cloud cloud(memory), field(memory);
    settle(comm, executor, study, cloud);
    settings::Settings settings = study.settings;
    settings.threads = 1;
    engine::Solver solver(settings, memory);
    solver.set_communicator(&comm);
    comm.together([&] { field.resize(cloud.n); });
    engine::ParticleInput input;
    engine::Outputs outputs;
    input.n = cloud.n;
    input.charge_all =
        1.0 / (static_cast<double>(study.ranks) * static_cast<double>(study.particles_per_rank));
    for (int a = 0; a < 3; ++a) {
        input.position[a] = view_of(cloud.axis(a), cloud.n);
        outputs.acceleration[a] = view_of(field.axis(a), cloud.n);
    }
    comm.barrier();
    const double start_s = comm.time_s();
    solver.compute(input, outputs);
    add(solver.report(), start_s, comm.time_s(), result);
    for (int64_t i = 0; i < cloud.n; ++i)
        result.checksum += std::hypot(field.axis(0)[i], field.axis(1)[i], field.axis(2)[i]);
}

} // namespace

ForceStudyResult simulate_forces(const ForceStudy& study) {
    if (study.ranks < 1 || study.particles_per_rank < 0)
        core::fail(core::Status::argument,
                   "simulate forces: %d ranks of %lld particles; expected at least one rank", study.ranks,
                   static_cast<long long>(study.particles_per_rank));
    SimulatorOptions options;
    options.ranks = study.ranks;
    options.network = study.network;
    options.gamma_s = study.gamma_s;
    options.stack_bytes = stack_bytes;
    ForceStudyResult result;
    Simulator simulator(options);
    simulator.run([&](comm::Communicator& comm, core::Memory& memory) { play(comm, memory, study, result); });
    for (double* sum : {&result.wait_mean_s, &result.bytes_sent_mean, &result.messages_mean,
                        &result.collectives_mean, &result.particles_mean, &result.nodes_mean})
        *sum /= study.ranks;
    result.rank_bytes_peak = simulator.report().rank_bytes_peak;
    result.wall_s = simulator.report().wall_s;
    return result;
}

} // namespace graft::study
