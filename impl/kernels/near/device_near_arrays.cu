// The caller's arrays of a near field: device_near.cuh.
#include "kernels/near/device_near.cuh"

#include "particles/device_view.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::kernels::near {

namespace {

using particles::ArrayView;
using particles::device_view;
using particles::DeviceView;
using particles::ElementType;

constexpr int threads = 256;

template <typename T>
constexpr ElementType type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

/// A kernel may take it for an array of its own.
template <typename T>
bool fits(const ArrayView& view) {
    return view.type == type_of<T> && view.item_stride == static_cast<int64_t>(sizeof(T)) &&
           device_view(view).aligned;
}

template <typename T>
__global__ void convert(DeviceView from, int64_t n, T* to) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n)
        to[i] = static_cast<T>(particles::load_real(from, i));
}

template <typename T>
__global__ void find_bad(const T* from, int64_t n, unsigned long long* first) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n && !isfinite(from[i]))
        atomicMin(first, static_cast<unsigned long long>(i));
}

/// index NULL: all points are in boxes.
template <typename T>
__global__ void deliver_sums(const T* from, const int32_t* index, int64_t n, bool add, DeviceView to) {
    const int64_t slot = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (slot >= n)
        return;
    const int64_t i = index != nullptr ? index[slot] : slot;
    if (to.size == 4) {
        const T sum = add ? static_cast<T>(particles::load<float>(to, i)) + from[i] : from[i];
        particles::store(to, i, static_cast<float>(sum));
    } else {
        const auto value = static_cast<double>(from[i]);
        particles::store(to, i, add ? particles::load<double>(to, i) + value : value);
    }
}

template <typename To, typename T>
void put_number(char* at, T value, bool add) {
    To old = 0;
    if (add)
        std::memcpy(&old, at, sizeof old);
    const To sum =
        add ? static_cast<To>(static_cast<double>(old) + static_cast<double>(value)) : static_cast<To>(value);
    std::memcpy(at, &sum, sizeof sum);
}

} // namespace

template <typename T>
NearInputs<T>::NearInputs(backend::Queue& queue, const backend::Executor& executor, int32_t arrays,
                          bool on_host)
    : queue_(queue), executor_(executor), on_host_(on_host), staging_(queue.memory()),
      host_(static_cast<size_t>(arrays)), host_bad_(static_cast<size_t>(arrays), -1),
      bad_(queue.memory(), "near field: first bad indices"),
      fetched_(queue.memory(), "near field: first bad indices") {
    for (int32_t k = 0; k < arrays; ++k)
        device_.emplace_back(queue.memory(), "near field: caller's numbers");
    bad_.resize(arrays), fetched_.resize(arrays);
    forget();
}

template <typename T>
void NearInputs<T>::forget() {
    std::fill(host_bad_.begin(), host_bad_.end(), int64_t{-1});
    GRAFT_CUDA(cudaMemsetAsync(bad_.data(), 0xff, static_cast<size_t>(bad_.size()) * 8, queue_.stream()));
}

template <typename T>
void NearInputs<T>::fetch() {
    GRAFT_CUDA(cudaMemcpyAsync(fetched_.data(), bad_.data(), static_cast<size_t>(bad_.size()) * 8,
                               cudaMemcpyDeviceToHost, queue_.stream()));
}

template <typename T>
int64_t NearInputs<T>::first_bad(int32_t place) const {
    return on_host_ ? host_bad_[static_cast<size_t>(place)]
                    : static_cast<int64_t>(fetched_.data()[place]); // ~0: -1
}

template <typename T>
const T* NearInputs<T>::put(int32_t place, const ArrayView& view) {
    const int64_t n = view.n; // the caller's points, of which boxes may have some only
    if (!view.present() || n == 0)
        return nullptr;
    if (on_host_)
        return put_on_host(place, view);
    const T* const at = put_on_device(place, view);
    find_bad<<<backend::blocks_for(n, threads), threads, 0, queue_.stream()>>>(at, n, bad_.data() + place);
    GRAFT_CUDA_LAUNCHED("find_bad");
    ++queue_.launches;
    return at;
}

template <typename T>
const T* NearInputs<T>::put_on_device(int32_t place, const ArrayView& view) {
    if (view.on_device() && fits<T>(view))
        return reinterpret_cast<const T*>(view.data);
    backend::DeviceBuffer<T>& to = device_[static_cast<size_t>(place)];
    const int64_t n = view.n;
    to.resize(n);
    const auto run = [&](const ArrayView& from, int64_t first, int64_t count) {
        convert<<<backend::blocks_for(count, threads), threads, 0, queue_.stream()>>>(
            device_view(from), count, to.data() + first);
        GRAFT_CUDA_LAUNCHED("convert");
        ++queue_.launches;
    };
    if (view.on_device()) {
        run(view, 0, n);
        return to.data();
    }
    for (int64_t first = 0; first < n; first += particles::DeviceStaging::chunk_items) {
        const int64_t count = std::min(n - first, particles::DeviceStaging::chunk_items);
        ArrayView piece;
        staging_.send(queue_, executor_, 1, &view, first, count, &piece);
        run(piece, first, count);
    }
    return to.data();
}

