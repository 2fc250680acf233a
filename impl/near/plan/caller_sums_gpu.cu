// SPDX-License-Identifier: BSD-3-Clause
// The sums of a near field on their way to the caller: near_plan_gpu.cuh.
#include "near/plan/near_plan_gpu.cuh"

#include "particles/array_view_gpu.cuh"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace graft::near {

namespace {

using particles::ArrayView;
using particles::device_view;
using particles::ElementType;

constexpr int threads = 256, most_blocks = 512;

template <typename T>
bool fits(const ArrayView& view) {
    return view.type == (sizeof(T) == 4 ? ElementType::f32 : ElementType::f64) &&
           view.item_stride == static_cast<int64_t>(sizeof(T)) && device_view(view).aligned;
}

/// Fields that stand where the caller wants them, by component and output.
template <typename T>
struct CallerFields {
    T* field[most_components][4];
    double units[2];
    const Seen* charges;
};

/// A row of blocks a field, those of component c at 4 c. Sums that are right already cost a word.
template <typename T>
__global__ void rescale_fields(CallerFields<T> fields, const int32_t* index, int64_t n) {
    const int c = blockIdx.y / 4, output = blockIdx.y % 4;
    T* const field = fields.field[c][output];
    const double factor = fields.units[output > 0 ? 1 : 0] /
                          (fields.charges != nullptr ? scale_of(&fields.charges[c].scale) : 1);
    if (field == nullptr || factor == 1)
        return;
    for (int64_t slot = int64_t{blockIdx.x} * threads + threadIdx.x; slot < n;
         slot += int64_t{gridDim.x} * threads) {
        T& sum = field[index != nullptr ? index[slot] : slot];
        sum = static_cast<T>(static_cast<double>(sum) * factor);
    }
}

template <typename T>
double load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
}

template <typename To, typename T>
void put_number(char* at, T value, double factor, bool add) {
    To old = 0;
    if (add)
        std::memcpy(&old, at, sizeof old);
    const double scaled = static_cast<double>(value) * factor;
    const To sum = static_cast<To>(add ? static_cast<double>(old) + scaled : scaled);
    std::memcpy(at, &sum, sizeof sum);
}

} // namespace

template <typename T>
T* NearOutputs<T>::place(size_t k, const ArrayView& view) {
    Item& item = items_[k];
    item.used = view.present() && view.n > 0;
    item.direct = false;
    item.view = view;
    if (!item.used)
        return nullptr;
    if (own_ == nullptr && view.on_device() && fits<T>(view) && !view.add) {
        item.direct = true; // the layout leaves points that are in no box alone
        return reinterpret_cast<T*>(view.data);
    }
    item.buffer.resize(entries(item));
    if (!has_all(item)) // what is in no box travels, too
        GRAFT_CUDA(cudaMemsetAsync(item.buffer.data(), 0, static_cast<size_t>(item.buffer.size()) * sizeof(T),
                                   queue_.stream()));
    return item.buffer.data();
}

template <typename T>
Fields<T> NearOutputs<T>::fields(const DeviceNearOutputs& outputs, const Sums& sums, OtherDevice* far) {
    far_ = far;
    while (items_.size() < static_cast<size_t>(4 * sums.components))
        items_.push_back({{},
                          backend::DeviceBuffer<T>(queue_.memory(), "near field: sums"),
                          backend::PinnedBuffer<T>(queue_.memory(), "near field: sums"),
                          std::make_unique<backend::Event>(queue_.memory()),
                          false,
                          false});
    Fields<T> fields;
    for (size_t c = 0; c < static_cast<size_t>(sums.components); ++c) {
        fields.potential[c] = place(4 * c, outputs.potential[c]);
        for (size_t axis = 0; axis < static_cast<size_t>(sums.dimension); ++axis)
            fields.gradient[c][axis] = place(4 * c + 1 + axis, outputs.gradient[c][axis]);
    }
    return fields;
}

