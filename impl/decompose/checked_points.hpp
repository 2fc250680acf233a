// SPDX-License-Identifier: BSD-3-Clause
// One call of Decomposer::run, checked and with what all ranks know of it; what each strategy starts from.
#pragma once

#include "decompose/decompose.hpp"
#include "decompose/weights.hpp"

#include <exception>

namespace graft::decompose {

struct Problem {
    comm::Communicator& comm;
    const backend::Executor& executor;
    Options options; // the same on all ranks
    Points points;   // of this rank
    bool with_permutation = false;
    // Over all ranks:
    int64_t count = 0;
    geometry::Box box; // tight; empty without points
    WeightRule weights;
    Wide weight = 0;

    int64_t id_of(int64_t i) const;
    double coordinate(int axis, int64_t i) const {
        return axis == 0 ? points.x[i] : axis == 1 ? points.y[i] : points.z != nullptr ? points.z[i] : 0.0;
    }
    /// slack of CutGoal::good_enough: tolerance * mean weight of a part, 0 when every cut must be the best.
    Wide slack() const;
};

/// What left the body, to be told along with a later reduction and agreed on only when there is something.
template <typename Body>
std::exception_ptr caught(Body&& body) {
    try {
        body();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

/// Collective. Checks everything that run() promises to refuse, the same on all ranks.
Problem prepare(comm::Communicator& comm, const backend::Executor& executor, const Options& options,
                const Points& points, bool with_permutation);

/// Fills the permutation and part_offset of a result whose owners stand. May throw Error(memory); local.
void sort_by_owner(const backend::Executor& executor, int32_t parts, Result& result);

} // namespace graft::decompose
