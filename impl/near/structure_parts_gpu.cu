// SPDX-License-Identifier: BSD-3-Clause
// See structure_parts_gpu.cuh.
#include "near/structure_parts_gpu.cuh"

#include "backend/context_gpu.cuh"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace graft::near {

namespace {

using backend::DeviceBuffer;
using particles::ArrayView;
using particles::device_view;
using particles::DeviceView;

constexpr int threads = 256;

__global__ void pick(DeviceView from, const int32_t* numbers, int64_t n, char* to) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= n)
        return;
    const int64_t i = numbers != nullptr ? numbers[k] : k;
    if (from.size == 4)
        reinterpret_cast<uint32_t*>(to)[k] = particles::load<uint32_t>(from, i);
    else
        reinterpret_cast<uint64_t*>(to)[k] = particles::load<uint64_t>(from, i);
}

template <typename T>
__global__ void spread(const T* from, const int32_t* places, const int32_t* numbers, int64_t n, bool add,
                       double units, const double* scale, const LookedSums* looked, DeviceView to) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= n || (looked != nullptr && looked->any()))
        return;
    const int64_t i = numbers != nullptr ? numbers[k] : k;
    const double value =
        static_cast<double>(from[places != nullptr ? places[k] : k]) * units / scale_of(scale);
    if (to.size == 4)
        particles::store(
            to, i,
            static_cast<float>(add ? static_cast<double>(particles::load<float>(to, i)) + value : value));
    else
        particles::store(to, i, add ? particles::load<double>(to, i) + value : value);
}

/// Peer access: copies then go from GPU to GPU; where there is none they go through the host. Asked for once
/// a context: a second time is an error.
void reach(int32_t from, int32_t other) {
    static std::mutex mutex;
    static std::set<std::pair<backend::Context, int32_t>> asked;
    const std::lock_guard<std::mutex> lock(mutex);
    int can = 0;
    GRAFT_CUDA(backend::use_device(from));
    GRAFT_CUDA(cudaDeviceCanAccessPeer(&can, from, other));
    if (can == 0 || !asked.insert({backend::current_context(), other}).second)
        return;
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled)
        GRAFT_CUDA(error);
    (void)cudaGetLastError();
}

} // namespace

SomePoints::SomePoints(std::span<const int64_t> numbers, backend::Queue& queue)
    : numbers_(numbers.begin(), numbers.end()), device_(queue.memory(), "near field: a part's points") {
    constexpr size_t few = 16;
    for (int64_t k = 0; k < size() && runs_.size() <= few; ++k)
        if (k == 0 || number(k) != number(k - 1) + 1)
            runs_.push_back({number(k), k, 1});
        else
            ++runs_.back().count;
    if (runs_.size() > few)
        runs_.clear();
    upload(queue);
}

SomePoints::SomePoints(const SomePoints& from, backend::Queue& queue)
    : numbers_(from.numbers_), runs_(from.runs_), device_(queue.memory(), "near field: a part's points") {
    upload(queue);
}

void SomePoints::upload(backend::Queue& queue) {
    device_.resize(std::max<int64_t>(1, size()));
    if (size() > 0)
        GRAFT_CUDA(cudaMemcpyAsync(device_.data(), numbers_.data(), numbers_.size() * 4,
                                   cudaMemcpyHostToDevice, queue.stream()));
    queue.wait();
}

ArrayView items_of(ArrayView view, const SomePoints::Run& run) {
    view.data = view.at(run.number), view.n = run.count;
    return view;
}

void pick_items(backend::Queue& queue, const ArrayView& from, const int32_t* numbers, int64_t n, char* to) {
    if (n == 0)
        return;
    pick<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(device_view(from), numbers, n, to);
    GRAFT_CUDA_LAUNCHED("pick");
    ++queue.launches;
}

template <typename T>
void spread_sums(backend::Queue& queue, const T* from, const int32_t* places, const int32_t* numbers,
                 int64_t n, bool add, double units, const double* scale, const LookedSums* looked,
                 const ArrayView& to) {
    if (n == 0)
        return;
    spread<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(
        from, places, numbers, n, add, units, scale, looked, device_view(to));
    GRAFT_CUDA_LAUNCHED("spread");
    ++queue.launches;
}
template void spread_sums(backend::Queue&, const float*, const int32_t*, const int32_t*, int64_t, bool,
                          double, const double*, const LookedSums*, const ArrayView&);
