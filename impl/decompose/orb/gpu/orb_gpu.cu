// SPDX-License-Identifier: BSD-3-Clause
// The rounds of device ORB: see orb_gpu.cuh.
#include "decompose/orb/gpu/orb_gpu.cuh"

#include "decompose/orb/gpu/orb_clock_gpu.cuh"
#include "decompose/orb/gpu/orb_steps_gpu.cuh"
#include "decompose/weights_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

using backend::DeviceBuffer;

namespace {

constexpr int64_t most_samples = int64_t{1} << 25;

/// What is kept of the lists of a level of `cells` cells, all together: some 3e-5 of the points are expected.
int64_t kept_entries(int64_t n, int64_t cells) {
    return std::max<int64_t>(16 * cells, std::min<int64_t>(n / 16, int64_t{1} << 21));
}

} // namespace

struct DeviceOrb::Work {
    explicit Work(backend::DeviceMemory& memory)
        : column{{DeviceBuffer<char>(memory, "ORB coordinates"),
                  DeviceBuffer<char>(memory, "ORB coordinates"),
                  DeviceBuffer<char>(memory, "ORB coordinates")},
                 {DeviceBuffer<char>(memory, "ORB coordinates"),
                  DeviceBuffer<char>(memory, "ORB coordinates"),
                  DeviceBuffer<char>(memory, "ORB coordinates")}},
          index{DeviceBuffer<uint32_t>(memory, "ORB indices"), DeviceBuffer<uint32_t>(memory, "ORB indices")},
          weight{DeviceBuffer<uint64_t>(memory, "ORB weights"),
                 DeviceBuffer<uint64_t>(memory, "ORB weights")},
          node(memory, "ORB cells"), tile_first(memory, "ORB tiles"), tile_table(memory, "ORB tiles"),
          histogram(memory, "ORB tile histograms"), bins(memory, "ORB bins"), bins_low(memory, "ORB bins"),
          bins_high(memory, "ORB bins"), sample(memory, "ORB samples"), kept(memory, "ORB candidates"),
          missed(memory, "ORB cells"), words(memory, "ORB words"), offset(memory, "ORB part offsets"),
          host_node(memory, "ORB cells"), host_words(memory, "ORB words") {}

    template <typename T>
    void run(backend::Queue& queue, const DeviceOrbPoints& points, const DeviceOrbOptions& options);
    template <typename T>
    void prepare(backend::Queue& queue, const DeviceOrbPoints& points, const DeviceOrbOptions& options);
    template <typename T>
    void round(backend::Queue& queue, OrbView<T>& view, const DeviceOrbOptions& options, int level,
               int levels, int side);
    const uint64_t* fetch_words(backend::Queue& queue); // waits
    template <typename T>
    OrbArrays<T> arrays(int side) {
        return {{reinterpret_cast<T*>(column[side][0].data()), reinterpret_cast<T*>(column[side][1].data()),
                 reinterpret_cast<T*>(column[side][2].data())},
                index[side].data(),
                weight[side].data()};
    }

    DeviceBuffer<char> column[2][3];
    DeviceBuffer<uint32_t> index[2];
    DeviceBuffer<uint64_t> weight[2];
    DeviceBuffer<OrbNode> node;
    DeviceBuffer<int32_t> tile_first;
    DeviceBuffer<uint32_t> tile_table, histogram, bins;
    DeviceBuffer<unsigned long long> bins_low, bins_high;
    DeviceBuffer<char> sample, kept;
    DeviceBuffer<int32_t> missed;
    DeviceBuffer<uint64_t> words; // 0-7 box, 8-13 weights, 14-16 misses
    DeviceBuffer<int64_t> offset;
    backend::PinnedBuffer<OrbNode> host_node;
    backend::PinnedBuffer<uint64_t> host_words;
    StepClock clock;
    int32_t parts = 0;
    int side = 0, levels = 0, rounds = 0; // of the last run: which of the two arrays have the answer
    int64_t per_root = 0;
};

namespace {

/// part_offset from the leaves' runs, and the order of a single part.
__global__ void write_offsets(const OrbNode* node, int32_t parts, int64_t n, int64_t* offset) {
    const int32_t cell = parts + static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (cell < 2 * parts)
        offset[node[cell].cell.first_part] = node[cell].begin;
    if (cell == parts)
        offset[parts] = n;
}

__global__ void write_indices(uint32_t* index, int64_t n) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n)
        index[i] = static_cast<uint32_t>(i);
}

} // namespace

