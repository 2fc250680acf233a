// SPDX-License-Identifier: BSD-3-Clause
// The M2P record of one node from its moments: the body that CPU and GPU share. See expansion.hpp.
#pragma once

#include "core/host_device.hpp"
#include "moments/moment_terms.hpp"

namespace graft::moments {

/// x^a y^b z^c of the moments m.
template <int a, int b, int c>
GRAFT_HD inline double moment(const double* m) {
    return m[term_index(a, b, c)];
}

/// Trace over one pair of indices, as component (a, b, c) of the tensor two orders lower.
template <int a, int b, int c>
GRAFT_HD inline double trace(const double* m) {
    return moment<a + 2, b, c>(m) + moment<a, b + 2, c>(m) + moment<a, b, c + 2>(m);
}

// factor_l = l (2l-1)!!/l!
inline constexpr double factor_2 = 3, factor_3 = 7.5, factor_4 = 17.5;

template <typename T>
struct Writer {
    T* out;
    GRAFT_HD void put(double value) { *out++ = static_cast<T>(value); }
};

template <typename T>
GRAFT_HD inline void put_quadrupole(const double* m, Writer<T>& to) {
    const double third = trace<0, 0, 0>(m) / 3;
    to.put(factor_2 * (moment<2, 0, 0>(m) - third));
    to.put(factor_2 * moment<1, 1, 0>(m));
    to.put(factor_2 * moment<1, 0, 1>(m));
    to.put(factor_2 * (moment<0, 2, 0>(m) - third));
    to.put(factor_2 * moment<0, 1, 1>(m));
}

/// M_ijk - (delta_ij t_k + delta_ik t_j + delta_jk t_i) / 5, t_k = M_iik.
template <typename T>
GRAFT_HD inline void put_octupole(const double* m, Writer<T>& to) {
    const double x = trace<1, 0, 0>(m) / 5, y = trace<0, 1, 0>(m) / 5, z = trace<0, 0, 1>(m) / 5;
    to.put(factor_3 * (moment<3, 0, 0>(m) - 3 * x));
    to.put(factor_3 * (moment<2, 1, 0>(m) - y));
    to.put(factor_3 * (moment<2, 0, 1>(m) - z));
    to.put(factor_3 * (moment<1, 2, 0>(m) - x));
    to.put(factor_3 * moment<1, 1, 1>(m));
    to.put(factor_3 * (moment<0, 3, 0>(m) - 3 * y));
    to.put(factor_3 * (moment<0, 2, 1>(m) - z));
}

/// M_ijkl - (delta_ij t_kl, six permutations) / 7 + (delta_ij delta_kl, three) t_mm / 35, t_kl = M_iikl.
template <typename T>
GRAFT_HD inline void put_hexadecapole(const double* m, Writer<T>& to) {
    const double xx = trace<2, 0, 0>(m) / 7, xy = trace<1, 1, 0>(m) / 7, xz = trace<1, 0, 1>(m) / 7;
    const double yy = trace<0, 2, 0>(m) / 7, yz = trace<0, 1, 1>(m) / 7, zz = trace<0, 0, 2>(m) / 7;
    const double w = (xx + yy + zz) / 5;
    to.put(factor_4 * (moment<4, 0, 0>(m) - 6 * xx + 3 * w));
    to.put(factor_4 * (moment<3, 1, 0>(m) - 3 * xy));
    to.put(factor_4 * (moment<3, 0, 1>(m) - 3 * xz));
    to.put(factor_4 * (moment<2, 2, 0>(m) - xx - yy + w));
    to.put(factor_4 * (moment<2, 1, 1>(m) - yz));
    to.put(factor_4 * (moment<1, 3, 0>(m) - 3 * xy));
    to.put(factor_4 * (moment<1, 2, 1>(m) - xz));
    to.put(factor_4 * (moment<0, 4, 0>(m) - 6 * yy + 3 * w));
    to.put(factor_4 * (moment<0, 3, 1>(m) - 3 * yz));
}

template <typename T>
GRAFT_HD inline void put_traces(const double* m, int order, Writer<T>& to) {
    if (order >= 2)
        to.put(-0.5 * trace<0, 0, 0>(m));
    if (order >= 3) {
        to.put(-1.5 * trace<1, 0, 0>(m));
        to.put(-1.5 * trace<0, 1, 0>(m));
        to.put(-1.5 * trace<0, 0, 1>(m));
    }
    if (order >= 4) {
        const double xx = trace<2, 0, 0>(m), yy = trace<0, 2, 0>(m);
        const double w = xx + yy + trace<0, 0, 2>(m);
        to.put(-7.5 * (xx - w / 3));
        to.put(-7.5 * trace<1, 1, 0>(m));
        to.put(-7.5 * trace<1, 0, 1>(m));
        to.put(-7.5 * (yy - w / 3));
        to.put(-7.5 * trace<0, 1, 1>(m));
        to.put(w);
    }
}

template <typename T>
GRAFT_HD inline void fill_node(const double* m, int order, bool softened, int size, T* out) {
    Writer<T> to{out};
    for (int k = 0; k < (order > 0 ? 4 : 1); ++k)
        to.put(m[k]);
    if (order >= 2)
        put_quadrupole(m, to);
    if (order >= 3)
        put_octupole(m, to);
    if (order >= 4)
        put_hexadecapole(m, to);
    if (softened)
        put_traces(m, order, to);
    while (to.out != out + size)
        *to.out++ = T(0);
}

} // namespace graft::moments
