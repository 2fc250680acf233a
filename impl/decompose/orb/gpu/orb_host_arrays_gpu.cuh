// SPDX-License-Identifier: BSD-3-Clause
// The entries of DeviceOrbTable that solve for host arrays, and owners from an order.
#pragma once

#include "backend/queue_gpu.cuh"
#include "decompose/orb/orb_table.hpp"

namespace graft::decompose {

int32_t orb_create(int32_t device, void** orb, backend::DeviceError* error);
void orb_release(void* orb);
int32_t orb_solve(void* orb, DeviceOrbCall* call, backend::DeviceError* error);

/// owner[index[i]] = part of place i, from parts + 1 offsets of runs. Enqueued.
void write_device_owners(backend::Queue& queue, const uint32_t* index, const int64_t* offset, int32_t parts,
                         int64_t n, int32_t* owner);

} // namespace graft::decompose
