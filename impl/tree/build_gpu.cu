// SPDX-License-Identifier: BSD-3-Clause
// The builder of device trees: checks, room, and the steps in their order. See tree_gpu.cuh.
#include "tree/build_steps_gpu.cuh"

#include "core/error.hpp"
#include "tree/tree_checks.hpp"

#include <algorithm>
#include <iterator>

namespace graft::tree {

using core::fail;
using core::Status;

namespace {

/// A tree without particles.
__global__ void empty_tree(TreeOptions options, DeviceTreeCounts* counts, int32_t* level_offset) {
    for (int a = 0; a < 3; ++a)
        counts->root_lower[a] = options.has_root ? options.root_lower[a] : 0;
    counts->root_edge = options.has_root ? options.root_edge : 0;
    counts->nodes = counts->leaves = counts->levels = counts->pad = 0;
    level_offset[0] = 0;
}

void check(const TwoPhase& how) {
    if (how.top_depth < 1 || how.top_depth > 9)
        fail(Status::argument, "study.top_depth: expected 1 to 9 levels, found %d", how.top_depth);
    for (const int threads : {how.top_threads, how.subtree_threads})
        if (std::count(std::begin(TwoPhase::block_sizes), std::end(TwoPhase::block_sizes), threads) == 0)
            fail(Status::argument,
                 "tree: a block of the two phases has 32, 64, 128, 256, 512, 640 or 1024 threads, found %d",
                 threads);
}

void check(const TreeOptions& options, int64_t n) {
    if (options.type != TreeType::octree)
        fail(Status::unsupported, "tree.type: the device builds octrees only; build orb trees on the host");
    check_options(options, n);
    check_count_gpu(n);
}

/// Nodes that most distributions need; others say how many by nodes_needed.
int64_t likely_nodes(int64_t n, int leaf) {
    return std::min<int64_t>(2 * n, 6 * (n / leaf) + 4096) + 1;
}

} // namespace

void DeviceTreeBuilder::Work::resize(backend::Queue& queue, int64_t n, int64_t capacity) {
    keys.resize(n + 1);
    index.resize(n + 1);
    packed.resize(n <= device::packed_limit ? n : 0);
    resize_nodes(queue, n, capacity);
}

void DeviceTreeBuilder::Work::resize_nodes(backend::Queue& queue, int64_t n, int64_t capacity) {
    flags.resize((n + 31) / 32);
    frame.resize(1);
    for (auto* buffer : {&leaves.mark, &leaves.cover, &leaves.base, &leaves.first, &leaves.end,
                         &leaves.node_of_slot, &leaves.node, &leaves.inner_slot})
        buffer->resize(capacity + 2);
    inner.resize(capacity);
    boxes.leaves.resize(capacity);
    boxes.inner.resize(capacity);
    const int64_t chunk_count = capacity / device::chunk_leaves + 1;
    boxes.chunks.resize(chunk_count + chunk_count / 16 + 8);
    const int64_t wanted = device::ticket_chunks + chunk_count / 16 + 8;
    if (wanted > tickets.capacity()) {
        tickets.resize(wanted);
        GRAFT_CUDA(cudaMemsetAsync(
            tickets.data(), 0, static_cast<size_t>(tickets.capacity()) * sizeof(int32_t), queue.stream()));
    }
}

DeviceTreeBuilder::DeviceTreeBuilder(backend::DeviceMemory& memory) : work_(new Work(memory)) {}

DeviceTreeBuilder::~DeviceTreeBuilder() {
    delete work_;
}

void DeviceTreeBuilder::build(backend::Queue& queue, const TreeOptions& options,
                              const DeviceParticleView& view, DeviceTree& tree, DeviceBuild kind,
                              const TwoPhase& two_phase) {
    check(options, view.n);
    if (kind == DeviceBuild::two_phase)
        check(two_phase);
    DeviceParticleView particles = view;
    if (options.dimension == 2)
        particles.z = nullptr;
    tree.options = options;
    if (tree.node_capacity() == 0)
        tree.resize_nodes(likely_nodes(view.n, options.leaf));
    tree.resize_particles(view.n, view.charge != nullptr, view.softening != nullptr);
    tree.keys.resize(view.n);
    if (view.n == 0) {
        empty_tree<<<1, 1, 0, queue.stream()>>>(options, tree.counts.data(), tree.level_offset.data());
        GRAFT_CUDA_LAUNCHED("empty_tree");
        ++queue.launches;
        return;
    }
    work_->resize(queue, view.n, tree.node_capacity());
    work_->sort(queue, particles, tree);
    work_->gather_beside(queue, particles, tree);
    if (kind == DeviceBuild::levels)
        return work_->make_nodes_by_levels(queue, tree);
    if (kind == DeviceBuild::two_phase)
        return work_->make_nodes_in_two_phases(queue, tree, two_phase);
    work_->make_tree(queue, tree);
}

} // namespace graft::tree
