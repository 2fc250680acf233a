// SPDX-License-Identifier: BSD-3-Clause
// The record of a node (expansion.hpp) as the coefficients of its Taylor series: what M2L multiplies the
// derivatives of 1/s with. The body that CPU and GPU share.
//
//     phi(x) = sum over alpha of w_alpha d^alpha (1/s)(x - c),  w_alpha = (-1)^|alpha| M_alpha / alpha!
//
// in units of rho^|alpha|, in the order of moment_terms.hpp. Unsoftened, the traces of the moments meet derivatives
// that vanish, and the traceless parts stand for the moments; softened, the record's traces are put back.
#pragma once

#include "core/host_device.hpp"
#include "moments/expansion.hpp"
#include "moments/node_expansion.hpp"

namespace graft::moments {

template <typename T>
GRAFT_HD constexpr void quadrupole_terms(const T* q, T* w) { // xx xy xz yy yz of factor_2 M
    constexpr T half = static_cast<T>(0.5 / factor_2), one = static_cast<T>(1 / factor_2);
    w[0] = half * q[0], w[1] = one * q[1], w[2] = one * q[2], w[3] = half * q[3], w[4] = one * q[4];
    w[5] = -half * (q[0] + q[3]);
}

template <typename T>
GRAFT_HD constexpr void octupole_terms(const T* o, T* w) { // xxx xxy xxz xyy xyz yyy yyz of factor_3 M
    constexpr T sixth = static_cast<T>(-1 / (6 * factor_3)), half = static_cast<T>(-1 / (2 * factor_3)),
                one = static_cast<T>(-1 / factor_3);
    w[0] = sixth * o[0], w[1] = half * o[1], w[2] = half * o[2], w[3] = half * o[3], w[4] = one * o[4];
    w[5] = -half * (o[0] + o[3]), w[6] = sixth * o[5], w[7] = half * o[6];
    w[8] = -half * (o[1] + o[5]), w[9] = -sixth * (o[2] + o[6]);
}

template <typename T>
GRAFT_HD constexpr void hexadecapole_terms(const T* h, T* w) { // xxxx xxxy xxxz xxyy xxyz xyyy xyyz yyyy yyyz
    constexpr T f24 = static_cast<T>(1 / (24 * factor_4)), f6 = static_cast<T>(1 / (6 * factor_4)),
                f4 = static_cast<T>(1 / (4 * factor_4)), f2 = static_cast<T>(1 / (2 * factor_4));
    const T xxzz = -(h[0] + h[3]), yyzz = -(h[3] + h[7]);
    w[0] = f24 * h[0], w[1] = f6 * h[1], w[2] = f6 * h[2], w[3] = f4 * h[3], w[4] = f2 * h[4];
    w[5] = f4 * xxzz, w[6] = f6 * h[5], w[7] = f2 * h[6], w[8] = -f2 * (h[1] + h[5]);
    w[9] = -f6 * (h[2] + h[6]), w[10] = f24 * h[7], w[11] = f6 * h[8], w[12] = f4 * yyzz;
    w[13] = -f6 * (h[4] + h[8]), w[14] = f24 * -(xxzz + yyzz);
}

/// The traces of a softened record, put back into the terms of order 2 ... order.
template <typename T>
GRAFT_HD constexpr void add_trace_terms(const T* record, int order, T* w) {
    const T* c = record + traceless_terms(order);
    const T second = c[0] * static_cast<T>(-2.0 / 3 / 2); // trace / 3, over 2!
    w[4] += second, w[7] += second, w[9] += second;
    if (order < 3)
        return;
    constexpr T fifth = static_cast<T>(-1 / -1.5 / 5); // (-1)^3 t_k / 5 from -3/2 t_k
    const T x = fifth * c[1], y = fifth * c[2], z = fifth * c[3];
    constexpr T half = static_cast<T>(0.5);
    w[10] += half * x, w[11] += half * y, w[12] += half * z, w[13] += half * x, w[15] += half * x;
    w[16] += half * y, w[17] += half * z, w[18] += half * y, w[19] += half * z;
    if (order < 4)
        return;
    constexpr T seventh = static_cast<T>(1 / -7.5 / 7);
    const T third = c[9] / 21, rest = c[9] / 35; // t_kk carries w / 3 each, over 7
    const T xx = seventh * c[4] + third, xy = seventh * c[5], xz = seventh * c[6];
    const T yy = seventh * c[7] + third, yz = seventh * c[8], zz = -seventh * (c[4] + c[7]) + third;
    constexpr T quarter = static_cast<T>(0.25);
    w[20] += (6 * xx - 3 * rest) / 24, w[21] += half * xy, w[22] += half * xz;
    w[23] += quarter * (xx + yy - rest), w[24] += half * yz, w[25] += quarter * (xx + zz - rest);
    w[26] += half * xy, w[27] += half * xz, w[28] += half * xy, w[29] += half * xz;
    w[30] += (6 * yy - 3 * rest) / 24, w[31] += half * yz, w[32] += quarter * (yy + zz - rest);
    w[33] += half * yz, w[34] += (6 * zz - 3 * rest) / 24;
}

/// w[0 ... term_count(order)) from one record.
template <typename T>
GRAFT_HD constexpr void source_terms(const T* record, int order, bool softened, T* w) {
    w[0] = record[0];
    for (int k = 1; k < (order > 0 ? 4 : 1); ++k)
        w[k] = -record[k];
    if (order >= 2)
        quadrupole_terms(record + 4, w + 4);
    if (order >= 3)
        octupole_terms(record + 9, w + 10);
    if (order >= 4)
        hexadecapole_terms(record + 16, w + 20);
    if (softened && order >= 2)
        add_trace_terms(record, order, w);
}

/// Numbers of a record that count.
constexpr int record_terms(int order, bool softened) {
    return traceless_terms(order) + (softened ? trace_terms(order) : 0);
}

/// source_terms as a matrix: w_k = sum over j of value[k][j] record_j. Without softening the derivatives have
/// d_zz = -d_xx - d_yy: the terms of z^2 and more are put onto the others, and are zero here.
template <int order, bool softened>
struct SourceMatrix {
    double value[term_count(order)][record_terms(order, softened)] = {};

    constexpr SourceMatrix() {
        for (int j = 0; j < record_terms(order, softened); ++j) {
            double record[record_terms(order, softened)] = {}, w[term_count(order)] = {};
            record[j] = 1;
            source_terms(record, order, softened, w);
            for (int k = term_count(order) - 1; k >= 0 && !softened; --k) {
                const Term t = terms[static_cast<std::size_t>(k)];
                if (t.c < 2)
                    continue;
                w[term_index(t.a + 2, t.b, t.c - 2)] -= w[k];
                w[term_index(t.a, t.b + 2, t.c - 2)] -= w[k];
                w[k] = 0;
            }
            for (int k = 0; k < term_count(order); ++k)
                value[k][j] = w[k];
        }
    }
};

} // namespace graft::moments
