// SPDX-License-Identifier: BSD-3-Clause
// See gpu_calls.hpp.
#include "engine/gpu_calls.hpp"

#include "core/timer.hpp"
#include "engine/buffer_tuning.hpp"
#include "engine/gpu/tight_memory.hpp"
#include "engine/tree_tuning.hpp"
#include "essential/forest.hpp"
#include "forces/gpu_kernel.hpp"

#include <algorithm>

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
        return "study.kernel block has no model";
    return particles == 0 ? "there are no particles" : "";
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
model::PaperCounts fed_work(const Report& report, const DeviceReport& done, int order) {
    model::PaperCounts work{done.tree.leaf, done.tree.group, order};
    work.targets = static_cast<double>(done.targets);
    work.groups = static_cast<double>(done.fed.groups);
    work.leaf_entries = static_cast<double>(done.fed.leaf_entries);
    work.node_entries = static_cast<double>(done.fed.node_entries);
    if (work.leaf_entries > 0) // a group's targets meet all sources of its leaves
        work.sources = report.pairs / (work.targets / work.groups * work.leaf_entries);
    return work;
}

/// The library that has the kernels.
backend::GpuLibrary library_for(const settings::DeviceOptions& options) {
    const bool ours = forces::works_by_tasks(static_cast<forces::DeviceKernel>(options.kernel)) &&
                      options.direct_stage == forces::own_direct_stage;
    return ours ? backend::GpuLibrary::own : backend::GpuLibrary::study;
}

} // namespace

bool makes_tree(const settings::Settings& settings) {
    return settings.method == settings::Method::tree && !settings.periodic;
}

GpuEngine::Device::Device(const backend::CudaTable& cuda, const settings::DeviceOptions& options)
    : table(*cuda.force), ordinal(options.device) {
    backend::DeviceError error;
    backend::raise(table.create(&options, &engine, &error), error);
}

int32_t GpuEngine::Device::end(bool once, DeviceReport& report, int32_t& again, backend::DeviceError& error) const {
    return once && table.end_once != nullptr ? table.end_once(engine, &report, &again, &error)
                                             : table.end(engine, &report, &error);
}

void GpuEngine::make_device(const settings::DeviceOptions& options, int32_t ordinal) {
    const backend::CudaTable& cuda = backend::require_cuda(library_for(options));
    if (device_ && device_->ordinal == ordinal && &device_->table == cuda.force)
        return;
    device_.reset();
    settings::DeviceOptions own = options;
    own.device = ordinal;
    auto made = std::make_unique<Device>(cuda, own);
    backend::DeviceError error;
    if (allocator_.present() && made->table.set_allocator != nullptr)
        backend::raise(made->table.set_allocator(made->engine, &allocator_, &error), error);
    device_ = std::move(made);
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

void GpuEngine::end(const Environment& environment, bool once) {
    TreeTuning& tuning = environment.tuning;
    Report& report = environment.report;
    const settings::Settings& settings = environment.settings;
    DeviceReport done;
    backend::DeviceError error;
    const core::Timer timer;
    int32_t again = 0;
    raise(tuning, device_->end(once, done, again, error), error);
    if (again != 0)
        core::fail(core::Status::again,
                   "compute_end: a buffer on the GPU was too small, and GRAFT_RESULTS_NO_REPAIR forbids a second attempt "
                   "inside; nothing was written. It has grown: make the same call again");
    const double output_s = timer.seconds();
    tell(environment, done);
    fill_report(environment, done);
    if (!environment.comm.alone())
        report.time_s.output = output_s;
    if (report.has_tree)
        tuning.after(report, done.tree.leaf, done.tree.group,
                     tuning.compares() ? room_on(settings.device, device_->ordinal, done.bytes_device) : 0);
    environment.buffers.after(done.fed, fed_work(report, done, settings.order), tuning.told().sizes.block);
}

bool GpuEngine::poll() const {
    int32_t ended = 0;
    backend::DeviceError error;
    if (device_->table.poll != nullptr)
        backend::raise(device_->table.poll(device_->engine, &ended, &error), error);
    return ended != 0;
}

void* GpuEngine::event() const {
    if (device_->table.event == nullptr)
        core::fail(core::Status::unsupported, "compute_event: this GPU library makes no events; expected compute_poll");
    void* event = nullptr;
    backend::DeviceError error;
    backend::raise(device_->table.event(device_->engine, &event, &error), error);
    return event;
}

void GpuEngine::set_allocator(const DeviceAllocator& allocator) {
    if (device_)
        core::fail(core::Status::call_order,
                   "context_set_device_allocator: the context has taken device memory already; call it before the first "
                   "computation, or after context_release_memory");
    allocator_ = allocator;
}

void GpuEngine::release() {
    conductor_.reset();
    device_.reset();
}

bool GpuEngine::work_of_particles(const settings::Settings& settings, double* work) const {
    backend::DeviceError error;
    int32_t known = 0;
    backend::raise(device_->table.work(device_->engine,
                                       static_cast<double>(essential::direct_count(settings)), work, n_,
                                       &known, &error),
                   error);
    return known != 0;
}

} // namespace graft::engine
