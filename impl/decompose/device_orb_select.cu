// The exact cut of every cell of a level, selected in the list of its bracket: by digits of the coordinate's
// image, then of the ids where many points share the crossing point's coordinate. Then the cut is made and
// the children opened.
//
// All integers, and the rule is the CPU's (cut_goal.hpp, cell_rule.hpp), so the cells have the CPU's bits.
// The number of passes is fixed by the widths of image and id; those with nothing to do return at once.
#include "decompose/device_orb_cut.cuh"

#include <cub/block/block_scan.cuh>

namespace graft::decompose {

namespace {

constexpr int threads = select_threads;

/// Shift that spreads the window over at most 2^log2_bins bins.
__device__ int shift_of(const OrbNode& node, int log2_bins) {
    const uint64_t width = node.window_high - node.window_low;
    return max(0, 64 - __clzll(static_cast<long long>(width)) - log2_bins);
}
__device__ bool is_searching(const OrbNode& node) {
    return node.stage == SearchStage::images || node.stage == SearchStage::ids;
}

/// After the first pass: where the crossing point is. A bracket that missed it is moved to its side.
template <typename T>
__global__ void check_brackets(OrbGround<T> ground, int32_t first, int32_t end, bool weighted) {
    const int32_t k = first + static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    if (k >= end || backend::stopped(ground.status))
        return;
    OrbNode& node = ground.node[k];
    if (node.stage == SearchStage::idle)
        return;
    const int64_t below = static_cast<int64_t>(node.below.count), listed = static_cast<int64_t>(node.listed);
    const Wide weight = weighted ? node.below.weight() : static_cast<Wide>(below);
    const Wide band = weighted ? node.band.weight() : static_cast<Wide>(listed);
    node.base_count = below, node.base_weight = weight;
    const T low = static_cast<T>(node.low), high = static_cast<T>(node.high);
    node.missed = 0;
    if (below > 0 && node.goal.past(below, weight)) {
        node.missed = -1;
        node.base_count = 0, node.base_weight = 0;
        node.low = -INFINITY;
        node.high = static_cast<double>(value_of<T>(image_of(low) - 1));
    } else if (below + listed < node.count && !node.goal.past(below + listed, weight + band)) {
        node.missed = 1;
        node.base_count = below + listed, node.base_weight = weight + band;
        node.low = static_cast<double>(value_of<T>(image_of(high) + 1));
        node.high = INFINITY;
    }
    if (node.missed != 0) {
        atomicAdd(&ground.misses[0], 1ull);
        atomicAdd(&ground.misses[1], 1ull);
    }
    const T least = static_cast<T>(node.cell.lower[node.axis]),
            most = static_cast<T>(node.cell.upper[node.axis]);
    node.window_low = image_of(fmax(static_cast<T>(node.low), least));
    node.window_high = image_of(fmin(static_cast<T>(node.high), most));
    node.stage = SearchStage::images;
}

/// One digit of every searching cell: `share` blocks a cell, each takes its part of the list.
template <typename T, bool weighted>
__global__ void __launch_bounds__(threads) add_digits(OrbGround<T> ground, int32_t first, unsigned share) {
    const OrbNode& node = ground.node[first + static_cast<int32_t>(blockIdx.x / share)];
    if (!is_searching(node) || backend::stopped(ground.status))
        return;
    extern __shared__ unsigned long long shared[];
    const int bins = 1 << ground.log2_bins, shift = shift_of(node, ground.log2_bins);
    unsigned long long *low = shared, *high = shared + (weighted ? bins : 0);
    uint32_t* count = reinterpret_cast<uint32_t*>(high + (weighted ? bins : 0));
    for (int b = threadIdx.x; b < bins; b += threads) {
        count[b] = 0;
        if (weighted)
            low[b] = high[b] = 0;
    }
    __syncthreads();
    const int64_t listed = static_cast<int64_t>(node.listed);
    const bool by_image = node.stage == SearchStage::images;
    for (int64_t i = int64_t{blockIdx.x % share} * threads + threadIdx.x; i < listed;
         i += int64_t{share} * threads) {
        uint64_t key = image_of(ground.list_value[node.begin + i]);
        if (!by_image) {
            if (key != node.image)
                continue;
            key = id_image(ground, ground.list_place[node.begin + i]);
        }
        if (key < node.window_low || key > node.window_high)
            continue;
        const uint64_t bin = (key - node.window_low) >> shift;
        atomicAdd(&count[bin], 1u);
        if (weighted) {
            const uint64_t w = ground.from.weight[ground.list_place[node.begin + i]];
            atomicAdd(&low[bin], static_cast<unsigned long long>(w & 0xffffffffu));
            atomicAdd(&high[bin], static_cast<unsigned long long>(w >> 32));
        }
    }
    __syncthreads();
    const int64_t at = int64_t{blockIdx.x / share} << ground.log2_bins;
    for (int b = threadIdx.x; b < bins; b += threads)
        if (count[b] != 0) {
            atomicAdd(&ground.bins[at + b], count[b]);
            if (weighted) {
                atomicAdd(&ground.bins_low[at + b], low[b]);
                atomicAdd(&ground.bins_high[at + b], high[b]);
            }
        }
}

struct Sums {
    unsigned long long count, low, high;
};
struct AddSums {
    __device__ Sums operator()(const Sums& a, const Sums& b) const {
        return {a.count + b.count, a.low + b.low, a.high + b.high};
    }
};

/// The image (or id) is known to the last digit: on to the ids of its heap, or done.
template <typename T>
__device__ void conclude(OrbNode& node, bool implied, int64_t points) {
    if (node.window_low < node.window_high)
        return;
    if (node.stage == SearchStage::ids) {
        if (node.inside_count == 1) // else two points have one place and one id: stays unfound
            node.stage = SearchStage::found;
        return;
    }
    node.image = node.window_low;
    node.heap_begin = node.base_count, node.heap_end = node.base_count + node.inside_count;
    if (node.inside_count <= 1) {
        node.stage = SearchStage::found;
        return;
    }
    node.stage = SearchStage::ids;
    node.window_low = implied ? ordered_id(0) : 0;
    node.window_high = implied ? ordered_id(points - 1) : ~uint64_t{0};
    node.next_id = ~0ull;
}

/// One block a cell: the bin of the crossing point, from the digit's sums, which are zeroed for the next one.
template <typename T, bool weighted>
__global__ void __launch_bounds__(threads) narrow(OrbGround<T> ground, int32_t first, int64_t points) {
    OrbNode& node = ground.node[first + static_cast<int32_t>(blockIdx.x)];
    using Scan = cub::BlockScan<Sums, threads>;
    __shared__ typename Scan::TempStorage scratch;
    if (!is_searching(node) || backend::stopped(ground.status))
        return;
    const CutGoal goal = node.goal; // one thread overwrites the node
    const uint64_t window_low = node.window_low, window_high = node.window_high;
    const int shift = shift_of(node, ground.log2_bins);
    int64_t count = node.base_count;
    Wide weight = node.base_weight;
    const int bins = 1 << ground.log2_bins, each = (bins + threads - 1) / threads;
    const int64_t at = int64_t{blockIdx.x} << ground.log2_bins;
    Sums mine{}, ahead{};
    const auto sums_of = [&](int b) -> Sums {
        const uint64_t count = b < bins ? ground.bins[at + b] : 0;
        if (!weighted)
            return {count, count, 0};
        return {count, count != 0 ? ground.bins_low[at + b] : 0, count != 0 ? ground.bins_high[at + b] : 0};
    };
    for (int b = 0; b < each; ++b)
        mine = AddSums()(mine, sums_of(threadIdx.x * each + b));
    Scan(scratch).ExclusiveScan(mine, ahead, Sums{0, 0, 0}, AddSums());
    __syncthreads();
    const auto amount = [](const Sums& s) {
        return static_cast<Wide>(s.low) + (static_cast<Wide>(s.high) << 32);
    };
    count += static_cast<int64_t>(ahead.count);
    weight += amount(ahead);
    const bool starts = threadIdx.x == 0 || !goal.past(count, weight);
    if (starts)
        for (int b = 0; b < each; ++b) {
            const int bin = threadIdx.x * each + b;
            const Sums sums = sums_of(bin);
            const int64_t next = count + static_cast<int64_t>(sums.count);
            const Wide next_weight = weight + amount(sums);
            if (sums.count > 0 && goal.past(next, next_weight)) {
                node.base_count = count, node.base_weight = weight;
                node.inside_count = static_cast<int64_t>(sums.count), node.inside_weight = amount(sums);
                const uint64_t low = window_low + (static_cast<uint64_t>(bin) << shift);
                const uint64_t high = low + ((uint64_t{1} << shift) - 1);
                node.window_low = low;
                node.window_high = high < window_high ? high : window_high;
                conclude<T>(node, ground.from.id == nullptr, points);
                break;
            }
            count = next, weight = next_weight;
        }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += threads) {
        ground.bins[at + b] = 0;
        if (weighted)
            ground.bins_low[at + b] = ground.bins_high[at + b] = 0;
    }
}

template <typename T, bool weighted>
void select_level(backend::Queue& queue, const OrbGround<T>& ground, int level) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, ground.parts);
    const auto cells = static_cast<unsigned>(end - first);
    const int64_t points = ground.tiles.most * tile_points; // at least
    const unsigned share = std::max(1u, 16u * static_cast<unsigned>(queue.multiprocessors()) / cells);
    const unsigned grid = share * cells;
    const size_t bytes = (size_t{1} << ground.log2_bins) * (weighted ? 20 : 4);
    const int image_bits = 8 * sizeof(T), id_bits = ground.from.id != nullptr ? 64 : 32;
    const int passes = (image_bits + ground.log2_bins - 1) / ground.log2_bins +
                       (id_bits + ground.log2_bins - 1) / ground.log2_bins;
    for (int pass = 0; pass < passes; ++pass) {
        add_digits<T, weighted><<<grid, threads, bytes, queue.stream()>>>(ground, first, share);
        GRAFT_CUDA_LAUNCHED("add_digits");
        narrow<T, weighted><<<cells, threads, 0, queue.stream()>>>(ground, first, points);
        GRAFT_CUDA_LAUNCHED("narrow");
    }
    find_next_ids<T><<<grid, threads, 0, queue.stream()>>>(ground, first, share);
    GRAFT_CUDA_LAUNCHED("find_next_ids");
    cut_cells<T, weighted>
        <<<backend::blocks_for(cells, threads), threads, 0, queue.stream()>>>(ground, first, end);
    GRAFT_CUDA_LAUNCHED("cut_cells");
    queue.launches += 2 * passes + 2;
}

} // namespace

template <typename T>
void orb_check(backend::Queue& queue, const OrbGround<T>& ground, int level) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, ground.parts);
    check_brackets<T><<<backend::blocks_for(end - first, threads), threads, 0, queue.stream()>>>(
        ground, first, end, ground.from.weight != nullptr);
    GRAFT_CUDA_LAUNCHED("check_brackets");
    ++queue.launches;
}

template <typename T>
void orb_select(backend::Queue& queue, const OrbGround<T>& ground, int level) {
    ground.from.weight != nullptr ? select_level<T, true>(queue, ground, level)
                                  : select_level<T, false>(queue, ground, level);
}

template void orb_check<float>(backend::Queue&, const OrbGround<float>&, int);
template void orb_check<double>(backend::Queue&, const OrbGround<double>&, int);
template void orb_select<float>(backend::Queue&, const OrbGround<float>&, int);
template void orb_select<double>(backend::Queue&, const OrbGround<double>&, int);

} // namespace graft::decompose
