// SPDX-License-Identifier: BSD-3-Clause
// Costs to integer weights on the device.
#pragma once

#include "backend/queue_gpu.cuh"

#include <cstdint>

namespace graft::decompose {

/// weight[i] = the WeightRule's for cost[i]; scratch: 6 words; afterwards [0] + 2^32 [1] is the sum of all,
/// and ~[5] = index + 3 * 2^60 of the first cost that is negative or not finite when [5] != 0 (then
/// stop = bad_value). Enqueued.
void orb_weights(backend::Queue& queue, const double* cost, int64_t n, double mix, uint64_t* scratch,
                 uint64_t* weight);

} // namespace graft::decompose
