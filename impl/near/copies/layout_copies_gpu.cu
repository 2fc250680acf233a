// SPDX-License-Identifier: BSD-3-Clause
// indexed and the layouts of records (of targets: replicated, _packed, _interleaved; of boxes:
// replicated_group, _group_padded) on the device.
//
// kept: all copies stay on the device, and run() is the kernel alone. Otherwise the copies are made again for
// every execution, piece by piece: by the device in one buffer, or by host threads in two: while the kernel
// of a piece runs, the next is on its way and the one after is collected. The host waits there only for a
// page-locked buffer that has not been sent yet.
#include "backend/side_stream_gpu.cuh"
#include "near/layouts/layout_base_gpu.cuh"
#include "near/copies/collect_gpu.cuh"
#include "near/layouts/target_threads_gpu.cuh"

#include "core/timer.hpp"

#include <algorithm>
#include <span>

namespace graft::near {

namespace {

constexpr int64_t most_staged_bytes = int64_t{64} << 20;
constexpr int buffers = 2;

/// The stream of what is sent, and of each buffer: it is on the device; its sums are done.
struct SendStream {
    using Event = backend::Event;
    explicit SendStream(const backend::DeviceMemory& memory)
        : stream(memory), sent{Event(memory), Event(memory)}, summed{Event(memory), Event(memory)} {}
    ~SendStream() { (void)cudaStreamSynchronize(stream); }
    backend::SideStream stream;
    Event sent[buffers], summed[buffers];
};

template <Precision precision>
class Copies final : public LayoutBase<precision> {
  public:
    using Base = LayoutBase<precision>;
    using Stored = typename Base::Stored;
    Copies(Layout layout, const DeviceStructure& structure, const Sums& sums,
           const DeviceLayoutOptions& options, backend::Queue& queue)
        : Base(structure, sums, options, queue), layout_(layout),
          points_(structure, sums, layout != Layout::indexed, queue),
          offsets_(queue.memory(), "near field: offsets of copies"),
          copies_(queue.memory(), "near field: copies"),
          identity_(queue.memory(), "near field: target index"),
          caller_(queue.memory(), "near field: points and charges"),
          staged_{backend::PinnedBuffer<char>(queue.memory(), "near field: copies to send"),
                  backend::PinnedBuffer<char>(queue.memory(), "near field: copies to send")} {
        make_plan();
        put_offsets();
        if (options.collect_on_host)
            start_host();
    }
    ~Copies() override { (void)cudaStreamSynchronize(this->queue_.stream()); }

    void set_points(const Coordinates<Stored>& targets, const Coordinates<Stored>& sources) override {
        this->clock_.begin(LayoutClock::collection, this->queue_.stream());
        host_points_s_ = 0;
        if (collector_ != nullptr)
            host_points_s_ = set_host_points(targets, sources);
        else
            points_.set_points(targets, sources);
        if (kept_ && collector_ == nullptr)
            collect_all(places);
        this->clock_.end(LayoutClock::collection, this->queue_.stream());
    }
    void set_charges(const Charges<Stored>& charges) override {
        this->clock_.begin(LayoutClock::charges, this->queue_.stream());
        host_charges_s_ = 0;
        if (collector_ != nullptr) {
            const core::Timer timer;
            collector_->set_charges(charges.component.data());
            host_charges_s_ = timer.seconds();
            put_charges(charges);
            if (kept_)
                send_all();
        } else {
            points_.set_charges(charges);
            if (kept_ && layout_ != Layout::indexed)
                collect_all(charges_too);
        }
        this->clock_.end(LayoutClock::charges, this->queue_.stream());
    }
    void run(const Fields<Stored>& fields) override {
        const cudaStream_t stream = this->queue_.stream();
        this->clock_.begin(LayoutClock::total, stream);
        this->clock_.forget(LayoutClock::kernel);
        if (!kept_)
            this->clock_.forget(LayoutClock::collection), this->clock_.forget(LayoutClock::transfer);
        if (kept_)
            sum_kept(fields);
        else if (collector_ != nullptr)
            sum_sent(fields);
        else
            sum_collected(fields);
        this->clock_.end(LayoutClock::total, stream);
    }
    int64_t bytes() const override {
        return this->structure_.bytes() + points_.bytes() + 8 * offsets_.size() + 4 * identity_.size() +
               copies_.size() + caller_.size() * static_cast<int64_t>(sizeof(Stored));
    }
    int32_t chunks() const override { return kept_ ? 1 : static_cast<int32_t>(plan_.pieces.size()); }
    int32_t chunks_ahead() override {
        return kept_ ? 0 : this->clock_.ahead(LayoutClock::transfer, LayoutClock::kernel);
    }
    Times times() override {
        Times t = Base::times();
        if (collector_ != nullptr)
            t.collection_s = host_points_s_ + host_pieces_s_, t.charges_s = host_charges_s_;
        t.transfer_s += this->clock_.seconds(LayoutClock::points);
        return t;
    }

