// SPDX-License-Identifier: BSD-3-Clause
// The near field's part of libgraft_cuda.so's table: near_table.hpp.
#include "near/copies/collect_gpu.cuh"
#include "near/helmholtz_phases.hpp"
#include "near/plan/near_plan_gpu.cuh"
#include "particles/export_arrays.hpp"

#include "backend/block_cache_gpu.cuh"
#include "backend/guard_gpu.cuh"
#include "backend/host_stream_gpu.cuh"
#include "backend/side_stream_gpu.cuh"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace graft::near {

namespace {

using backend::DeviceError;
using backend::guarded_device;
using particles::ArrayView;

DeviceLayoutOptions layout_options(const DeviceNearOptions& from) {
    DeviceLayoutOptions o;
    o.most_bytes = from.most_bytes, o.collect_on_host = from.collect_on_host != 0;
    o.host_threads = from.host_threads;
    o.threads = from.threads > 0 ? from.threads : o.threads;
    o.window = from.window > 0 ? from.window : o.window;
    o.target_lanes = from.target_lanes, o.source_lanes = from.source_lanes;
    o.pairs_once = from.pairs_once, o.small_blocks = from.small_blocks;
    return o;
}

/// Layouts that copy what every box has around it, with targets or without.
bool copies_by_box(Layout layout) {
    return layout == Layout::indexed || by_group(layout);
}

/// Asked once a device: the properties take milliseconds.
std::string device_name(int32_t device) {
    static std::mutex mutex;
    static std::map<int32_t, std::string> names;
    const std::lock_guard<std::mutex> lock(mutex);
    std::string& name = names[device];
    if (name.empty()) {
        cudaDeviceProp properties;
        GRAFT_CUDA(cudaGetDeviceProperties(&properties, device));
        name = properties.name;
    }
    return name;
}

constexpr int axes = 3, first_source = 3, first_charge = 6;

/// Scales that potentials and gradients can be multiplied by in the kernels: their squares are far from the
/// ends of float.
bool can_be_folded(double scale) {
    return scale >= 0x1p-20 && scale <= 0x1p20;
}

template <typename T>
class Plan final : public DeviceNear {
  public:
    Plan(const DeviceNearOptions& options, const Structure& structure, const Sums& sums)
        : memory_(options.device), keeps_blocks_(memory_), queue_(memory_, nullptr),
          summed_(memory_), executor_{host_memory_, backend::resolve_threads(options.host_threads)},
          sums_(sums), collects_on_host_(options.collect_on_host != 0),
          on_device_(structure, queue_, copies_by_box(options.layout)),
          inputs_(queue_, executor_, first_charge + sums.components, collects_on_host_),
          points_(options.part, structure.same, queue_),
          outputs_(queue_, executor_, on_device_, points_.own.get()),
          layout_(make_device_layout<T>(options.layout, on_device_, sums, layout_options(options), queue_)),
          charge_scales_(static_cast<size_t>(sums.components), 1) {
        std::snprintf(name_, sizeof name_, "%s", device_name(options.device).c_str());
        queue_.wait();
        rest();
    }
    ~Plan() override {
        if (work_ == Work::summing && cudaEventSynchronize(summed_) == cudaSuccess)
            rest();
        if (far_in_use_ != nullptr)
            far_in_use_->start(nullptr);
        (void)cudaGetLastError();
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void send_points(const ArrayView* targets, const ArrayView* sources, void* stream) override {
        const bool same = on_device_.host().same;
        start(stream, first_on_device(targets, same ? nullptr : sources, sums_.dimension));
        inputs_.forget();
        put_axes(targets, 0, points_.targets.get());
        if (!same)
            put_axes(sources, first_source, points_.sources_or_targets());
        inputs_.fetch();
    }
    void see_points(PointBounds& all) override {
        enter();
        inputs_.wait_fetched();
        ++waits_;
        inputs_.waited();
        static const char* const names[] = {"target x", "target y", "target z",
                                            "source x", "source y", "source z"};
        for (int32_t k = 0; k < first_charge; ++k)
            refuse_bad(k, names[k], most_coordinate(sums_.precision));
        for (int32_t axis = 0; axis < sums_.dimension; ++axis) {
            inputs_.widen(axis, axis, all);
            if (!on_device_.host().same)
                inputs_.widen(first_source + axis, axis, all);
        }
    }
    void take_points(const PointBounds& all) override {
        enter();
        const double extent = all.extent(sums_.dimension);
        try {
            require_phases(sums_, extent);
        } catch (...) {
            drop_call();
            throw;
        }
        scale_ = collects_on_host_ ? 1 : length_scale(sums_, extent, scale_);
        const bool fold = can_be_folded(scale_);
        units_[0] = fold ? 1 : scale_, units_[1] = fold ? 1 : scale_ * scale_;
        layout_->set_units(scale_, fold ? scale_ : 1, fold ? scale_ * scale_ : 1);
        const Coordinates<T> t = take_axes(0);
        layout_->set_points(t, on_device_.host().same ? Coordinates<T>{} : take_axes(first_source));
        queue_.wait(); // the caller may change its arrays
        rest();
    }
    void send_charges(const ArrayView* charges, const DeviceNearOutputs& outputs, void* stream) override {
        start(stream, first_on_device(charges, outputs));
        inputs_.forget();
        const int32_t together = sums_.kernel.kernel == Kernel::helmholtz ? 2 : 1;
        for (int32_t c = 0; c < sums_.components; ++c) {
            inputs_.put(first_charge + c, charges[c], most_charge(sums_.precision),
                        points_.sources_or_targets(), far_in_use_);
            inputs_.look(first_charge + c, c % together + 1, scales_charges());
        }
        inputs_.fetch();
    }
    void sum(const DeviceNearOutputs& outputs) override {
        enter();
        Charges<T> from;
        for (int32_t c = 0; c < sums_.components; ++c) {
            const auto i = static_cast<size_t>(c);
            const int32_t place = first_charge + c;
            const double* const scale = scales_charges() ? &inputs_.seen(place)->scale : nullptr;
            const bool direct = inputs_.direct(place);
            from.component[i] = inputs_.take(place, direct, 1, scale);
            from.scale[i] = direct ? scale : nullptr;
        }
        if (on_device_.host().sources() > 0)
            layout_->set_charges(from);
        layout_->run(outputs_.fields(outputs, sums_, far_in_use_));
        outputs_.send(units_, scales_charges() ? inputs_.seen(first_charge) : nullptr);
        GRAFT_CUDA(cudaEventRecord(summed_, queue_.stream()));
        work_ = Work::summing;
    }
    void see_sums() override {
        enter();
        if (work_ != Work::summing)
            return;
        inputs_.wait_fetched();
        for (int32_t c = 0; c < sums_.components; ++c)
            refuse_bad(first_charge + c, core::format("charge component %d", c).c_str(),
                       most_charge(sums_.precision));
        for (int32_t c = 0; scales_charges() && c < sums_.components; ++c)
            charge_scales_[static_cast<size_t>(c)] = inputs_.fetched_scale(first_charge + c);
        const typename NearOutputs<T>::BadSum bad = outputs_.see(units_, charge_scales_);
        if (bad.item < 0)
            return;
        drop_call();
        particles::refuse_result(bad.name.text().c_str(), bad.item, bad.value);
    }
    /// Waits for events, not for the stream: the host may have begun to capture it, or destroyed it.
    void end(DeviceNearReport* report) override {
        enter();
        if (work_ == Work::summing) {
            if (report != nullptr) {
                see_sums();
                outputs_.deliver(units_, charge_scales_);
            }
            GRAFT_CUDA(cudaEventSynchronize(summed_));
            ++waits_;
            rest();
        }
        inputs_.waited();
        if (report != nullptr)
            fill(*report);
    }

    bool lost() const override { return keeps_blocks_.lost(); }

  private:
    /// Of a part; none of the whole.
    struct PartLists {
        PartLists(const PartPoints* part, bool same, backend::Queue& queue) {
            if (part == nullptr)
                return;
            targets = std::make_unique<SomePoints>(part->targets, queue);
            if (!same)
                sources = std::make_unique<SomePoints>(part->sources, queue);
            own = std::make_unique<SomePoints>(part->targets.first(static_cast<size_t>(part->own)), queue);
        }
        const SomePoints* sources_or_targets() const {
            return sources != nullptr ? sources.get() : targets.get();
        }
        std::unique_ptr<SomePoints> targets, sources, own;
    };

    void enter() const {
        if (lost())
            core::fail(core::Status::device,
                       "near field: device %d has been reset since the plan was made; destroy the plan and "
                       "create it anew",
                       memory_.device());
        GRAFT_CUDA(cudaSetDevice(memory_.device()));
    }
    /// Throws Error(argument) where the stream is in capture, before anything is enqueued or allocated.
    /// on_device: one of the call's arrays on a device, or NULL.
    void start(void* stream, const ArrayView* on_device) {
        enter();
        far_in_use_ = points_.own != nullptr && on_device != nullptr ? far_of(*on_device) : nullptr;
        cudaStream_t given = nullptr;
        if (far_in_use_ != nullptr) {
            GRAFT_CUDA(backend::use_device(far_in_use_->device()));
            far_in_use_->start(backend::host_stream(stream));
            GRAFT_CUDA(cudaSetDevice(memory_.device()));
        } else if (points_.own == nullptr || on_device != nullptr) { // of a part: of this device's arrays
            given = backend::host_stream(stream);
        }
        if (work_ == Work::under_way) // an error left some, perhaps on another stream
            GRAFT_CUDA(cudaDeviceSynchronize());
        queue_.borrow(given);
        keeps_blocks_.at_work();
        work_ = Work::under_way;
    }
    /// After a wait.
    void rest() noexcept {
        queue_.borrow(nullptr); // the host may destroy its stream
        if (far_in_use_ != nullptr)
            far_in_use_->start(nullptr);
        far_in_use_ = nullptr;
        keeps_blocks_.at_rest();
        work_ = Work::resting;
    }
    /// Where an array is: NULL on this device.
    OtherDevice* far_of(const ArrayView& view) {
        cudaPointerAttributes attributes;
        GRAFT_CUDA(cudaPointerGetAttributes(&attributes, view.data));
        if (attributes.type != cudaMemoryTypeDevice || attributes.device == memory_.device())
            return nullptr;
        if (far_ == nullptr || far_->device() != attributes.device) {
            far_.reset();
            far_ = std::make_unique<OtherDevice>(attributes.device, queue_, *points_.targets,
                                                 *points_.sources_or_targets(), *points_.own);
            GRAFT_CUDA(cudaSetDevice(memory_.device()));
        }
        return far_.get();
    }
    static const ArrayView* on_device(const ArrayView& view) {
        return view.present() && view.on_device() ? &view : nullptr;
    }
    static const ArrayView* first_on_device(const ArrayView* targets, const ArrayView* sources,
                                            int32_t dimension) {
        for (const ArrayView* set : {targets, sources})
            for (int32_t axis = 0; set != nullptr && axis < dimension; ++axis)
                if (on_device(set[axis]) != nullptr)
                    return &set[axis];
        return nullptr;
    }
    const ArrayView* first_on_device(const ArrayView* charges, const DeviceNearOutputs& outputs) const {
        for (int32_t c = 0; c < sums_.components; ++c) {
            for (const ArrayView* view : {&charges[c], &outputs.potential[c]})
                if (on_device(*view) != nullptr)
                    return view;
            for (const ArrayView& axis : outputs.gradient[c])
                if (on_device(axis) != nullptr)
                    return &axis;
        }
        return nullptr;
    }
    /// Charges of pairs in double need no scale, and collections of the host have none.
    bool scales_charges() const { return sums_.precision != Precision::fp64 && !collects_on_host_; }
    void put_axes(const ArrayView* views, int32_t place, const SomePoints* some) {
        for (int32_t axis = 0; axis < sums_.dimension; ++axis) {
            inputs_.put(place + axis, views[axis], most_coordinate(sums_.precision), some, far_in_use_);
            inputs_.look(place + axis, 0, false);
        }
    }
    /// All as they are where that can be, or all as copies.
    Coordinates<T> take_axes(int32_t place) {
        bool direct = true;
        for (int32_t axis = 0; axis < sums_.dimension; ++axis)
            direct = direct && inputs_.direct(place + axis);
        const auto take = [&](int32_t axis) { return inputs_.take(place + axis, direct, scale_, nullptr); };
        Coordinates<T> to{take(0), take(1), sums_.dimension == axes ? take(2) : nullptr};
        to.scale = direct ? scale_ : 1;
        return to;
    }
    /// What a call that is refused has begun comes to its end.
    void drop_call() {
        if (work_ == Work::summing)
            GRAFT_CUDA(cudaEventSynchronize(summed_));
        else
            queue_.wait();
        inputs_.waited();
        rest();
    }
    /// After a wait.
    void refuse_bad(int32_t place, const char* what, double most) {
        const int64_t bad = inputs_.first_bad(place);
        if (bad < 0)
            return;
        drop_call();
        core::fail(core::Status::value,
                   "near field: %s[%lld] is not a finite number of at most %g in magnitude", what,
                   static_cast<long long>(bad), most);
    }
    void fill(DeviceNearReport& report) {
        report = {};
        report.times = layout_->times();
        report.bytes = layout_->bytes();
        report.bytes_device = memory_.bytes_held(), report.bytes_pinned = memory_.bytes_pinned();
        const backend::DeviceCache& cache = backend::DeviceCache::of(memory_.device());
        report.bytes_kept = cache.bytes(false) + cache.bytes(true);
        report.allocations = memory_.allocations(), report.waits = queue_.waits() + waits_;
        report.launches = queue_.launches;
        if (far_ != nullptr)
            report.allocations += far_->allocations(), report.bytes_device += far_->bytes();
        report.pairs = static_cast<double>(on_device_.all().host().pairs), report.chunks = layout_->chunks();
        report.device = memory_.device();
        std::snprintf(report.device_name, sizeof report.device_name, "%s", name_);
    }

    backend::DeviceMemory memory_;
    backend::KeepsBlocks keeps_blocks_;
    backend::Queue queue_;
    backend::Event summed_; // the end of what sum() has enqueued
    enum class Work { resting, under_way, summing } work_ = Work::under_way; // near_plan_gpu.cuh
    int64_t waits_ = 0; // for events
    core::Memory host_memory_;
    backend::Executor executor_;
    Sums sums_;
    bool collects_on_host_;
    DeviceStructure on_device_;
    NearInputs<T> inputs_;
    PartLists points_;
    NearOutputs<T> outputs_;
    std::unique_ptr<DeviceLayout<T>> layout_;
    double scale_ = 1, units_[2] = {1, 1}; // of lengths; of the sums, where kernels leave them out
    std::vector<double> charge_scales_;
    std::unique_ptr<OtherDevice> far_; // of the last arrays on another device
    OtherDevice* far_in_use_ = nullptr;
    char name_[256] = {0};
};

int32_t create(const DeviceNearOptions* options, const Structure* structure, const Sums* sums, void** plan,
               DeviceError* error) {
    return guarded_device(error, [&] {
        std::unique_ptr<DeviceNear> made;
        if (sums->precision == Precision::fp32)
            made = std::make_unique<Plan<float>>(*options, *structure, *sums);
        else
            made = std::make_unique<Plan<double>>(*options, *structure, *sums);
        *plan = made.release();
    });
}

void destroy(void* plan) {
    const backend::KeepsDevice keeps;
    std::unique_ptr<DeviceNear> last(static_cast<DeviceNear*>(plan));
    if (last != nullptr && last->lost())
        (void)last.release(); // nothing on the device is its own any more
}

DeviceNear& plan_of(void* plan) {
    return *static_cast<DeviceNear*>(plan);
}

int32_t set_points(void* plan, const ArrayView* targets, const ArrayView* sources, void* stream,
                   DeviceError* error) {
    return guarded_device(error, [&] {
        PointBounds all;
        plan_of(plan).send_points(targets, sources, stream);
        plan_of(plan).see_points(all);
        plan_of(plan).take_points(all);
    });
}

int32_t begin(void* plan, const ArrayView* charges, const DeviceNearOutputs* outputs, void* stream,
              DeviceError* error) {
    return guarded_device(error, [&] {
        plan_of(plan).send_charges(charges, *outputs, stream);
        plan_of(plan).sum(*outputs);
    });
}

int32_t end(void* plan, DeviceNearReport* report, DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).end(report); });
}

