// SPDX-License-Identifier: BSD-3-Clause
// Trees that only the host builds: ORB, and cells too deep for 63-bit keys.
#pragma once

#include "core/buffer.hpp"
#include "lists/targets.hpp"
#include "moments/moments.hpp"
#include "tree/build.hpp"

namespace graft::engine {

struct HostTree {
    explicit HostTree(core::Memory& memory)
        : builder(memory), tree(memory), moments(memory), targets(memory), x(memory, "x"), y(memory, "y"),
          z(memory, "z"), charge(memory, "charges"), softening(memory, "softening"),
          target_softening(memory, "target softening"), target(memory, "targets"), active(memory, "marks") {}
    tree::TreeBuilder builder;
    tree::Tree tree;
    moments::Moments moments;
    lists::TargetSet targets;
    core::Buffer<double> x, y, z, charge, softening, target_softening;
    core::Buffer<int32_t> target;
    core::Buffer<uint8_t> active;
};

} // namespace graft::engine
