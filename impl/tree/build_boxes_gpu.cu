// SPDX-License-Identifier: BSD-3-Clause
// Tight boxes of all nodes on the device, without a loop over levels.
//
// Leaves from their particles, a thread each, a warp where a key has more than a leaf holds; 32 leaves in a row
// make a chunk, 32 chunks the next level's, three levels in all, the last block to arrive doing the next level. An
// inner node is a row of leaves: its box is that of the leaves up to the next chunk, of chunks, of chunks of chunks,
// and the same down again, a warp a node. Smallest and largest values are exact in any order, but for the sign of a
// zero, which is the first particle's, as on the host. Bytes: 24 a particle, 48 a leaf, about 60 boxes of 48 an inner
// node (L2).
#include "tree/build_steps_gpu.cuh"
#include "tree/tree_rows_gpu.cuh"

#include <algorithm>

namespace graft::tree {

using backend::DeviceStatus;
using geometry::Box;

namespace {

constexpr int chunk = device::chunk_leaves, threads = 128, lanes = 8;

struct Bound {
    int32_t dimension, leaf, capacity;
    const double *x, *y, *z;
    const int32_t *leaf_start, *leaf_node;
    const device::InnerNode* inner;
    Box *leaf_boxes, *inner_boxes;
    Box* chunks[3];
    int32_t* arrived[2]; // chunks of a level that are done, a counter for each of the next
    const int32_t* tickets;
    const DeviceTreeCounts* counts;
    Box* boxes;
    DeviceStatus* status;
};

/// Lane 0 of each `width` lanes gets the box of them all, of equal values the first lane's.
template <int width>
__device__ Box reduce_lanes(Box box) {
#pragma unroll
    for (int distance = 1; distance < width; distance *= 2) {
        Box other;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            other.lower[a] = __shfl_down_sync(~0u, box.lower[a], distance, width);
            other.upper[a] = __shfl_down_sync(~0u, box.upper[a], distance, width);
        }
        box.include(other);
    }
    return box;
}

/// Particles of one place in one key are a leaf of any size; at several places they need keys of their own.
__device__ void check_depth(const Bound& b, int32_t count, const Box& box) {
    if (count > b.leaf && box.longest_edge() >= device::smallest_edge) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&b.status->rekey), 1ull);
        backend::stop_with(b.status, backend::deep_cell);
    }
}

/// The box of leaf k from its particles, wherever they are; not of a long one.
__device__ Box bound_leaf(const Bound& b, int32_t k, const double* x, const double* y, const double* z) {
    const int32_t begin = b.leaf_start[k], end = b.leaf_start[k + 1];
    Box box;
    if (end - begin > b.leaf)
        return box;
#pragma unroll 4
    for (int32_t i = begin; i < end; ++i)
        box.include(x[i], y[i], z[i]);
    b.leaf_boxes[k] = box;
    return box;
}

/// Of particles that have one key (a warp): their place, or soon a box of several, where there are several.
__device__ Box bound_key(const Bound& b, int32_t begin, int32_t end) {
    Box box;
    box.include(b.x[begin], b.y[begin], b.z[begin]);
    for (int64_t i = begin; i < end && !__any_sync(~0u, box.longest_edge() >= device::smallest_edge); i += 4 * 32)
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int64_t k = min(i + 32 * r + threadIdx.x % 32, int64_t{end} - 1);
            box.include(b.x[k], b.y[k], b.z[k]);
        }
    box = reduce_lanes<32>(box);
    for (int a = 0; a < 3; ++a) {
        box.lower[a] = __shfl_sync(~0u, box.lower[a], 0);
        box.upper[a] = __shfl_sync(~0u, box.upper[a], 0);
    }
    return box;
}

/// The boxes of the warp's long leaves, those that a key has more particles than a leaf: a lane has leaf k, if
/// `there`. All of them may be in one.
__device__ void bound_long_leaves(const Bound& b, bool there, int32_t k, Box& box) {
    const int32_t begin = there ? b.leaf_start[k] : 0, end = there ? b.leaf_start[k + 1] : 0;
    for (unsigned left = __ballot_sync(~0u, end - begin > b.leaf); left != 0; left &= left - 1) {
        const int of = __ffs(static_cast<int>(left)) - 1;
        const Box all = bound_key(b, __shfl_sync(~0u, begin, of), __shfl_sync(~0u, end, of));
        if (static_cast<int>(threadIdx.x % 32) != of)
            continue;
        box = b.leaf_boxes[k] = all;
        check_depth(b, end - begin, all);
    }
}

