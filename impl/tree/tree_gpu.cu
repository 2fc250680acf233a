// SPDX-License-Identifier: BSD-3-Clause
// Room for trees on the device, and their way to the host and back. See tree_gpu.cuh.
#include "tree/tree_gpu.cuh"

#include "core/error.hpp"
#include "geometry/morton.hpp"

#include <algorithm>

namespace graft::tree {

namespace {

template <typename T>
void to_device(backend::Queue& queue, const core::Buffer<T>& from, backend::DeviceBuffer<T>& to) {
    if (!from.empty())
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(from.size()) * sizeof(T),
                                   cudaMemcpyHostToDevice, queue.stream()));
}

template <typename T>
void to_host(backend::Queue& queue, const backend::DeviceBuffer<T>& from, int64_t count,
             core::Buffer<T>& to) {
    to.resize(count);
    if (count > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(count) * sizeof(T),
                                   cudaMemcpyDeviceToHost, queue.stream()));
}

DeviceTreeCounts count(const Tree& host) {
    DeviceTreeCounts counts{};
    counts.nodes = host.node_count();
    counts.levels = host.levels();
    for (const Node& node : host.nodes)
        counts.leaves += node.child_count == 0;
    std::copy_n(host.root_lower, 3, counts.root_lower);
    counts.root_edge = host.root_edge;
    return counts;
}

/// The cells of a forest's roots: the largest ones inside the range of keys.
void find_root_cells(Tree& tree) {
    tree.root_keys.clear(), tree.root_levels.clear(), tree.root_parents.clear();
    const int dimension = tree.options.dimension, levels = geometry::key_levels(dimension);
    for (int32_t root = 0; tree.options.has_range && root < tree.root_count(); ++root) {
        const uint64_t key = tree.keys[tree.nodes[root].first];
        int level = levels;
        while (level > 0 &&
               geometry::cell_within(key, level - 1, dimension, tree.options.key_begin, tree.options.key_end))
            --level;
        tree.root_keys.push_back(geometry::cell_begin(key, level, dimension));
        tree.root_levels.push_back(level);
    }
}

} // namespace

/// nodes, whose size is the capacity, come last: without memory for all there is room for none.
void DeviceTree::resize_nodes(int64_t capacity) {
    nodes.resize(0);
    counts.resize(1);
    boxes.resize(capacity), edges.resize(capacity);
    level_offset.resize(max_device_levels + 1);
    nodes.resize(capacity);
}

void DeviceTree::resize_particles(int64_t count, bool with_charge, bool with_softening) {
    n = count;
    order.resize(count), x.resize(count), y.resize(count), z.resize(count);
    charge.resize(with_charge ? count : 0);
    softening.resize(with_softening ? count : 0);
}

void DeviceTree::upload(backend::Queue& queue, const Tree& host) {
    if (host.levels() > max_device_levels)
        core::fail(core::Status::unsupported, "tree: %d levels, the device has room for %d", host.levels(),
                   max_device_levels);
    options = host.options;
    if (host.node_count() > node_capacity() || counts.empty())
        resize_nodes(std::max<int64_t>(host.node_count(), node_capacity()));
    resize_particles(host.particle_count(), !host.charge.empty(), !host.softening.empty());
    keys.resize(host.keys.size());
    const DeviceTreeCounts known = count(host);
    GRAFT_CUDA(cudaMemcpyAsync(counts.data(), &known, sizeof known, cudaMemcpyHostToDevice, queue.stream()));
    to_device(queue, host.nodes, nodes), to_device(queue, host.boxes, boxes);
    to_device(queue, host.edges, edges), to_device(queue, host.keys, keys);
    to_device(queue, host.level_offset, level_offset), to_device(queue, host.order, order);
    to_device(queue, host.x, x), to_device(queue, host.y, y), to_device(queue, host.z, z);
    to_device(queue, host.charge, charge), to_device(queue, host.softening, softening);
    queue.wait(); // the host arrays are the caller's again
}

void DeviceTree::download(backend::Queue& queue, Tree& host) const {
    DeviceTreeCounts known{};
    GRAFT_CUDA(cudaMemcpyAsync(&known, counts.data(), sizeof known, cudaMemcpyDeviceToHost, queue.stream()));
    queue.wait();
    host.options = options;
    std::copy_n(known.root_lower, 3, host.root_lower);
    host.root_edge = known.root_edge;
    to_host(queue, nodes, known.nodes, host.nodes), to_host(queue, boxes, known.nodes, host.boxes);
    to_host(queue, edges, known.nodes, host.edges), to_host(queue, keys, keys.size(), host.keys);
    to_host(queue, level_offset, known.levels > 0 ? known.levels + 1 : 0, host.level_offset);
    to_host(queue, order, n, host.order);
    to_host(queue, x, n, host.x), to_host(queue, y, n, host.y), to_host(queue, z, n, host.z);
    to_host(queue, charge, charge.size(), host.charge);
    to_host(queue, softening, softening.size(), host.softening);
    queue.wait();
    find_root_cells(host);
}

} // namespace graft::tree
