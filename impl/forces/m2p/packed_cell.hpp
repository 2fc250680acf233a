// SPDX-License-Identifier: BSD-3-Clause
// Cells of order 2 as the fast kernels of a GPU read them; the arithmetic on them that the host can do, too.
#pragma once

#include "core/host_device.hpp"

#include <cstdint>

namespace graft::forces {

/// What one cell of order 2 is to the fast kernel, made once per node. Lengths in units of 2^exponent,
/// charge as q * charge_scale; a = |q|^(-1/2) sign(q), root_charge = |q|^(1/2) sign(q), quadrupole = the
/// record's 2 Q2 (xx xy xz yy yz zz) / (q |q|), trace = the record's c / |q|^3 sign(q).
struct alignas(16) PackedCell {
    double x, y, z;
    float a;
    int32_t exponent;
    float quadrupole[6];
    float trace, root_charge;
};

/// The terms of the cell's series, those of order 1 being zero: moments/source_terms.hpp for a PackedCell,
/// the record's 2 Q2 being quadrupole q |q|, its c trace q |q|^2. Unsoftened, zz is put onto xx and yy.
template <bool softened>
GRAFT_HD inline void packed_sources(const PackedCell& cell, float (&w)[10]) {
    const float size = cell.root_charge * cell.root_charge;
    const float charge = cell.root_charge < 0 ? -size : size;
    const float* q = cell.quadrupole;
    const float third = charge * size * (1.0f / 3), sixth = 0.5f * third;
    w[0] = charge;
    w[5] = third * q[1], w[6] = third * q[2], w[8] = third * q[4];
    if constexpr (softened) {
        const float trace = -third * size * cell.trace;
        w[4] = sixth * q[0] + trace, w[7] = sixth * q[3] + trace, w[9] = sixth * q[5] + trace;
    } else {
        w[4] = sixth * (q[0] - q[5]), w[7] = sixth * (q[3] - q[5]);
    }
}

} // namespace graft::forces
