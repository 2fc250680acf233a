// SPDX-License-Identifier: BSD-3-Clause
// Criterion, targets and lists between host and device: for tests, and for trees that only the host builds.
#include "lists/lists_gpu.cuh"

#include <algorithm>
#include <vector>

namespace graft::lists {

namespace {

template <typename T>
void copy_in(backend::Queue& queue, const T* from, int64_t count, backend::DeviceBuffer<T>& to) {
    if (count > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from, static_cast<size_t>(count) * sizeof(T),
                                   cudaMemcpyHostToDevice, queue.stream()));
}

template <typename T>
void copy_out(backend::Queue& queue, const backend::DeviceBuffer<T>& from, int64_t count,
              core::Buffer<T>& to) {
    to.resize(count);
    if (count > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(count) * sizeof(T),
                                   cudaMemcpyDeviceToHost, queue.stream()));
}

/// Fills and copies; NULL leaves the buffer empty.
template <typename T>
void replace(backend::Queue& queue, const T* from, int64_t count, backend::DeviceBuffer<T>& to) {
    to.resize(from != nullptr ? count : 0);
    copy_in(queue, from, to.size(), to);
}

} // namespace

void DeviceCriterion::upload(backend::Queue& queue, const Criterion& host, int64_t node_capacity) {
    options.compact_softening = host.compact_softening;
    options.softening_length = host.softening_length;
    root = host.root;
    levels = host.levels;
    const int64_t n = host.node_count;
    resize_nodes(std::max(node_capacity, n), !host.softening.empty());
    std::vector<DeviceMacXY> host_xy(static_cast<size_t>(n + mac_shift));
    std::vector<DeviceMacZA> host_za(host_xy.size());
    std::vector<DeviceMacLink> host_links(host_xy.size());
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i + mac_shift);
        const Link& link = host.links[i];
        host_xy[at] = {host.cx[i], host.cy[i]};
        host_za[at] = {host.cz[i], host.a[i]};
        host_links[at] = {host.b[i], link.child_count > 0 ? pack_link(link.first_child, link.child_count) : 0,
                          0};
    }
    copy_in(queue, host_xy.data(), n + mac_shift, xy);
    copy_in(queue, host_za.data(), n + mac_shift, za);
    copy_in(queue, host_links.data(), n + mac_shift, links);
    copy_in(queue, host.softening.data(), host.softening.size(), softening);
    queue.wait();
}

void DeviceCriterion::resize_nodes(int64_t capacity, bool with_softening) {
    if (capacity > most_linked_nodes)
        core::fail(
            core::Status::unsupported,
            "interaction lists on the device: a tree of up to %lld nodes, expected at most %lld; use more "
            "devices, or a larger tree.leaf",
            static_cast<long long>(capacity), static_cast<long long>(most_linked_nodes));
    xy.resize(capacity + mac_shift), za.resize(capacity + mac_shift), links.resize(capacity + mac_shift);
    softening.resize(with_softening ? capacity : 0);
}

void DeviceTargets::upload(backend::Queue& queue, const TargetSet& host) {
    n = host.count();
    const auto count = static_cast<int32_t>(host.group_count());
    replace(queue, host.groups().data(), count, groups);
    group_count.resize(1);
    copy_in(queue, &count, 1, group_count);
    replace(queue, host.x(), n, own_x);
    replace(queue, host.y(), n, own_y);
    replace(queue, host.z(), n, own_z);
    replace(queue, host.softening(), n, own_softening);
    replace(queue, host.origin(), n, own_origin);
    replace(queue, host.tree_place(), n, own_place);
    x = own_x.data(), y = own_y.data(), z = own_z.data();
    softening = own_softening.empty() ? nullptr : own_softening.data();
    origin = own_origin.data();
    queue.wait();
}

void DeviceLists::upload(backend::Queue& queue, const InteractionLists& host) {
    batch = 0, batches = 1, shared = {};
    replace(queue, host.node_offset.data(), host.node_offset.size(), node_offset);
    replace(queue, host.leaf_offset.data(), host.leaf_offset.size(), leaf_offset);
    replace(queue, host.nodes.data(), host.nodes.size(), nodes);
    replace(queue, host.leaves.data(), host.leaves.size(), leaves);
    queue.wait();
}

void DeviceLists::download(backend::Queue& queue, int64_t groups, InteractionLists& host) const {
    copy_out(queue, node_offset, groups + 1, host.node_offset);
    copy_out(queue, leaf_offset, groups + 1, host.leaf_offset);
    queue.wait();
    copy_out(queue, nodes, host.node_offset[groups], host.nodes);
    copy_out(queue, leaves, host.leaf_offset[groups], host.leaves);
    queue.wait();
}

} // namespace graft::lists
