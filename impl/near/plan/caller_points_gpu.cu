// SPDX-License-Identifier: BSD-3-Clause
// The caller's points and charges of a near field: near_plan_gpu.cuh.
#include "near/plan/near_plan_gpu.cuh"

#include "particles/array_view_gpu.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::near {

namespace {

using particles::ArrayView;
using particles::device_view;
using particles::DeviceView;
using particles::ElementType;

constexpr int threads = 256, most_blocks = 1024;

template <typename T>
constexpr ElementType type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

/// A kernel may take it for an array of its own.
template <typename T>
bool fits(const ArrayView& view) {
    return view.type == type_of<T> && view.item_stride == static_cast<int64_t>(sizeof(T)) &&
           device_view(view).aligned;
}

template <typename T>
__global__ void convert(DeviceView from, int64_t n, double scale, const double* device_scale, T* to) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n)
        to[i] = static_cast<T>(particles::load_real(from, i) * scale * scale_of(device_scale));
}

/// Unsigned numbers in the order of doubles, and back.
GRAFT_HD unsigned long long key_of(double value) {
    unsigned long long bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (1ull << 63);
}
GRAFT_HD double value_of(unsigned long long key) {
    const unsigned long long bits = key >> 63 ? key & ~(1ull << 63) : ~key;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

__device__ double least_of_warp(double value) {
    for (int step = 16; step > 0; step /= 2)
        value = fmin(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

/// parts > 0: the last block to end writes the scale of charges, from those of the `parts` arrays up to this.
__global__ void look_at(DeviceView from, int64_t n, double most, int32_t parts, Seen* seen) {
    double least = INFINITY, minus_most = INFINITY;
    unsigned long long bad = ~0ull;
    for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += int64_t{gridDim.x} * threads) {
        const double value = particles::load_real(from, i);
        if (!(fabs(value) <= most))
            bad = min(bad, static_cast<unsigned long long>(i));
        least = fmin(least, value), minus_most = fmin(minus_most, -value);
    }
    if (bad != ~0ull)
        atomicMin(&seen->first_bad, bad);
    __shared__ double shared[2][threads / 32];
    least = least_of_warp(least), minus_most = least_of_warp(minus_most);
    if (threadIdx.x % 32 == 0)
        shared[0][threadIdx.x / 32] = least, shared[1][threadIdx.x / 32] = minus_most;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int warp = 1; warp < threads / 32; ++warp)
        least = fmin(least, shared[0][warp]), minus_most = fmin(minus_most, shared[1][warp]);
    atomicMin(&seen->least, key_of(least)), atomicMin(&seen->minus_most, key_of(minus_most));
    if (parts == 0)
        return;
    __threadfence();
    if (atomicAdd(&seen->blocks, 1ull) + 2 != gridDim.x) // counts from -1
        return;
    __threadfence();
    double largest = 0;
    for (int32_t part = 0; part < parts; ++part)
        for (unsigned long long* word : {&seen[-part].least, &seen[-part].minus_most})
            largest = fmax(largest, fabs(value_of(atomicAdd(word, 0ull))));
    for (int32_t part = 0; part < parts; ++part)
        seen[-part].scale = charge_scale(largest);
}

/// Items as they are, of the size of a Word.
template <typename Word>
void pick_on_host(const backend::Executor& executor, const ArrayView& view, std::span<const int32_t> numbers,
                  char* to) {
    executor.for_each(static_cast<int64_t>(numbers.size()), [=](int64_t k) {
        std::memcpy(to + k * static_cast<int64_t>(sizeof(Word)), view.at(numbers[static_cast<size_t>(k)]),
                    sizeof(Word));
    });
}

} // namespace

template <typename T>
NearInputs<T>::NearInputs(backend::Queue& queue, const backend::Executor& executor, int32_t arrays,
                          bool on_host)
    : queue_(queue), executor_(executor), on_host_(on_host), staging_(queue.memory()),
      seen_(queue.memory(), "near field: what is seen of arrays"),
      fetched_(queue.memory(), "near field: what is seen of arrays"), there_(queue.memory()) {
    for (int32_t k = 0; k < arrays; ++k)
        items_.push_back({{},
                          nullptr,
                          false,
                          0,
                          backend::DeviceBuffer<char>(queue.memory(), "near field: caller's numbers"),
                          backend::PinnedBuffer<char>(queue.memory(), "near field: caller's numbers"),
                          backend::DeviceBuffer<T>(queue.memory(), "near field: caller's numbers"),
                          {},
                          -1});
    seen_.resize(arrays), fetched_.resize(arrays);
    forget();
}

template <typename T>
void NearInputs<T>::forget() {
    for (Item& item : items_)
        item.host_bad = -1;
    GRAFT_CUDA(cudaMemsetAsync(seen_.data(), 0xff, static_cast<size_t>(seen_.size()) * sizeof(Seen),
                               queue_.stream()));
}

template <typename T>
void NearInputs<T>::fetch() {
    GRAFT_CUDA(cudaMemcpyAsync(fetched_.data(), seen_.data(),
                               static_cast<size_t>(seen_.size()) * sizeof(Seen), cudaMemcpyDeviceToHost,
                               queue_.stream()));
    GRAFT_CUDA(cudaEventRecord(there_, queue_.stream()));
}

template <typename T>
void NearInputs<T>::wait_fetched() const {
    GRAFT_CUDA(cudaEventSynchronize(there_));
}

