// SPDX-License-Identifier: BSD-3-Clause
// GpuEngine: what is told of a computation that has ended.
#include "engine/gpu_calls.hpp"
#include "forces/gpu_kernel.hpp"
#include "periodic/periodic.hpp"
#include "periodic/periodic_log.hpp"

#include <cmath>
#include <cstring>

namespace graft::engine {

namespace {

/// As PeriodicSum::say(); only about how many wave vectors there are is known on the host.
std::string words_of(const settings::Settings& settings, const DeviceReport::Periodic& sum) {
    constexpr double pi = 3.14159265358979323846;
    periodic::PeriodicWords words;
    words.alpha = sum.alpha;
    words.cutoff = sum.cutoff;
    words.edge = sum.edge;
    words.vectors = std::llround(sum.volume * std::pow(sum.largest_wave, 3) / (12 * pi * pi));
    words.about = true;
    words.mesh = {static_cast<int>(sum.mesh[0]), {sum.mesh[1], sum.mesh[2], sum.mesh[3]}};
    words.accuracy = periodic::PeriodicSum::accuracy_of(settings);
    words.net = std::abs(sum.net) > sum.smallest;
    words.charge = sum.net;
    return periodic::periodic_words(settings, words);
}

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
    r.backend = "gpu";
    r.simd = "none";
    r.threads = backend::resolve_threads(settings.threads);
    r.n = n_;
    r.targets = done.targets;
    const DeviceReport::Times& t = done.time_s;
    r.time_s = {};
    r.time_s.import = t.import;
    r.time_s.sort = t.sort;
    r.time_s.tree = t.tree;
    r.time_s.moments = t.moments;
    r.time_s.lists = t.lists;
    r.time_s.forces = t.forces;
    r.time_s.output = t.output;
    r.time_s.p2p = t.p2p;
    r.time_s.m2p = t.m2p;
    r.time_s.total = t.total;
    r.pairs = done.pairs;
    r.cells = done.cells;
    r.far_cells = done.far_cells;
    r.local = done.local;
    r.has_tree = makes_tree(settings);
    r.ewald_alpha = done.periodic.alpha;
    r.nodes = done.tree.nodes;
    r.leaves = done.tree.leaves;
    r.groups = done.tree.groups;
    r.levels = done.tree.levels;
    r.bytes.lists = done.bytes_lists;
    r.ranks = comm.alone() ? Report::Ranks{} : over_ranks_.report;
    if (!comm.alone()) { // times on the device know of one tree only
        r.time_s.forces = over_ranks_.forces_s;
        r.time_s.ranks = over_ranks_.exchange_s;
        r.time_s.p2p = r.time_s.m2p = r.time_s.output = 0;
        r.time_s.total = comm.time_s() - over_ranks_.started_s;
    }
    Report::Device& d = r.device;
    d.ordinal = done.device;
    std::memcpy(d.name, done.device_name, sizeof d.name);
    std::memcpy(d.note, done.note, sizeof d.note);
    d.kernel = r.has_tree ? kernel_words(settings.device.kernel) : "";
    d.bytes = done.bytes_device;
    d.bytes_peak = done.bytes_device_peak;
    d.bytes_pinned = done.bytes_pinned;
    d.allocations = done.allocations;
    d.waits = done.waits;
    d.repeats = done.repeats;
    d.lists_built = done.lists_built;
    d.lists_reused = done.lists_reused;
    d.launches = done.launches;
    d.batches = done.batches;
    d.graph = done.graph != 0;
    d.fed = done.fed;
}

} // namespace graft::engine
