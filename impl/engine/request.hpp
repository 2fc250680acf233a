// SPDX-License-Identifier: BSD-3-Clause
// What a call of the host asks for, and what a computation works with besides.
//
// A request is checked once, before anybody computes; what only a look at the data can tell is left to the import.
#pragma once

#include "backend/gpu_allocator.hpp"
#include "comm/communicator.hpp"
#include "core/log.hpp"
#include "particles/array_view.hpp"
#include "settings/settings.hpp"

#include <cstdint>

namespace graft::engine {

class BufferTuning;
class TreeTuning;
struct Report;

struct ParticleInput {
    int64_t n = 0;
    particles::ArrayView position[3];
    particles::ArrayView charge; // absent: charge_all for everyone
    double charge_all = 1;
    particles::ArrayView softening;              // absent: the settings' length
    bool has_active = false, has_target = false; // given, though perhaps with no items
    particles::ArrayView active;
    particles::ArrayView target;
    bool target_from_1 = false;
};

struct Outputs {
    particles::ArrayView acceleration[3];
    particles::ArrayView potential;
    particles::ArrayView virial; // 6 components
    particles::ArrayView energy;
    bool force = false;     // charge * field
    bool no_repair = false; // on a GPU: no second attempt inside end_compute(), which throws Error(again) instead

    bool with_sums() const { return virial.present() || energy.present(); }
    bool with_potential() const { return potential.present() || energy.present(); }
};

/// A host's allocator of device memory, in the order of `stream`; NULL functions: the library's own. NULL = refused.
using DeviceAllocator = backend::GpuAllocator;

/// The structs are the caller's and need not live longer than the call.
struct Request {
    const ParticleInput& particles;
    const ParticleInput* points; // of field_at; NULL: compute
    const Outputs& outputs;

    /// The targets are all particles.
    bool whole() const { return points == nullptr && !particles.has_active && !particles.has_target; }
};

/// Throws Error(argument, value) for what can be told without a look at the data.
void check(const settings::Settings& settings, const Request& request);

/// An array of the request by the name that the host knows it by.
struct NamedView {
    const char* name = nullptr;
    const particles::ArrayView* view = nullptr;
};
/// The first array that only a GPU can reach; NULL: none.
NamedView device_array(const Request& request);

/// What an engine works with: the ranks, the settings, who chooses sizes of trees and buffers, where to tell.
struct Environment {
    comm::Communicator& comm;
    const settings::Settings& settings; // of this computation: nothing is left to choose
    const core::Log& log;
    TreeTuning& tuning;
    BufferTuning& buffers;
    Report& report;
};

} // namespace graft::engine
