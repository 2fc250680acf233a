// See device_skin.cuh. Distances are not negative, so their bit patterns sort as they do: an integer maximum.
#include "lists/device_skin.cuh"

#include <algorithm>
#include <limits>

namespace graft::lists {

namespace {

struct Positions {
    const double *x, *y, *z; // z may be null
};

__global__ void find_largest(Positions now, Positions then, int64_t n, double* largest) {
    unsigned long long bits = 0;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        const double dx = now.x[i] - then.x[i], dy = now.y[i] - then.y[i];
        const double dz = now.z != nullptr ? now.z[i] - then.z[i] : 0.0;
        const double moved = sqrt(dx * dx + dy * dy + dz * dz);
        const double safe = moved >= 0 ? moved : std::numeric_limits<double>::infinity();
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

} // namespace

void DeviceSkinWatch::remember(backend::Queue& queue, int64_t n, const double* x, const double* y,
                               const double* z) {
    n_ = n, has_z_ = z != nullptr;
    const auto keep = [&](const double* from, backend::DeviceBuffer<double>& to) {
        to.resize(from != nullptr ? n : 0);
        if (to.size() > 0)
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from, static_cast<size_t>(n) * sizeof(double),
                                       cudaMemcpyDeviceToDevice, queue.stream()));
    };
    keep(x, x_), keep(y, y_), keep(z, z_);
}

void DeviceSkinWatch::measure(backend::Queue& queue, int64_t n, const double* x, const double* y,
                              const double* z) {
    displacement_.resize(1);
    ++queue.launches;
    if (n != n_ || (z != nullptr) != has_z_) {
        set_infinite<<<1, 1, 0, queue.stream()>>>(displacement_.data());
        GRAFT_CUDA_LAUNCHED("displacement");
        return;
    }
    GRAFT_CUDA(cudaMemsetAsync(displacement_.data(), 0, sizeof(double), queue.stream()));
    const unsigned most = static_cast<unsigned>(queue.multiprocessors()) * 8;
    find_largest<<<std::min(backend::blocks_for(n, 256), most), 256, 0, queue.stream()>>>(
        {x, y, z}, {x_.data(), y_.data(), has_z_ ? z_.data() : nullptr}, n, displacement_.data());
    GRAFT_CUDA_LAUNCHED("displacement");
}

} // namespace graft::lists