template void spread_sums(backend::Queue&, const double*, const int32_t*, const int32_t*, int64_t, bool,
                          double, const double*, const LookedSums*, const ArrayView&);

struct OtherDevice::CurrentDevice {
    explicit CurrentDevice(const OtherDevice& side) : side_(side) {
        GRAFT_CUDA(backend::use_device(side.device()));
    }
    ~CurrentDevice() { (void)backend::use_device(side_.near_device_); }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

  private:
    const OtherDevice& side_;
};

OtherDevice::OtherDevice(int32_t device, backend::Queue& near, const SomePoints& targets,
                         const SomePoints& sources, const SomePoints& own)
    : near_device_(near.memory().device()), near_(near), memory_(device), queue_(memory_, nullptr),
      far_event_(memory_), near_lists_{&targets, &sources, &own} {
    reach(near_device_, device);
    near_event_ = std::make_unique<backend::Event>(near.memory());
    reach(device, near_device_);
    const CurrentDevice there(*this);
    for (int k = 0; k < 3; ++k)
        if (k == 0 || near_lists_[k] != near_lists_[0])
            lists_[k] = std::make_unique<SomePoints>(*near_lists_[k], queue_);
}

OtherDevice::~OtherDevice() {
    (void)cudaStreamSynchronize(queue_.stream());
}

const SomePoints& OtherDevice::copy_of(const SomePoints& near) const {
    for (int k = 0; k < 3; ++k)
        if (near_lists_[k] == &near && lists_[k] != nullptr)
            return *lists_[k];
    return *lists_[0];
}

char* OtherDevice::buffer(int32_t place, int64_t bytes) {
    while (buffers_.size() <= static_cast<size_t>(place))
        buffers_.emplace_back(memory_, "near field: a part's numbers");
    buffers_[static_cast<size_t>(place)].resize(bytes);
    return buffers_[static_cast<size_t>(place)].data();
}

void OtherDevice::bring(int32_t place, const ArrayView& view, const SomePoints& some, char* to) {
    const int64_t size = particles::element_size(view.type), bytes = some.size() * size;
    if (bytes == 0)
        return;
    char* from = nullptr;
    { // always: a copy out of the caller's array itself was made after the kernel of another part there
        const CurrentDevice there(*this);
        from = buffer(place, bytes);
        pick_items(queue_, view, copy_of(some).on_device(), some.size(), from);
        GRAFT_CUDA(cudaEventRecord(far_event_, queue_.stream()));
    }
    GRAFT_CUDA(cudaStreamWaitEvent(near_.stream(), far_event_, 0));
    GRAFT_CUDA(
        cudaMemcpyPeerAsync(to, near_device_, from, device(), static_cast<size_t>(bytes), near_.stream()));
}

void OtherDevice::follow() {
    GRAFT_CUDA(cudaEventRecord(*near_event_, near_.stream()));
    const CurrentDevice there(*this);
    GRAFT_CUDA(cudaStreamWaitEvent(queue_.stream(), *near_event_, 0));
}

const void* OtherDevice::carry(int32_t place, const void* from, int64_t bytes) {
    const CurrentDevice there(*this);
    char* const to = buffer(place, bytes);
    GRAFT_CUDA(
        cudaMemcpyPeerAsync(to, device(), from, near_device_, static_cast<size_t>(bytes), queue_.stream()));
    return to;
}

template <typename T>
void OtherDevice::give(int32_t place, const T* from, bool add, double units, const double* scale,
                       const LookedSums* looked, const ArrayView& to) {
    const SomePoints& own = copy_of(*near_lists_[2]);
    if (own.size() == 0)
        return;
    const auto* const sums =
        static_cast<const T*>(carry(place, from, own.size() * static_cast<int64_t>(sizeof(T))));
    const CurrentDevice there(*this);
    spread_sums(queue_, sums, nullptr, own.on_device(), own.size(), add, units, scale, looked, to);
}
template void OtherDevice::give(int32_t, const float*, bool, double, const double*, const LookedSums*,
                                const ArrayView&);
template void OtherDevice::give(int32_t, const double*, bool, double, const double*, const LookedSums*,
                                const ArrayView&);

void OtherDevice::join() {
    {
        const CurrentDevice there(*this);
        GRAFT_CUDA(cudaEventRecord(far_event_, queue_.stream()));
    }
    GRAFT_CUDA(cudaStreamWaitEvent(near_.stream(), far_event_, 0));
}

} // namespace graft::near
