// Buffers, streams and kernels of liu2022, see device_paper_feed.cuh.
#include "kernels/device_paper_feed.cuh"

#include "core/timer.hpp"

#include <algorithm>

namespace graft::kernels {

namespace {

constexpr int slots = 4;

struct Events {
    cudaEvent_t begin = nullptr, end = nullptr;
    explicit Events(bool timed) {
        const unsigned flags = timed ? cudaEventDefault : cudaEventDisableTiming;
        GRAFT_CUDA(cudaEventCreateWithFlags(&begin, flags));
        GRAFT_CUDA(cudaEventCreateWithFlags(&end, flags));
    }
    ~Events() {
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
    }
    Events(const Events&) = delete;
};

/// A buffer on both sides: targets, then sources.
struct Slot {
    Slot(backend::DeviceMemory& memory, int64_t size, bool pinned)
        : locked(memory, "liu2022 host buffer"), device(memory, "liu2022 buffer"), last(false) {
        if (pinned)
            locked.resize(2 * size);
        else
            plain.resize(static_cast<size_t>(2 * size));
        host = pinned ? locked.data() : plain.data();
        device.resize(2 * size);
    }
    backend::PinnedBuffer<int32_t> locked;
    std::vector<int32_t> plain;
    backend::DeviceBuffer<int32_t> device;
    int32_t* host;
    Events last; // of the kernel that used it
    bool used = false;
};

struct Lane { // leaves or nodes of a partition
    cudaStream_t stream = nullptr;
    std::vector<std::unique_ptr<Slot>> ring;
    int slot = 0;
    int64_t targets = 0, sources = 0; // in the slot being filled
    ~Lane() {
        if (stream != nullptr)
            (void)cudaStreamDestroy(stream);
    }
};

struct Traced {
    bool leaves;
    double host_s;
    std::unique_ptr<Events> events;
};

} // namespace

struct PaperFeed::State {
    State(backend::DeviceMemory& memory, const PaperView& on, const PaperFeedOptions& with)
        : view(on), options(with), start(true) {
        for (int k = 0; k < 2 * options.partitions; ++k) {
            lanes.push_back(std::make_unique<Lane>());
            GRAFT_CUDA(cudaStreamCreateWithFlags(&lanes.back()->stream, cudaStreamNonBlocking));
            for (int s = 0; s < slots; ++s)
                lanes.back()->ring.push_back(std::make_unique<Slot>(memory, options.buffer, options.pinned));
        }
        GRAFT_CUDA(cudaDeviceSynchronize());
        GRAFT_CUDA(cudaEventRecord(start.begin, lanes[0]->stream));
        timer = core::Timer();
    }

    Lane& lane(int partition, bool leaf) { return *lanes[static_cast<size_t>(2 * partition + leaf)]; }

    Slot& open(Lane& lane) {
        Slot& slot = *lane.ring[static_cast<size_t>(lane.slot)];
        if (slot.used && lane.sources == 0)
            GRAFT_CUDA(cudaEventSynchronize(slot.last.end));
        return slot;
    }

    void copy(Lane& lane, Slot& slot) {
        const size_t word = sizeof(int32_t);
        const core::Timer call;
        GRAFT_CUDA(cudaMemcpyAsync(slot.device.data(), slot.host, static_cast<size_t>(lane.targets) * word,
                                   cudaMemcpyHostToDevice, lane.stream));
        GRAFT_CUDA(cudaMemcpyAsync(slot.device.data() + options.buffer, slot.host + options.buffer,
                                   static_cast<size_t>(lane.sources) * word, cudaMemcpyHostToDevice,
                                   lane.stream));
        report.copy_call_s += call.seconds();
        report.bytes += static_cast<int64_t>(word) * (lane.targets + lane.sources);
    }

    void launch(Lane& lane, Slot& slot, bool leaf) {
        const int32_t *target = slot.device.data(), *source = target + options.buffer;
        if (options.tiles)
            launch_tiles_2d(lane.stream, leaf, options.block_x, options.block_y, options.order, false, view,
                            {target, source, lane.targets, nullptr, nullptr}, lane.targets);
        else if (leaf)
            launch_leaf_pairs_1d(lane.stream, options.threads, false, view,
                                 {target, source, lane.targets, nullptr}, lane.targets);
        else
            launch_node_pairs_1d(lane.stream, options.threads, options.order, false, view,
                                 {target, source, lane.targets, nullptr}, lane.targets);
        ++report.launches;
    }

    void flush(Lane& lane, bool leaf) {
        if (lane.targets == 0)
            return;
        Slot& slot = *lane.ring[static_cast<size_t>(lane.slot)];
        copy(lane, slot);
        if (options.trace) {
            traced.push_back({leaf, timer.seconds(), std::make_unique<Events>(true)});
            GRAFT_CUDA(cudaEventRecord(traced.back().events->begin, lane.stream));
        }
        launch(lane, slot, leaf);
        if (options.trace)
            GRAFT_CUDA(cudaEventRecord(traced.back().events->end, lane.stream));
        GRAFT_CUDA(cudaEventRecord(slot.last.end, lane.stream));
        slot.used = true;
        lane.slot = (lane.slot + 1) % slots;
        lane.targets = lane.sources = 0;
    }

    void read_trace() {
        const auto since = [&](cudaEvent_t event) {
            float milliseconds = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&milliseconds, start.begin, event));
            return 1e-3 * static_cast<double>(milliseconds);
        };
        for (const Traced& t : traced)
            report.kernels.push_back({t.leaves, t.host_s, since(t.events->begin), since(t.events->end)});
    }

    PaperView view;
    PaperFeedOptions options;
    Events start;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<Traced> traced;
    core::Timer timer;
    PaperFeedReport report;
};

PaperFeed::PaperFeed(backend::DeviceMemory& memory, const PaperView& view, const PaperFeedOptions& options)
    : state_(std::make_unique<State>(memory, view, options)) {}
PaperFeed::~PaperFeed() {
    (void)cudaDeviceSynchronize(); // buffers may be in use
}

void PaperFeed::add(int partition, bool leaf, int32_t group, int32_t source) {
    Lane& lane = state_->lane(partition, leaf);
    Slot& slot = state_->open(lane);
    slot.host[lane.targets++] = group;
    slot.host[state_->options.buffer + lane.sources++] = source;
    if (lane.sources == state_->options.buffer)
        state_->flush(lane, leaf);
}

void PaperFeed::add_chunk(int partition, bool leaf, int32_t group, const int32_t* sources, int count) {
    Lane& lane = state_->lane(partition, leaf);
    const int64_t width = state_->options.block_x, size = state_->options.buffer;
    Slot& slot = state_->open(lane);
    slot.host[lane.targets++] = group;
    for (int64_t k = 0; k < width; ++k)
        slot.host[size + lane.sources++] = k < count ? sources[k] : -1;
    if (lane.sources + width > size)
        state_->flush(lane, leaf);
}

PaperFeedReport PaperFeed::finish() {
    for (int partition = 0; partition < state_->options.partitions; ++partition)
        for (const bool leaf : {false, true})
            state_->flush(state_->lane(partition, leaf), leaf);
    GRAFT_CUDA(cudaDeviceSynchronize());
    state_->report.wall_s = state_->timer.seconds();
    state_->read_trace();
    return std::move(state_->report);
}

} // namespace graft::kernels
