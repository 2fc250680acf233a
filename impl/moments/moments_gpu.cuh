// SPDX-License-Identifier: BSD-3-Clause
// Moments and expansions on the device: the same numbers, bit for bit, as moments.hpp on the host.
//
// Arrays are sized by the tree's node capacity; entries behind the last node are undefined. Compiled without
// fused multiply-adds; per-node bodies are those of the host (moments/p2m_m2m.hpp).
#pragma once

#include "backend/queue_gpu.cuh"
#include "moments/expansion.hpp"
#include "moments/moments.hpp"
#include "tree/tree_gpu.cuh"

namespace graft::moments {

struct DeviceMoments {
    explicit DeviceMoments(backend::DeviceMemory& memory)
        : cx(memory, "node centres x"), cy(memory, "node centres y"), cz(memory, "node centres z"),
          magnitude(memory, "node |charges|"), radius(memory, "node radii"), spread(memory, "node spreads"),
          rho(memory, "node lengths"), softening(memory, "node softening"),
          softening_square(memory, "node mean softening"), values(memory, "moments"),
          single(memory, "expansions"), full(memory, "expansions"),
          pending(memory, "children that moments wait for") {}

    int order = 0;
    backend::DeviceBuffer<double> cx, cy, cz, magnitude, radius, spread, rho;
    backend::DeviceBuffer<double> softening, softening_square; // empty: one length for all
    backend::DeviceBuffer<double> values;                      // node-major, term_count(order) a node
    // Records of record_size(order, softened) numbers a node, as expansion.hpp; the one in use is not empty.
    backend::DeviceBuffer<float> single;
    backend::DeviceBuffer<double> full;
    backend::DeviceBuffer<int32_t> pending; // working memory of compute_moments: two numbers a node

    void upload(backend::Queue& queue, const Moments& host, int64_t node_capacity);
    void download(backend::Queue& queue, int64_t nodes, Moments& host) const;
};

/// Enqueues P2M and M2M of all nodes. No waiting, no allocation when sizes have been seen. Throws
/// Error(argument) for an order outside 0..4 or a tree without charges. Leaves a thread each; inner nodes 8
/// lanes each, upwards from child to parent in one launch.
void compute_moments(backend::Queue& queue, const tree::DeviceTree& tree, int order, DeviceMoments& moments);

/// Enqueues the M2P records of all nodes, in double (precision fp64) or float.
void fill_expansion(backend::Queue& queue, const tree::DeviceTree& tree, bool softened, bool in_double,
                    DeviceMoments& moments);

} // namespace graft::moments