template <typename T>
void DeviceOrb::Work::prepare(backend::Queue&, const DeviceOrbPoints& points,
                              const DeviceOrbOptions& options) {
    const int64_t n = points.n;
    parts = options.parts;
    levels = tree_depth(parts);
    rounds = (levels + options.levels_per_round - 1) / options.levels_per_round;
    const bool weighted = points.cost != nullptr;
    for (int s = 0; s < 2; ++s) {
        const int64_t room = s == 0 || rounds > 1 ? n : 0;
        for (int axis = 0; axis < options.dimension; ++axis)
            column[s][axis].resize(room * int64_t{sizeof(T)});
        index[s].resize(room);
        weight[s].resize(weighted ? n : 0);
    }
    node.resize(2 * int64_t{parts} + 2);
    const int64_t roots = rounds == 0 ? 1 : std::min<int64_t>(parts, int64_t{1} << levels);
    const int64_t tiles = (n + tile_points - 1) / tile_points + roots;
    tile_first.resize(roots + 1);
    tile_table.resize(tiles);
    histogram.resize(tiles << most_levels);
    const int64_t cells =
        std::min<int64_t>(parts, int64_t{1} << std::max(0, levels - 1)); // of a level, at most
    const int log2_bins = cells <= 8192 ? 11 : 8;
    bins.resize(cells << log2_bins);
    bins_low.resize(weighted ? cells << log2_bins : 0);
    bins_high.resize(weighted ? cells << log2_bins : 0);
    kept.resize(kept_entries(n, cells) * static_cast<int64_t>(sizeof(T) + 4));
    missed.resize(cells);
    words.resize(17);
    offset.resize(int64_t{parts} + 1);
}

template <typename T>
void DeviceOrb::Work::round(backend::Queue& queue, OrbView<T>& view, const DeviceOrbOptions& options,
                            int level, int count, int out_side) {
    const int64_t n_tiles = histogram.size() >> most_levels;
    const int32_t roots = static_cast<int32_t>(
        std::min<int64_t>(int64_t{1} << level, 2 * int64_t{parts} - (int64_t{1} << level)));
    view.tiles = {tile_first.data(), tile_table.data(), roots, int32_t{1} << level, count,
                  n_tiles,           histogram.data()};
    const OrbArrays<T> to = arrays<T>(out_side);
    view.list_value = to.c[0];
    view.list_place = to.index;
    const int64_t per_root =
        std::max<int64_t>(
            256, std::min<int64_t>(int64_t{options.samples_per_cell} << (count - 1), most_samples / roots)) /
        16 * 16;
    const int64_t slots = per_root * roots;
    sample.resize(slots * static_cast<int64_t>(3 * sizeof(T) + 9));
    char* at = sample.data();
    for (int axis = 0; axis < 3; ++axis)
        view.samples.c[axis] = at, at += slots * static_cast<int64_t>(sizeof(T));
    view.samples.index = reinterpret_cast<uint32_t*>(at);
    view.samples.weight = view.from.weight != nullptr ? view.samples.index + slots : nullptr;
    view.samples.cell = reinterpret_cast<uint8_t*>(view.samples.index + 2 * slots);
    view.samples.per_root = per_root;
    const cudaStream_t stream = queue.stream();
    clock.mark(stream, StepClock::sample, -1);
    orb_make_tiles(queue, view);
    orb_take_samples(queue, view);
    for (int step = 0; step < count; ++step) {
        clock.mark(stream, StepClock::bracket, level + step);
        orb_bracket(queue, view, level + step, step, options.samples_per_cell, options.bracket_sigmas);
        clock.mark(stream, StepClock::count, level + step);
        orb_count(queue, view, level + step, step);
        orb_check(queue, view, level + step);
        orb_count_again(queue, view, level + step, step);
        clock.mark(stream, StepClock::select, level + step);
        const int64_t cells = end_of_level(level + step, parts) - (int64_t{1} << (level + step));
        view.kept_room =
            std::min<int64_t>(int64_t{1} << 16, kept.size() / static_cast<int64_t>(sizeof(T) + 4) / cells);
        orb_select(queue, view, level + step);
    }
    clock.mark(stream, StepClock::move, -1);
    orb_place_listed(queue, view, level + count - 1, count - 1);
    orb_move(queue, view, to);
    view.from = {{to.c[0], to.c[1], to.c[2]},
                 to.index,
                 view.from.weight != nullptr ? to.weight : nullptr,
                 view.from.id};
}

