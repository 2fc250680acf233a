// SPDX-License-Identifier: BSD-3-Clause
// M2P's terms, order by order: one template over the arithmetic, `Ops`, for SIMD vectors and CUDA threads
// (body.hpp); moments/expansion.hpp has the mathematics.
//
// G = grad_u P is a sum over orders of traceless polynomials. By Euler u G_l = l P_l; with W = P + 2 u G
//     a = (rho G - x W) / s^3.
// How a cell is kept is the architecture's own, and with it how the gradients of order 3 and 4 are summed: SIMD
// vectors read rows that are ready for every basis function (cell_rows.hpp), a CUDA thread makes them of the
// record, which is half as long, in registers. The kernels' `Cell` has
//     charge(), dipole(), quadrupole(), octupole(quadratics), hexadecapole(u, quadratics)
//     trace(), trace_gradient(), trace_matrix(), twice_trace()           (softened or screened, as far as its order)
// and `Screen` has left(l, value): what the screen leaves of a number of order l (Open: all of it).
#if defined(GRAFT_KERNELS_M2P_TERMS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_M2P_TERMS_HPP
#undef GRAFT_KERNELS_M2P_TERMS_HPP
#else
#define GRAFT_KERNELS_M2P_TERMS_HPP
#endif

#include "forces/body.hpp"

GRAFT_BEFORE_BODIES();
namespace graft::forces GRAFT_OF_TARGET {

template <class Real>
struct CellVector {
    Real x, y, z;
};
template <class Real>
struct SymmetricMatrix {
    Real xx, xy, xz, yy, yz, zz;
};
/// What traceless polynomials of degree 2 and 3 are made of: a = x^2 - z^2, b = y^2 - z^2.
template <class Real>
struct Quadratics {
    Real a, b, xy, xz, yz, twice_zz;
};

template <class Ops, int order, bool with_potential>
struct CellTerms {
    using Real = typename Ops::Real;
    using Vector = CellVector<Real>;
    static constexpr Ops ops{};

    struct Open {
        static GRAFT_BODY Real left(int, Real value) { return value; }
    };
    struct Value {
        Real p, w; // P and W = P + 2 u G, without and with E R
        Vector g;
    };
    static GRAFT_BODY Real dot(const Vector& a, const Vector& b) {
        return ops.fma(a.z, b.z, ops.fma(a.y, b.y, ops.mul(a.x, b.x)));
    }
    static GRAFT_BODY Vector product(const SymmetricMatrix<Real>& m, const Vector& u) {
        return {ops.fma(m.xz, u.z, ops.fma(m.xy, u.y, ops.mul(m.xx, u.x))),
                ops.fma(m.yz, u.z, ops.fma(m.yy, u.y, ops.mul(m.xy, u.x))),
                ops.fma(m.zz, u.z, ops.fma(m.yz, u.y, ops.mul(m.xz, u.x)))};
    }
    static GRAFT_BODY Quadratics<Real> quadratics(const Vector& u) {
        const Real zz = ops.mul(u.z, u.z);
        return {ops.fms(u.x, u.x, zz), ops.fms(u.y, u.y, zz), ops.mul(u.x, u.y),
                ops.mul(u.x, u.z),     ops.mul(u.y, u.z),     ops.add(zz, zz)};
    }

    /// Adds order l, whose gradient is g_l: l P_l = u g_l.
    template <int l, class Screen>
    static GRAFT_BODY void add_order(const Screen& screen, const Vector& g_l, const Vector& u, Value& v) {
        const Real value = dot(u, g_l);
        v.w = ops.fma(screen.left(l + 1, value), ops.set(2 + 1.0 / l), v.w);
        if constexpr (with_potential)
            v.p = ops.fma(screen.left(l, value), ops.set(1.0 / l), v.p);
        v.g = {ops.add(v.g.x, screen.left(l, g_l.x)), ops.add(v.g.y, screen.left(l, g_l.y)),
               ops.add(v.g.z, screen.left(l, g_l.z))};
    }

    template <class Cell, class Screen>
    static GRAFT_BODY Value polynomial(const Cell& cell, const Screen& screen, const Vector& u) {
        Value v{screen.left(0, cell.charge()), screen.left(1, cell.charge()), {}};
        if constexpr (order >= 1) {
            const Vector dipole = cell.dipole();
            const Real value = dot(u, dipole);
            v.g = {screen.left(1, dipole.x), screen.left(1, dipole.y), screen.left(1, dipole.z)};
            v.w = ops.fma(screen.left(2, value), ops.set(3), v.w);
            if constexpr (with_potential)
                v.p = ops.add(v.p, screen.left(1, value));
        }
        if constexpr (order >= 2)
            add_order<2>(screen, product(cell.quadrupole(), u), u, v);
        if constexpr (order >= 3) {
            const Quadratics<Real> q = quadratics(u);
            add_order<3>(screen, cell.octupole(q), u, v);
            if constexpr (order >= 4)
                add_order<4>(screen, cell.hexadecapole(u, q), u, v);
        }
        return v;
    }

    /// E R, its gradient and its share of W: each power of E counts 4 more in W.
    template <class Cell>
    static GRAFT_BODY void add_traces(const Cell& cell, const Vector& u, Real e, Real t, Value& v) {
        const Real c = cell.trace();
        Real r = c, w = ops.mul(c, ops.set(5)); // R, and 5 R + 2 u grad R
        if constexpr (order >= 3) {
            Vector h = cell.trace_gradient();
            const Real linear = dot(u, h);
            r = ops.add(r, linear);
            w = ops.fma(linear, ops.set(7), w);
            if constexpr (order >= 4) {
                const Vector twice = product(cell.trace_matrix(), u);
                const Real square = dot(u, twice); // twice c2 u^2
                h = {ops.add(h.x, twice.x), ops.add(h.y, twice.y), ops.add(h.z, twice.z)};
                r = ops.fma(square, ops.set(0.5), r);
                w = ops.fma(square, ops.set(4.5), w);
                const Real twice_trace = cell.twice_trace();
                r = ops.fma(twice_trace, ops.fma(e, ops.set(0.875), ops.mul(t, ops.set(-0.5))), r);
                w = ops.fma(twice_trace, ops.fma(e, ops.set(7.875), ops.mul(t, ops.set(-3.5))), w);
            }
            v.g = {ops.fma(e, h.x, v.g.x), ops.fma(e, h.y, v.g.y), ops.fma(e, h.z, v.g.z)};
        }
        v.p = ops.fma(e, r, v.p);
        v.w = ops.fma(e, w, v.w);
    }
};

} // namespace graft::forces GRAFT_OF_TARGET
GRAFT_AFTER_BODIES();
#endif
