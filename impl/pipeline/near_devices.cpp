// Several GPUs, see near_devices.hpp. Every part is a plan of libgraft_cuda on a device of its own; the
// caller's arrays are brought into its order here, by all threads, and sums back into the caller's.
#include "pipeline/near_devices.hpp"

#include "core/timer.hpp"
#include "kernels/near/device_near.hpp"
#include "kernels/near/mutual.hpp"
#include "kernels/near/parts.hpp"
#include "kernels/near/tile_rule.hpp"
#include "pipeline/near_views.hpp"

#include <algorithm>

namespace graft::pipeline {

using core::fail;
using core::Status;
using particles::ArrayView;
using particles::ElementType;

namespace {

template <typename T>
ArrayView view_of(T* data, int64_t n) {
    ArrayView view;
    view.data = reinterpret_cast<char*>(data);
    view.type = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
    view.n = n;
    view.item_stride = view.component_stride = sizeof(T);
    return view;
}

/// One GPU's share. Arrays in the part's order: 3 axes of the targets and of the sources, charges, sums.
template <typename T>
struct Share {
    Share(core::Memory& memory, const near::Sums& sums) {
        for (int k = 0; k < 6 + sums.components; ++k)
            in.emplace_back(memory, "near field: points of a GPU");
        for (int k = 0; k < sums.components * (1 + sums.dimension); ++k)
            out.emplace_back(memory, "near field: sums of a GPU");
    }
    near::StructurePart part;
    near::Structure structure;
    void* plan = nullptr;
    std::vector<core::Buffer<T>> in, out;
    near::DeviceNearReport done;
};

template <typename T>
class DevicesSide : public NearSide {
  public:
    DevicesSide(const NearSideInput& input, const backend::CudaTable& cuda, int32_t first, int32_t count,
                near::Layout layout, const char* reason)
        : structure_(input.structure), sums_(input.sums), cuda_(cuda), table_(*cuda.near), layout_(layout),
          reason_(reason), executor_{input.memory, backend::resolve_threads(input.options.threads)},
          whole_(input.memory, "near field: one array"), bytes_(input.memory, "near field: one array") {
        near::DeviceNearOptions options;
        options.layout = layout;
        options.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options.host_threads = input.options.threads;
        if (layout == near::Layout::tiled) { // of the whole: the same bits with any number of devices
            options.pairs_once = near::sums_pairs_once(input.structure, sums_, options.most_bytes) ? 1 : -1;
            options.small_blocks = near::small_box_blocks(input.structure);
        }
        std::vector<near::StructurePart> parts = near::cut_structure(input.structure, count);
        const int32_t devices = require_devices(count);
        for (int32_t k = 0; k < count; ++k) {
            shares_.push_back(std::make_unique<Share<T>>(input.memory, sums_));
            Share<T>& share = *shares_.back();
            share.part = std::move(parts[static_cast<size_t>(k)]);
            share.structure = share.part.view();
            options.device = (first + k) % devices;
            backend::DeviceError error;
            backend::raise(table_.create(&options, &share.structure, &sums_, &share.plan, &error), error);
        }
    }
    ~DevicesSide() override {
        for (const auto& share : shares_)
            if (share->plan != nullptr)
                table_.destroy(share->plan);
    }
    DevicesSide(const DevicesSide&) = delete;
    DevicesSide& operator=(const DevicesSide&) = delete;

    void set_points(const NearPoints& points) override {
        refuse_stream(points.stream, points.on_device() != nullptr);
        n_targets_ = points.targets;
        for (int axis = 0; axis < sums_.dimension; ++axis) {
            take(points.target[axis], {near_axis_names[0][axis]}, most_coordinate(sums_.precision), axis,
                 &near::StructurePart::target);
            if (!structure_.same)
                take(points.source[axis], {near_axis_names[1][axis]}, most_coordinate(sums_.precision),
                     3 + axis, &near::StructurePart::source);
        }
        for (const auto& share : shares_) {
            ArrayView target[3], source[3];
            for (size_t axis = 0; axis < static_cast<size_t>(sums_.dimension); ++axis) {
                target[axis] = view_of(share->in[axis].data(), share->structure.targets());
                source[axis] = view_of(share->in[3 + axis].data(), share->structure.sources());
            }
            backend::DeviceError error;
            backend::raise(table_.set_points(share->plan, target, source, nullptr, &error), error);
        }
    }

