// SPDX-License-Identifier: BSD-3-Clause
// What a run and a round begin with: the check of options, the box of all points, the root cell, the tiles of
// the roots, samples.
//
// Floor: the box reads all coordinates once; samples cost three sectors each.
#include "decompose/orb/gpu/orb_steps_gpu.cuh"

#include <cub/block/block_scan.cuh>

namespace graft::decompose {

namespace {

constexpr int threads = 256;

/// box[axis], box[3 + axis]: largest ~image and largest image; zero before. A value that is no number stops;
/// the first one's ~(index + 2^60 axis) goes to box[6].
template <typename T>
__global__ void find_box(OrbView<T> view, int64_t n, uint64_t* box) {
    for (int axis = 0; axis < view.dimension; ++axis) {
        T least = INFINITY, most = -INFINITY;
        bool finite = true;
        const T* values = view.from.c[axis];
        const int64_t stride = int64_t{gridDim.x} * threads;
        const int64_t start = int64_t{blockIdx.x} * threads + threadIdx.x;
        const auto take = [&](T v) {
            least = v < least ? v : least, most = v > most ? v : most;
            finite = finite && v - v == T(0);
        };
        int64_t i = start;
        for (; i + 7 * stride < n; i += 8 * stride) {
            T v[8];
#pragma unroll
            for (int k = 0; k < 8; ++k)
                v[k] = __ldcs(values + i + k * stride);
#pragma unroll
            for (int k = 0; k < 8; ++k)
                take(v[k]);
        }
        for (; i < n; i += stride)
            take(values[i]);
        if (!finite) { // rare: the first bad one of this thread
            for (i = start; i < n && values[i] - values[i] == T(0);)
                i += stride;
            atomicMax(reinterpret_cast<unsigned long long*>(box + 6),
                      ~(static_cast<unsigned long long>(i) | static_cast<unsigned long long>(axis) << 60));
            backend::stop_with(view.status, backend::bad_value);
        }
        unsigned long long low = least <= most ? ~image_of(least) : 0,
                           high = least <= most ? image_of(most) : 0;
        for (int offset = 16; offset > 0; offset /= 2) {
            low = max(low, __shfl_xor_sync(~0u, low, offset));
            high = max(high, __shfl_xor_sync(~0u, high, offset));
        }
        if (threadIdx.x % 32 == 0 && high != 0) {
            atomicMax(reinterpret_cast<unsigned long long*>(box + axis), low);
            atomicMax(reinterpret_cast<unsigned long long*>(box + 3 + axis), high);
        }
    }
}

template <typename T>
__global__ void open_root(OrbView<T> view, int64_t n, const uint64_t* box, const unsigned long long* weight) {
    OrbNode& node = view.node[1];
    node = {};
    for (int axis = 0; axis < view.dimension && n > 0; ++axis) {
        node.cell.lower[axis] = static_cast<double>(value_of<T>(~box[axis])) + 0.0;
        node.cell.upper[axis] = static_cast<double>(value_of<T>(box[3 + axis])) + 0.0;
    }
    node.cell.tie = lowest_id;
    node.cell.axis = -1;
    node.cell.parts = view.parts;
    node.count = n;
    node.weight = weight == nullptr ? static_cast<Wide>(n)
                                    : static_cast<Wide>(weight[0]) + (static_cast<Wide>(weight[1]) << 32);
    if (view.parts > 1) {
        node.goal =
            CutGoal(n, node.weight, view.parts, static_cast<int32_t>(leaves_left(view.parts)), view.cap);
        node.axis = cut_axis(node.cell, view.dimension);
        node.stage = n > 0 ? SearchStage::images : SearchStage::idle;
    }
}

/// One block: first tile of every root, by a scan.
template <typename T>
__global__ void first_tiles(OrbView<T> view, int32_t* first) {
    using Scan = cub::BlockScan<int32_t, 1024>;
    __shared__ typename Scan::TempStorage scratch;
    const int32_t roots = view.tiles.roots;
    int32_t before = 0;
    for (int32_t begin = 0; begin < roots; begin += 1024) {
        const int32_t r = begin + static_cast<int32_t>(threadIdx.x);
        int32_t tiles = 0, at = 0, all = 0;
        if (r < roots)
            tiles = static_cast<int32_t>((view.node[view.tiles.first_cell + r].count + tile_points - 1) /
                                         tile_points);
        Scan(scratch).ExclusiveSum(tiles, at, all);
        if (r < roots)
            first[r] = before + at;
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        first[roots] = before;
}

template <typename T>
__global__ void fill_tiles(OrbView<T> view, uint32_t* table) {
    const int32_t* first = view.tiles.first;
    const int64_t tile = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (tile >= first[view.tiles.roots])
        return;
    int32_t low = 0, high = view.tiles.roots; // the last root with first <= tile; empty ones share theirs
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        (first[middle] <= tile ? low : high) = middle;
    }
    table[tile] = static_cast<uint32_t>(low);
}

__device__ uint32_t hash(uint32_t a, uint32_t b) {
    uint32_t h = a * 2654435761u ^ (b + 0x9e3779b9u) * 2246822519u;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u;
    return h ^ h >> 16;
}

/// Sample i of a root: a point of the i-th of equal stretches of its run, by chance.
template <typename T>
__global__ void take_samples(OrbView<T> view) {
    const OrbSamples& samples = view.samples;
    const int64_t slot = int64_t{blockIdx.x} * threads + threadIdx.x;
    const int64_t r = slot / samples.per_root, i = slot % samples.per_root;
    if (r >= view.tiles.roots || backend::stopped(view.status))
        return;
    const OrbNode& node = view.node[view.tiles.first_cell + r];
    samples.cell[slot] = i < node.count ? 0 : no_cell;
    if (i >= node.count)
        return;
    int64_t place = node.begin + i;
    if (node.count > samples.per_root) {
        const int64_t begin = i * node.count / samples.per_root,
                      end = (i + 1) * node.count / samples.per_root;
        place = node.begin + begin + hash(static_cast<uint32_t>(slot), view.tiles.first_cell) % (end - begin);
    }
    for (int axis = 0; axis < view.dimension; ++axis)
        static_cast<T*>(samples.c[axis])[slot] = view.from.c[axis][place];
    samples.index[slot] = view.from.index_of(place);
    if (samples.weight != nullptr)
        samples.weight[slot] =
            static_cast<uint32_t>(min(view.from.weight[place] >> 30, uint64_t{0xffffffff}));
}

} // namespace

void orb_check_options(const DeviceOrbPoints& points, const DeviceOrbOptions& o) {
    constexpr int64_t most_parts = int64_t{1} << 18;
    using core::fail;
    using core::Status;
    if (points.n < 0 || points.n > int64_t{0x7fffffff})
        fail(Status::argument, "ORB on the device: %lld points; expected 0 ... 2147483647",
             static_cast<long long>(points.n));
    if (o.parts < 1 || o.parts > most_parts)
        fail(Status::argument, "ORB on the device: parts is %d; expected 1 ... %lld; more on the CPU",
             o.parts, static_cast<long long>(most_parts));
    if (o.dimension != 2 && o.dimension != 3)
        fail(Status::argument, "ORB on the device: dimension is %d; expected 2 or 3", o.dimension);
    if (points.n > 0 &&
        (points.x == nullptr || points.y == nullptr || (o.dimension == 3 && points.z == nullptr)))
        fail(Status::argument, "ORB on the device: a coordinate array is NULL; expected %lld values each",
             static_cast<long long>(points.n));
    if (!(o.mix >= 0 && o.mix <= 1) || o.cap < 0 || (o.cap > 0 && (points.n + o.parts - 1) / o.parts > o.cap))
        fail(Status::argument,
             "ORB on the device: mix %g, cap %lld; expected mix in 0 ... 1 and a cap that holds %lld points "
             "in %d "
             "parts",
             o.mix, static_cast<long long>(o.cap), static_cast<long long>(points.n), o.parts);
    if (o.levels_per_round < 1 || o.levels_per_round > most_levels || o.samples_per_cell < 64 ||
        o.samples_per_cell > 12288 || !(o.bracket_sigmas > 0))
        fail(Status::argument,
             "ORB on the device: levels_per_round %d, samples_per_cell %d; expected 1 ... 4 and 64 ... 12288",
             o.levels_per_round, o.samples_per_cell);
}

template <typename T>
void orb_bounds(backend::Queue& queue, const OrbView<T>& view, int64_t n, uint64_t* box) {
    GRAFT_CUDA(cudaMemsetAsync(box, 0, 8 * sizeof(uint64_t), queue.stream()));
    const auto blocks = static_cast<unsigned>(
        std::min<int64_t>(backend::blocks_for(n, 8 * threads), 8 * int64_t{queue.multiprocessors()}));
    find_box<T><<<blocks, threads, 0, queue.stream()>>>(view, n, box);
    GRAFT_CUDA_LAUNCHED("find_box");
    ++queue.launches;
}

template <typename T>
void orb_open_root(backend::Queue& queue, const OrbView<T>& view, int64_t n, const uint64_t* box,
                   const unsigned long long* weight) {
    open_root<T><<<1, 1, 0, queue.stream()>>>(view, n, box, weight);
    GRAFT_CUDA_LAUNCHED("open_root");
    ++queue.launches;
}

template <typename T>
void orb_make_tiles(backend::Queue& queue, const OrbView<T>& view) {
    first_tiles<T><<<1, 1024, 0, queue.stream()>>>(view, const_cast<int32_t*>(view.tiles.first));
    GRAFT_CUDA_LAUNCHED("first_tiles");
    fill_tiles<T><<<backend::blocks_for(view.tiles.most, threads), threads, 0, queue.stream()>>>(
        view, const_cast<uint32_t*>(view.tiles.table));
    GRAFT_CUDA_LAUNCHED("fill_tiles");
    GRAFT_CUDA(cudaMemsetAsync(view.tiles.histogram, 0,
                               static_cast<size_t>(view.tiles.most << view.tiles.levels) * 4,
                               queue.stream()));
    queue.launches += 2;
}

template <typename T>
void orb_take_samples(backend::Queue& queue, const OrbView<T>& view) {
    const int64_t slots = view.samples.per_root * view.tiles.roots;
    take_samples<T><<<backend::blocks_for(slots, threads), threads, 0, queue.stream()>>>(view);
    GRAFT_CUDA_LAUNCHED("take_samples");
    ++queue.launches;
}

#define GRAFT_ORB_BEGIN(T)                                                                                   \
    template void orb_bounds<T>(backend::Queue&, const OrbView<T>&, int64_t, uint64_t*);                     \
    template void orb_open_root<T>(backend::Queue&, const OrbView<T>&, int64_t, const uint64_t*,             \
                                   const unsigned long long*);                                               \
    template void orb_make_tiles<T>(backend::Queue&, const OrbView<T>&);                                     \
    template void orb_take_samples<T>(backend::Queue&, const OrbView<T>&);
GRAFT_ORB_BEGIN(float)
GRAFT_ORB_BEGIN(double)
#undef GRAFT_ORB_BEGIN

} // namespace graft::decompose
