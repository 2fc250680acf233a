// SPDX-License-Identifier: BSD-3-Clause
// Which mesh a smooth part needs: its error for order and spacing, its points, and what it costs.
#pragma once

#include "geometry/lattice.hpp"

#include <cstdint>

namespace graft::periodic {

struct MeshChoice {
    int order = 0; // of the splines: 4, 6 or 8; 0: no mesh
    int64_t count[3] = {0, 0, 0};
    bool operator==(const MeshChoice&) const = default;
    int64_t points() const { return count[0] * count[1] * count[2]; }
};

/// The coarsest mesh of this order whose error is at most `error`, by the edges; no order where none is fine enough. The error is
/// that of forces between unit charges, rms over all places in a cell of the mesh and over all of space, of an interaction of
/// erf(alpha r) / r: the square root of the integral of the square, over alpha^(1/2). With charges anywhere, a charge q then
/// has an error of q (Q alpha / V)^(1/2) times this, Q = sum q^2. Source: Hockney & Eastwood 1988, eq. 8-23, for the influence
/// function of wave_mesh.hpp.
MeshChoice choose_mesh(const geometry::Lattice& lattice, double alpha, int order, double error);

} // namespace graft::periodic