  private:
    void make_plan() {
        const int64_t limit = this->options_.most_bytes;
        const Structure& s = this->structure_.host();
        const int64_t fixed =
            points_.bytes() + 8 * (s.target_boxes() + 1 + s.targets() / 32) + 4 * s.targets();
        int64_t room = limit > 0 ? std::max<int64_t>(1, limit - fixed) : INT64_MAX / 2;
        plan_ = make_copy_plan(layout_, s, this->structure_.all(), this->sums_, room);
        kept_ = plan_.pieces.size() <= 1;
        const bool host = this->options_.collect_on_host;
        if (host) {
            room = kept_ ? most_staged_bytes : std::min(room / buffers, most_staged_bytes);
            room = std::max(room, kept_ ? plan_.least_piece(s, this->structure_.all()) * plan_.entry_bytes
                                        : int64_t{1});
            plan_ = make_copy_plan(layout_, s, this->structure_.all(), this->sums_, room);
        }
        device_entries_ =
            ((kept_ ? plan_.entries : plan_.largest_piece) + 15) / 16 * 16; // points are 16-byte items
        copies_.resize(
            std::max<int64_t>(16, device_entries_ * plan_.entry_bytes * (host && !kept_ ? buffers : 1)));
    }
    void put_offsets() {
        std::span<const int64_t> from; // padded records need none
        if (plan_.length == 0)
            from = plan_.entry_offset.empty() ? plan_.word_offset : plan_.entry_offset;
        backend::Queue& queue = this->queue_;
        offsets_.resize(std::max<int64_t>(1, static_cast<int64_t>(from.size())));
        if (!from.empty())
            GRAFT_CUDA(cudaMemcpyAsync(offsets_.data(), from.data(), from.size() * 8, cudaMemcpyHostToDevice,
                                       queue.stream()));
        if (layout_ == Layout::indexed) { // the paper's fourth array: the index of every target
            const Structure& s = this->structure_.host();
            std::vector<int32_t> index(static_cast<size_t>(s.targets()));
            for (size_t k = 0; k < index.size(); ++k)
                index[k] = static_cast<int32_t>(s.target_index.empty() ? static_cast<int64_t>(k)
                                                                       : s.target_index[k]);
            identity_.resize(std::max<int64_t>(1, s.targets()));
            if (!index.empty())
                GRAFT_CUDA(cudaMemcpyAsync(identity_.data(), index.data(), index.size() * 4,
                                           cudaMemcpyHostToDevice, queue.stream()));
            queue.wait();
        }
        queue.wait();
    }
    void start_host() {
        const HostRuns& runs = this->structure_.all().host();
        collector_ = std::make_unique<HostCollector<Stored>>(
            this->structure_.host(), this->sums_, runs.offset.all(),
            reinterpret_cast<const int32_t*>(runs.run.all().data()), runs.sources.all(), plan_.entry_offset,
            this->options_.host_threads);
        send_ = std::make_unique<SendStream>(this->queue_.memory());
        for (auto& buffer : staged_)
            buffer.resize(std::max<int64_t>(16, plan_.largest_piece * plan_.entry_bytes));
    }
    double set_host_points(const Coordinates<Stored>& t, const Coordinates<Stored>& s) {
        const core::Timer timer;
        wait_staged();
        const Stored* const targets[3] = {t.x, t.y, t.z};
        const Stored* const sources[3] = {s.x, s.y, s.z};
        collector_->set_points(targets, sources);
        const double time_s = timer.seconds();
        put_points(t, s);
        return time_s;
    }
    const Stored* put_array(const Stored* from, int64_t n, int array);
    void put_points(const Coordinates<Stored>& t, const Coordinates<Stored>& s);
    void put_charges(const Charges<Stored>& charges);
    void wait_staged() { GRAFT_CUDA(cudaStreamSynchronize(send_->stream)); }

