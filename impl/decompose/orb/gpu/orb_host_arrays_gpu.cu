// SPDX-License-Identifier: BSD-3-Clause
// One rank's ORB for host arrays: there, solved, and back; what the level strategy of a rank alone uses.
#include "decompose/orb/gpu/orb_host_arrays_gpu.cuh"

#include "backend/guard_gpu.cuh"
#include "core/timer.hpp"
#include "decompose/array_transfer_gpu.cuh"
#include "decompose/orb/gpu/orb_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

namespace {

using backend::DeviceBuffer;

struct HostOrb {
    explicit HostOrb(int device)
        : memory(device), queue(memory, nullptr), transfer(queue), orb(queue),
          owner(memory, "owners"), x{DeviceBuffer<double>(memory, "points"),
                                     DeviceBuffer<double>(memory, "points"),
                                     DeviceBuffer<double>(memory, "points")},
          cost(memory, "costs"), id(memory, "ids") {}

    template <typename V>
    const V* send(DeviceBuffer<V>& to, const V* from, int64_t n);

    backend::DeviceMemory memory;
    backend::Queue queue;
    HostTransfer transfer;
    DeviceOrb orb;
    DeviceBuffer<int32_t> owner;
    DeviceBuffer<double> x[3], cost;
    DeviceBuffer<int64_t> id;
    std::vector<Cell> cells;
};

/// NULL stays NULL.
template <typename V>
const V* HostOrb::send(DeviceBuffer<V>& to, const V* from, int64_t n) {
    if (from == nullptr)
        return nullptr;
    to.resize(std::max<int64_t>(n, 1));
    transfer.send(to.data(), from, n * int64_t{sizeof(V)});
    return to.data();
}

/// owner[index[i]] = part of place i.
__global__ void write_owners(const uint32_t* index, const int64_t* offset, int32_t parts, int64_t n,
                             int32_t* owner) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int32_t low = 0, high = parts;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        (offset[middle] <= i ? low : high) = middle;
    }
    owner[index[i]] = low;
}

void solve(HostOrb& host, DeviceOrbCall& call) {
    const Points& p = call.points;
    core::Timer timer;
    GRAFT_CUDA(cudaSetDevice(host.memory.device()));
    host.transfer.set_threads(call.threads);
    DeviceOrbPoints points;
    points.n = p.n, points.fp64 = true;
    points.x = host.send(host.x[0], p.x, p.n), points.y = host.send(host.x[1], p.y, p.n);
    points.z = host.send(host.x[2], call.dimension == 3 ? p.z : nullptr, p.n);
    points.cost = host.send(host.cost, p.cost, p.n);
    points.id = host.send(host.id, p.id, p.n);
    call.upload_s = timer.seconds();
    DeviceOrbOptions options;
    options.parts = call.parts, options.dimension = call.dimension;
    options.mix = call.mix, options.cap = call.cap;
    host.queue.clear_status();
    host.orb.run(points, options, true);
    host.owner.resize(p.n);
    write_device_owners(host.queue, host.orb.index(), host.orb.part_offset(), call.parts, p.n,
                        host.owner.data());
    host.orb.check();
    host.transfer.fetch(call.owner, host.owner.data(), p.n * 4);
    if (call.permutation != nullptr)
        host.transfer.fetch(call.permutation, host.orb.index(), p.n * 4);
    host.transfer.fetch(call.part_offset, host.orb.part_offset(), (int64_t{call.parts} + 1) * 8);
    host.orb.fetch_cells(host.cells);
    std::copy(host.cells.begin(), host.cells.end(), call.cells);
    const DeviceOrbTimes times = host.orb.times();
    call.total_s = times.total_ms * 1e-3, call.cuts_s = (times.total_ms - times.move_ms) * 1e-3;
}

} // namespace

void write_device_owners(backend::Queue& queue, const uint32_t* index, const int64_t* offset, int32_t parts,
                         int64_t n, int32_t* owner) {
    write_owners<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(index, offset, parts, n, owner);
    GRAFT_CUDA_LAUNCHED("write_owners");
    ++queue.launches;
}

int32_t orb_create(int32_t device, void** orb, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] { *orb = new HostOrb(device); });
}

void orb_release(void* orb) {
    const backend::KeepsDevice keeps;
    delete static_cast<HostOrb*>(orb);
}

int32_t orb_solve(void* orb, DeviceOrbCall* call, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] { solve(*static_cast<HostOrb*>(orb), *call); });
}

} // namespace graft::decompose
