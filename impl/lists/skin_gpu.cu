// SPDX-License-Identifier: BSD-3-Clause
// See skin_gpu.cuh. Distances are not negative, so their bit patterns sort as they do: an integer maximum.
#include "lists/skin_gpu.cuh"

#include <algorithm>
#include <limits>

namespace graft::lists {

namespace {

__device__ bool same(const double* now, const double* then, int64_t i) {
    return now == nullptr || now[i] == then[i];
}

__global__ void find_largest(WatchedParticles now, WatchedParticles then, double* largest) {
    unsigned long long bits = 0;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < now.n; i += stride) {
        const double dx = now.x[i] - then.x[i], dy = now.y[i] - then.y[i];
        const double dz = now.z != nullptr ? now.z[i] - then.z[i] : 0.0;
        const double moved = sqrt(dx * dx + dy * dy + dz * dz);
        const bool good =
            moved >= 0 && same(now.charge, then.charge, i) && same(now.softening, then.softening, i);
        const double safe = good ? moved : std::numeric_limits<double>::infinity();
        bits = max(bits, static_cast<unsigned long long>(__double_as_longlong(safe)));
    }
    for (int step = 16; step > 0; step /= 2)
        bits = max(bits, __shfl_xor_sync(~0u, bits, step));
    if (threadIdx.x % 32 == 0)
        atomicMax(reinterpret_cast<unsigned long long*>(largest), bits);
}

__global__ void set_infinite(double* value) {
    *value = std::numeric_limits<double>::infinity();
}

__global__ void stop_if_moved(const double* displacement, double most, backend::DeviceStatus* status) {
    if (!(*displacement <= most))
        backend::stop_with(status, moved);
}

} // namespace

WatchedParticles DeviceSkinWatch::remembered() const {
    const auto pointer = [](const backend::DeviceBuffer<double>& buffer) {
        return buffer.empty() ? nullptr : buffer.data();
    };
    return {n_, x_.data(), y_.data(), pointer(z_), pointer(charge_), pointer(softening_)};
}

void DeviceSkinWatch::remember(backend::Queue& queue, const WatchedParticles& p) {
    n_ = p.n;
    const auto keep = [&](const double* from, backend::DeviceBuffer<double>& to) {
        to.resize(from != nullptr ? p.n : 0);
        if (to.size() > 0)
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from, static_cast<size_t>(p.n) * sizeof(double),
                                       cudaMemcpyDeviceToDevice, queue.stream()));
    };
    keep(p.x, x_), keep(p.y, y_), keep(p.z, z_), keep(p.charge, charge_), keep(p.softening, softening_);
    displacement_.resize(1);
}

void DeviceSkinWatch::measure(backend::Queue& queue, const WatchedParticles& p) {
    displacement_.resize(1);
    ++queue.launches;
    const WatchedParticles then = remembered();
    const auto differs = [](const double* a, const double* b) { return (a == nullptr) != (b == nullptr); };
    if (p.n != n_ || (n_ > 0 && (differs(p.z, then.z) || differs(p.charge, then.charge) ||
                                 differs(p.softening, then.softening)))) {
        set_infinite<<<1, 1, 0, queue.stream()>>>(displacement_.data());
        GRAFT_CUDA_LAUNCHED("displacement");
        return;
    }
    GRAFT_CUDA(cudaMemsetAsync(displacement_.data(), 0, sizeof(double), queue.stream()));
    const unsigned most = static_cast<unsigned>(queue.multiprocessors()) * 8;
    find_largest<<<std::min(backend::blocks_for(p.n, 256), most), 256, 0, queue.stream()>>>(
        p, then, displacement_.data());
    GRAFT_CUDA_LAUNCHED("displacement");
}

void DeviceSkinWatch::stop_beyond(backend::Queue& queue, double most) {
    stop_if_moved<<<1, 1, 0, queue.stream()>>>(displacement_.data(), most, queue.status());
    GRAFT_CUDA_LAUNCHED("limit of displacement");
    ++queue.launches;
}

} // namespace graft::lists