int32_t send_points(void* plan, const ArrayView* targets, const ArrayView* sources, void* stream,
                    DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).send_points(targets, sources, stream); });
}

int32_t see_points(void* plan, PointBounds* all, DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).see_points(*all); });
}

int32_t take_points(void* plan, const PointBounds* all, DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).take_points(*all); });
}

int32_t send_charges(void* plan, const ArrayView* charges, const DeviceNearOutputs* outputs, void* stream,
                     DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).send_charges(charges, *outputs, stream); });
}

int32_t sum(void* plan, const DeviceNearOutputs* outputs, DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).sum(*outputs); });
}

int32_t see_sums(void* plan, DeviceError* error) {
    return guarded_device(error, [&] { plan_of(plan).see_sums(); });
}

int32_t wait(const void* pointer, void* stream, DeviceError* error) {
    return guarded_device(error, [&] {
        cudaPointerAttributes attributes;
        GRAFT_CUDA(cudaPointerGetAttributes(&attributes, pointer));
        GRAFT_CUDA(cudaSetDevice(attributes.device));
        GRAFT_CUDA(cudaStreamSynchronize(backend::host_stream(stream)));
    });
}

} // namespace

const DeviceNearTable& device_near_table() {
    static const DeviceNearTable table = {sizeof(DeviceNearTable),
                                          0,
                                          create,
                                          destroy,
                                          set_points,
                                          begin,
                                          end,
                                          send_points,
                                          see_points,
                                          take_points,
                                          send_charges,
                                          sum,
                                          see_sums,
                                          wait};
    return table;
}

} // namespace graft::near