    char* place_of(const CopyPiece& piece, int buffer) const {
        return copies_.data() + (kept_ ? piece.base : buffer * device_entries_) * plan_.entry_bytes;
    }
    /// Component arrays of groups stand behind the points of their buffer.
    Stored* charges_of(char* copies) const {
        return reinterpret_cast<Stored*>(copies +
                                         device_entries_ * static_cast<int64_t>(sizeof(Point<Stored>)));
    }
    int64_t base_of(const CopyPiece& piece) const { return kept_ ? 0 : piece.base; }
    RecordOffsets places_of() const {
        return plan_.places(offsets_.data(), this->structure_.all().view().sources);
    }

    CollectView<Stored> collect_view(const CopyPiece& piece) const {
        return {this->structure_.view(),
                this->structure_.all().view(),
                points_.target(),
                points_.source(),
                points_.charge(),
                points_.charge_stride(),
                this->sums_.dimension,
                this->sums_.components,
                static_cast<int32_t>(piece.first_box),
                static_cast<int32_t>(piece.end_box - piece.first_box),
                static_cast<int32_t>(piece.first_target),
                static_cast<int32_t>(piece.end_target - piece.first_target),
                base_of(piece)};
    }
    void collect(const CopyPiece& piece, int32_t what, char* to) {
        const CollectView<Stored> view = collect_view(piece);
        if (layout_ == Layout::indexed) {
            CopyPiece whole = piece;
            whole.base = view.base;
            if (what & places)
                collect_indices(this->queue_, view.boxes, view.runs, whole, offsets_.data(),
                                reinterpret_cast<int32_t*>(to));
        } else if (by_group(layout_)) {
            collect_groups(this->queue_, view, places_of(), what, reinterpret_cast<Point<Stored>*>(to),
                           charges_of(to), device_entries_);
        } else {
            collect_records(this->queue_, view, places_of(), what, reinterpret_cast<Stored*>(to));
        }
    }
    void collect_all(int32_t what) {
        for (const CopyPiece& piece : plan_.pieces)
            collect(piece, what, copies_.data());
    }
    void sum(const CopyPiece& piece, const char* copies, const Fields<Stored>& fields);
    void sum_kept(const Fields<Stored>& fields);
    void sum_collected(const Fields<Stored>& fields);
    void sum_sent(const Fields<Stored>& fields);
    void send_all();
    void collect_on_host(const CopyPiece& piece, int buffer);
    void send(const CopyPiece& piece, int buffer, int index);

