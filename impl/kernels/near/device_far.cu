// See device_far.cuh.
#include "kernels/near/device_far.cuh"

#include "backend/device_context.cuh"

#include <algorithm>

namespace graft::kernels::near {

namespace {

using backend::DeviceBuffer;
using particles::ArrayView;
using particles::device_view;
using particles::DeviceView;

constexpr int threads = 256;

void upload(backend::Queue& queue, const std::vector<int64_t>& from, DeviceBuffer<int32_t>& to) {
    const std::vector<int32_t> narrow(from.begin(), from.end());
    to.resize(std::max<int64_t>(1, static_cast<int64_t>(narrow.size())));
    if (!narrow.empty())
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), narrow.data(), narrow.size() * 4, cudaMemcpyHostToDevice,
                                   queue.stream()));
    queue.wait(); // the vector goes
}

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
                       double units, const double* scale, DeviceView to) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= n)
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

/// Peer access: copies then go from GPU to GPU; where there is none they go through the host.
void reach(int32_t from, int32_t other) {
    int can = 0;
    GRAFT_CUDA(backend::use_device(from));
    GRAFT_CUDA(cudaDeviceCanAccessPeer(&can, from, other));
    if (can == 0)
        return;
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled)
        GRAFT_CUDA(error);
    (void)cudaGetLastError();
}

} // namespace

SomePoints::SomePoints(std::span<const int64_t> numbers, std::span<const int64_t> places,
                       backend::Queue& queue)
    : numbers_(numbers.begin(), numbers.end()), places_(places.begin(), places.end()),
      follow_(places.empty() && (numbers.empty() || numbers.back() - numbers.front() + 1 ==
                                                        static_cast<int64_t>(numbers.size()))),
      device_numbers_(queue.memory(), "near field: a part's points"),
      device_places_(queue.memory(), "near field: a part's points") {
    upload(queue, numbers_, device_numbers_);
    if (!places_.empty())
        upload(queue, places_, device_places_);
}

ArrayView SomePoints::of(ArrayView view) const {
    if (!numbers_.empty())
        view.data = view.at(numbers_.front());
    view.n = size();
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
                 int64_t n, bool add, double units, const double* scale, const ArrayView& to) {
    if (n == 0)
        return;
    spread<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(from, places, numbers, n, add,
                                                                            units, scale, device_view(to));
    GRAFT_CUDA_LAUNCHED("spread");
    ++queue.launches;
}
template void spread_sums(backend::Queue&, const float*, const int32_t*, const int32_t*, int64_t, bool,
                          double, const double*, const ArrayView&);
template void spread_sums(backend::Queue&, const double*, const int32_t*, const int32_t*, int64_t, bool,
                          double, const double*, const ArrayView&);

struct FarSide::OnFar {
    explicit OnFar(const FarSide& side) : side_(side) { GRAFT_CUDA(backend::use_device(side.device())); }
    ~OnFar() { (void)backend::use_device(side_.near_device_); }
    OnFar(const OnFar&) = delete;
    OnFar& operator=(const OnFar&) = delete;

  private:
    const FarSide& side_;
};

FarSide::FarSide(int32_t device, backend::Queue& near, const SomePoints& targets, const SomePoints& sources,
                 const SomePoints& own)
    : near_device_(near.memory().device()), near_(near), memory_(device), queue_(memory_, nullptr),
      far_event_(memory_), near_lists_{&targets, &sources, &own} {
    reach(near_device_, device);
    near_event_ = std::make_unique<backend::Event>(near.memory());
    reach(device, near_device_);
    const OnFar there(*this);
    for (int k = 0; k < 3; ++k)
        if (k == 0 || near_lists_[k] != near_lists_[0])
            lists_[k] =
                std::make_unique<SomePoints>(near_lists_[k]->numbers(), near_lists_[k]->places(), queue_);
}

FarSide::~FarSide() {
    (void)cudaStreamSynchronize(queue_.stream());
}

const SomePoints& FarSide::copy_of(const SomePoints& near) const {
    for (int k = 0; k < 3; ++k)
        if (near_lists_[k] == &near && lists_[k] != nullptr)
            return *lists_[k];
    return *lists_[0];
}

char* FarSide::buffer(int32_t place, int64_t bytes) {
    while (buffers_.size() <= static_cast<size_t>(place))
        buffers_.emplace_back(memory_, "near field: a part's numbers");
    buffers_[static_cast<size_t>(place)].resize(bytes);
    return buffers_[static_cast<size_t>(place)].data();
}

void FarSide::bring(int32_t place, const ArrayView& view, const SomePoints& some, char* to) {
    const int64_t size = particles::element_size(view.type), bytes = some.size() * size;
    if (bytes == 0)
        return;
    const char* from = view.data;
    {
        const OnFar there(*this);
        if (some.follow() && view.item_stride == size) {
            from = some.of(view).data;
        } else {
            char* const picked = buffer(place, bytes);
            pick_items(queue_, view, copy_of(some).device_numbers(), some.size(), picked);
            from = picked;
        }
        GRAFT_CUDA(cudaEventRecord(far_event_, queue_.stream()));
    }
    GRAFT_CUDA(cudaStreamWaitEvent(near_.stream(), far_event_, 0));
    GRAFT_CUDA(
        cudaMemcpyPeerAsync(to, near_device_, from, device(), static_cast<size_t>(bytes), near_.stream()));
}

void FarSide::follow() {
    GRAFT_CUDA(cudaEventRecord(*near_event_, near_.stream()));
    const OnFar there(*this);
    GRAFT_CUDA(cudaStreamWaitEvent(queue_.stream(), *near_event_, 0));
}

const void* FarSide::carry(int32_t place, const void* from, int64_t bytes) {
    const OnFar there(*this);
    char* const to = buffer(place, bytes);
    GRAFT_CUDA(
        cudaMemcpyPeerAsync(to, device(), from, near_device_, static_cast<size_t>(bytes), queue_.stream()));
    return to;
}

template <typename T>
void FarSide::give(int32_t place, const T* from, int64_t entries, bool add, double units, const double* scale,
                   const ArrayView& to) {
    const SomePoints& own = copy_of(*near_lists_[2]);
    if (own.size() == 0)
        return;
    const auto* const sums =
        static_cast<const T*>(carry(place, from, entries * static_cast<int64_t>(sizeof(T))));
    const OnFar there(*this);
    spread_sums(queue_, sums, own.device_places(), own.device_numbers(), own.size(), add, units, scale, to);
}
template void FarSide::give(int32_t, const float*, int64_t, bool, double, const double*, const ArrayView&);
template void FarSide::give(int32_t, const double*, int64_t, bool, double, const double*, const ArrayView&);

void FarSide::join() {
    {
        const OnFar there(*this);
        GRAFT_CUDA(cudaEventRecord(far_event_, queue_.stream()));
    }
    GRAFT_CUDA(cudaStreamWaitEvent(near_.stream(), far_event_, 0));
}

} // namespace graft::kernels::near