template <typename T>
const T* NearInputs<T>::put_on_host(int32_t place, const ArrayView& view) {
    const int64_t n = view.n;
    ArrayView from = view;
    std::vector<char> bytes;
    if (!view.on_host()) { // the whole reach of the array, once
        bytes.resize(static_cast<size_t>((n - 1) * view.item_stride + particles::element_size(view.type)));
        GRAFT_CUDA(
            cudaMemcpyAsync(bytes.data(), view.data, bytes.size(), cudaMemcpyDeviceToHost, queue_.stream()));
        queue_.wait();
        from.data = bytes.data();
    }
    std::vector<T>& to = host_[static_cast<size_t>(place)];
    to.resize(static_cast<size_t>(n));
    executor_.for_each(n, [&](int64_t i) {
        if (from.type == ElementType::f32) {
            float v;
            std::memcpy(&v, from.at(i), sizeof v);
            to[static_cast<size_t>(i)] = static_cast<T>(v);
        } else {
            double v;
            std::memcpy(&v, from.at(i), sizeof v);
            to[static_cast<size_t>(i)] = static_cast<T>(v);
        }
    });
    const auto bad = std::find_if(to.begin(), to.end(), [](T v) { return !std::isfinite(v); });
    host_bad_[static_cast<size_t>(place)] = bad == to.end() ? -1 : bad - to.begin();
    return to.data();
}

template <typename T>
T* NearOutputs<T>::place(size_t k, const ArrayView& view) {
    Item& item = items_[k];
    item.used = view.present() && view.n > 0;
    item.view = view;
    if (!item.used)
        return nullptr;
    if (view.on_device() && fits<T>(view) && !add_) {
        item.used = false; // nothing left to do
        return reinterpret_cast<T*>(view.data);
    }
    item.buffer.resize(view.n);
    if (!has_all(item)) // what is in no box travels, too
        GRAFT_CUDA(
            cudaMemsetAsync(item.buffer.data(), 0, static_cast<size_t>(view.n) * sizeof(T), queue_.stream()));
    return item.buffer.data();
}

template <typename T>
Fields<T> NearOutputs<T>::fields(const DeviceNearOutputs& outputs, const Sums& sums) {
    add_ = outputs.add != 0;
    while (items_.size() < static_cast<size_t>(4 * sums.components))
        items_.push_back({{},
                          backend::DeviceBuffer<T>(queue_.memory(), "near field: sums"),
                          backend::PinnedBuffer<T>(queue_.memory(), "near field: sums"),
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
void NearOutputs<T>::send() {
    for (Item& item : items_) {
        if (!item.used)
            continue;
        if (item.view.on_device()) {
            const int32_t* const index = has_all(item) ? nullptr : structure_.view().target_index;
            deliver_sums<<<backend::blocks_for(targets(), threads), threads, 0, queue_.stream()>>>(
                item.buffer.data(), index, targets(), add_, device_view(item.view));
            GRAFT_CUDA_LAUNCHED("deliver_sums");
            ++queue_.launches;
        } else {
            item.pinned.resize(item.view.n);
            GRAFT_CUDA(cudaMemcpyAsync(item.pinned.data(), item.buffer.data(),
                                       static_cast<size_t>(item.view.n) * sizeof(T), cudaMemcpyDeviceToHost,
                                       queue_.stream()));
        }
    }
}

template <typename T>
void NearOutputs<T>::deliver() {
    for (Item& item : items_) {
        if (!item.used || item.view.on_device())
            continue;
        const T* const from = item.pinned.data();
        const bool add = add_;
        const ArrayView view = item.view;
        const int64_t* const index = has_all(item) ? nullptr : structure_.host().target_index.data();
        executor_.for_each(targets(), [=](int64_t slot) {
            const int64_t i = index != nullptr ? index[slot] : slot;
            if (view.type == ElementType::f32)
                put_number<float>(view.at(i), from[i], add);
            else
                put_number<double>(view.at(i), from[i], add);
        });
        item.used = false;
    }
}

template class NearInputs<float>;
template class NearInputs<double>;
template class NearOutputs<float>;
template class NearOutputs<double>;

} // namespace graft::kernels::near