template <typename T>
void NearOutputs<T>::rescale(const double (&units)[2], const Seen* charges) {
    CallerFields<T> fields{{}, {units[0], units[1]}, charges};
    bool some = false;
    for (size_t k = 0; k < items_.size(); ++k)
        if (items_[k].used && items_[k].direct) {
            fields.field[k / 4][k % 4] = reinterpret_cast<T*>(items_[k].view.data);
            some = true;
        }
    if (!some || targets() == 0 || (charges == nullptr && units[0] == 1 && units[1] == 1))
        return;
    const bool all = std::all_of(items_.begin(), items_.end(),
                                 [&](const Item& item) { return !item.direct || has_all(item); });
    const unsigned blocks =
        std::min(backend::blocks_for(targets(), threads), static_cast<unsigned>(most_blocks));
    rescale_fields<<<dim3(blocks, static_cast<unsigned>(items_.size())), threads, 0, queue_.stream()>>>(
        fields, all ? nullptr : structure_.view().target_index, targets());
    GRAFT_CUDA_LAUNCHED("rescale_fields");
    ++queue_.launches;
}

/// All but what is added to arrays of the host; to those of another GPU: without what is there.
template <typename T>
void NearOutputs<T>::look(const double (&units)[2], const Seen* charges) {
    LookedFields<T> fields{};
    bool all = true;
    for (size_t k = 0; k < items_.size(); ++k) {
        const Item& item = items_[k];
        if (!item.used || adds_on_host(item))
            continue;
        all = all && has_all(item);
        const particles::DeviceView to = device_view(item.view);
        if (item.direct)
            fields.field[k] = {reinterpret_cast<const T*>(item.view.data), 1, nullptr, to, false};
        else
            fields.field[k] = {item.buffer.data(), units[k % 4 > 0 ? 1 : 0],
                               charges != nullptr ? &charges[k / 4].scale : nullptr, to,
                               item.view.add && item.view.on_device() && far_ == nullptr};
    }
    const bool part = own_ != nullptr;
    look_at_sums(queue_, fields, static_cast<int32_t>(items_.size()),
                 all || part ? nullptr : structure_.view().target_index, part ? own_->on_device() : nullptr,
                 part ? own_->size() : targets(), looked_.data());
    GRAFT_CUDA(cudaMemcpyAsync(fetched_look_.data(), looked_.data(), sizeof(LookedSums), cudaMemcpyDeviceToHost,
                               queue_.stream()));
    GRAFT_CUDA(cudaEventRecord(seen_, queue_.stream()));
}

template <typename T>
void NearOutputs<T>::send(const double (&units)[2], const Seen* charges) {
    rescale(units, charges);
    look(units, charges);
    const LookedSums* looked = looked_.data();
    if (far_ != nullptr) {
        far_->follow();
        looked = static_cast<const LookedSums*>(far_->carry(far_looked, looked, sizeof(LookedSums)));
        if (charges != nullptr)
            charges = static_cast<const Seen*>(
                far_->carry(far_charges, charges, static_cast<int64_t>(items_.size() / 4 * sizeof(Seen))));
    }
    for (size_t k = 0; k < items_.size(); ++k)
        if (items_[k].used && !items_[k].direct)
            send_item(k, units[k % 4 > 0 ? 1 : 0], charges != nullptr ? &charges[k / 4].scale : nullptr, looked);
    if (far_ != nullptr)
        far_->join();
}

template <typename T>
void NearOutputs<T>::send_item(size_t k, double units, const double* scale, const LookedSums* looked) {
    Item& item = items_[k];
    const T* const from = item.buffer.data();
    if (!item.view.on_device()) {
        const int64_t n = own_ != nullptr ? own_->size() : entries(item);
        item.pinned.resize(n);
        GRAFT_CUDA(cudaMemcpyAsync(item.pinned.data(), from, static_cast<size_t>(n) * sizeof(T),
                                   cudaMemcpyDeviceToHost, queue_.stream()));
        GRAFT_CUDA(cudaEventRecord(*item.there, queue_.stream()));
        return;
    }
    if (far_ != nullptr)
        far_->give(static_cast<int32_t>(first_far_field + k), from, item.view.add, units, scale, looked, item.view);
    else if (own_ != nullptr)
        spread_sums(queue_, from, nullptr, own_->on_device(), own_->size(), item.view.add, units, scale, looked, item.view);
    else {
        const int32_t* const index = has_all(item) ? nullptr : structure_.view().target_index;
        spread_sums(queue_, from, index, index, targets(), item.view.add, units, scale, looked, item.view);
    }
}

