// SPDX-License-Identifier: BSD-3-Clause
// Buffers, streams and kernels of liu2022, see liu_buffers_gpu.cuh.
#include "study/papers/liu_buffers_gpu.cuh"

#include "core/timer.hpp"

#include <algorithm>

namespace graft::study {

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
    State(backend::DeviceMemory& memory, const PaperFeedOptions& with) : options(with), start(true) {
        for (int k = 0; k < options.lanes; ++k) {
            lanes.push_back(std::make_unique<Lane>());
            GRAFT_CUDA(cudaStreamCreateWithFlags(&lanes.back()->stream, cudaStreamNonBlocking));
            for (int s = 0; s < slots; ++s)
                lanes.back()->ring.push_back(std::make_unique<Slot>(memory, options.buffer, options.pinned));
        }
    }

    void begin(const PaperView& on) {
        view = on;
        report = {};
        traced.clear();
        for (const auto& lane : lanes) // of a feed that an error has ended
            lane->targets = lane->sources = 0;
        GRAFT_CUDA(cudaEventRecord(start.begin, lanes[0]->stream));
        timer = core::Timer();
    }

    Slot& open(Lane& lane) {
        Slot& slot = *lane.ring[static_cast<size_t>(lane.slot)];
        if (!slot.used || lane.sources > 0)
            return slot;
        const core::Timer call;
        const bool ready = cudaEventQuery(slot.last.end) == cudaSuccess; // costs as much as a call
        if (!ready) {
            (void)cudaGetLastError(); // not ready is no error
            GRAFT_CUDA(cudaEventSynchronize(slot.last.end));
        }
        (ready ? report.call_s : report.wait_s) += call.seconds();
        slot.used = false;
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
            launch_tiles_2d(lane.stream, leaf, options.block_x, options.block_y, options.order,
                            options.potential, view, {target, source, lane.targets, nullptr, nullptr},
                            lane.targets);
        else if (leaf)
            launch_leaf_pairs_1d(lane.stream, options.threads, options.potential, view,
                                 {target, source, lane.targets, nullptr}, lane.targets);
        else
            launch_node_pairs_1d(lane.stream, options.threads, options.order, options.potential, view,
                                 {target, source, lane.targets, nullptr}, lane.targets);
        ++report.launches;
    }

    void flush(Lane& lane, bool leaf) {
        if (lane.targets == 0)
            return;
        const core::Timer call;
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
        report.interactions += lane.sources;
        lane.targets = lane.sources = 0;
        report.call_s += call.seconds();
    }

    /// The lane in turn, with room for so many sources.
    Lane& in_turn(bool leaf, int64_t sources) {
        if (Lane& lane = *lanes[turn]; lane.sources + sources <= options.buffer)
            return lane;
        next(leaf);
        return *lanes[turn];
    }
    void next(bool leaf) {
        flush(*lanes[turn], leaf);
        turn = (turn + 1) % lanes.size();
    }

    /// A group's interactions, as many as there is room for in this buffer.
    int64_t append(Lane& lane, int32_t group, const int32_t* sources, int64_t count) {
        Slot& slot = open(lane);
        const int64_t taken = std::min(count, options.buffer - lane.sources);
        std::fill_n(slot.host + lane.targets, taken, group);
        std::copy_n(sources, taken, slot.host + options.buffer + lane.sources);
        lane.targets += taken, lane.sources += taken;
        return taken;
    }
    void append_chunk(Lane& lane, int32_t group, const int32_t* sources, int64_t count) {
        Slot& slot = open(lane);
        slot.host[lane.targets++] = group;
        int32_t* const to = slot.host + options.buffer + lane.sources;
        std::copy_n(sources, count, to);
        std::fill(to + count, to + options.block_x, -1);
        lane.sources += options.block_x;
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

    PaperView view{};
    PaperFeedOptions options;
    Events start;
    std::vector<std::unique_ptr<Lane>> lanes;
    size_t turn = 0; // of add_list()
    std::vector<Traced> traced;
    core::Timer timer;
    PaperFeedReport report;
};

PaperFeed::PaperFeed(backend::DeviceMemory& memory, const PaperFeedOptions& options)
    : state_(std::make_unique<State>(memory, options)) {}
PaperFeed::~PaperFeed() {
    for (const auto& lane : state_->lanes) // buffers may be in use
        (void)cudaStreamSynchronize(lane->stream);
}

const PaperFeedOptions& PaperFeed::options() const {
    return state_->options;
}

void PaperFeed::begin(const PaperView& view) {
    state_->begin(view);
}

void PaperFeed::add(int lane, bool leaf, int32_t group, int32_t source) {
    Lane& to = *state_->lanes[static_cast<size_t>(lane)];
    Slot& slot = state_->open(to);
    slot.host[to.targets++] = group;
    slot.host[state_->options.buffer + to.sources++] = source;
    if (to.sources == state_->options.buffer)
        state_->flush(to, leaf);
}

void PaperFeed::add_chunk(int lane, bool leaf, int32_t group, const int32_t* sources, int count) {
    Lane& to = *state_->lanes[static_cast<size_t>(lane)];
    state_->append_chunk(to, group, sources, count);
    if (to.sources + state_->options.block_x > state_->options.buffer)
        state_->flush(to, leaf);
}

void PaperFeed::add_list(bool leaf, int32_t group, const int32_t* sources, int64_t count) {
    State& s = *state_;
    const int64_t width = s.options.block_x;
    for (int64_t k = 0; k < count;) {
        const int64_t chunk = std::min(width, count - k);
        if (s.options.tiles)
            s.append_chunk(s.in_turn(leaf, width), group, sources + k, chunk), k += chunk;
        else
            k += s.append(s.in_turn(leaf, 1), group, sources + k, count - k);
    }
}

void PaperFeed::end_turn(bool leaf) {
    state_->next(leaf);
}

PaperFeedReport PaperFeed::finish() {
    State& s = *state_;
    for (size_t lane = 0; lane < s.lanes.size(); ++lane)
        s.flush(*s.lanes[lane], lane % 2 == 1);
    for (const auto& lane : s.lanes)
        GRAFT_CUDA(cudaStreamSynchronize(lane->stream));
    s.report.wall_s = s.timer.seconds();
    s.read_trace();
    return std::move(s.report);
}

} // namespace graft::study
