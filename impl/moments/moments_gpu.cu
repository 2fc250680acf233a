// SPDX-License-Identifier: BSD-3-Clause
// Moments to the device and back. See moments_gpu.cuh.
#include "moments/moments_gpu.cuh"

#include <algorithm>

namespace graft::moments {

namespace {

/// Calls each(device buffer, host buffer, numbers a node) for every array of numbers.
template <typename Device, typename Host, typename Each>
void for_arrays(Device& device, Host& host, const Each& each) {
    each(device.cx, host.cx, 1), each(device.cy, host.cy, 1), each(device.cz, host.cz, 1);
    each(device.magnitude, host.magnitude, 1), each(device.radius, host.radius, 1);
    each(device.spread, host.spread, 1), each(device.rho, host.rho, 1);
    each(device.softening, host.softening, 1), each(device.softening_square, host.softening_square, 1);
    each(device.values, host.values, term_count(host.order));
}

} // namespace

void DeviceMoments::upload(backend::Queue& queue, const Moments& host, int64_t node_capacity) {
    order = host.order;
    for_arrays(*this, host, [&](auto& to, const auto& from, int stride) {
        to.resize(from.empty() ? 0 : std::max(from.size(), node_capacity * stride));
        if (!from.empty())
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(),
                                       static_cast<size_t>(from.size()) * sizeof(double),
                                       cudaMemcpyHostToDevice, queue.stream()));
    });
    queue.wait(); // the host arrays are the caller's again
}

void DeviceMoments::download(backend::Queue& queue, int64_t nodes, Moments& host) const {
    host.order = order;
    for_arrays(*this, host, [&](const auto& from, auto& to, int stride) {
        to.resize(from.empty() ? 0 : nodes * stride);
        if (!to.empty())
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(),
                                       static_cast<size_t>(to.size()) * sizeof(double),
                                       cudaMemcpyDeviceToHost, queue.stream()));
    });
    queue.wait();
}

} // namespace graft::moments
