// Solver, fourth part: computations in two halves, and those that a GPU does.
#include "core/error.hpp"
#include "pipeline/solver.hpp"

namespace graft::pipeline {

void Solver::begin_compute(const ParticleInput& particles, const Outputs& outputs, void*) {
    if (begun_)
        core::fail(core::Status::call_order,
                   "compute_begin: the last computation was begun but not ended; call compute_end first");
    compute(particles, outputs);
    begun_ = true;
}

void Solver::end_compute() {
    if (!begun_)
        core::fail(core::Status::call_order,
                   "compute_end: no computation was begun; expected compute_begin before it");
    begun_ = false;
}

} // namespace graft::pipeline