/// A warp makes chunk `at` of 32 boxes, one a lane, and if it is the last of 32 warps, the chunk of theirs.
__device__ void raise_chunk(const Bound& b, Box box, int32_t at, int32_t leaves) {
    int32_t chunks = (leaves + chunk - 1) / chunk;
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
    for (int level = 0; level < 3; ++level) {
        box = reduce_lanes<32>(box);
        if (lane == 0)
            b.chunks[level][at] = box;
        if (level == 2)
            return;
        const int32_t next = at / chunk, first = next * chunk;
        const int32_t expected = chunks - first < chunk ? chunks - first : chunk;
        int32_t before = 0;
        if (lane == 0) {
            __threadfence();
            before = atomicAdd(b.arrived[level] + next, 1);
        }
        if (__shfl_sync(~0u, before, 0) != expected - 1)
            return;
        __syncwarp();
        __threadfence();
        if (lane == 0)
            b.arrived[level][next] = 0; // for the next build
        box = lane < expected ? b.chunks[level][first + lane] : Box{};
        at = next;
        chunks = (chunks + chunk - 1) / chunk;
    }
}

/// Are there leaves, and room for what belongs to them?
__device__ bool all_listed(const Bound& b) {
    return b.tickets[device::listed] != 0 && b.counts->leaves <= b.capacity;
}

__global__ void __launch_bounds__(threads) bound_leaves(const Bound b) {
    if (!all_listed(b))
        return;
    const int32_t leaves = b.counts->leaves, k = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    const int32_t at = k / chunk;
    if (at * chunk >= leaves)
        return;
    Box box = k < leaves ? bound_leaf(b, k, b.x, b.y, b.z) : Box{};
    bound_long_leaves(b, k < leaves, k, box);
    raise_chunk(b, box, at, leaves);
}

/// The same where leaves are short: the warp, which is the block, reads its 32 leaves first.
__global__ void __launch_bounds__(32) bound_leaves_in_rows(const Bound b) {
    __shared__ device::LeafRows<3> rows;
    if (!all_listed(b))
        return;
    const int32_t leaves = b.counts->leaves, k = static_cast<int32_t>(blockIdx.x * 32 + threadIdx.x);
    const auto at = static_cast<int32_t>(blockIdx.x);
    if (at * chunk >= leaves)
        return;
    const bool there = k < leaves;
    const int32_t begin = there ? b.leaf_start[k] : 0, count = there ? b.leaf_start[k + 1] - begin : 0;
    const int32_t row = rows.read_run({b.x, b.y, b.z}, begin, count);
    Box box;
    if (there && row >= 0)
        box = bound_leaf(b, k, rows.column(0, row, begin), rows.column(1, row, begin),
                         rows.column(2, row, begin));
    else if (there)
        box = bound_leaf(b, k, b.x, b.y, b.z);
    bound_long_leaves(b, there, k, box);
    raise_chunk(b, box, at, leaves);
}

/// Boxes of a level below the inner nodes: of leaves, or of chunks.
__device__ const Box& box_below(const Bound& b, int level, int32_t k) {
    return level == 0 ? b.leaf_boxes[k] : b.chunks[level - 1][k];
}

/// Box of row [begin, end) of a level: each lane has that of its part, in order; all in order in lane 0.
template <bool ordered>
__device__ Box bound_row(const Bound& b, int level, int32_t begin, int32_t end) {
    const int32_t part = (end - begin + 31) / 32;
    const int32_t from = begin + part * (static_cast<int32_t>(threadIdx.x) % 32);
    Box box;
    for (int32_t k = from; k < from + part && k < end; ++k)
        box.include(box_below(b, level, k));
    return ordered ? reduce_lanes<32>(box) : box;
}

/// Box of the leaves [begin, end), in lane 0: rows up to whole chunks, and from there on the other side.
/// Ordered: zeros have the sign of the first.
template <bool ordered>
__device__ Box bound_leaf_range(const Bound& b, int32_t begin, int32_t end) {
    Box left, right;
    for (int level = 0;; ++level) {
        const int32_t whole_begin = (begin + chunk - 1) / chunk, whole_end = end / chunk;
        if (level == 3 || whole_begin >= whole_end) {
            left.include(bound_row<ordered>(b, level, begin, end));
            break;
        }
        left.include(bound_row<ordered>(b, level, begin, whole_begin * chunk));
        Box last = bound_row<ordered>(b, level, whole_end * chunk, end);
        last.include(right);
        right = last;
        begin = whole_begin;
        end = whole_end;
    }
    left.include(right);
    return ordered ? left : reduce_lanes<32>(left);
}

__device__ bool has_zero(const Bound& b, const Box& box) {
    bool found = false;
    for (int a = 0; a < b.dimension; ++a)
        found = found || box.lower[a] == 0 || box.upper[a] == 0;
    return found;
}

/// A node of few leaves, by 8 lanes, a run of leaves each; the first lane gets the box.
__device__ Box bound_few(const Bound& b, const device::InnerNode& node) {
    const int32_t part = (node.end - node.first + lanes - 1) / lanes;
    const int32_t from = node.first + part * (static_cast<int32_t>(threadIdx.x) % lanes);
    Box box;
    for (int32_t k = from; k < from + part && k < node.end; ++k)
        box.include(b.leaf_boxes[k]);
    return reduce_lanes<lanes>(box);
}

