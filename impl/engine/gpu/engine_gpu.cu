// SPDX-License-Identifier: BSD-3-Clause
// DeviceForce: one call from begin to end. See engine_gpu.cuh.
#include "engine/gpu/engine_gpu.cuh"

#include "backend/context_gpu.cuh"
#include "backend/host_stream_gpu.cuh"
#include "engine/gpu/tight_memory_gpu.cuh"
#include "engine/ranks/ranks_engine_gpu.cuh"

namespace graft::engine {

namespace {

/// The host builds the tree, after the import.
bool waits_for_host_tree(const DeviceJob& job) {
    return job.is_tree() && job.settings.tree_type == tree::TreeType::orb && !job.empty();
}

/// Of a call whose results are to be final in the order of the stream, and that no larger buffer helps.
[[noreturn]] void refuse_without_repair(bool orb) {
    core::fail(core::Status::unsupported,
               "compute_end: %s: what the host or another precision does about it comes after compute_begin, and "
               "results that are final in stream order cannot wait for it; expected no GRAFT_RESULTS_NO_REPAIR, "
               "or tree.type octree, precision fp64, and particles that are not so close",
               orb ? "tree.type is orb"
                   : "particles, lengths or charges are too close, or too far apart, for the computation as it is set");
}

} // namespace

DeviceForce::DeviceForce(const settings::DeviceOptions& options, const backend::GpuAllocator& allocator)
    : s_(options.device, allocator), work_(s_.c.memory, "work of particles") {
    cudaDeviceProp properties;
    GRAFT_CUDA(cudaGetDeviceProperties(&properties, s_.c.memory.device()));
    std::snprintf(device_name_, sizeof device_name_, "%s", properties.name);
}

DeviceForce::~DeviceForce() {
    (void)backend::use_device(s_.c.memory.device());
    if (begun())
        (void)cudaStreamSynchronize(s_.c.queue.stream());
    s_.c.memory.set_stream(nullptr); // the queue's own goes before its buffers
}

void DeviceForce::require_nothing_begun() const {
    if (begun())
        core::fail(core::Status::call_order,
                   "compute_begin: the last computation was begun but not ended; call compute_end first");
}

/// The job is the engine's from now on, its work goes to this stream.
void DeviceForce::start(DeviceJob&& job, void* stream) {
    Computation& c = s_.c;
    c.job = std::move(job);
    c.job.choose_sizes();
    c.memory.set_limit(c.job.settings.device.memory_limit);
    c.use_stream(backend::host_stream(stream));
    c.launches_before = c.queue.launches;
    c.note = "";
    c.root_of_most.edge = 0;
    c.withheld = false;
}

void DeviceForce::begin(const settings::Settings& settings, const ParticleInput& particles, const ParticleInput* points,
                        const Outputs& outputs, void* stream) {
    require_nothing_begun();
    Computation& c = s_.c;
    GRAFT_CUDA(backend::use_device(c.memory.device()));
    c.phase = Phase::idle;
    start(accept(settings, particles, points, outputs), stream);
    try {
        c.tree_from = s_.kept.take(c.job) ? TreeFrom::kept : TreeFrom::build;
        s_.give_columns_back(false);
        if (wants_tree_in_place(c)) {
            c.tree_from = TreeFrom::in_place;
            choose_leaf_in_place(c);
        }
        if (!graph_.replay(s_, [&] { enqueue(); }))
            with_memory([&] { enqueue(); });
        GRAFT_CUDA(cudaEventRecord(c.enqueued, c.queue.stream()));
        c.phase = Phase::begun;
    } catch (...) {
        c.come_to_rest();
        throw;
    }
}

void DeviceForce::begin_over_ranks(const settings::Settings& settings, const ParticleInput& particles,
                                   const ParticleInput* points, const Outputs& outputs, void* stream,
                                   const RankWish& wish, RankFacts& facts) {
    require_nothing_begun();
    s_.c.phase = Phase::idle;
    if (!ranks_)
        ranks_ = std::make_unique<DeviceRanks>(s_, repair_);
    start(job_over_ranks(accept(settings, particles, points, outputs), wish), stream);
    s_.give_columns_back(false);
    s_.c.tree_from = TreeFrom::build;
    s_.kept.forget(); // the lists are of two trees
    graph_.forget_replay();
    ranks_->import_particles(facts);
}

void DeviceForce::stop() noexcept {
    s_.c.come_to_rest();
    s_.c.phase = Phase::idle;
}

/// Does what enqueues a computation; when memory runs out, once more without the room of batches, which takes
/// what is left then.
template <typename Body>
void DeviceForce::with_memory(Body&& body) {
    try {
        body();
    } catch (const core::Error& error) {
        const lists::DeviceLists& lists = s_.lists.lists;
        if (error.status() != core::Status::memory || lists.nodes.capacity() + lists.leaves.capacity() == 0)
            throw;
        GRAFT_CUDA(cudaStreamSynchronize(s_.c.queue.stream()));
        GRAFT_CUDA(cudaStreamSynchronize(s_.c.side));
        s_.capacity.release(s_);
        body();
    }
}

/// The whole computation.
void DeviceForce::enqueue() {
    Computation& c = s_.c;
    s_.give_columns_back(false); // after a first try without memory
    if (c.tree_from == TreeFrom::resumed)
        c.tree_from = TreeFrom::in_place;
    c.clock.forget();
    c.mark(DeviceClock::begin);
    c.queue.clear_status();
    s_.import.import_particles(c);
    if (c.job.settings.periodic && !c.job.empty()) {
        s_.lattice.plan(c);
        s_.import.wrap(c);
    }
    c.mark(DeviceClock::imported);
    if (!c.in_place())
        s_.evaluate.field.resize(c.job.targets, c.job.with_potential);
    s_.sums.hold(c.job);
    if (waits_for_host_tree(c.job))
        c.fetch(); // the rest is done in end()
    else
        enqueue_after_import();
}

void DeviceForce::enqueue_after_import() {
    Computation& c = s_.c;
    if (c.tree_from != TreeFrom::resumed)
        s_.give_columns_back(true);
    c.order = TargetOrder::host;
    s_.output.forget_records();
    if (c.job.empty()) {
        s_.evaluate.clear(c);
        c.clear_totals();
    } else if (!c.job.is_tree()) {
        evaluate_direct(s_);
    } else {
        build();
        if (c.tree_from != TreeFrom::resumed)
            prepare_walk(s_);
        evaluate_tree(s_);
    }
    if (!c.job.empty()) {
        s_.sums.sum(c, s_.target_sources(), s_.evaluate.field);
        if (c.job.settings.periodic && c.job.outputs.virial.present() && !c.job.with_points)
            s_.lattice.sum.put_virial(c.queue, s_.lattice.task(c, s_.import));
    }
    s_.output.look(c, s_.raw(), s_.lists.lists);
    if (!c.job.empty())
        s_.sums.remember(c, s_.evaluate.field, s_.origin()); // not what has been refused
    s_.output.results(c, s_.raw(), s_.lists.lists);
    c.fetch();
}

/// Tree, moments and targets, where the host has not built them and no repeat goes on behind them.
void DeviceForce::build() {
    Computation& c = s_.c;
    switch (c.tree_from) {
    case TreeFrom::build:
        s_.tree.build(c, s_.import);
        break;
    case TreeFrom::in_place:
        build_tree_in_place(s_);
        break;
    case TreeFrom::kept:
        s_.kept.watch(c, s_.import);
        s_.tree.refresh(c, s_.import, s_.kept.status().levels);
        break;
    default:
        return;
    }
    sum_tree(s_);
}

void DeviceForce::require_begun(const char* call) const {
    if (!begun())
        core::fail(core::Status::call_order, "%s: no computation was begun; expected compute_begin before it",
                   call);
}

bool DeviceForce::ended() const {
    require_begun("compute_poll");
    const cudaError_t state = cudaEventQuery(s_.c.enqueued);
    if (state != cudaErrorNotReady)
        GRAFT_CUDA(state);
    return state == cudaSuccess;
}

cudaEvent_t DeviceForce::event() const {
    require_begun("compute_event");
    return s_.c.enqueued;
}

bool DeviceForce::end(bool may_repeat, DeviceReport& report) {
    require_begun("compute_end");
    Computation& c = s_.c;
    GRAFT_CUDA(backend::use_device(c.memory.device()));
    c.phase = Phase::idle;
    try {
        finish(may_repeat);
        if (c.withheld) {
            s_.kept.forget();
            c.use_stream(nullptr);
            return false;
        }
        s_.lattice.follow_particles(c);
        s_.kept.account(c, s_.capacity.batches());
        s_.output.write(c);
    } catch (...) {
        c.come_to_rest();
        throw;
    }
    c.use_stream(nullptr);
    s_.sums.last.n = c.job.remembers() && !c.job.empty() ? c.job.n : -1;
    c.phase = Phase::done;
    s_.capacity.tighten(s_);
    graph_.remember(s_);
    report_on(report);
    return true;
}

/// Waits; repairs and repeats what stopped, without results where it may not repeat: the same call has the
/// room then.
void DeviceForce::finish(bool may_repeat) {
    Computation& c = s_.c;
    bool deferred = waits_for_host_tree(c.job);
    for (int repeat = 0;; ++repeat) {
        c.clock.wait();
        ++c.waits;
        const backend::DeviceStatus status = c.queue.fetched_status();
        if (status.stop == backend::bad_value)
            repair_.raise_bad_value(s_, status);
        // Double may have what single precision has not.
        const bool last_word = c.job.settings.precision == settings::Precision::fp64 || !may_repeat;
        if (status.stop == particles::bad_result && last_word)
            s_.output.raise_bad_result(c);
        if (status.stop == backend::go && !deferred)
            return take_status(status);
        const bool moved = status.stop == lists::moved; // too far for kept lists
        if (moved) {
            s_.kept.forget();
            c.tree_from = TreeFrom::build, ++c.repeats;
        }
        check_repeats(repeat, "computation");
        if (!may_repeat && status.stop != backend::too_small && !moved)
            refuse_without_repair(deferred);
        if (!may_repeat)
            c.withhold();
        choose_resume(s_, status);
        bool repaired = false;
        with_memory([&] {
            if (!repaired && !moved)
                deferred ? repair_.build_on_host(s_) : repair_.repair(s_, status);
            repaired = true;
            c.queue.clear_status();
            enqueue_after_import();
        });
        deferred = false;
    }
}

/// What a computation says that has succeeded; of tree and groups another one may have said it.
void DeviceForce::take_status(const backend::DeviceStatus& status) {
    Computation& c = s_.c;
    c.status = status;
    if (c.tree_from == TreeFrom::resumed) {
        c.status.nodes_needed = c.resumed.nodes_needed, c.status.leaves = c.resumed.leaves;
        c.status.levels = c.resumed.levels, c.status.groups_needed = c.resumed.groups_needed;
    }
    if (c.tree_from == TreeFrom::host) {
        const TreeCounts& known = s_.tree.known;
        c.status.nodes_needed = known.nodes, c.status.groups_needed = known.groups;
        c.status.leaves = known.leaves, c.status.levels = known.levels;
    }
}

} // namespace graft::engine
