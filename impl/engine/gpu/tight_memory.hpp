// SPDX-License-Identifier: BSD-3-Clause
// Every array of the device that grows with the number of particles: bytes, when it is born, who needs it
// last. The model that decides whether particles fit as usual, or share memory (tight_memory_gpu.cu); plain
// arithmetic.
//
// Invariants: bytes() is not less than what an evaluation of the tree method holds beside its lists, for
// nodes and groups as guessed here (measured peaks beside it: docs/lab/gpu/engine.md). The caller's arrays,
// and lists and partial sums of a batch (batches_that_fit.hpp), come on top.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::engine {

struct DeviceArray {
    const char* name;
    const char* born; // step that writes it first
    const char* last; // step that reads it last
    int64_t count, item_bytes;
    const char* memory; // whose memory it has, where not its own; else NULL
    bool exact;         // not a sixteenth more, as buffers grow
    int64_t bytes() const {
        return memory != nullptr ? 0 : count * item_bytes + (exact ? 0 : count * item_bytes / 16);
    }
};

/// Particles from which on arrays share memory whatever there is: the tree gathers number by number then
/// anyway.
inline constexpr int64_t always_lean = int64_t{1} << 27;

struct FootprintShape {
    int64_t particles = 0, nodes = 0, groups = 0; // capacities
    int order = 2;
    bool lean = false;  // see tight_memory_gpu.cu
    bool local = false; // far cells become polynomials of groups
};

/// Capacities that the engine begins with.
FootprintShape footprint_shape(int64_t particles, int leaf, int group, int order, bool lean, bool local);

/// fp32 or mixed precision, acceleration of all particles, one softening length or none.
std::vector<DeviceArray> device_arrays(const FootprintShape& shape);

/// Sum of device_arrays(), and a megabyte for what does not grow.
int64_t footprint_bytes(const FootprintShape& shape);

} // namespace graft::engine