/// A node of many leaves, by a warp.
__device__ void bound_many(const Bound& b, int32_t slot) {
    const device::InnerNode node = b.inner[slot];
    Box box = bound_leaf_range<false>(b, node.first, node.end);
    if (__any_sync(~0u, threadIdx.x % 32 == 0 && has_zero(b, box)))
        box = bound_leaf_range<true>(b, node.first, node.end);
    if (threadIdx.x % 32 == 0)
        b.inner_boxes[slot] = box;
}

__global__ void __launch_bounds__(256) bound_inner(const Bound b) {
    if (!all_listed(b))
        return;
    constexpr int few = 4 * lanes;
    const int32_t inner = b.tickets[device::inner_total];
    const int32_t stride = static_cast<int32_t>(gridDim.x * blockDim.x) / lanes;
    const int32_t warp = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int32_t group = static_cast<int32_t>(threadIdx.x) % 32 / lanes;
    for (int32_t k = warp * (32 / lanes); k < inner; k += stride) {
        const device::InnerNode node = k + group < inner ? b.inner[k + group] : device::InnerNode{0, 0, 0, 0};
        const bool many = node.end - node.first > few;
        const Box box = bound_few(b, many ? device::InnerNode{0, 0, 0, 0} : node);
        if (!many && node.end > node.first && threadIdx.x % lanes == 0)
            b.inner_boxes[k + group] = box;
        for (uint32_t left = __ballot_sync(~0u, many && threadIdx.x % lanes == 0); left != 0;
             left &= left - 1)
            bound_many(b, k + (__ffs(static_cast<int>(left)) - 1) / lanes);
    }
}

/// Boxes to the places of their nodes, a number each.
__global__ void __launch_bounds__(256) copy_boxes(const Bound b) {
    if (b.tickets[device::nodes_ready] == 0)
        return;
    constexpr int numbers = sizeof(Box) / sizeof(double);
    const int64_t leaves = b.counts->leaves, i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const int64_t box = i / numbers;
    const int part = static_cast<int>(i % numbers);
    if (box >= leaves + b.tickets[device::inner_total])
        return;
    const bool leaf = box < leaves;
    const int32_t node = leaf ? b.leaf_node[box] : b.inner[box - leaves].node;
    const Box* from = leaf ? b.leaf_boxes + box : b.inner_boxes + (box - leaves);
    reinterpret_cast<double*>(b.boxes + node)[part] = reinterpret_cast<const double*>(from)[part];
}

int64_t leaf_capacity(const DeviceTree& tree) {
    return std::min<int64_t>(tree.node_capacity(), tree.n);
}

Bound make_bound(DeviceTreeBuilder::Work& work, backend::Queue& queue, DeviceTree& tree) {
    const auto above = [](int64_t count) { return (count + chunk - 1) / chunk; };
    const int64_t first = above(leaf_capacity(tree)), second = above(first);
    int32_t* arrived = work.tickets.data() + device::ticket_chunks;
    return {tree.options.dimension,
            tree.options.leaf,
            tree.node_capacity(),
            tree.x.data(),
            tree.y.data(),
            tree.z.data(),
            work.index.data(),
            work.leaves.node.data(),
            work.inner.data(),
            work.boxes.leaves.data(),
            work.boxes.inner.data(),
            {work.boxes.chunks.data(), work.boxes.chunks.data() + first,
             work.boxes.chunks.data() + first + second},
            {arrived, arrived + second},
            work.tickets.data(),
            tree.counts.data(),
            tree.boxes.data(),
            queue.status()};
}

} // namespace

void DeviceTreeBuilder::Work::bound_leaves_beside(backend::Queue& queue, DeviceTree& tree) {
    beside.follow(queue.stream());
    const Bound b = make_bound(*this, queue, tree);
    const int64_t leaves = leaf_capacity(tree);
    if (b.leaf <= device::most_in_row)
        bound_leaves_in_rows<<<backend::blocks_for(leaves, 32), 32, 0, beside>>>(b);
    else
        bound_leaves<<<backend::blocks_for(leaves, threads), threads, 0, beside>>>(b);
    GRAFT_CUDA_LAUNCHED("bound_leaves");
    ++queue.launches;
}

void DeviceTreeBuilder::Work::bound_inner_beside(backend::Queue& queue, DeviceTree& tree) {
    beside.follow(queue.stream());
    const unsigned blocks = std::min(backend::blocks_for(leaf_capacity(tree), 32),
                                     static_cast<unsigned>(8 * queue.multiprocessors()));
    bound_inner<<<blocks, 256, 0, beside>>>(make_bound(*this, queue, tree));
    GRAFT_CUDA_LAUNCHED("bound_inner");
    ++queue.launches;
}

void DeviceTreeBuilder::Work::place_boxes(backend::Queue& queue, DeviceTree& tree) {
    copy_boxes<<<backend::blocks_for(6 * int64_t{tree.node_capacity()}, 256), 256, 0, queue.stream()>>>(
        make_bound(*this, queue, tree));
    GRAFT_CUDA_LAUNCHED("copy_boxes");
    ++queue.launches;
}

} // namespace graft::tree