template <typename T>
int64_t NearInputs<T>::first_bad(int32_t place) const {
    const Item& item = items_[static_cast<size_t>(place)];
    if (on_host_)
        return item.host_bad;
    const auto bad = static_cast<int64_t>(fetched_.data()[place].first_bad); // ~0: -1
    return bad >= 0 && item.some != nullptr ? item.some->number(bad) : bad;
}

template <typename T>
void NearInputs<T>::widen(int32_t place, int axis, PointBounds& bounds) const {
    const Seen& seen = fetched_.data()[place];
    if (items_[static_cast<size_t>(place)].raw.n > 0 && seen.least != ~0ull)
        bounds.widen(axis, value_of(seen.least), -value_of(seen.minus_most));
}

template <typename T>
void NearInputs<T>::put(int32_t place, const ArrayView& view, double most, const SomePoints* some,
                        OtherDevice* far) {
    Item& item = items_[static_cast<size_t>(place)];
    item.some = some, item.raw = {}, item.direct = false, item.most = most;
    if (!view.present() || view.n == 0)
        return;
    if (on_host_)
        return put_on_host(item, view);
    if (some != nullptr)
        item.raw = pick(item, view, *some, far);
    else
        item.raw = view.on_device() ? view : send_all(item, view);
    item.direct = fits<T>(item.raw);
}

/// From the host, a chunk while the one before is on its way.
template <typename T>
void NearInputs<T>::send(const ArrayView& view, char* to) {
    const int64_t size = particles::element_size(view.type);
    for (int64_t first = 0; first < view.n; first += particles::DeviceStaging::chunk_items) {
        ArrayView piece;
        staging_.send(queue_, executor_, 1, &view, first,
                      std::min(view.n - first, particles::DeviceStaging::chunk_items), &piece,
                      to + first * size);
    }
}

template <typename T>
ArrayView NearInputs<T>::send_all(Item& item, const ArrayView& view) {
    const int64_t size = particles::element_size(view.type);
    item.sent.resize(view.n * size);
    send(view, item.sent.data());
    return {item.sent.data(), view.type, 1, view.n, size, size, particles::MemorySpace::device};
}

template <typename T>
ArrayView NearInputs<T>::pick(Item& item, const ArrayView& view, const SomePoints& some, OtherDevice* far) {
    const int64_t size = particles::element_size(view.type), n = some.size();
    item.sent.resize(n * size);
    char* const to = item.sent.data();
    const ArrayView sent = {to, view.type, 1, n, size, size, particles::MemorySpace::device};
    if (view.on_device()) {
        if (far != nullptr)
            far->bring(static_cast<int32_t>(&item - items_.data()), view, some, to);
        else
            pick_items(queue_, view, some.on_device(), n, to);
        return sent;
    }
    for (const SomePoints::Run& run : some.runs())
        send(items_of(view, run), to + run.place * size);
    if (!some.runs().empty())
        return sent;
    item.picked.resize(n * size);
    char* const picked = item.picked.data();
    for (int64_t first = 0; first < n; first += particles::DeviceStaging::chunk_items) {
        const int64_t count = std::min(n - first, particles::DeviceStaging::chunk_items);
        const std::span<const int32_t> numbers =
            some.numbers().subspan(static_cast<size_t>(first), static_cast<size_t>(count));
        size == 4 ? pick_on_host<uint32_t>(executor_, view, numbers, picked + first * size)
                  : pick_on_host<uint64_t>(executor_, view, numbers, picked + first * size);
        GRAFT_CUDA(cudaMemcpyAsync(to + first * size, picked + first * size,
                                   static_cast<size_t>(count * size), cudaMemcpyHostToDevice,
                                   queue_.stream()));
    }
    return sent;
}

template <typename T>
void NearInputs<T>::look(int32_t place, int32_t parts, bool count_scale) {
    const Item& item = items_[static_cast<size_t>(place)];
    const int64_t n = item.raw.n;
    if (on_host_ || n == 0)
        return;
    const unsigned blocks = std::min(backend::blocks_for(n, threads), static_cast<unsigned>(most_blocks));
    look_at<<<blocks, threads, 0, queue_.stream()>>>(device_view(item.raw), n, item.most,
                                                     count_scale ? parts : 0, seen_.data() + place);
    GRAFT_CUDA_LAUNCHED("look_at");
    ++queue_.launches;
}

template <typename T>
const T* NearInputs<T>::take(int32_t place, bool direct, double scale, const double* device_scale) {
    Item& item = items_[static_cast<size_t>(place)];
    if (on_host_)
        return item.host.data();
    const int64_t n = item.raw.n;
    if (n == 0)
        return nullptr;
    if (direct)
        return reinterpret_cast<const T*>(item.raw.data);
    item.copy.resize(n);
    convert<<<backend::blocks_for(n, threads), threads, 0, queue_.stream()>>>(device_view(item.raw), n, scale,
                                                                              device_scale, item.copy.data());
    GRAFT_CUDA_LAUNCHED("convert");
    ++queue_.launches;
    return item.copy.data();
}

template <typename T>
void NearInputs<T>::put_on_host(Item& item, const ArrayView& view) {
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
    std::vector<T>& to = item.host;
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
    const auto bad = std::find_if(to.begin(), to.end(), [&](T v) { return !(std::fabs(v) <= item.most); });
    item.host_bad = bad == to.end() ? -1 : bad - to.begin();
}

template class NearInputs<float>;
template class NearInputs<double>;

} // namespace graft::near
