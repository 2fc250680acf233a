// SPDX-License-Identifier: BSD-3-Clause
// liu2022's 2-D kernels, see liu_2d_gpu.cuh.
#include "study/papers/liu_2d_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <algorithm>

namespace graft::study {

namespace {

struct ChunkRange {
    int64_t group, first; // first: in the source array
    int count;            // 0: no such chunk
};

/// Chunks of each group of the batch; entries behind the last group are 0.
__global__ void count_chunks(const PaperView v, int64_t capacity, int block_x, int32_t* of_nodes,
                             int32_t* of_leaves) {
    const int64_t g = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (g > capacity || backend::stopped(v.status))
        return;
    const bool there = g < paper_batch(v).count;
    const auto chunks = [&](const int64_t* offset) {
        return there ? static_cast<int32_t>((offset[g + 1] - offset[g] + block_x - 1) / block_x) : 0;
    };
    of_nodes[g] = chunks(v.node_offset);
    of_leaves[g] = chunks(v.leaf_offset);
}

__device__ ChunkRange listed_chunk(const PaperView& v, const PaperChunks& chunks, int64_t c, int block_x) {
    const PaperBatch batch = paper_batch(v);
    if (c >= chunks.chunk_begin[batch.count])
        return {0, 0, 0};
    int64_t low = 0, high = batch.count; // chunk_begin[low] <= c < chunk_begin[high]
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        (chunks.chunk_begin[middle] <= c ? low : high) = middle;
    }
    const int64_t first = chunks.offset[low] + (c - chunks.chunk_begin[low]) * block_x;
    return {batch.begin + low, first,
            static_cast<int>(min(chunks.offset[low + 1] - first, int64_t{block_x}))};
}

__device__ ChunkRange find_chunk(const PaperView& v, const PaperChunks& chunks, int64_t c, int block_x) {
    if (chunks.target == nullptr)
        return listed_chunk(v, chunks, c, block_x);
    if (c >= chunks.count)
        return {0, 0, 0};
    return {chunks.target[c], c * block_x, block_x};
}

/// What a block has in shared memory: BY targets, BX sources, BX BY sums. A row of sums is one longer than
/// BX, against bank conflicts.
struct Tile2d {
    float4* target;
    int32_t* source;
    float4* sum;
    __device__ Tile2d(float4* shared, int block_x, int block_y)
        : target(shared), source(reinterpret_cast<int32_t*>(shared + block_y + block_y * (block_x + 1))),
          sum(shared + block_y) {}
};

template <bool leaves, int order, bool with_potential>
__device__ __forceinline__ float4 meet(const PaperView& v, int32_t source, const float4& target, float soft) {
    float4 sum = make_float4(0, 0, 0, 0);
    if (source < 0)
        return sum;
    if constexpr (leaves) {
        const tree::Node& leaf = v.nodes[source];
        add_paper_particles<with_potential>(v.sources + leaf.first, leaf.count, target.x, target.y, target.z,
                                            soft, sum);
    } else {
        const PaperCell cell = v.cells[source];
        add_paper_cell<order, with_potential>(cell, target.x, target.y, target.z, soft, sum);
    }
    return sum;
}

template <bool leaves, int order, bool with_potential>
__global__ void tiles_2d(const PaperView v, const PaperChunks chunks) {
    extern __shared__ float4 shared[];
    if (backend::stopped(v.status))
        return;
    const int x = threadIdx.x, y = threadIdx.y, width = blockDim.x;
    const Tile2d tile(shared, width, blockDim.y);
    const ChunkRange chunk = find_chunk(v, chunks, blockIdx.x, width); // the same in all threads
    if (chunk.count == 0)
        return;
    const int64_t first = v.groups[chunk.group].first, count = v.groups[chunk.group].count;
    const float soft = forces::common_soft<float>(v.plummer, v.length, v.frame->scale);
    if (y == 0)
        tile.source[x] = x < chunk.count ? chunks.source[chunk.first + x] : -1;
    for (int64_t base = 0; base < count; base += blockDim.y) {
        const bool there = base + y < count;
        if (x == 0 && there)
            tile.target[y] = v.targets[first + base + y];
        __syncthreads();
        float4* row = tile.sum + y * (width + 1);
        if (there)
            row[x] = meet<leaves, order, with_potential>(v, tile.source[x], tile.target[y], soft);
        __syncthreads();
        if (x == 0 && there) {
            float4 sum = row[0];
            for (int k = 1; k < width; ++k)
                sum.x += row[k].x, sum.y += row[k].y, sum.z += row[k].z, sum.w += row[k].w;
            add_atomically<with_potential>(v.sums + first + base + y, sum);
        }
    }
}

} // namespace

void launch_tiles_2d(cudaStream_t stream, bool leaves, int block_x, int block_y, int order, bool potential,
                     const PaperView& view, const PaperChunks& chunks, int64_t blocks) {
    if (blocks == 0)
        return;
    const size_t bytes = sizeof(float4) * static_cast<size_t>(block_y * (block_x + 2)) +
                         sizeof(int32_t) * static_cast<size_t>(block_x);
    with_paper_order(order, [&]<int fixed>() {
        const auto kernel = leaves
                                ? (potential ? tiles_2d<true, 0, true> : tiles_2d<true, 0, false>)
                                : (potential ? tiles_2d<false, fixed, true> : tiles_2d<false, fixed, false>);
        kernel<<<static_cast<unsigned>(blocks),
                 dim3(static_cast<unsigned>(block_x), static_cast<unsigned>(block_y)), bytes, stream>>>(
            view, chunks);
    });
    GRAFT_CUDA_LAUNCHED("tiles_2d");
}

void evaluate_tiles_2d(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                       const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                       const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                       forces::DeviceField& field) {
    check_paper_variant("liu2022's 2-D kernel", how, false);
    const auto [block_x, block_y] = paper_block(how);
    if (targets.n == 0)
        return;
    const PaperView view = prepare_paper(work, queue, how, tree, moments, targets, lists);
    const int64_t groups = std::max<int64_t>(targets.groups.size(), 1);
    work.integers.resize(2 * (groups + 1));
    int32_t *of_nodes = work.integers.data(), *of_leaves = of_nodes + groups + 1;
    count_chunks<<<backend::blocks_for(groups + 1, 256), 256, 0, queue.stream()>>>(view, groups, block_x,
                                                                                   of_nodes, of_leaves);
    GRAFT_CUDA_LAUNCHED("count_chunks");
    backend::exclusive_sum(queue, of_nodes, of_nodes, groups + 1);
    backend::exclusive_sum(queue, of_leaves, of_leaves, groups + 1);
    const auto most = [&](int64_t entries) { return entries / block_x + groups; };
    launch_tiles_2d(queue.stream(), true, block_x, block_y, how.order, how.pairs.potential, view,
                    {nullptr, view.leaf_list, 0, of_leaves, view.leaf_offset}, most(lists.leaves.size()));
    launch_tiles_2d(queue.stream(), false, block_x, block_y, how.order, how.pairs.potential, view,
                    {nullptr, view.node_list, 0, of_nodes, view.node_offset}, most(lists.nodes.size()));
    queue.launches += 3;
    count_paper(queue, view, groups);
    finish_paper(queue, view, how.add, how.pairs.potential, targets.n, field);
}

} // namespace graft::study
