// SPDX-License-Identifier: BSD-3-Clause
// The criterion of every node on the device: one thread a node, the host's bodies (node_criterion.hpp).
//
// Floor: node 32 B, box 48, edge 8, centre and radius 32 read, 48 written: about 170 B a node.
#include "lists/lists_gpu.cuh"
#include "lists/node_criterion.hpp"

namespace graft::lists {

namespace {

struct CriterionInput {
    const tree::DeviceTreeCounts* counts;
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double* edges;
    const double *cx, *cy, *cz, *radius;
    const double* reach;     // or null
    const double* softening; // or null
    CriterionOptions options;
    double skin;
    bool beyond_cells; // particles may stand outside the cells of their keys
    int32_t capacity;
    const backend::DeviceStatus* status;
};

struct CriterionOutput {
    DeviceMacXY* xy;
    DeviceMacZA* za;
    DeviceMacLink* links;
    double* softening;
};

__global__ void fill_nodes(CriterionInput in, CriterionOutput out) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(in.status) || i >= min(in.counts->nodes, in.capacity))
        return;
    const tree::Node node = in.nodes[i];
    const double edge = in.beyond_cells ? geometry::larger(in.edges[i], in.boxes[i].longest_edge()) : in.edges[i];
    const NodeFacts facts{in.boxes[i], edge,         in.cx[i],   in.cy[i],
                          in.cz[i],    in.radius[i], node.count, node.child_count};
    const bool terminal = is_terminal(in.options, node.child_count, node.count);
    const double a = in.reach != nullptr ? in.reach[i] : 0.0;
    out.xy[i] = {facts.cx, facts.cy};
    out.za[i] = {facts.cz, a};
    out.links[i] = {mac_radius(in.options, in.skin, facts),
                    terminal ? 0 : pack_link(node.first_child, node.child_count), 0};
    if (in.softening != nullptr)
        out.softening[i] = in.softening[i];
}

} // namespace

void fill_criterion(backend::Queue& queue, const tree::DeviceTree& tree,
                    const moments::DeviceMoments& moments, const CriterionOptions& options,
                    const double* reach, DeviceCriterion& criterion) {
    check_angle(options);
    const int32_t capacity = tree.node_capacity();
    criterion.options = options;
    criterion.root = 0;
    criterion.levels = 0;
    criterion.resize_nodes(capacity, !moments.softening.empty());
    if (capacity == 0)
        return;
    const CriterionInput in{tree.counts.data(),
                            tree.nodes.data(),
                            tree.boxes.data(),
                            tree.edges.data(),
                            moments.cx.data(),
                            moments.cy.data(),
                            moments.cz.data(),
                            moments.radius.data(),
                            options.mac == Mac::error ? reach : nullptr,
                            moments.softening.empty() ? nullptr : moments.softening.data(),
                            options,
                            criterion.skin,
                            tree.options.root_of_most,
                            capacity,
                            queue.status()};
    fill_nodes<<<backend::blocks_for(capacity, 256), 256, 0, queue.stream()>>>(
        in, {criterion.xy.data() + mac_shift, criterion.za.data() + mac_shift,
             criterion.links.data() + mac_shift, criterion.softening.data()});
    GRAFT_CUDA_LAUNCHED("criterion");
    ++queue.launches;
}

} // namespace graft::lists
