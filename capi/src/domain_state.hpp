// SPDX-License-Identifier: BSD-3-Clause
// What decompose, balance and migrate keep between calls: working memory, the last domains, the last plan.
#pragma once

#include "balance/balance.hpp"
#include "balance/migrate.hpp"
#include "decompose/decompose.hpp"

#include <memory>

namespace graft::capi {

/// The host's particles or objects as decompose and balance want them: contiguous doubles and ids.
struct PointBuffers {
    explicit PointBuffers(core::Memory& memory)
        : x(memory, "points x"), y(memory, "points y"), z(memory, "points z"), cost(memory, "point costs"),
          bytes(memory, "object bytes"), id(memory, "point ids") {}
    core::Buffer<double> x, y, z, cost, bytes;
    core::Buffer<int64_t> id;
};

struct DomainState {
    explicit DomainState(core::Memory& memory)
        : points(memory), decomposer(memory), decomposition(memory), balancer(memory), migration(memory),
          owner(memory, "new owners"), work(memory, "work of particles") {}
    PointBuffers points;
    decompose::Decomposer decomposer;
    decompose::Result decomposition;
    balance::Balancer balancer;
    std::shared_ptr<decompose::Decomposition> domains; // of the last decompose or balance; null before
    balance::Migration migration;
    bool has_plan = false;
    core::Buffer<int32_t> owner;
    core::Buffer<double> work; // of each particle in the last compute

    /// What the next call would fill anew; domains, plan and what balancing has learned stay.
    void release_memory() noexcept {
        for (core::Buffer<double>* values : {&points.x, &points.y, &points.z, &points.cost, &points.bytes, &work})
            values->release();
        points.id.release();
        owner.release();
    }
};

} // namespace graft::capi
