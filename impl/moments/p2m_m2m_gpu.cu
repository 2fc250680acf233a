// SPDX-License-Identifier: BSD-3-Clause
// compute_moments and fill_expansion on the device: room, working memory, choice of the order.
#include "core/error.hpp"
#include "moments/p2m_m2m_gpu.cuh"
#include "moments/node_expansion.hpp"

#include <algorithm>

namespace graft::moments {

namespace device {

extern template void compute_order<0>(backend::Queue&, const MomentsInput&, int64_t);
extern template void compute_order<1>(backend::Queue&, const MomentsInput&, int64_t);
extern template void compute_order<2>(backend::Queue&, const MomentsInput&, int64_t);
extern template void compute_order<3>(backend::Queue&, const MomentsInput&, int64_t);
extern template void compute_order<4>(backend::Queue&, const MomentsInput&, int64_t);

} // namespace device

namespace {

/// Numbers of children, and of those that are done, all zero.
int32_t* clear_pending(backend::Queue& queue, int64_t capacity, DeviceMoments& m) {
    m.pending.resize(2 * capacity);
    GRAFT_CUDA(cudaMemsetAsync(m.pending.data(), 0, static_cast<size_t>(2 * capacity) * sizeof(int32_t),
                               queue.stream()));
    return m.pending.data();
}

device::MomentsInput make_problem(backend::Queue& queue, const tree::DeviceTree& tree, DeviceMoments& m) {
    const int64_t capacity = tree.node_capacity();
    int32_t* pending = clear_pending(queue, capacity, m);
    return {{tree.nodes.data(), tree.boxes.data(), tree.x.data(), tree.y.data(), tree.z.data(),
             tree.charge.data(), tree.softening.empty() ? nullptr : tree.softening.data()},
            {m.cx.data(), m.cy.data(), m.cz.data(), m.magnitude.data(), m.radius.data(), m.spread.data(),
             m.rho.data(), m.softening.data(), m.softening_square.data(), m.values.data()},
            pending,
            pending + capacity,
            tree.counts.data(),
            queue.status(),
            tree.options.leaf};
}

constexpr int block_nodes = 64, fill_threads = 128;

/// Records of `block_nodes` nodes, through shared memory so that both sides are read and written in one
/// piece.
template <typename T>
__global__ void __launch_bounds__(fill_threads)
    fill_records(const tree::DeviceTreeCounts* counts, const double* values, int order, bool softened,
                 int size, T* out, const backend::DeviceStatus* status) {
    extern __shared__ double shared[];
    if (backend::stopped(status)) // the counts may be unwritten
        return;
    const int terms = term_count(order), thread = static_cast<int>(threadIdx.x);
    const int64_t begin = int64_t{blockIdx.x} * block_nodes, left = counts->nodes - begin;
    if (left <= 0)
        return;
    const int nodes = left < block_nodes ? static_cast<int>(left) : block_nodes;
    T* records = reinterpret_cast<T*>(shared + block_nodes * terms);
    for (int i = thread; i < nodes * terms; i += fill_threads)
        shared[i] = values[begin * terms + i];
    __syncthreads();
    if (thread < nodes)
        fill_node(shared + thread * terms, order, softened, size, records + thread * size);
    __syncthreads();
    for (int i = thread; i < nodes * size; i += fill_threads)
        out[begin * size + i] = records[i];
}

template <typename T>
void fill(backend::Queue& queue, const tree::DeviceTree& tree, bool softened, const DeviceMoments& m,
          backend::DeviceBuffer<T>& out) {
    const int size = record_size(m.order, softened);
    out.resize(int64_t{tree.node_capacity()} * size);
    if (tree.node_capacity() == 0)
        return;
    const size_t bytes = block_nodes * (sizeof(double) * static_cast<size_t>(term_count(m.order)) +
                                        sizeof(T) * static_cast<size_t>(size));
    fill_records<<<backend::blocks_for(tree.node_capacity(), block_nodes), fill_threads, bytes,
                   queue.stream()>>>(tree.counts.data(), m.values.data(), m.order, softened, size, out.data(),
                                     queue.status());
    GRAFT_CUDA_LAUNCHED("fill_records");
    ++queue.launches;
}

} // namespace

void compute_moments(backend::Queue& queue, const tree::DeviceTree& tree, int order, DeviceMoments& m) {
    if (order < 0 || order > cartesian_order)
        core::fail(core::Status::argument, "order is %d; expected 0 to 4", order);
    if (tree.charge.size() != tree.n)
        core::fail(core::Status::argument, "moments: the tree has no charges");
    const int64_t capacity = tree.node_capacity();
    m.order = order;
    for (auto* buffer : {&m.cx, &m.cy, &m.cz, &m.magnitude, &m.radius, &m.spread, &m.rho})
        buffer->resize(capacity);
    m.softening.resize(tree.softening.empty() ? 0 : capacity);
    m.softening_square.resize(m.softening.size());
    m.values.resize(capacity * term_count(order));
    if (capacity == 0 || tree.n == 0)
        return;
    constexpr void (*compute[])(backend::Queue&, const device::MomentsInput&, int64_t) = {
        device::compute_order<0>, device::compute_order<1>, device::compute_order<2>,
        device::compute_order<3>, device::compute_order<4>};
    compute[order](queue, make_problem(queue, tree, m), std::min<int64_t>(capacity, 2 * tree.n));
}

void fill_expansion(backend::Queue& queue, const tree::DeviceTree& tree, bool softened, bool in_double,
                    DeviceMoments& m) {
    if (in_double) {
        m.single.resize(0);
        fill(queue, tree, softened, m, m.full);
    } else {
        m.full.resize(0);
        fill(queue, tree, softened, m, m.single);
    }
}

} // namespace graft::moments
