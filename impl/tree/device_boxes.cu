// Tight boxes of all nodes on the device, without a loop over levels.
//
// Leaves from their particles, 8 lanes each; 32 leaves in a row make a chunk, 32 chunks the next level's,
// three levels in all, the last block to arrive doing the next level. An inner node is a row of leaves: its
// box is that of the leaves up to the next chunk, of chunks, of chunks of chunks, and the same down again, a
// warp a node. Smallest and largest values are exact in any order, but for the sign of a zero, which is the
// first particle's, as on the host. Bytes: 24 a particle, 48 a leaf, about 60 boxes of 48 an inner node (L2).
#include "tree/device_detail.cuh"

#include <algorithm>

namespace graft::tree {

using backend::DeviceStatus;
using geometry::Box;

namespace {

constexpr int lanes = 8, chunk = device::chunk_leaves, threads = lanes * chunk;

struct Bound {
    int32_t dimension, leaf;
    const double *x, *y, *z;
    const int32_t *leaf_start, *leaf_node;
    const device::InnerNode* inner;
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

/// Zeros take the sign of the first one (a leaf's lanes do not keep the order).
__device__ void sign_zeros(const Bound& b, int32_t first, Box& box) {
    const double* axes[3] = {b.x, b.y, b.z};
    for (int a = 0; a < b.dimension; ++a)
        if (box.lower[a] == 0 || box.upper[a] == 0) {
            int32_t i = first;
            while (axes[a][i] != 0)
                ++i;
            box.lower[a] = box.lower[a] == 0 ? axes[a][i] : box.lower[a];
            box.upper[a] = box.upper[a] == 0 ? axes[a][i] : box.upper[a];
        }
}

/// Particles of one place in one key are a leaf of any size; at several places they need keys of their own.
__device__ void check_depth(const Bound& b, int32_t count, const Box& box) {
    if (count > b.leaf && box.longest_edge() >= device::smallest_edge) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&b.status->rekey), 1ull);
        backend::stop_with(b.status, backend::deep_cell);
    }
}

/// Lane 0 of the leaf's lanes gets its box.
__device__ Box bound_leaf(const Bound& b, int32_t k, int32_t leaves) {
    const int32_t begin = k < leaves ? b.leaf_start[k] : 0, end = k < leaves ? b.leaf_start[k + 1] : 0;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    Box box;
    for (int32_t i = begin + lane; i < end; i += lanes)
        box.include(b.x[i], b.y[i], b.z[i]);
    box = reduce_lanes<lanes>(box);
    if (lane == 0 && begin < end) {
        sign_zeros(b, begin, box);
        b.boxes[b.leaf_node[k]] = box;
        check_depth(b, end - begin, box);
    }
    return box;
}

/// Warp 0 makes the block's box of 32 boxes, one a lane, and if the block is the last of 32, that of theirs.
__device__ void raise_chunk(const Bound& b, Box box, int32_t leaves) {
    int32_t at = static_cast<int32_t>(blockIdx.x), chunks = (leaves + chunk - 1) / chunk;
    for (int level = 0; level < 3; ++level) {
        box = reduce_lanes<32>(box);
        if (threadIdx.x == 0)
            b.chunks[level][at] = box;
        if (level == 2)
            return;
        const int32_t next = at / chunk, first = next * chunk;
        const int32_t expected = chunks - first < chunk ? chunks - first : chunk;
        int32_t before = 0;
        if (threadIdx.x == 0) {
            __threadfence();
            before = atomicAdd(b.arrived[level] + next, 1);
        }
        if (__shfl_sync(~0u, before, 0) != expected - 1)
            return;
        __syncwarp();
        __threadfence();
        if (threadIdx.x == 0)
            b.arrived[level][next] = 0; // for the next build
        box = static_cast<int32_t>(threadIdx.x) < expected ? b.chunks[level][first + threadIdx.x] : Box{};
        at = next;
        chunks = (chunks + chunk - 1) / chunk;
    }
}

__global__ void __launch_bounds__(threads) bound_leaves(const Bound b) {
    __shared__ Box leaf_boxes[chunk];
    const int32_t leaves = b.counts->leaves;
    if (b.tickets[device::nodes_ready] == 0 || static_cast<int64_t>(blockIdx.x) * chunk >= leaves)
        return;
    const int32_t slot = static_cast<int32_t>(threadIdx.x) / lanes;
    const Box box = bound_leaf(b, static_cast<int32_t>(blockIdx.x) * chunk + slot, leaves);
    if (threadIdx.x % lanes == 0)
        leaf_boxes[slot] = box;
    __syncthreads();
    if (threadIdx.x < 32)
        raise_chunk(b, leaf_boxes[threadIdx.x], leaves);
}

/// Boxes of a level below the inner nodes: of leaves, or of chunks.
__device__ const Box& box_below(const Bound& b, int level, int32_t k) {
    return level == 0 ? b.boxes[b.leaf_node[k]] : b.chunks[level - 1][k];
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

__global__ void __launch_bounds__(256) bound_inner(const Bound b) {
    if (backend::stopped(b.status))
        return;
    const int32_t inner = b.tickets[device::inner_total];
    const int32_t stride = static_cast<int32_t>(gridDim.x * (blockDim.x / 32));
    for (int32_t k = static_cast<int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / 32); k < inner;
         k += stride) {
        const device::InnerNode node = b.inner[k];
        Box box = bound_leaf_range<false>(b, node.first, node.end);
        if (__any_sync(~0u, threadIdx.x % 32 == 0 && has_zero(b, box)))
            box = bound_leaf_range<true>(b, node.first, node.end);
        if (threadIdx.x % 32 == 0)
            b.boxes[node.node] = box;
    }
}

} // namespace

void DeviceTreeBuilder::Work::make_boxes(backend::Queue& queue, DeviceTree& tree) {
    const int64_t leaves = std::min<int64_t>(tree.node_capacity(), tree.n);
    const auto above = [](int64_t count) { return (count + chunk - 1) / chunk; };
    const int64_t first = above(leaves), second = above(first);
    int32_t* arrived = tickets.data() + device::ticket_chunks;
    const Bound bound{tree.options.dimension,
                      tree.options.leaf,
                      tree.x.data(),
                      tree.y.data(),
                      tree.z.data(),
                      index.data(),
                      leaf_node.data(),
                      inner.data(),
                      {chunks.data(), chunks.data() + first, chunks.data() + first + second},
                      {arrived, arrived + second},
                      tickets.data(),
                      tree.counts.data(),
                      tree.boxes.data(),
                      queue.status()};
    bound_leaves<<<static_cast<unsigned>(first), threads, 0, queue.stream()>>>(bound);
    GRAFT_CUDA_LAUNCHED("bound_leaves");
    const unsigned blocks =
        std::min(backend::blocks_for(leaves, 8), static_cast<unsigned>(8 * queue.multiprocessors()));
    bound_inner<<<blocks, 256, 0, queue.stream()>>>(bound);
    GRAFT_CUDA_LAUNCHED("bound_inner");
    queue.launches += 2;
}

} // namespace graft::tree
