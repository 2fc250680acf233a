// SPDX-License-Identifier: BSD-3-Clause
// See simulate_balance.hpp.
#include "study/simulate/simulate_balance.hpp"

#include "study/simulate/simulated_ranks.hpp"
#include "core/error.hpp"

#include <algorithm>
#include <cmath>

namespace graft::study {

using core::fail;
using core::Status;

namespace {

uint64_t mixed(uint64_t z) { // the finaliser of splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/// The k-th uniform number in (0, 1) of object i.
double uniform(uint64_t seed, int64_t i, int k) {
    const uint64_t bits =
        mixed(mixed(seed + 0x9e3779b97f4a7c15ull) + static_cast<uint64_t>(i) * 8 + static_cast<uint64_t>(k));
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

void check(const Study& study) {
    if (study.ranks < 1 || study.objects < 0 || !(study.objects_per_rank >= 0) ||
        !(study.objects_per_rank <= 1e6) || !(study.load_sigma >= 0))
        fail(Status::argument,
             "simulate: %d ranks, %lld objects, %g objects a rank, load sigma %g; expected at least one rank "
             "and "
             "nothing negative",
             study.ranks, static_cast<long long>(study.objects), study.objects_per_rank, study.load_sigma);
}

SimulatorOptions machine_of(const Study& study) {
    SimulatorOptions options;
    options.ranks = study.ranks;
    options.network.alpha_s = study.alpha_s;
    options.network.beta_s_per_byte = study.beta_s_per_byte;
    options.network.node_size = study.node_size;
    options.network.node_alpha_s = study.node_alpha_s;
    options.network.node_beta_s_per_byte = study.node_beta_s_per_byte;
    options.gamma_s = study.gamma_s;
    if (study.free_split)
        options.split_bytes = 0;
    return options;
}

balance::Settings settings_of(const Study& study) {
    balance::Settings settings;
    settings.kind = study.kind;
    settings.cost = balance::CostSource::given;
    settings.force = true;
    settings.shapes = false;
    settings.bandwidth_bytes_per_s = study.beta_s_per_byte > 0 ? 1 / study.beta_s_per_byte : 1e12;
    settings.decompose = study.decompose;
    settings.decompose.strategy = study.level ? decompose::Strategy::level : decompose::Strategy::halving;
    return settings;
}

/// One rank's objects.
class Holding {
  public:
    Holding(core::Memory& memory, const Study& study, int64_t objects, int32_t rank)
        : values_(memory, "coordinates and loads"), id_(memory, "object numbers") {
        const int64_t first = share(objects, study.ranks, rank), end = share(objects, study.ranks, rank + 1);
        n_ = end - first;
        values_.resize(4 * n_);
        id_.resize(n_);
        for (int64_t i = 0; i < n_; ++i) {
            const StudyObject object = study_object(study.seed, first + i, study.load_sigma);
            for (int axis = 0; axis < 3; ++axis)
                values_[axis * n_ + i] = object.x[axis];
            values_[3 * n_ + i] = object.load;
            id_[i] = first + i;
        }
    }
    decompose::Points points() const {
        const double* const x = values_.data();
        return {n_, x, x + n_, x + 2 * n_, x + 3 * n_, id_.data()};
    }
    uint64_t hash(const int32_t* owner) const {
        uint64_t sum = 0;
        for (int64_t i = 0; i < n_; ++i)
            sum += mixed(static_cast<uint64_t>(id_[i]) * 0x9e3779b97f4a7c15ull +
                         static_cast<uint64_t>(owner[i]));
        return sum;
    }

  private:
    static int64_t share(int64_t objects, int32_t ranks, int32_t rank) {
        return static_cast<int64_t>(static_cast<__int128>(objects) * rank / ranks);
    }
    int64_t n_ = 0;
    core::Buffer<double> values_;
    core::Buffer<int64_t> id_;
};

/// What one rank does.
void play(comm::Communicator& comm, core::Memory& memory, const Study& study, int64_t objects,
          StudyResult& result) {
    const Holding holding(memory, study, objects, comm.rank());
    const backend::Executor executor{memory, 1};
    balance::Balancer balancer(memory);
    core::Buffer<int32_t> owner(memory, "owners");
    balance::Report report;
    comm.barrier();
    comm.guarded([&] {
        balancer.run(comm, executor, settings_of(study), {holding.points(), nullptr}, 32, 0, {}, owner,
                     report);
    });
    result.owners_hash += holding.hash(owner.data());
    if (comm.rank() != 0)
        return;
    const double gather_s = report.statistics.gather_s; // this rank is the root
    result.init_s = report.init_s + gather_s;
    result.strategy_s = report.strategy_s - gather_s;
    result.total_s = report.cost_s;
    result.imbalance_before = report.before.imbalance_work;
    result.imbalance_after = report.after.imbalance_work;
    result.imbalance_count_after = report.after.imbalance_count;
    result.items_moved = report.items_moved;
}

} // namespace

StudyObject study_object(uint64_t seed, int64_t i, double load_sigma) {
    constexpr double pi = 3.14159265358979323846;
    constexpr double most = 0.999; // of the mass: no object beyond 39 scale lengths
    StudyObject object{};
    const double radius = 1 / std::sqrt(std::pow(most * uniform(seed, i, 0), -2.0 / 3.0) - 1);
    const double cosine = 2 * uniform(seed, i, 1) - 1, angle = 2 * pi * uniform(seed, i, 2);
    const double across = radius * std::sqrt(1 - cosine * cosine);
    object.x[0] = across * std::cos(angle);
    object.x[1] = across * std::sin(angle);
    object.x[2] = radius * cosine;
    const double normal =
        std::sqrt(-2 * std::log(uniform(seed, i, 3))) * std::cos(2 * pi * uniform(seed, i, 4));
    object.load = std::exp(load_sigma * normal);
    return object;
}

balance::Kind kind_of_name(const std::string& name) {
    constexpr const char* names[] = {"orb-central", "orb-distributed", "prefix-central",
                                     "prefix-distributed"};
    for (int i = 0; i < 4; ++i)
        if (name == names[i])
            return static_cast<balance::Kind>(i);
    fail(Status::argument,
         "simulate: strategy is '%s'; expected orb-central, orb-distributed, prefix-central or "
         "prefix-distributed",
         name.c_str());
}

StudyResult simulate(const Study& study) {
    check(study);
    const int64_t objects = study.objects > 0
                                ? study.objects
                                : static_cast<int64_t>(std::llround(study.objects_per_rank * study.ranks));
    StudyResult result;
    Simulator simulator(machine_of(study));
    simulator.run(
        [&](comm::Communicator& comm, core::Memory& memory) { play(comm, memory, study, objects, result); });
    const SimulatorReport& report = simulator.report();
    result.wall_s = report.wall_s;
    result.messages = report.messages;
    result.bytes = report.bytes;
    result.collectives = report.collectives;
    std::copy(std::begin(report.kinds), std::end(report.kinds), std::begin(result.kinds));
    result.rank_bytes_peak = report.rank_bytes_peak;
    return result;
}

} // namespace graft::study