    void begin(const NearSums& sums, void* stream) override {
        const auto on_device = [](const ArrayView& view) { return view.present() && !view.on_host(); };
        bool some = std::any_of(sums.charge.begin(), sums.charge.end(), on_device) ||
                    std::any_of(sums.potential.begin(), sums.potential.end(), on_device);
        for (const auto& axes : sums.gradient)
            some = some || std::any_of(axes.begin(), axes.end(), on_device);
        refuse_stream(stream, some);
        wanted_ = sums;
        for (int c = 0; c < sums_.components; ++c)
            take(sums.charge[static_cast<size_t>(c)], {"charge", c}, most_charge(sums_.precision), 6 + c,
                 structure_.same ? &near::StructurePart::target : &near::StructurePart::source);
        for (const auto& share : shares_)
            begin_share(*share, sums);
    }

    void end() override {
        allocated_ = 0;
        for (const auto& share : shares_) {
            const int64_t before = share->done.allocations;
            backend::DeviceError error;
            backend::raise(table_.end(share->plan, &share->done, &error), error);
            allocated_ += share->done.allocations - before;
        }
        for (int c = 0; c < sums_.components; ++c) {
            give(wanted_.potential[static_cast<size_t>(c)], out_of(c, 0));
            for (int axis = 0; axis < sums_.dimension; ++axis)
                give(wanted_.gradient[static_cast<size_t>(c)][static_cast<size_t>(axis)],
                     out_of(c, 1 + axis));
        }
    }

    int64_t allocations() const override { return allocated_; }

    void report(NearReport& report) const override {
        report.backend = "cuda";
        report.layout = layout_;
        report.reason = reason_;
        report.times = {}, report.chunks = 0;
        report.bytes_layout = report.bytes_copies = report.bytes_kept = 0;
        for (const auto& share : shares_) { // they work at the same time: the longest
            const near::Times& t = share->done.times;
            for (double near::Times::*field :
                 {&near::Times::collection_s, &near::Times::charges_s, &near::Times::transfer_s,
                  &near::Times::kernel_s, &near::Times::scatter_s, &near::Times::total_s})
                report.times.*field = std::max(report.times.*field, t.*field);
            report.bytes_layout += share->done.bytes;
            report.bytes_kept += share->done.bytes_kept;
            report.bytes_copies += share->done.bytes_pinned + share->part.bytes();
            for (const auto* list : {&share->in, &share->out})
                for (const core::Buffer<T>& buffer : *list)
                    report.bytes_copies += buffer.capacity() * static_cast<int64_t>(sizeof(T));
            report.chunks = std::max(report.chunks, share->done.chunks);
        }
        report.device_name = core::format("%zu x %s", shares_.size(), shares_.front()->done.device_name);
    }

  private:
    int32_t require_devices(int32_t count) const {
        int32_t found = 0;
        backend::DeviceError error;
        backend::raise(cuda_.device_count(&found, &error), error);
        if (found < count)
            fail(Status::device,
                 "near field: near_field.devices is %d, but this host has %d GPUs; expected at most %d",
                 count, found, found);
        return found;
    }
    static void refuse_stream(const void* stream, bool on_device) {
        if (stream != nullptr && on_device)
            fail(Status::unsupported,
                 "near field: near_field.devices is above 1 and arrays in device memory come with a stream; "
                 "expected "
                 "no stream (the arrays complete when the call is made), or host arrays, or one device");
    }
    size_t out_of(int component, int output) const {
        return static_cast<size_t>(component * (1 + sums_.dimension) + output);
    }

    /// Where a view can be read on the host: itself, or a copy of its whole reach.
    ArrayView on_host(const ArrayView& view) {
        if (view.on_host() || view.n == 0)
            return view;
        const int64_t reach = (view.n - 1) * view.item_stride + particles::element_size(view.type);
        if (view.item_stride < 0)
            fail(Status::unsupported,
                 "near field: an array in device memory has a negative stride; expected a "
                 "positive one where near_field.devices is above 1");
        bytes_.resize(std::max(bytes_.capacity(), reach));
        backend::DeviceError error;
        backend::raise(cuda_.copy(bytes_.data(), view.data, reach, &error), error);
        ArrayView copy = view;
        copy.data = bytes_.data(), copy.memory = particles::MemorySpace::host;
        return copy;
    }

