// The caller's arrays of a near field: device_near.cuh.
#include "kernels/near/device_near.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::kernels::near {

namespace {

using particles::ArrayView;
using particles::ElementType;

constexpr int threads = 256;

template <typename T>
constexpr ElementType type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

template <typename T>
bool fits(const ArrayView& view) {
    return view.type == type_of<T> && view.item_stride == static_cast<int64_t>(sizeof(T));
}

template <typename T>
__global__ void convert(ArrayView from, int64_t n, T* to) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n)
        return;
    const char* const at = from.data + i * from.item_stride;
    to[i] = static_cast<T>(from.type == ElementType::f32
                               ? static_cast<double>(*reinterpret_cast<const float*>(at))
                               : *reinterpret_cast<const double*>(at));
}

template <typename T>
__global__ void find_bad(const T* from, int64_t n, unsigned long long* first) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n && !isfinite(from[i]))
        atomicMin(first, static_cast<unsigned long long>(i));
}

template <typename T>
__global__ void deliver_sums(const T* from, int64_t n, bool add, ArrayView to) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n)
        return;
    char* const at = to.data + i * to.item_stride;
    if (to.type == ElementType::f32) {
        float* const p = reinterpret_cast<float*>(at);
        *p = static_cast<float>(add ? static_cast<T>(*p) + from[i] : from[i]);
    } else {
        double* const p = reinterpret_cast<double*>(at);
        *p = add ? *p + static_cast<double>(from[i]) : static_cast<double>(from[i]);
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
const T* NearInputs<T>::put(int32_t place, const ArrayView& view, int64_t n) {
    if (!view.present() || n == 0)
        return nullptr;
    if (on_host_)
        return put_on_host(place, view, n);
    const T* const at = put_on_device(place, view, n);
    find_bad<<<backend::blocks_for(n, threads), threads, 0, queue_.stream()>>>(at, n, bad_.data() + place);
    GRAFT_CUDA_LAUNCHED("find_bad");
    ++queue_.launches;
    return at;
}

template <typename T>
const T* NearInputs<T>::put_on_device(int32_t place, const ArrayView& view, int64_t n) {
    if (view.on_device() && fits<T>(view))
        return reinterpret_cast<const T*>(view.data);
    backend::DeviceBuffer<T>& to = device_[static_cast<size_t>(place)];
    to.resize(n);
    const auto run = [&](const ArrayView& from, int64_t first, int64_t count) {
        convert<<<backend::blocks_for(count, threads), threads, 0, queue_.stream()>>>(from, count,
                                                                                      to.data() + first);
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
const T* NearInputs<T>::put_on_host(int32_t place, const ArrayView& view, int64_t n) {
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
    item.used = view.present() && n_ > 0;
    item.view = view;
    if (!item.used)
        return nullptr;
    if (view.on_device() && fits<T>(view) && !add_) {
        item.used = false; // nothing left to do
        return reinterpret_cast<T*>(view.data);
    }
    item.buffer.resize(n_);
    return item.buffer.data();
}

template <typename T>
Fields<T> NearOutputs<T>::fields(const DeviceNearOutputs& outputs, const Sums& sums, int64_t n) {
    n_ = n, add_ = outputs.add != 0;
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
            deliver_sums<<<backend::blocks_for(n_, threads), threads, 0, queue_.stream()>>>(
                item.buffer.data(), n_, add_, item.view);
            GRAFT_CUDA_LAUNCHED("deliver_sums");
            ++queue_.launches;
        } else {
            item.pinned.resize(n_);
            GRAFT_CUDA(cudaMemcpyAsync(item.pinned.data(), item.buffer.data(),
                                       static_cast<size_t>(n_) * sizeof(T), cudaMemcpyDeviceToHost,
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
        executor_.for_each(n_, [=](int64_t i) {
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
