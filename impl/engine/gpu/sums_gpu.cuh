// SPDX-License-Identifier: BSD-3-Clause
// What is done with the raw field on the device before it goes out: self potentials, virial, energy, history.
#pragma once

#include "backend/queue_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "forces/softening.hpp"

namespace graft::engine {

/// Sources in host order, scaled as Problem's; origin: target -> host index, null: k itself.
struct DeviceTargetSources {
    const double *x, *y, *z, *charge;
    const double* softening; // null: one length for all
    double softening_length;
    const int32_t* origin;
    bool has_centre = false; // that virials refer to; else particle 0
    double centre[3] = {0, 0, 0};
};

/// Enqueued: what a softened kernel counts of each target's own charge is taken off.
void remove_self_potential(backend::Queue& queue, forces::Softening kind, const DeviceTargetSources& sources,
                           forces::DeviceField& field, int64_t n);

inline constexpr int device_sum_count = 7; // six virial components and the energy
int64_t sum_partials(int64_t n);           // values of scratch
/// Enqueued: totals[0 ... 7) as Solver::sum_up, in fixed blocks and order, positions relative to the centre.
void sum_virial(backend::Queue& queue, const DeviceTargetSources& sources, const forces::DeviceField& field,
                int64_t n, double* partial, double* totals);

/// Enqueued: net[0 ... 7) = NetForce's numbers and a 0, of the targets and all n particles.
void sum_net_force(backend::Queue& queue, const DeviceTargetSources& sources, const forces::DeviceField& field,
                   int64_t targets, int64_t n, double* partial, double* net);
/// Enqueued: as on a CPU (write_results.hpp).
void take_off_net_force(backend::Queue& queue, const DeviceTargetSources& sources, const double* net, forces::DeviceField& field,
              int64_t targets);

/// Enqueued: last[host index] = |field|, unless stopped.
void remember_field(backend::Queue& queue, const forces::DeviceField& field, const int32_t* origin,
                    int64_t n, double* last);

/// Enqueued: out[k] = outer[inner[k]].
void compose(backend::Queue& queue, const int32_t* outer, const int32_t* inner, int64_t n, int32_t* out);
/// Enqueued: to_a[k] = a[index[k]] for up to five arrays, null ones left out.
inline constexpr int gathered_arrays = 5;
void gather(backend::Queue& queue, const int32_t* index, int64_t n, const double* const (&from)[gathered_arrays],
            double* const (&to)[gathered_arrays]);

} // namespace graft::engine
