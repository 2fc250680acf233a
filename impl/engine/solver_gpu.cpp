// Solver, fourth part: computations in two halves, and those that a GPU does.
#include "backend/gpu_library.hpp"
#include "backend/gpu_choice.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "forces/gpu_kernel.hpp"
#include "study/papers/liu_buffer_tuning.hpp"
#include "engine/checks.hpp"
#include "engine/gpu/tight_memory.hpp"
#include "engine/gpu_side.hpp"
#include "essential/forest.hpp"
#include "periodic/lattice_kind.hpp"
#include "periodic/periodic.hpp"
#include "periodic/periodic_log.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace graft::engine {

using core::fail;
using core::Status;

NamedView device_array(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs) {
    const NamedView views[] = {{"particles.position", &particles.position[0]},
                               {"particles.position", &particles.position[1]},
                               {"particles.position", &particles.position[2]},
                               {"particles.charge", &particles.charge},
                               {"particles.softening", &particles.softening},
                               {"particles.active", &particles.active},
                               {"particles.target_index", &particles.target},
                               {"points.position", points != nullptr ? &points->position[0] : nullptr},
                               {"points.position", points != nullptr ? &points->position[1] : nullptr},
                               {"points.position", points != nullptr ? &points->position[2] : nullptr},
                               {"results.acceleration", &outputs.acceleration[0]},
                               {"results.acceleration", &outputs.acceleration[1]},
                               {"results.acceleration", &outputs.acceleration[2]},
                               {"results.potential", &outputs.potential},
                               {"results.virial", &outputs.virial},
                               {"results.energy", &outputs.energy}};
    for (const NamedView& named : views)
        if (named.view != nullptr && named.view->present() && !named.view->on_host())
            return named;
    return {};
}

int32_t Solver::device_for(const ParticleInput& particles, const ParticleInput* points,
                           const Outputs& outputs) const {
    if (settings_.device.device >= 0)
        return settings_.device.device;
    const backend::CudaTable& cuda = backend::require_cuda();
    backend::DeviceError error;
    int32_t kind = 0, device = -1, devices = 1;
    if (const NamedView named = device_array(particles, points, outputs); named.view != nullptr)
        backend::raise(cuda.pointer_kind(named.view->data, &kind, &device, &error), error);
    if (device >= 0)
        return device;
    if (comm_->alone() && device_)
        return device_->options.device; // as before
    backend::raise(cuda.device_count(&devices, &error), error);
    return backend::choose_device(-1, comm_->rank(), devices);
}

namespace {

[[noreturn]] void refuse_device_array(const char* name, const char* why) {
    fail(Status::unsupported,
         "%s is in device memory, but this computation runs on the CPU (%s); expected host or managed "
         "memory, or "
         "backend gpu or auto on a machine with a GPU",
         name, why);
}

} // namespace

/// Why this computation runs on the CPU; NULL: it runs on a GPU. Throws for a GPU that is asked for and not
/// there.
const char* Solver::why_on_cpu(const ParticleInput& particles, const ParticleInput* points,
                               const char* device_array) {
    if (settings_.backend == settings::Backend::cpu)
        return "backend cpu";
    if (!comm_->alone())
        return ranks_why_.empty() ? nullptr : ranks_why_.c_str(); // as choose_over_ranks() has found
    if (settings_.method == settings::Method::reference)
        return "method reference";
    if (const char* why = periodic::why_no_gpu_lattice(settings_); why != nullptr) {
        if (settings_.backend == settings::Backend::cuda)
            fail(Status::unsupported, "backend: gpu does not compute %s; expected backend cpu or auto", why);
        return why;
    }
    if (settings_.backend == settings::Backend::cuda) {
        backend::require_cuda();
        return nullptr;
    }
    if (device_array == nullptr && particles.n < least_for_gpu &&
        (points == nullptr || points->n < least_for_gpu))
        return "too few particles for a GPU to pay";
    if (backend::find_cuda(&no_gpu_) == nullptr)
        return no_gpu_.c_str();
    return nullptr;
}

/// True when the GPU is to do it. Says in the log what was chosen, when that changes.
bool Solver::choose_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs) {
    const char* array = device_array(particles, points, outputs).name;
    const char* why = why_on_cpu(particles, points, array);
    if (why != nullptr && array != nullptr)
        refuse_device_array(array, why);
    const bool gpu = why == nullptr;
    const std::string words = gpu ? std::string("backend: gpu") : core::format("backend: cpu (%s)", why);
    if (words != said_ && settings_.backend != settings::Backend::cpu && log_.wants(core::LogLevel::info))
        log_.write(core::LogLevel::info, words);
    said_ = words;
    return gpu;
}