    /// Each share's items of a view, checked.
    void take(const ArrayView& view, ArrayName name, double most, int place,
              const std::vector<int64_t> near::StructurePart::*points) {
        whole_.resize(std::max(whole_.capacity(), view.n));
        import_values(executor_, on_host(view), name, most, whole_.data());
        for (const auto& share : shares_) {
            const std::vector<int64_t>& list = share->part.*points;
            core::Buffer<T>& to = share->in[static_cast<size_t>(place)];
            to.resize(static_cast<int64_t>(list.size()));
            T* const out = to.data();
            const T* const from = whole_.data();
            executor_.for_each(static_cast<int64_t>(list.size()),
                               [&](int64_t k) { out[k] = from[list[static_cast<size_t>(k)]]; });
        }
    }

    void begin_share(Share<T>& share, const NearSums& sums) {
        ArrayView charges[near::most_components];
        near::DeviceNearOutputs outputs;
        for (int c = 0; c < sums_.components; ++c) {
            const auto i = static_cast<size_t>(c);
            charges[i] = view_of(share.in[6 + i].data(), share.structure.sources());
            outputs.potential[i] = room(share, sums.potential[i], out_of(c, 0));
            for (int axis = 0; axis < sums_.dimension; ++axis)
                outputs.gradient[i][axis] =
                    room(share, sums.gradient[i][static_cast<size_t>(axis)], out_of(c, 1 + axis));
        }
        backend::DeviceError error;
        backend::raise(table_.begin(share.plan, charges, &outputs, nullptr, &error), error);
    }
    ArrayView room(Share<T>& share, const ArrayView& wanted, size_t place) {
        if (!wanted.present())
            return {};
        share.out[place].resize(share.structure.targets());
        return view_of(share.out[place].data(), share.structure.targets());
    }

    /// All shares' sums to the caller's array; points outside of all boxes stay as they are.
    void give(const ArrayView& view, size_t place) {
        if (!view.present() || structure_.targets() == 0)
            return;
        whole_.resize(std::max(whole_.capacity(), n_targets_));
        T* const whole = whole_.data();
        for (const auto& share : shares_) {
            const T* const from = share->out[place].data();
            const std::vector<int64_t>& list = share->part.target;
            const int64_t begin = share->part.own_begin;
            executor_.for_each(share->part.own_end - begin, [&](int64_t k) {
                whole[list[static_cast<size_t>(begin + k)]] = from[begin + k];
            });
        }
        const bool all = structure_.targets() == n_targets_;
        const ArrayView to = on_host(view);
        export_values<T>(executor_, whole, 1, all ? std::span<const int64_t>() : structure_.target_index,
                         wanted_.add, to);
        if (to.data == view.data)
            return;
        const int64_t reach = (view.n - 1) * view.item_stride + particles::element_size(view.type);
        backend::DeviceError error;
        backend::raise(cuda_.copy(view.data, to.data, reach, &error), error);
    }

    const near::Structure& structure_;
    const near::Sums& sums_;
    const backend::CudaTable& cuda_;
    const near::DeviceNearTable& table_;
    near::Layout layout_;
    const char* reason_;
    backend::Executor executor_;
    std::vector<std::unique_ptr<Share<T>>> shares_;
    core::Buffer<T> whole_;
    core::Buffer<char> bytes_;
    NearSums wanted_;
    int64_t n_targets_ = 0, allocated_ = 0;
};

} // namespace

std::unique_ptr<NearSide> make_near_devices(const NearSideInput& input, const backend::CudaTable& cuda,
                                            int32_t first, int32_t count, near::Layout layout,
                                            const char* reason) {
    if (input.sums.precision == near::Precision::fp32)
        return std::make_unique<DevicesSide<float>>(input, cuda, first, count, layout, reason);
    return std::make_unique<DevicesSide<double>>(input, cuda, first, count, layout, reason);
}

} // namespace graft::pipeline
