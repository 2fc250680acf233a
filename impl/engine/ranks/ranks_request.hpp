// SPDX-License-Identifier: BSD-3-Clause
// One request over ranks of which some or all have a GPU: agreed on, conducted, measured, checked and written. Every
// rank, with a GPU or without, comes through here, so that all make the same collective calls.
#pragma once

#include "engine/ranks/ranks_conductor.hpp"

#include <functional>

namespace graft::engine {

/// Who computes on this rank.
struct RankEngine {
    RanksConductor* conductor;
    const DeviceRanksTable* table;
    void* engine;
};

/// Collective. `make` may throw. Fills the report's pairs, cells and ranks. Throws core::Error, the same on all ranks;
/// outputs are then untouched.
RankOutcome compute_over_ranks(const Environment& environment, const Request& request, void* stream,
                               const std::function<RankEngine()>& make);

} // namespace graft::engine
