// SPDX-License-Identifier: BSD-3-Clause
// A field at the targets to what the host wants of it: virial and energy, then numbers in the host's arrays.
#pragma once

#include "backend/executor.hpp"
#include "engine/request.hpp"
#include "particles/problem.hpp"

namespace graft::engine {

/// Virial (xx yy zz xy xz yz) and energy of all ranks' targets, in internal units.
struct Totals {
    static constexpr int count = 7;
    double value[count] = {};
};

/// Of targets, internal units: the sum of charge times field (3), of |charge|, and how many are charged; and how many of all
/// particles are.
struct NetForce {
    static constexpr int count = 6;
    double value[count] = {};

    /// Charged particles that are no targets are pushed by nobody here: nothing adds up then.
    bool is_whole() const { return value[3] > 0 && value[4] == value[5]; }
};

/// A field, and whose it is. item: target k -> the host's item; NULL: k.
struct FieldView {
    const particles::Problem& problem;
    const particles::RawField& field;
    const int32_t* item;

    int64_t item_of(int64_t k) const { return item != nullptr ? item[k] : k; }
};

/// Of the own targets, positions relative to the centre: sums over fixed blocks in fixed order. sums: scratch.
Totals sum_own(const backend::Executor& executor, const FieldView& view, const double (&centre)[3],
               core::Buffer<double>& sums);
/// Of the own targets, in the same order.
NetForce sum_net_force(const backend::Executor& executor, const FieldView& view, core::Buffer<double>& sums);
/// What all forces together miss zero by, where they are whole: off each charged target, in proportion to |charge|.
void take_off_net_force(const backend::Executor& executor, const FieldView& view, const NetForce& net,
                        particles::RawField& field);
/// Collective: of all ranks' targets.
Totals sum_up(const backend::Executor& executor, comm::Communicator& comm, const FieldView& view,
              core::Buffer<double>& sums);

/// Throws Error(value) naming the first number that the host's type cannot hold. Reads only.
void check_results(const backend::Executor& executor, const settings::Settings& settings,
                   const Outputs& outputs, const FieldView& view, const Totals& totals);
/// Cannot fail.
void write_results(const backend::Executor& executor, const settings::Settings& settings,
                   const Outputs& outputs, const FieldView& view, const Totals& totals);

} // namespace graft::engine
