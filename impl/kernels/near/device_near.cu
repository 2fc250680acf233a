// The near field's part of libgraft_cuda.so's table: device_near.hpp.
#include "kernels/near/device_near.cuh"

#include "backend/device_cache.cuh"
#include "backend/device_guard.cuh"
#include "backend/host_stream.cuh"
#include "backend/side_stream.cuh"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace graft::kernels::near {

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
    return o;
}

double pairs_of(const Structure& s, const Runs& runs) {
    double pairs = 0;
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        pairs += static_cast<double>(s.target_offset[b + 1] - s.target_offset[b]) *
                 runs.host_sources()[static_cast<size_t>(b)];
    return pairs;
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

template <typename T>
class Plan final : public DeviceNear {
  public:
    Plan(const DeviceNearOptions& options, const Structure& structure, const Sums& sums)
        : memory_(options.device), keeps_blocks_(memory_), queue_(memory_, nullptr),
          begun_(memory_), executor_{host_memory_, backend::resolve_threads(options.host_threads)},
          sums_(sums), on_device_(structure, queue_),
          inputs_(queue_, executor_, first_charge + sums.components, options.collect_on_host != 0),
          outputs_(queue_, executor_, on_device_),
          layout_(make_device_layout<T>(options.layout, on_device_, sums, layout_options(options), queue_)),
          pairs_(pairs_of(structure, on_device_.all())) {
        std::snprintf(name_, sizeof name_, "%s", device_name(options.device).c_str());
        queue_.wait();
        rest();
    }
    ~Plan() override {
        if (work_ == Work::begun && cudaEventSynchronize(begun_) == cudaSuccess)
            rest();
        (void)cudaGetLastError();
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void set_points(const ArrayView* targets, const ArrayView* sources, void* stream) override {
        start(stream);
        const Structure& s = on_device_.host();
        inputs_.forget();
        const Coordinates<T> t = coordinates(targets, 0);
        const Coordinates<T> from = s.same ? Coordinates<T>{} : coordinates(sources, first_source);
        inputs_.fetch();
        queue_.wait();
        inputs_.waited();
        static const char* const names[] = {"target x", "target y", "target z",
                                            "source x", "source y", "source z"};
        for (int32_t k = 0; k < first_charge; ++k)
            refuse_bad(k, names[k]);
        layout_->set_points(t, from);
        queue_.wait(); // the caller may change its arrays
        rest();
    }
    void begin(const ArrayView* charges, const DeviceNearOutputs& outputs, void* stream) override {
        start(stream);
        inputs_.forget();
        Charges<T> from;
        for (int32_t c = 0; c < sums_.components; ++c)
            from.component[static_cast<size_t>(c)] = inputs_.put(first_charge + c, charges[c]);
        inputs_.fetch();
        if (on_device_.host().sources() > 0)
            layout_->set_charges(from);
        layout_->run(outputs_.fields(outputs, sums_));
        outputs_.send();
        GRAFT_CUDA(cudaEventRecord(begun_, queue_.stream()));
        work_ = Work::begun;
    }
    /// Waits for the event, not for the stream: the host may have begun to capture it, or destroyed it.
    void end(DeviceNearReport& report) override {
        enter();
        if (work_ == Work::begun) {
            GRAFT_CUDA(cudaEventSynchronize(begun_));
            ++waits_;
            rest();
        }
        inputs_.waited();
        for (int32_t c = 0; c < sums_.components; ++c)
            refuse_bad(first_charge + c, core::format("charge component %d", c).c_str());
        outputs_.deliver();
        report = {};
        report.times = layout_->times();
        report.bytes = layout_->bytes();
        report.bytes_device = memory_.bytes_held(), report.bytes_pinned = memory_.bytes_pinned();
        const backend::DeviceCache& cache = backend::DeviceCache::of(memory_.device());
        report.bytes_kept = cache.bytes(false) + cache.bytes(true);
        report.allocations = memory_.allocations(), report.waits = queue_.waits() + waits_,
        report.launches = queue_.launches;
        report.pairs = pairs_, report.chunks = layout_->chunks(), report.device = memory_.device();
        std::snprintf(report.device_name, sizeof report.device_name, "%s", name_);
    }

    bool lost() const override { return keeps_blocks_.lost(); }

  private:
    void enter() const {
        if (lost())
            core::fail(core::Status::device,
                       "near field: device %d has been reset since the plan was made; destroy the plan and "
                       "create it anew",
                       memory_.device());
        GRAFT_CUDA(cudaSetDevice(memory_.device()));
    }
    /// Throws Error(argument) where the stream is in capture, before anything is enqueued or allocated.
    void start(void* stream) {
        enter();
        const cudaStream_t given = backend::host_stream(stream);
        if (work_ == Work::cut_short) // an error left some, perhaps on another stream
            GRAFT_CUDA(cudaDeviceSynchronize());
        queue_.borrow(given);
        keeps_blocks_.at_work();
        work_ = Work::cut_short; // until the call comes to its end
    }
    /// After a wait.
    void rest() noexcept {
        queue_.borrow(nullptr); // the host may destroy its stream
        keeps_blocks_.at_rest();
        work_ = Work::none;
    }
    Coordinates<T> coordinates(const ArrayView* views, int32_t place) {
        Coordinates<T> to;
        to.x = inputs_.put(place, views[0]), to.y = inputs_.put(place + 1, views[1]);
        if (sums_.dimension == axes)
            to.z = inputs_.put(place + 2, views[2]);
        return to;
    }
    /// After a wait.
    void refuse_bad(int32_t place, const char* what) {
        const int64_t bad = inputs_.first_bad(place);
        if (bad < 0)
            return;
        rest();
        core::fail(core::Status::value, "near field: %s[%lld] is not a finite number", what,
                   static_cast<long long>(bad));
    }

    backend::DeviceMemory memory_;
    backend::KeepsBlocks keeps_blocks_;
    backend::Queue queue_;
    backend::Event begun_; // the end of what begin() has enqueued
    enum class Work { none, begun, cut_short } work_ = Work::cut_short;
    int64_t waits_ = 0; // for that event
    core::Memory host_memory_;
    backend::Executor executor_;
    Sums sums_;
    DeviceStructure on_device_;
    NearInputs<T> inputs_;
    NearOutputs<T> outputs_;
    std::unique_ptr<DeviceLayout<T>> layout_;
    double pairs_;
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

int32_t set_points(void* plan, const ArrayView* targets, const ArrayView* sources, void* stream,
                   DeviceError* error) {
    return guarded_device(error,
                          [&] { static_cast<DeviceNear*>(plan)->set_points(targets, sources, stream); });
}

int32_t begin(void* plan, const ArrayView* charges, const DeviceNearOutputs* outputs, void* stream,
              DeviceError* error) {
    return guarded_device(error, [&] { static_cast<DeviceNear*>(plan)->begin(charges, *outputs, stream); });
}

int32_t end(void* plan, DeviceNearReport* report, DeviceError* error) {
    return guarded_device(error, [&] { static_cast<DeviceNear*>(plan)->end(*report); });
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
    static const DeviceNearTable table = {
        sizeof(DeviceNearTable), 0, create, destroy, set_points, begin, end, wait};
    return table;
}

} // namespace graft::kernels::near
