// SPDX-License-Identifier: BSD-3-Clause
// Root cube, Morton keys, sort and gather on the device; as bounding_box, sort_by_key and gather on the host.
//
// Bytes a particle: 24 (box) + 32 + 44 (keys) + sort (about 24 a pass of 8 bits, 8 passes) + 36 + 32
// (gather). The keys kernel leaves position and charge as one record of 32 bytes, so that the gather reads
// one sector a particle instead of four (beyond packed_limit particles memory matters more). The gather runs
// beside the making of the nodes, which read keys only, on a stream of its own. The box kernel's last block
// makes the root cube and the frame of the keys, so that the host need not know them.
#include "tree/build_keys_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "backend/primitives_gpu.cuh"

#include <algorithm>
#include <limits>

namespace graft::tree {

using backend::DeviceStatus;
using geometry::Box;
using geometry::KeyFrame;

namespace {

constexpr int box_threads = 512;

__device__ void include(Box& box, const DeviceParticleView& p, int64_t i) {
    box.include(p.x[i], p.y[i], p.z != nullptr ? p.z[i] : 0.0);
}

__device__ Box other_lane(const Box& box, int distance) {
    Box other;
    for (int a = 0; a < 3; ++a) {
        other.lower[a] = __shfl_down_sync(~0u, box.lower[a], distance);
        other.upper[a] = __shfl_down_sync(~0u, box.upper[a], distance);
    }
    return other;
}

/// Thread 0 gets the box of all threads' boxes.
__device__ Box reduce_block(Box box) {
    __shared__ Box warps[box_threads / 32];
    for (int distance = 16; distance > 0; distance /= 2)
        box.include(other_lane(box, distance));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = box;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < box_threads / 32; ++w)
            box.include(warps[w]);
    return box;
}

/// Root cube as the host makes it, and the frame of its keys. Spans whose squares overflow, and particles
/// outside a given cube, are found here; who they are, by the keys kernel.
__device__ void make_root(const TreeOptions& options, const Box& box, DeviceTreeCounts& counts,
                          KeyFrame* frame, int32_t* tickets, DeviceStatus* status) {
    bool inside = true;
    counts.pad = 0;
    for (int a = 0; a < 3; ++a)
        counts.root_lower[a] = options.has_root ? options.root_lower[a] : box.lower[a];
    counts.root_edge = options.has_root ? options.root_edge : box.longest_edge();
    for (int a = 0; a < options.dimension && options.has_root && !options.root_of_most; ++a)
        inside = inside && box.lower[a] >= counts.root_lower[a] &&
                 box.upper[a] - counts.root_lower[a] <= counts.root_edge;
    *frame = KeyFrame(counts.root_lower, geometry::larger(counts.root_edge, device::smallest_edge),
                      options.dimension);
    tickets[device::outside_root] = !inside;
    if (!(box.longest_edge() <= 1e150)) {
        status->first_bad = -1;
        status->bad_array = bad_span;
        backend::stop_with(status, backend::bad_value);
    } else if (!inside) {
        status->first_bad = std::numeric_limits<int64_t>::max();
        status->bad_array = bad_root;
    }
}

__global__ void __launch_bounds__(box_threads)
    find_root(DeviceParticleView particles, TreeOptions options, Box* partial, int32_t* tickets,
              DeviceTreeCounts* counts, KeyFrame* frame, DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    Box box;
    const int64_t stride = int64_t{gridDim.x} * box_threads;
#pragma unroll 4
    for (int64_t i = int64_t{blockIdx.x} * box_threads + threadIdx.x; i < particles.n; i += stride)
        include(box, particles, i);
    box = reduce_block(box);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = box;
        __threadfence();
        const auto counter = reinterpret_cast<unsigned*>(tickets + device::ticket_box);
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1; // wraps to zero for the next build
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    Box all;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += box_threads)
        all.include(partial[b]);
    all = reduce_block(all);
    if (threadIdx.x == 0)
        make_root(options, all, *counts, frame, tickets, status);
}

using device::load;
using Packed = device::PackedParticle;

__global__ void make_keys(DeviceParticleView particles, int dimension, const KeyFrame* frame,
                          const int32_t* tickets, const DeviceTreeCounts* counts, uint64_t* keys,
                          int32_t* index, Packed* packed, DeviceStatus* status) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= particles.n)
        return;
    if (tickets[device::outside_root] == 0 && backend::stopped(status)) {
        keys[i] = 0, index[i] = 0; // the sort that follows reads them all the same
        return;
    }
    const Packed p = load(particles, i);
    keys[i] = frame->key(p.x, p.y, p.z);
    index[i] = static_cast<int32_t>(i);
    if (packed != nullptr)
        packed[i] = p;
    if (tickets[device::outside_root] != 0)
        device::refuse_outside(p, i, dimension, *counts, status);
}

constexpr int gather_threads = 128, gather_items = 4;