    Layout layout_;
    DevicePoints<Stored> points_;
    CopyPlan plan_;
    bool kept_ = true;
    int64_t device_entries_ = 0; // of a buffer
    backend::DeviceBuffer<int64_t> offsets_;
    backend::DeviceBuffer<char> copies_;
    backend::DeviceBuffer<int32_t> identity_;
    backend::DeviceBuffer<Stored> caller_; // collection by the host: the caller's arrays
    std::unique_ptr<HostCollector<Stored>> collector_;
    std::unique_ptr<SendStream> send_;
    backend::PinnedBuffer<char> staged_[buffers];
    double host_points_s_ = 0, host_charges_s_ = 0, host_pieces_s_ = 0;
};

template <Precision precision>
void Copies<precision>::sum(const CopyPiece& piece, const char* copies, const Fields<Stored>& fields) {
    SumView<precision> whole = this->whole(this->structure_.all().view(), points_);
    const bool by_box = layout_ == Layout::indexed;
    whole.first = static_cast<int32_t>(by_box ? piece.first_box : piece.first_target);
    whole.count = static_cast<int32_t>(by_box ? piece.end_box - piece.first_box
                                              : piece.end_target - piece.first_target);
    if (by_group(layout_)) {
        whole.source = reinterpret_cast<const Point<Stored>*>(copies);
        whole.charge = charges_of(const_cast<char*>(copies));
        whole.charge_stride = this->sums_.components > 1 ? device_entries_ : 0;
    }
    const int64_t base = base_of(piece);
    this->passes(whole, fields, false, pass_components, [&](const SumView<precision>& view, bool gradient) {
        const int threads = std::min(this->options_.threads, 256);
        if (layout_ == Layout::indexed)
            sum_targets(this->queue_, this->form_, gradient, view,
                        IndexedFeed{identity_.data(), reinterpret_cast<const int32_t*>(copies),
                                    offsets_.data(), base},
                        threads);
        else if (by_group(layout_))
            sum_targets(this->queue_, this->form_, gradient, view, GroupFeed{places_of(), base}, threads);
        else
            sum_targets(this->queue_, this->form_, gradient, view,
                        RecordFeed{copies, places_of(), base, this->sums_.dimension, this->sums_.components},
                        threads);
    });
}

template <Precision precision>
void Copies<precision>::sum_kept(const Fields<Stored>& fields) {
    this->clock_.begin(LayoutClock::kernel, this->queue_.stream());
    const Structure& s = this->structure_.host();
    sum({0, s.target_boxes(), 0, s.targets(), 0, plan_.entries}, copies_.data(), fields);
    this->clock_.end(LayoutClock::kernel, this->queue_.stream());
}

template <Precision precision>
void Copies<precision>::sum_collected(const Fields<Stored>& fields) {
    const cudaStream_t stream = this->queue_.stream();
    for (size_t p = 0; p < plan_.pieces.size(); ++p) {
        const int piece = static_cast<int>(p);
        this->clock_.begin_piece(LayoutClock::collection, piece, stream);
        collect(plan_.pieces[p], places | charges_too, copies_.data());
        this->clock_.end_piece(LayoutClock::collection, piece, stream);
        this->clock_.begin_piece(LayoutClock::kernel, piece, stream);
        sum(plan_.pieces[p], copies_.data(), fields);
        this->clock_.end_piece(LayoutClock::kernel, piece, stream);
    }
}

template <Precision precision>
void Copies<precision>::collect_on_host(const CopyPiece& piece, int buffer) {
    char* const to = staged_[buffer].data();
    if (layout_ == Layout::indexed)
        collector_->collect_indices(piece, reinterpret_cast<int32_t*>(to));
    else if (by_group(layout_))
        collector_->collect_groups(
            piece, reinterpret_cast<Point<Stored>*>(to),
            reinterpret_cast<Stored*>(to + plan_.largest_piece * static_cast<int64_t>(sizeof(Point<Stored>))),
            plan_.largest_piece);
    else
        collector_->collect_records(
            piece, plan_.places(plan_.word_offset.data(), this->structure_.all().host().sources.all().data()),
            reinterpret_cast<Stored*>(to));
}

/// The staged piece to its place, on the second stream.
template <Precision precision>
void Copies<precision>::send(const CopyPiece& piece, int buffer, int index) {
    char* const to = place_of(piece, buffer);
    const auto copy = [&](char* device, const char* host, int64_t bytes) {
        if (bytes > 0)
            GRAFT_CUDA(cudaMemcpyAsync(device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice,
                                       send_->stream));
    };
    this->clock_.begin_piece(LayoutClock::transfer, index, send_->stream);
    if (by_group(layout_)) {
        const auto point = static_cast<int64_t>(sizeof(Point<Stored>)),
                   number = static_cast<int64_t>(sizeof(Stored));
        char* const base = kept_ ? copies_.data() : to;
        const int64_t first = kept_ ? piece.base : 0;
        copy(base + first * point, staged_[buffer].data(), piece.size * point);
        for (int32_t c = 0; this->sums_.components > 1 && c < this->sums_.components; ++c)
            copy(reinterpret_cast<char*>(charges_of(base) + c * device_entries_ + first),
                 staged_[buffer].data() + plan_.largest_piece * point + c * plan_.largest_piece * number,
                 piece.size * number);
    } else {
        copy(to, staged_[buffer].data(), piece.size * plan_.entry_bytes);
    }
    this->clock_.end_piece(LayoutClock::transfer, index, send_->stream);
    GRAFT_CUDA(cudaEventRecord(send_->sent[buffer], send_->stream));
}

/// n numbers of the host to place `array` of the caller's arrays on the device; NULL stays NULL.
template <Precision precision>
auto Copies<precision>::put_array(const Stored* from, int64_t n, int array) -> const Stored* {
    if (from == nullptr || n == 0)
        return nullptr;
    const int64_t most = std::max(this->structure_.host().targets(), this->structure_.host().sources());
    Stored* const to = caller_.data() + array * most;
    GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(n) * sizeof(Stored), cudaMemcpyHostToDevice,
                               this->queue_.stream()));
    return to;
}

