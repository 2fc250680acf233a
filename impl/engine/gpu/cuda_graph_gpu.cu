// SPDX-License-Identifier: BSD-3-Clause
// See cuda_graph_gpu.cuh.
#include "engine/gpu/cuda_graph_gpu.cuh"

#include "engine/gpu/job_key_gpu.cuh"

namespace graft::engine {

namespace {

/// Above this the launches hide behind the kernels (docs/lab/gpu/engine.md).
constexpr int64_t most_particles = 200000;
constexpr int most_batches = 8; // a graph of more has too many nodes

bool on_device(const ParticleInput& input, int dimension) {
    bool all = !input.charge.present() || input.charge.on_device();
    for (int a = 0; a < dimension; ++a)
        all = all && input.position[a].on_device();
    return all && (!input.softening.present() || input.softening.on_device()) && !input.has_active &&
           (!input.has_target || input.target.on_device());
}

bool may_replay(const Steps& s) {
    const DeviceJob& job = s.c.job;
    const settings::Settings& settings = job.settings;
    const int wanted = settings.device.graph;
    if (wanted == 0 || s.c.in_place() || job.feeds() || job.empty() || s.capacity.batches() > most_batches ||
        (wanted < 0 && job.n > most_particles))
        return false;
    if (job.is_tree() && settings.tree_type == tree::TreeType::orb)
        return false;
    return on_device(job.particles, settings.dimension) &&
           (!job.with_points || on_device(job.points, settings.dimension));
}

} // namespace

std::vector<uint64_t> graph_key(const Steps& s) {
    if (!may_replay(s))
        return {};
    const DeviceJob& job = s.c.job;
    JobKey key;
    key.add_settings(job.settings);
    key.add_input(job.particles).add(job.with_points);
    if (job.with_points)
        key.add_input(job.points);
    for (const particles::ArrayView& axis : job.outputs.acceleration)
        key.add_view(axis);
    key.add_view(job.outputs.potential).add_view(job.outputs.virial).add_view(job.outputs.energy);
    key.add(job.outputs.force);
    key.add(s.c.memory.allocations()).add(s.capacity.batches()).add(s.sums.last.n);
    const LatticeNeed& planned = s.lattice.planned(); // the launches hang on the splitting
    for (const double need : {planned.longest, planned.lower, planned.upper})
        key.add(job.settings.periodic ? need : 0.0);
    const bool kept = s.c.tree_from == TreeFrom::kept;
    key.add(kept).add(kept ? s.kept.status().levels : int64_t{0});
    return std::move(key).words();
}

void Graph::remember(const Steps& s) {
    const bool equal_ones_may_follow = s.c.tree_from != TreeFrom::host && !s.lattice.stale();
    last_key_ = equal_ones_may_follow ? graph_key(s) : std::vector<uint64_t>{};
    if (replayed_ && key_ != last_key_)
        drop(); // a repair has enlarged something
}

void Graph::drop() noexcept {
    if (executable_ != nullptr)
        (void)cudaGraphExecDestroy(executable_);
    executable_ = nullptr;
}

/// On the queue's own stream: others' work must not be captured.
void Graph::begin_capture(Computation& c) {
    c.queue.borrow(nullptr);
    GRAFT_CUDA(cudaStreamBeginCapture(c.queue.stream(), cudaStreamCaptureModeRelaxed));
    c.clock.capture(true);
}

bool Graph::end_capture(Computation& c, bool enqueued) {
    c.clock.capture(false);
    cudaGraph_t captured = nullptr;
    bool good = cudaStreamEndCapture(c.queue.stream(), &captured) == cudaSuccess && enqueued;
    good = good && cudaGraphInstantiate(&executable_, captured, cudaGraphInstantiateFlagUseNodePriority) == cudaSuccess;
    if (captured != nullptr)
        (void)cudaGraphDestroy(captured);
    if (!good) {
        (void)cudaGetLastError();
        executable_ = nullptr;
        refused_ = true; // this driver, or a step that cannot be captured: go on without
    }
    return good;
}

} // namespace graft::engine