/// x and y of a particle, or z and charge.
__device__ double2 load_half(const DeviceParticleView& from, const Packed* packed, int64_t k, int half) {
    if (packed != nullptr)
        return reinterpret_cast<const double2*>(packed)[2 * k + half];
    const Packed p = load(from, k);
    return half == 0 ? double2{p.x, p.y} : double2{p.z, p.charge};
}

/// Two lanes a particle, so that a warp asks for whole sectors; several particles a lane, all on their way at
/// once.
__global__ void __launch_bounds__(gather_threads)
    gather(DeviceParticleView from, const Packed* packed, const int32_t* order, device::Sorted to,
           const DeviceStatus* status) {
    constexpr int stride = gather_threads / 2;
    const int64_t begin = int64_t{blockIdx.x} * (stride * gather_items) + threadIdx.x / 2;
    const int half = static_cast<int>(threadIdx.x) % 2;
    if (begin >= from.n || backend::stopped(status))
        return;
    double2 p[gather_items];
#pragma unroll
    for (int r = 0; r < gather_items; ++r)
        if (begin + r * stride < from.n)
            p[r] = load_half(from, packed, order[begin + r * stride], half);
#pragma unroll
    for (int r = 0; r < gather_items; ++r) {
        const int64_t i = begin + r * stride;
        if (i >= from.n)
            break;
        (half == 0 ? to.x : to.z)[i] = p[r].x;
        if (half == 0 || from.charge != nullptr)
            (half == 0 ? to.y : to.charge)[i] = p[r].y;
        if (half == 0 && from.softening != nullptr)
            to.softening[i] = from.softening[order[i]];
    }
}

} // namespace

namespace {

/// Keys and numbers of the particles.
void key_particles(DeviceTreeBuilder::Work& work, backend::Queue& queue, const DeviceParticleView& particles,
                   DeviceTree& tree, uint64_t* keys, int32_t* index, Packed* packed) {
    const int64_t n = particles.n;
    make_keys<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(
        particles, tree.options.dimension, work.frame.data(), work.tickets.data(), tree.counts.data(), keys,
        index, packed, queue.status());
    GRAFT_CUDA_LAUNCHED("make_keys");
    ++queue.launches;
}

int key_bits(const DeviceTree& tree) {
    return tree.options.dimension * geometry::key_levels(tree.options.dimension);
}

} // namespace

void DeviceTreeBuilder::Work::make_root(backend::Queue& queue, const DeviceParticleView& particles,
                                        DeviceTree& tree) {
    const int64_t n = particles.n;
    const unsigned box_blocks =
        std::min(backend::blocks_for(n, box_threads * 4), static_cast<unsigned>(2 * queue.multiprocessors()));
    partial.resize(2 * queue.multiprocessors());
    find_root<<<box_blocks, box_threads, 0, queue.stream()>>>(particles, tree.options, partial.data(),
                                                              tickets.data(), tree.counts.data(),
                                                              frame.data(), queue.status());
    GRAFT_CUDA_LAUNCHED("find_root");
    ++queue.launches;
}

void DeviceTreeBuilder::Work::sort(backend::Queue& queue, const DeviceParticleView& particles,
                                   DeviceTree& tree) {
    make_root(queue, particles, tree);
    sorted_keys = tree.keys.data(), leaf_keys = keys.data();
    gathered = fits_in_buckets(particles.n);
    if (gathered)
        return sort_in_buckets(queue, particles, tree);
    key_particles(*this, queue, particles, tree, keys.data(), index.data(),
                  packed.empty() ? nullptr : packed.data());
    backend::sort_pairs(queue, keys.data(), tree.keys.data(), index.data(), tree.order.data(), particles.n, 0,
                        key_bits(tree));
}

void DeviceTreeBuilder::Work::sort_within(backend::Queue& queue, const DeviceParticleView& particles,
                                          uint64_t* keys_first, uint64_t* keys_second, DeviceTree& tree) {
    make_root(queue, particles, tree);
    key_particles(*this, queue, particles, tree, keys_first, tree.order.data(), nullptr);
    const bool in_second = backend::sort_pairs_within(
        queue, {keys_first, keys_second}, {tree.order.data(), index.data()}, particles.n, 0, key_bits(tree));
    if (in_second)
        tree.order.swap(index);
    sorted_keys = in_second ? keys_second : keys_first;
    leaf_keys = in_second ? keys_first : keys_second;
}

void DeviceTreeBuilder::Work::gather_beside(backend::Queue& queue, const DeviceParticleView& particles,
                                            DeviceTree& tree) {
    beside.follow(queue.stream());
    if (gathered)
        return;
    gather<<<backend::blocks_for(2 * particles.n, gather_threads * gather_items), gather_threads, 0,
             beside>>>(particles, packed.empty() ? nullptr : packed.data(), tree.order.data(),
                       device::Sorted(tree), queue.status());
    GRAFT_CUDA_LAUNCHED("gather");
    ++queue.launches;
}

} // namespace graft::tree