/// The engine on this GPU.
void Solver::make_device(int ordinal) {
    const backend::CudaTable& cuda = backend::require_cuda();
    if (device_ && device_->options.device != ordinal)
        device_.reset();
    settings::DeviceOptions options = settings_.device;
    options.device = ordinal;
    if (!device_)
        device_ = std::make_shared<DeviceSide>(cuda, options);
}

/// Collective where there are several ranks.
bool Solver::wants_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs) {
    return (comm_->alone() || choose_over_ranks(particles, points, outputs)) &&
           choose_gpu(particles, points, outputs);
}

void Solver::set_tree_sizes(TreeSizesBy by, bool leaf_given, bool group_given,
                            const model::Machine* machine) {
    tuning_.set(by, leaf_given, group_given, machine);
    buffers_->set(machine);
}

/// "": trees on the GPU take the sizes that tuning_ says.
const char* Solver::why_sizes_stay_on_gpu(int64_t particles) const {
    if (!comm_->alone())
        return "several ranks";
    if (particles > always_lean)
        return "the particles nearly fill the device";
    if (settings_.tree_type == tree::TreeType::orb)
        return "the host builds the tree";
    if (settings_.device.reuse > 0)
        return "lists are kept";
    if (settings_.device.kernel == static_cast<int32_t>(forces::DeviceKernel::block_per_group))
        return "study.kernel block has no model";
    return particles == 0 ? "there are no particles" : "";
}

namespace {

void raise(TreeTuning& tuning, int32_t status, const backend::DeviceError& error) {
    if (status == static_cast<int32_t>(core::Status::memory))
        tuning.no_memory();
    backend::raise(status, error);
}

/// Bytes that an evaluation's arrays may have: the engine's own `held` and what is free, up to the limit.
int64_t room_on(const settings::DeviceOptions& options, int64_t held) {
    backend::DeviceInfo info;
    backend::DeviceError error;
    backend::raise(backend::require_cuda().device_info(options.device, &info, &error), error);
    const int64_t there = held + info.bytes_free;
    return options.memory_limit > 0 ? std::min(options.memory_limit, there) : there;
}

} // namespace

void Solver::begin_on_gpu(const ParticleInput& particles, const ParticleInput* points,
                          const Outputs& outputs) {
    report_.valid = false;
    settings::Settings settings = settings_;
    const bool whole = points == nullptr && !particles.has_active && !particles.has_target;
    const bool tree = settings.method == settings::Method::tree && !settings.periodic;
    if (tree)
        tuning_.before(settings, particles.n, whole, why_sizes_stay_on_gpu(particles.n), true);
    if (!tree || !comm_->alone())
        settings.device.buffer = 0;
    buffers_->before(settings, whole);
    if (!comm_->alone())
        return begin_over_ranks(particles, points, outputs);
    make_device(device_for(particles, points, outputs));
    backend::DeviceError error;
    raise(tuning_,
          device_->table.begin(device_->engine, &settings, &particles, points, &outputs, stream_, &error),
          error);
    on_gpu_ = true, released_ = false;
    gpu_points_ = points != nullptr;
    gpu_n_ = particles.n;
}

namespace {

/// The lists that were fed, in the model's words.
model::PaperWork fed_work(const Report& report, const DeviceReport& done, int order) {
    model::PaperWork work{done.leaf, done.group, order};
    work.targets = static_cast<double>(done.targets), work.groups = static_cast<double>(done.fed.groups);
    work.leaf_entries = static_cast<double>(done.fed.leaf_entries);
    work.node_entries = static_cast<double>(done.fed.node_entries);
    if (work.leaf_entries > 0) // a group's targets meet all sources of its leaves
        work.sources = report.pairs / (work.targets / work.groups * work.leaf_entries);
    return work;
}

} // namespace

void Solver::end_on_gpu() {
    DeviceReport done;
    backend::DeviceError error;
    const core::Timer timer;
    raise(tuning_, device_->table.end(device_->engine, &done, &error), error);
    problem_.last.resize(0); // of the CPU's last call
    const double output_s = timer.seconds();
    report_on_gpu(done);
    if (!comm_->alone())
        report_.time_s.output = output_s;
    if (report_.has_tree)
        tuning_.after(report_, done.leaf, done.group,
                      tuning_.compares() ? room_on(device_->options, done.bytes_device) : 0);
    buffers_->after(done.fed, fed_work(report_, done, settings_.order), tuning_.told().sizes.block);
}

namespace {

/// As PeriodicSum::say(); only about how many wave vectors there are is known on the host.
std::string words_of(const settings::Settings& settings, const DeviceReport::Periodic& sum) {
    constexpr double pi = 3.14159265358979323846;
    periodic::PeriodicWords words;
    words.alpha = sum.alpha, words.cutoff = sum.cutoff, words.edge = sum.edge;
    words.vectors = std::llround(sum.volume * std::pow(sum.largest_wave, 3) / (12 * pi * pi));
    words.about = true;
    words.accuracy = periodic::PeriodicSum::accuracy_of(settings);
    words.net = std::abs(sum.net) > sum.smallest;
    words.charge = sum.net;
    return periodic::periodic_words(settings, words);
}

} // namespace

