// The criterion of every node on the device: one thread a node, the host's bodies (node_criterion.hpp).
//
// Floor: node 32 B, box 48, edge 8, centre and radius 32 read, 48 (64) written: about 170 B a node.
#include "lists/device_lists.cuh"
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
    int32_t capacity;
    const backend::DeviceStatus* status;
};

__global__ void fill_nodes(CriterionInput in, DeviceMacCentre* centres, DeviceMacLink* links) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(in.status) || i >= min(in.counts->nodes, in.capacity))
        return;
    const tree::Node node = in.nodes[i];
    const NodeFacts facts{in.boxes[i], in.edges[i],  in.cx[i],   in.cy[i],
                          in.cz[i],    in.radius[i], node.count, node.child_count};
    const bool terminal = is_terminal(in.options, node.child_count, node.count);
    const double a = in.reach != nullptr ? in.reach[i] : 0.0;
    centres[i] = {facts.cx, facts.cy, facts.cz, a};
    links[i] = {mac_radius(in.options, in.skin, facts), terminal ? 0 : node.first_child,
                terminal ? 0 : node.child_count, in.softening != nullptr ? in.softening[i] : 0.0, 0.0};
}

} // namespace

void fill_criterion(backend::Queue& queue, const tree::DeviceTree& tree,
                    const moments::DeviceMoments& moments, const CriterionOptions& options,
                    const double* reach, DeviceCriterion& criterion) {
    if (!(options.theta >= 0))
        core::fail(core::Status::argument, "tree.theta: expected an opening angle >= 0, found %g",
                   options.theta);
    const int32_t capacity = tree.node_capacity();
    criterion.options = options;
    criterion.root = 0;
    criterion.levels = 0;
    criterion.per_node_softening = !moments.softening.empty();
    criterion.centres.resize(capacity);
    criterion.links.resize(capacity);
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
                            criterion.per_node_softening ? moments.softening.data() : nullptr,
                            options,
                            criterion.skin,
                            capacity,
                            queue.status()};
    fill_nodes<<<backend::blocks_for(capacity, 256), 256, 0, queue.stream()>>>(in, criterion.centres.data(),
                                                                               criterion.links.data());
    GRAFT_CUDA_LAUNCHED("criterion");
    ++queue.launches;
}

} // namespace graft::lists
