// SPDX-License-Identifier: BSD-3-Clause
// Point sets made on the device, see cloud_points.hpp: 2^30 points in a fraction of a second, and none of
// them on the host.
#include "study/bench/bench_table_gpu.cuh"

#include "backend/guard_gpu.cuh"

namespace graft::study {

namespace {

constexpr int threads = 256;

template <typename Real>
__global__ void __launch_bounds__(threads) cloud_kernel(const CloudRequest request, Real* columns) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x, n = request.n;
    if (i >= n)
        return;
    double p[3];
    cloud_point(static_cast<Cloud>(request.cloud), request.seed, i, p);
    for (int axis = 0; axis < 3; ++axis)
        columns[axis * n + i] = static_cast<Real>(p[axis]);
    columns[3 * n + i] = static_cast<Real>(1.0 / static_cast<double>(n));
}

} // namespace

int32_t make_cloud(int32_t device, const CloudRequest* request, void* columns, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(device));
        const unsigned blocks = backend::blocks_for(request->n, threads);
        if (request->in_double != 0)
            cloud_kernel<<<blocks, threads>>>(*request, static_cast<double*>(columns));
        else
            cloud_kernel<<<blocks, threads>>>(*request, static_cast<float*>(columns));
        GRAFT_CUDA_LAUNCHED("points of a cloud");
        GRAFT_CUDA(cudaDeviceSynchronize());
    });
}

int32_t fill_bytes(int32_t device, void* to, int32_t byte, int64_t bytes, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(device));
        GRAFT_CUDA(cudaMemset(to, byte, static_cast<size_t>(bytes)));
        GRAFT_CUDA(cudaDeviceSynchronize());
    });
}

} // namespace graft::study
