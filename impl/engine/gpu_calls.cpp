// See gpu_calls.hpp.
#include "engine/gpu_calls.hpp"

#include "core/timer.hpp"
#include "engine/gpu/tight_memory.hpp"
#include "engine/tree_tuning.hpp"
#include "essential/forest.hpp"
#include "forces/gpu_kernel.hpp"
#include "periodic/periodic.hpp"
#include "periodic/periodic_log.hpp"
#include "study/papers/liu_buffer_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::engine {

namespace {

/// "": trees on the GPU take the sizes that the tuning says.
const char* why_sizes_stay(const comm::Communicator& comm, const settings::Settings& settings,
                           int64_t particles) {
    if (!comm.alone())
        return "several ranks";
    if (particles > always_lean)
        return "the particles nearly fill the device";
    if (settings.tree_type == tree::TreeType::orb)
        return "the host builds the tree";
    if (settings.device.reuse > 0)
        return "lists are kept";
    if (settings.device.kernel == static_cast<int32_t>(forces::DeviceKernel::block_per_group))
        return "cuda.kernel block has no model";
    return particles == 0 ? "there are no particles" : "";
}

bool makes_tree(const settings::Settings& settings) {
    return settings.method == settings::Method::tree && !settings.periodic;
}

void raise(TreeTuning& tuning, int32_t status, const backend::DeviceError& error) {
    if (status == static_cast<int32_t>(core::Status::memory))
        tuning.no_memory();
    backend::raise(status, error);
}

/// Bytes that an evaluation's arrays may have: the engine's own `held` and what is free, up to the limit.
int64_t room_on(const settings::DeviceOptions& options, int32_t device, int64_t held) {
    backend::DeviceInfo info;
    backend::DeviceError error;
    backend::raise(backend::require_cuda().device_info(device, &info, &error), error);
    const int64_t there = held + info.bytes_free;
    return options.memory_limit > 0 ? std::min(options.memory_limit, there) : there;
}

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

/// The text of query "kernel": deck key cuda.kernel as it was followed.
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

GpuEngine::Device::Device(const backend::CudaTable& cuda, const settings::DeviceOptions& options)
    : table(*cuda.force), ordinal(options.device) {
    backend::DeviceError error;
    backend::raise(table.create(&options, &engine, &error), error);
}

void GpuEngine::make_device(const settings::DeviceOptions& options, int32_t ordinal) {
    const backend::CudaTable& cuda = backend::require_cuda();
    if (device_ && device_->ordinal == ordinal)
        return;
    device_.reset();
    settings::DeviceOptions own = options;
    own.device = ordinal;
    device_ = std::make_unique<Device>(cuda, own);
}

void GpuEngine::begin(const Environment& environment, const Request& request, const Placement& placement,
                      void* stream) {
    const comm::Communicator& comm = environment.comm;
    TreeTuning& tuning = environment.tuning;
    const int64_t n = request.particles.n;
    settings::Settings settings = environment.settings; // of this computation
    const bool tree = makes_tree(settings);
    if (tree)
        tuning.before(settings, n, request.whole(), why_sizes_stay(comm, settings, n), true);
    if (!tree || !comm.alone())
        settings.device.buffer = 0;
    environment.buffers.before(settings, request.whole());
    n_ = n;
    if (!comm.alone())
        return begin_over_ranks(environment, request, placement, stream);
    make_device(environment.settings.device, placement.device);
    backend::DeviceError error;
    raise(tuning,
          device_->table.begin(device_->engine, &settings, &request.particles, request.points,
                               &request.outputs, stream, &error),
          error);
}

/// Collective: all but the copies to host arrays, which end() does.
void GpuEngine::begin_over_ranks(const Environment& environment, const Request& request,
                                 const Placement& placement, void* stream) {
    comm::Communicator& comm = environment.comm;
    over_ranks_.started_s = comm.time_s();
    const comm::Traffic before = comm.traffic();
    comm.guarded([&] {
        const settings::Settings& settings = environment.settings;
        Report& report = environment.report;
        const Agreement all = agree(comm, settings, request, 0);
        comm.together([&] {
            make_device(settings.device, placement.device);
            if (!ranks_on_device_)
                ranks_on_device_ = std::make_unique<RanksOnDevice>(memory_);
        });
        const RanksOnDevice::Job job{*device_->table.ranks,
                                     device_->engine,
                                     settings,
                                     request.particles,
                                     request.points,
                                     request.outputs,
                                     stream,
                                     {all.with_potential, all.with_sums, all.per_particle_softening}};
        const RankOutcome outcome = ranks_on_device_->evaluate(comm, job);
        report.pairs = outcome.pairs, report.cells = outcome.cells;
        measure_ranks(comm, settings, before, report);
        over_ranks_.report = report.ranks;
        over_ranks_.report.rounds = 1;
        over_ranks_.report.nodes = outcome.nodes, over_ranks_.report.particles = outcome.particles;
        over_ranks_.exchange_s = ranks_on_device_->times().exchange_s;
        over_ranks_.forces_s = outcome.own_s + outcome.remote_s;
        comm.conclude();
        ranks_on_device_->write(job, outcome);
    });
}

void GpuEngine::end(const Environment& environment) {
    TreeTuning& tuning = environment.tuning;
    Report& report = environment.report;
    const settings::Settings& settings = environment.settings;
    DeviceReport done;
    backend::DeviceError error;
    const core::Timer timer;
    raise(tuning, device_->table.end(device_->engine, &done, &error), error);
    const double output_s = timer.seconds();
    tell(environment, done);
    fill_report(environment, done);
    if (!environment.comm.alone())
        report.time_s.output = output_s;
    if (report.has_tree)
        tuning.after(report, done.leaf, done.group,
                     tuning.compares() ? room_on(settings.device, device_->ordinal, done.bytes_device) : 0);
    environment.buffers.after(done.fed, fed_work(report, done, settings.order), tuning.told().sizes.block);
}

/// What was chosen for a periodic box, when that changes.
void GpuEngine::tell(const Environment& environment, const DeviceReport& done) {
    if (done.periodic.alpha <= 0 || environment.comm.rank() != 0 ||
        !environment.log.wants(core::LogLevel::info))
        return;
    std::string words = words_of(environment.settings, done.periodic);
    if (words != device_->said)
        environment.log.write(core::LogLevel::info, words);
    device_->said = std::move(words);
}

void GpuEngine::fill_report(const Environment& environment, const DeviceReport& done) const {
    comm::Communicator& comm = environment.comm;
    const settings::Settings& settings = environment.settings;
    Report& r = environment.report;
    r.finish(settings, memory_);
    r.backend = "cuda";
    r.simd = "none";
    r.threads = backend::resolve_threads(settings.threads);
    r.n = n_, r.targets = done.targets;
    const DeviceReport::Times& t = done.time_s;
    r.time_s = {};
    r.time_s.import = t.import, r.time_s.sort = t.sort, r.time_s.tree = t.tree, r.time_s.moments = t.moments;
    r.time_s.lists = t.lists, r.time_s.forces = t.forces, r.time_s.output = t.output;
    r.time_s.p2p = t.p2p, r.time_s.m2p = t.m2p, r.time_s.total = t.total;
    r.pairs = done.pairs, r.cells = done.cells, r.far_cells = done.far_cells;
    r.local = done.local;
    r.has_tree = makes_tree(settings);
    r.nodes = done.nodes, r.leaves = done.leaves, r.groups = done.groups, r.levels = done.levels;
    r.bytes_lists = done.bytes_lists;
    r.ranks = comm.alone() ? Report::Ranks{} : over_ranks_.report;
    if (!comm.alone()) { // times on the device know of one tree only
        r.time_s.forces = over_ranks_.forces_s, r.time_s.ranks = over_ranks_.exchange_s;
        r.time_s.p2p = r.time_s.m2p = r.time_s.output = 0;
        r.time_s.total = comm.time_s() - over_ranks_.started_s;
    }
    Report::Device& d = r.device;
    d.ordinal = done.device;
    std::memcpy(d.name, done.device_name, sizeof d.name);
    std::memcpy(d.note, done.note, sizeof d.note);
    d.kernel = r.has_tree ? kernel_words(settings.device.kernel) : "";
    d.bytes = done.bytes_device, d.bytes_peak = done.bytes_device_peak, d.bytes_pinned = done.bytes_pinned;
    d.allocations = done.allocations, d.waits = done.waits, d.repeats = done.repeats;
    d.lists_built = done.lists_built, d.lists_reused = done.lists_reused;
    d.launches = done.launches, d.batches = done.batches, d.graph = done.graph != 0;
    d.fed = done.fed;
}

void GpuEngine::work_of_particles(const settings::Settings& settings, double* work) const {
    backend::DeviceError error;
    backend::raise(device_->table.work(device_->engine,
                                       static_cast<double>(essential::direct_count(settings)), work, n_,
                                       &error),
                   error);
}

} // namespace graft::engine