/// All items of a view.
template <typename T>
template <typename To>
void NearOutputs<T>::put_run(const T* from, const ArrayView& to, double factor) const {
    const bool add = to.add;
    if (!std::is_same_v<To, T> || add || factor != 1 || to.item_stride != static_cast<int64_t>(sizeof(T)))
        return executor_.for_each(to.n, [=](int64_t i) { put_number<To>(to.at(i), from[i], factor, add); });
    executor_.for_blocks(to.n, 1 << 14, [=](int64_t begin, int64_t end, int) {
        std::memcpy(to.at(begin), from + begin, static_cast<size_t>(end - begin) * sizeof(T));
    });
}

template <typename T>
template <typename To>
void NearOutputs<T>::put_item(const Item& item, double factor) const {
    const T* const from = item.pinned.data();
    const ArrayView view = item.view;
    const bool add = view.add;
    if (own_ != nullptr && !own_->runs().empty()) {
        for (const SomePoints::Run& run : own_->runs())
            put_run<To>(from + run.place, items_of(view, run), factor);
    } else if (own_ != nullptr) {
        const std::span<const int32_t> numbers = own_->numbers();
        executor_.for_each(own_->size(), [=](int64_t k) {
            put_number<To>(view.at(numbers[static_cast<size_t>(k)]), from[k], factor, add);
        });
    } else if (const auto index = structure_.host().target_index; !has_all(item) && !index.empty()) {
        executor_.for_each(targets(), [=](int64_t slot) {
            const int64_t i = index[static_cast<size_t>(slot)];
            put_number<To>(view.at(i), from[i], factor, add);
        });
    } else {
        put_run<To>(from, items_of(view, {0, 0, targets()}), factor);
    }
}

/// The first point, if any, whose sum is no finite number once it is added to the host's array.
template <typename T>
void NearOutputs<T>::see_added(size_t k, double factor, BadSum& bad) const {
    const Item& item = items_[k];
    const bool narrow = item.view.type == ElementType::f32;
    const auto index = structure_.host().target_index;
    const bool by_index = own_ == nullptr && !has_all(item) && !index.empty();
    const auto result = [&](int64_t place) {
        const int64_t point = own_ != nullptr ? own_->number(place) : place;
        const double old = narrow ? load<float>(item.view.at(point)) : load<double>(item.view.at(point));
        return old + static_cast<double>(item.pinned.data()[place]) * factor;
    };
    constexpr int64_t none = std::numeric_limits<int64_t>::max();
    std::atomic<int64_t> first{none};
    executor_.for_each(own_ != nullptr ? own_->size() : targets(), [&](int64_t i) {
        const int64_t place = by_index ? index[static_cast<size_t>(i)] : i;
        const double value = result(place);
        const bool good = narrow ? std::isfinite(static_cast<float>(value)) : std::isfinite(value);
        int64_t known = first.load(std::memory_order_relaxed);
        while (!good && place < known && !first.compare_exchange_weak(known, place)) {
        }
    });
    if (const int64_t place = first; place != none)
        bad = {sum_name(static_cast<int32_t>(k % 4), static_cast<int32_t>(k / 4)),
               own_ != nullptr ? own_->number(place) : place, result(place)};
}

template <typename T>
auto NearOutputs<T>::see(const double (&units)[2], const std::vector<double>& scale) -> BadSum {
    GRAFT_CUDA(cudaEventSynchronize(seen_));
    if (const LookedSums& found = *fetched_look_.data(); found.any())
        return {sum_name(found.field() % 4, found.field() / 4),
                own_ != nullptr ? own_->number(found.place()) : found.place(), found.value};
    BadSum bad;
    for (size_t k = 0; k < items_.size() && bad.item < 0; ++k)
        if (adds_on_host(items_[k])) {
            GRAFT_CUDA(cudaEventSynchronize(*items_[k].there));
            see_added(k, units[k % 4 > 0 ? 1 : 0] / scale[k / 4], bad);
        }
    return bad;
}

template <typename T>
void NearOutputs<T>::deliver(const double (&units)[2], const std::vector<double>& scale) {
    for (size_t k = 0; k < items_.size(); ++k) {
        Item& item = items_[k];
        if (!item.used || item.direct || item.view.on_device())
            continue;
        GRAFT_CUDA(cudaEventSynchronize(*item.there));
        const double factor = units[k % 4 > 0 ? 1 : 0] / scale[k / 4];
        item.view.type == ElementType::f32 ? put_item<float>(item, factor) : put_item<double>(item, factor);
        item.used = false;
    }
}

template class NearOutputs<float>;
template class NearOutputs<double>;

} // namespace graft::near
