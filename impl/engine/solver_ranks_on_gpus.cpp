// Solver, fifth part: ranks with a GPU each. Which ranks compute where is agreed on: on GPUs all, or none.
#include "core/error.hpp"
#include "engine/checks.hpp"
#include "engine/gpu_side.hpp"
#include "particles/transfer.hpp"
#include "periodic/lattice_kind.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <vector>

namespace graft::engine {

using core::fail;
using core::Status;

/// What of the settings only the CPU does over ranks; NULL: nothing.
const char* Solver::why_not_over_ranks() const {
    if (settings_.periodic) // one sum, whatever the tree
        return settings_.method == settings::Method::reference ? "method reference" : periodic::why_no_gpu_lattice(settings_);
    if (settings_.method != settings::Method::tree)
        return "over ranks, GPUs do the tree method only";
    if (settings_.tree_type != tree::TreeType::octree)
        return "over ranks, GPUs build octrees only";
    if (settings_.tree_scope != settings::TreeScope::local)
        return "over ranks, GPUs build a tree per rank: tree.scope local";
    if (settings_.exchange != settings::Exchange::push)
        return "over ranks, GPUs exchange by push only";
    return nullptr;
}

/// Collective. Whether every rank has a GPU that no other rank has. The answer is kept while all ranks keep
/// their GPUs, since asking a GPU for its name takes longer than a small computation.
bool Solver::gpu_of_its_own(int32_t device) {
    if (comm_->max<int32_t>(device != ranks_device_ ? 1 : 0) == 0)
        return each_has_a_gpu_;
    backend::DeviceInfo info{};
    comm_->together([&] {
        backend::DeviceError error;
        backend::raise(backend::require_cuda().device_info(device, &info, &error), error);
    });
    using Name = std::array<char, sizeof info.uuid>; // unique in the world
    Name name{};
    std::memcpy(name.data(), info.uuid, name.size());
    std::vector<Name> names(static_cast<size_t>(comm_->size()));
    comm_->allgather(&name, 1, names.data());
    std::sort(names.begin(), names.end());
    ranks_device_ = device;
    each_has_a_gpu_ = std::adjacent_find(names.begin(), names.end()) == names.end();
    return each_has_a_gpu_;
}

/// Collective, for backend auto where all ranks have found a GPU: why it does not pay. Device arrays leave no
/// choice.
std::string Solver::why_not_auto(const ParticleInput& particles, const ParticleInput* points,
                                 const Outputs& outputs) {
    const bool on_device = device_array(particles, points, outputs).name != nullptr;
    int64_t mine[] = {particles.n, points != nullptr ? points->n : 0, on_device ? 1 : 0};
    comm_->allreduce(mine, std::size(mine), comm::Operation::sum);
    if (mine[2] > 0)
        return "";
    if (std::max(mine[0], mine[1]) < least_for_gpu * comm_->size())
        return "too few particles a rank for GPUs to pay";
    int32_t device = 0;
    comm_->together([&] { device = device_for(particles, points, outputs); });
    if (!gpu_of_its_own(device))
        return "ranks share a GPU, which backend gpu asks for";
    return "";
}

/// Collective. False: ranks_why_ says why all compute on the CPU. Throws, on all ranks, where a GPU is asked
/// for and cannot be had.
bool Solver::choose_over_ranks(const ParticleInput& particles, const ParticleInput* points,
                               const Outputs& outputs) {
    const auto backend = static_cast<int64_t>(settings_.backend);
    comm_->guarded([&] {
        const char* const refused = why_not_over_ranks();
        int64_t most[] = {backend, -backend, refused != nullptr ? 1 : 0};
        comm_->allreduce(most, std::size(most), comm::Operation::max);
        comm_->together([&] {
            if (most[0] != -most[1])
                fail(Status::argument, "the backend differs between ranks; expected the same on all");
        });
        ranks_why_.clear();
        if (settings_.backend == settings::Backend::cpu)
            ranks_why_ = "backend cpu";
        else if (settings_.backend == settings::Backend::auto_ &&
                 most[2] != 0) // on one rank: settings that differ, see agree_on()
            ranks_why_ = refused != nullptr ? refused : "another rank's settings are the CPU's";
        if (!ranks_why_.empty())
            return;
        comm_->together([&] {
            if (refused != nullptr)
                fail(Status::unsupported, "backend gpu with %d ranks: %s; expected backend auto or cpu",
                     comm_->size(), refused);
            if (settings_.backend == settings::Backend::cuda)
                backend::require_cuda();
        });
        const bool here = backend::find_cuda(&no_gpu_) != nullptr;
        if (comm_->min<int32_t>(here ? 1 : 0) == 0)
            ranks_why_ = here ? "another rank has no GPU" : no_gpu_;
        else if (settings_.backend == settings::Backend::auto_)
            ranks_why_ = why_not_auto(particles, points, outputs);
    });
    return ranks_why_.empty();
}

namespace {

/// Throws for virials and energies of all ranks that would be no finite numbers; what is added to arrays of a
/// device counts without what is there.
void check_sums(const settings::Settings& settings, const Outputs& outputs, const RankOutcome& outcome) {
    core::Memory memory;
    const backend::Executor serial{memory, 1};
    const double sign = settings.interaction == settings::Interaction::gravity ? 1 : -1,
                 factor = sign * settings.constant / outcome.scale / outcome.scale;
    const auto check = [&](particles::ArrayView view, const char* name, int c, double with) {
        double there = 0;
        if (!view.on_host())
            view.data = reinterpret_cast<char*>(&there), view.memory = particles::MemorySpace::host;
        particles::check_reals(serial, {view, name, outcome.totals + c, with}, nullptr, 1);
    };
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        check(outputs.virial.component(c), virial_name, c, factor);
    if (outputs.energy.present())
        check(outputs.energy, energy_name, 6, -factor);
}

} // namespace

/// Collective: all but the copies to host arrays, which end_compute() does.
void Solver::begin_over_ranks(const ParticleInput& particles, const ParticleInput* points,
                              const Outputs& outputs) {
    gpu_started_s_ = comm_->time_s();
    const comm::Traffic before = comm_->traffic();
    comm_->guarded([&] {
        problem_.n = particles.n;
        problem_.per_particle_softening = particles.softening.present();
        magnitude_ = 0;
        agree_on(points != nullptr ? Call::field_at : Call::compute, outputs);
        comm_->together([&] {
            make_device(device_for(particles, points, outputs));
            if (!ranks_on_device_)
                ranks_on_device_ = std::make_shared<RanksOnDevice>(memory_);
        });
        const RanksOnDevice::Job job{*device_->table.ranks,
                                     device_->engine,
                                     settings_,
                                     particles,
                                     points,
                                     outputs,
                                     stream_,
                                     {with_potential_, with_sums_, problem_.per_particle_softening}};
        const RankOutcome outcome = ranks_on_device_->evaluate(*comm_, job);
        report_.pairs = outcome.pairs, report_.cells = outcome.cells;
        measure_ranks(before);
        report_.ranks.rounds = 1;
        report_.ranks.nodes = outcome.nodes, report_.ranks.particles = outcome.particles;
        gpu_ranks_ = report_.ranks;
        gpu_exchange_s_ = ranks_on_device_->times().exchange_s;
        gpu_forces_s_ = outcome.own_s + outcome.remote_s;
        comm_->conclude([&] { check_sums(settings_, outputs, outcome); });
        ranks_on_device_->write(job, outcome);
    });
    on_gpu_ = true;
    gpu_points_ = points != nullptr;
    gpu_n_ = particles.n;
}

} // namespace graft::engine