namespace {

/// The text of query "kernel": deck key study.kernel as it was followed.
const char* kernel_words(int32_t kernel) {
    switch (static_cast<forces::DeviceKernel>(kernel)) {
    case forces::DeviceKernel::block_per_group:
        return "block";
    case forces::DeviceKernel::pairs_1d:
        return "pairs-1d: adds with atomics, last bits differ from run to run";
    case forces::DeviceKernel::tiles_2d:
        return "tiles-2d: adds with atomics, last bits differ from run to run";
    default:
        return "units";
    }
}

} // namespace

void Solver::report_on_gpu(const DeviceReport& done) {
    if (done.periodic.alpha > 0 && comm_->rank() == 0 && log_.wants(core::LogLevel::info)) {
        std::string words = words_of(settings_, done.periodic);
        if (words != device_->said)
            log_.write(core::LogLevel::info, words);
        device_->said = std::move(words);
    }
    Report& r = report_;
    finish_report();
    r.backend = "gpu";
    r.simd = "none";
    r.threads = backend::resolve_threads(settings_.threads);
    r.n = gpu_n_, r.targets = done.targets;
    const DeviceReport::Times& t = done.time_s;
    r.time_s = {};
    r.time_s.import = t.import, r.time_s.sort = t.sort, r.time_s.tree = t.tree, r.time_s.moments = t.moments;
    r.time_s.lists = t.lists, r.time_s.forces = t.forces, r.time_s.output = t.output;
    r.time_s.p2p = t.p2p, r.time_s.m2p = t.m2p, r.time_s.total = t.total;
    r.pairs = done.pairs, r.cells = done.cells, r.far_cells = done.far_cells;
    r.local = done.local;
    r.has_tree = settings_.method == settings::Method::tree && !settings_.periodic;
    r.nodes = done.nodes, r.leaves = done.leaves, r.groups = done.groups, r.levels = done.levels;
    r.bytes_lists = done.bytes_lists;
    r.ranks = comm_->alone() ? Report::Ranks{} : gpu_ranks_;
    if (!comm_->alone()) { // times on the device know of one tree only
        r.time_s.forces = gpu_forces_s_, r.time_s.ranks = gpu_exchange_s_;
        r.time_s.p2p = r.time_s.m2p = r.time_s.output = 0;
        r.time_s.total = comm_->time_s() - gpu_started_s_;
        r.pairs = done.pairs, r.cells = done.cells;
    }
    Report::Device& d = r.device;
    d.ordinal = done.device;
    std::memcpy(d.name, done.device_name, sizeof d.name);
    std::memcpy(d.note, done.note, sizeof d.note);
    d.kernel = r.has_tree ? kernel_words(settings_.device.kernel) : "";
    d.bytes = done.bytes_device, d.bytes_peak = done.bytes_device_peak, d.bytes_pinned = done.bytes_pinned;
    d.allocations = done.allocations, d.waits = done.waits, d.repeats = done.repeats;
    d.lists_built = done.lists_built, d.lists_reused = done.lists_reused;
    d.launches = done.launches, d.batches = done.batches, d.graph = done.graph != 0;
    d.fed = done.fed;
}

void Solver::compute_on_gpu(const ParticleInput& particles, const ParticleInput* points,
                            const Outputs& outputs) {
    begin_on_gpu(particles, points, outputs);
    end_on_gpu();
}

void Solver::require_nothing_begun(const char* entry) const {
    if (begun_)
        fail(Status::call_order, "%s: a computation was begun but not ended; call compute_end first", entry);
}

void Solver::begin_compute(const ParticleInput& particles, const Outputs& outputs, void* stream) {
    require_nothing_begun("compute_begin");
    stream_ = stream;
    if (wants_gpu(particles, nullptr, outputs))
        begin_on_gpu(particles, nullptr, outputs);
    else
        compute_on_cpu(particles, outputs);
    begun_ = true;
}

void Solver::end_compute() {
    if (!begun_)
        fail(Status::call_order, "compute_end: no computation was begun; expected compute_begin before it");
    begun_ = false;
    if (on_gpu_)
        end_on_gpu();
}

void Solver::work_on_gpu(double* work) const {
    if (!report_.valid || gpu_points_)
        refuse_work();
    backend::DeviceError error;
    backend::raise(device_->table.work(device_->engine, static_cast<double>(essential::direct_count(settings_)), work,
                                       gpu_n_, &error),
                   error);
}

} // namespace graft::engine
