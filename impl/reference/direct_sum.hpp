// SPDX-License-Identifier: BSD-3-Clause
// The oracle: the field as a plain double sum over all pairs with compensated additions, in the caller's
// units.
//
// It shares no code with the kernels it judges: no frames, no vectors, no estimates. Softening is as
// documented for users: none; Plummer, eps_ij^2 = (eps_i^2 + eps_j^2) / 2; Springel's (2005) compact spline,
// h_ij = max(h_i, h_j).
#pragma once

#include <cstdint>

namespace graft::reference {

enum class Softening : int32_t { none = 0, plummer = 1, spline = 2 };

struct Points {
    int64_t count = 0;
    const double *x = nullptr, *y = nullptr, *z = nullptr;
    const double* softening = nullptr; // per point; NULL = the one length of the call
};

struct Field {
    double *ax = nullptr, *ay = nullptr, *az = nullptr; // sum q d / r^3, d = source - target
    double* potential = nullptr;                        // sum q / r; may be NULL
};

/// Field of `sources` with charges `charge` at `targets`, overwritten into `field` (arrays of targets.count).
/// A pair at distance zero has no force; unsoftened it has no potential either. self[i] (self may be NULL) is
/// the source that target i is itself and that is left out, -1 for none. Any thread count (at least 1) gives
/// the same bits. Cost: sources.count * targets.count. Throws nothing.
void direct_sum(const Points& sources, const double* charge, const Points& targets, const int64_t* self,
                Softening softening, double length, int threads, const Field& field);

} // namespace graft::reference