/// The plain arrays that kernels read beside the copies: the paper's first three.
template <Precision precision>
void Copies<precision>::put_points(const Coordinates<Stored>& t, const Coordinates<Stored>& s) {
    const Structure& host = this->structure_.host();
    const int64_t targets = host.targets(), sources = host.sources();
    caller_.resize(std::max<int64_t>(1, std::max(targets, sources) * (6 + this->sums_.components)));
    this->clock_.begin(LayoutClock::points, this->queue_.stream());
    Coordinates<Stored> on_device[2];
    on_device[0] = {put_array(t.x, targets, 0), put_array(t.y, targets, 1), put_array(t.z, targets, 2)};
    if (!host.same)
        on_device[1] = {put_array(s.x, sources, 3), put_array(s.y, sources, 4), put_array(s.z, sources, 5)};
    points_.set_points(on_device[0], on_device[1]);
    this->clock_.end(LayoutClock::points, this->queue_.stream());
}

template <Precision precision>
void Copies<precision>::put_charges(const Charges<Stored>& charges) {
    Charges<Stored> on_device;
    for (int32_t c = 0; c < this->sums_.components; ++c)
        on_device.component[static_cast<size_t>(c)] =
            put_array(charges.component[static_cast<size_t>(c)], this->structure_.host().sources(), 6 + c);
    points_.set_charges(on_device);
}

template <Precision precision>
void Copies<precision>::send_all() {
    host_pieces_s_ = 0;
    this->clock_.forget(LayoutClock::transfer);
    send_->stream.follow(this->queue_.stream()); // kernels that read the old copies
    for (size_t p = 0; p < plan_.pieces.size(); ++p) {
        const int buffer = static_cast<int>(p % buffers);
        if (p >= buffers)
            GRAFT_CUDA(cudaEventSynchronize(send_->sent[buffer]));
        const core::Timer timer;
        collect_on_host(plan_.pieces[p], buffer);
        host_pieces_s_ += timer.seconds();
        send(plan_.pieces[p], buffer, static_cast<int>(p));
    }
    for (int k = 0; k < buffers && k < static_cast<int>(plan_.pieces.size()); ++k)
        GRAFT_CUDA(cudaStreamWaitEvent(this->queue_.stream(), send_->sent[k], 0));
}

template <Precision precision>
void Copies<precision>::sum_sent(const Fields<Stored>& fields) {
    const cudaStream_t stream = this->queue_.stream();
    host_pieces_s_ = 0;
    wait_staged();
    send_->stream.follow(stream);
    for (size_t p = 0; p < plan_.pieces.size(); ++p) {
        const int buffer = static_cast<int>(p % buffers), piece = static_cast<int>(p);
        if (p >= buffers) {
            GRAFT_CUDA(cudaEventSynchronize(send_->sent[buffer])); // the page-locked one is free
            GRAFT_CUDA(cudaStreamWaitEvent(send_->stream, send_->summed[buffer], 0));
        }
        const core::Timer timer;
        collect_on_host(plan_.pieces[p], buffer);
        host_pieces_s_ += timer.seconds();
        send(plan_.pieces[p], buffer, piece);
        GRAFT_CUDA(cudaStreamWaitEvent(stream, send_->sent[buffer], 0));
        this->clock_.begin_piece(LayoutClock::kernel, piece, stream);
        sum(plan_.pieces[p], place_of(plan_.pieces[p], buffer), fields);
        this->clock_.end_piece(LayoutClock::kernel, piece, stream);
        GRAFT_CUDA(cudaEventRecord(send_->summed[buffer], stream));
    }
}

} // namespace

template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_copies(Layout layout, const DeviceStructure& structure, const Sums& sums,
                   const DeviceLayoutOptions& options, backend::Queue& queue) {
    return std::make_unique<Copies<precision>>(layout, structure, sums, options, queue);
}
template std::unique_ptr<DeviceLayout<float>>
make_device_copies<Precision::fp32>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                    backend::Queue&);
template std::unique_ptr<DeviceLayout<double>>
make_device_copies<Precision::mixed>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                     backend::Queue&);
template std::unique_ptr<DeviceLayout<double>>
make_device_copies<Precision::fp64>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                    backend::Queue&);

} // namespace graft::near