template <typename T>
void DeviceOrb::Work::run(backend::Queue& queue, const DeviceOrbPoints& points,
                          const DeviceOrbOptions& options) {
    prepare<T>(queue, points, options);
    OrbView<T> view{};
    view.node = node.data(), view.parts = parts;
    view.dimension = options.dimension, view.cap = options.cap;
    view.from = {
        {static_cast<const T*>(points.x), static_cast<const T*>(points.y), static_cast<const T*>(points.z)},
        nullptr,
        nullptr,
        points.id};
    view.bins = bins.data(), view.bins_low = bins_low.data(), view.bins_high = bins_high.data();
    view.log2_bins = bins.size() >> 11 >= 1 && (bins.size() >> 11) <= 8192 ? 11 : 8;
    view.misses = reinterpret_cast<unsigned long long*>(words.data() + 14);
    view.missed_cell = missed.data();
    view.kept_value = reinterpret_cast<T*>(kept.data());
    view.kept_place =
        reinterpret_cast<uint32_t*>(view.kept_value + kept.size() / static_cast<int64_t>(sizeof(T) + 4));
    view.status = queue.status();
    const cudaStream_t stream = queue.stream();
    clock.mark(stream, StepClock::bounds, -1);
    GRAFT_CUDA(cudaMemsetAsync(words.data(), 0, static_cast<size_t>(words.size()) * 8, stream));
    GRAFT_CUDA(cudaMemsetAsync(node.data(), 0, static_cast<size_t>(node.size()) * sizeof(OrbNode), stream));
    GRAFT_CUDA(cudaMemsetAsync(bins.data(), 0, static_cast<size_t>(bins.size()) * 4, stream));
    orb_bounds(queue, view, points.n, words.data());
    if (points.cost != nullptr) {
        GRAFT_CUDA(cudaMemsetAsync(bins_low.data(), 0, static_cast<size_t>(bins_low.size()) * 8, stream));
        GRAFT_CUDA(cudaMemsetAsync(bins_high.data(), 0, static_cast<size_t>(bins_high.size()) * 8, stream));
        orb_weights(queue, points.cost, points.n, options.mix, words.data() + 8, weight[1].data());
        view.from.weight = weight[1].data();
    }
    orb_open_root(queue, view, points.n, words.data(),
                  points.cost != nullptr ? reinterpret_cast<unsigned long long*>(words.data() + 8) : nullptr);
    side = 0;
    for (int r = 0, level = 0; r < rounds; ++r) {
        const int count = (levels - level + rounds - r - 1) / (rounds - r);
        round(queue, view, options, level, count, side);
        level += count;
        if (r + 1 < rounds)
            side = 1 - side;
    }
    clock.mark(stream, StepClock::move, -1);
    if (rounds == 0 && points.n > 0) {
        for (int axis = 0; axis < options.dimension; ++axis)
            GRAFT_CUDA(cudaMemcpyAsync(column[0][axis].data(), view.from.c[axis],
                                       static_cast<size_t>(points.n) * sizeof(T), cudaMemcpyDeviceToDevice,
                                       stream));
        write_indices<<<backend::blocks_for(points.n, 256), 256, 0, stream>>>(index[0].data(), points.n);
        GRAFT_CUDA_LAUNCHED("write_indices");
        ++queue.launches;
    }
    write_offsets<<<backend::blocks_for(parts, 256), 256, 0, stream>>>(node.data(), parts, points.n,
                                                                       offset.data());
    GRAFT_CUDA_LAUNCHED("write_offsets");
    ++queue.launches;
    clock.mark(stream, StepClock::move, -1);
}

DeviceOrb::DeviceOrb(backend::Queue& queue) : queue_(queue), work_(new Work(queue.memory())) {}
DeviceOrb::~DeviceOrb() {
    delete work_;
}

void DeviceOrb::run(const DeviceOrbPoints& points, const DeviceOrbOptions& options, bool timed) {
    orb_check_options(points, options);
    work_->clock.begin(timed);
    points.fp64 ? work_->run<double>(queue_, points, options) : work_->run<float>(queue_, points, options);
}

const void* DeviceOrb::column(int axis) const {
    return work_->column[work_->side][axis].data();
}
const uint32_t* DeviceOrb::index() const {
    return work_->index[work_->side].data();
}
const int64_t* DeviceOrb::part_offset() const {
    return work_->offset.data();
}

void DeviceOrb::fetch_cells(std::vector<Cell>& cells) {
    const int64_t size = 2 * int64_t{work_->parts};
    work_->host_node.resize(size);
    GRAFT_CUDA(cudaMemcpyAsync(work_->host_node.data(), work_->node.data(),
                               static_cast<size_t>(size) * sizeof(OrbNode), cudaMemcpyDeviceToHost,
                               queue_.stream()));
    queue_.wait();
    cells.resize(static_cast<size_t>(size));
    cells[0] = Cell{};
    for (int64_t k = 1; k < size; ++k)
        cells[static_cast<size_t>(k)] = work_->host_node.data()[k].cell;
}

const uint64_t* DeviceOrb::Work::fetch_words(backend::Queue& queue) {
    host_words.resize(16);
    GRAFT_CUDA(
        cudaMemcpyAsync(host_words.data(), words.data(), 16 * 8, cudaMemcpyDeviceToHost, queue.stream()));
    queue.fetch_status();
    queue.wait();
    return host_words.data();
}

void DeviceOrb::check() {
    const uint64_t* words = work_->fetch_words(queue_);
    static const char* const names[4] = {"x", "y", "z", "cost"};
    for (const uint64_t word : {words[6], words[13]})
        if (word != 0)
            core::fail(core::Status::value, "decompose: %s[%lld] on the device is not a finite number%s",
                       names[(~word >> 60) & 3], static_cast<long long>(~word & ((uint64_t{1} << 60) - 1)),
                       (~word >> 60) == 3 ? " >= 0" : "");
    if (queue_.fetched_status().stop == backend::deep_cell)
        core::fail(core::Status::value,
                   "decompose: two points at one place have the same id; expected ids that "
                   "differ, or none");
}

int64_t DeviceOrb::missed_brackets() {
    return static_cast<int64_t>(work_->fetch_words(queue_)[14]);
}

DeviceOrbTimes DeviceOrb::times() {
    queue_.wait();
    DeviceOrbTimes times = work_->clock.read();
    times.levels = work_->levels, times.rounds = work_->rounds;
    return times;
}

} // namespace graft::decompose
