// SPDX-License-Identifier: BSD-3-Clause
// The M2P kernel: one template over orders, softening and screening, compiled once per SIMD target by m2p.cpp
// and m2p_screened.cpp; m2p.hpp says what it does, m2p_terms.hpp has the terms, screened_root.hpp those of periodic
// boxes.
//
// Gradients are traceless polynomials. Degree 2 is spanned by x^2 - z^2, y^2 - z^2, xy, xz, yz of u, degree 3 by
// x(x^2-3z^2), x(y^2-z^2), y(y^2-3z^2), y(x^2-z^2), z(3x^2-z^2), z(3y^2-z^2), xyz: 5 and 7 multiply-adds a
// component instead of 6 and 10.
//
// The chain of dependent operations is long (some 150 cycles at order 4) and bounds the speed when fewer than
// two cells fit into the processor's window: so roots are taken for a batch of vectors first, then
// polynomials. Read once per SIMD target, see pair.hpp.
#if defined(GRAFT_KERNELS_CELL_KERNEL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_CELL_KERNEL_HPP
#undef GRAFT_KERNELS_CELL_KERNEL_HPP
#else
#define GRAFT_KERNELS_CELL_KERNEL_HPP
#endif

#include "forces/m2p/m2p.hpp"
#include "forces/m2p/m2p_terms.hpp"
#include "forces/vector_ops.hpp"
#include "forces/p2p/pair.hpp"
#include "forces/lane_sums.hpp"
#include "forces/m2p/screened_root.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

template <typename T, int order, bool softened, bool per_particle, bool with_potential, bool screened>
struct CellKernel {
    static_assert(!(screened && per_particle), "screened cells have one length for all");
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr int block = target_pad;

    using Terms = CellTerms<Ops, order, with_potential>;
    using Vector = typename Terms::Vector;
    using Value = typename Terms::Value;

    /// The rows of one vector of cells: constant distances, so that every load is part of an operation.
    struct Rows {
        const T* first;
        HWY_INLINE Real operator()(int k) const {
            return hn::Load(typename Ops::D(), first + k * source_pad);
        }
        HWY_INLINE Vector vector(int k) const { return {(*this)(k), (*this)(k + 1), (*this)(k + 2)}; }
        HWY_INLINE SymmetricMatrix<Real> matrix(int k) const {
            return {(*this)(k),     (*this)(k + 1), (*this)(k + 2),
                    (*this)(k + 3), (*this)(k + 4), (*this)(k + 5)};
        }

        HWY_INLINE Real charge() const { return (*this)(row_charge); }
        HWY_INLINE Vector dipole() const { return vector(row_dipole); }
        HWY_INLINE SymmetricMatrix<Real> quadrupole() const { return matrix(row_quadrupole); }
        HWY_INLINE Vector octupole(const Quadratics<Real>& q) const {
            return combine_all(*this, row_octupole, {q.a, q.b, q.xy, q.xz, q.yz});
        }
        HWY_INLINE Vector hexadecapole(const Vector& u, const Quadratics<Real>& q) const {
            const Real three = ops.set(3);
            return combine_all(*this, row_hexadecapole,
                               {ops.mul(u.x, ops.sub(q.a, q.twice_zz)), ops.mul(u.x, q.b),
                                ops.mul(u.y, ops.sub(q.b, q.twice_zz)), ops.mul(u.y, q.a),
                                ops.mul(u.z, ops.fma(three, q.a, q.twice_zz)),
                                ops.mul(u.z, ops.fma(three, q.b, q.twice_zz)), ops.mul(u.z, q.xy)});
        }
        HWY_INLINE Real trace() const { return (*this)(gradient_rows(order)); }
        HWY_INLINE Vector trace_gradient() const { return vector(gradient_rows(order) + 1); }
        HWY_INLINE SymmetricMatrix<Real> trace_matrix() const { return matrix(gradient_rows(order) + 4); }
        HWY_INLINE Real twice_trace() const { return (*this)(gradient_rows(order) + 10); }
    };

    /// sum row_k value_k from the row `first` on, in two chains.
    static HWY_INLINE Real combine(const Rows& rows, int first, const Real (&v)[5]) {
        const Real even = ops.fma(rows(first + 2), v[2], ops.mul(rows(first), v[0]));
        const Real odd = ops.fma(rows(first + 3), v[3], ops.mul(rows(first + 1), v[1]));
        return ops.add(ops.fma(rows(first + 4), v[4], even), odd);
    }
    static HWY_INLINE Real combine(const Rows& rows, int first, const Real (&v)[7]) {
        const Real even = ops.fma(rows(first + 2), v[2], ops.mul(rows(first), v[0]));
        const Real odd = ops.fma(rows(first + 3), v[3], ops.mul(rows(first + 1), v[1]));
        return ops.add(ops.fma(rows(first + 6), v[6], ops.fma(rows(first + 4), v[4], even)),
                       ops.fma(rows(first + 5), v[5], odd));
    }
    template <int count>
    static HWY_INLINE Vector combine_all(const Rows& rows, int first, const Real (&value)[count]) {
        return {combine(rows, first, value), combine(rows, first + count, value),
                combine(rows, first + 2 * count, value)};
    }

    /// What the polynomials need of one target and one vector of cells, kept in memory between the two
    /// passes.
    struct alignas(64) Stage {
        T u[3][source_pad], across[source_pad],
            along[source_pad];                               // rho / s^3; 1 / (s rho): along u = x / s^3
        T inverse[source_pad], e[source_pad], t[source_pad]; // 1 / s; E and t as in moments/expansion.hpp
        ScreenedFactors<T, screened ? order : -1> screen;

        /// `value` times what the screen leaves of order l.
        HWY_INLINE Real left(int l, Real value) const {
            if constexpr (screened)
                return ops.mul(value, get(screen.beta[l]));
            else
                return value;
        }
    };
    static HWY_INLINE void put(Real v, T* to) { hn::Store(v, typename Ops::D(), to); }
    static HWY_INLINE Real get(const T* from) { return hn::Load(typename Ops::D(), from); }

    /// What the traces give in a screened cell: each order has a factor of its own (screened_root.hpp).
    static HWY_INLINE void add_screened_traces(const Rows& rows, const Vector& u, const Stage& stage,
                                               Value& v) {
        const auto tau = [&](int n) { return get(stage.screen.tau[n - 2]); };
        const Real c = rows.trace();
        v.p = ops.fma(tau(2), c, v.p);
        v.w = ops.fma(tau(3), ops.mul(c, ops.set(5)), v.w);
        if constexpr (order >= 3) {
            const Vector h = rows.trace_gradient();
            const Real linear = Terms::dot(u, h), factor = tau(3);
            v.p = ops.fma(factor, linear, v.p);
            v.w = ops.fma(tau(4), ops.mul(linear, ops.set(7)), v.w);
            v.g = {ops.fma(factor, h.x, v.g.x), ops.fma(factor, h.y, v.g.y), ops.fma(factor, h.z, v.g.z)};
        }
        if constexpr (order >= 4) {
            const Vector h = Terms::product(rows.trace_matrix(), u);
            const Real square = Terms::dot(u, h), factor = tau(4), twice_trace = rows.twice_trace();
            v.p = ops.fma(factor, ops.mul(square, ops.set(0.5)), v.p);
            v.p = ops.fma(twice_trace, get(stage.screen.trace_p), v.p);
            v.w = ops.fma(tau(5), ops.mul(square, ops.set(4.5)), v.w);
            v.w = ops.fma(twice_trace, get(stage.screen.trace_w), v.w);
            v.g = {ops.fma(factor, h.x, v.g.x), ops.fma(factor, h.y, v.g.y), ops.fma(factor, h.z, v.g.z)};
        }
    }

    static HWY_INLINE void take_root(const Rows& rows, const Vector& target, Real own, double alpha,
                                     Stage& stage) {
        const Vector x{ops.sub(target.x, rows(row_x)), ops.sub(target.y, rows(row_y)),
                       ops.sub(target.z, rows(row_z))};
        const Real soft = softened && per_particle ? ops.add(own, rows(row_softening)) : own;
        const Real s2 =
            ops.fma(x.x, x.x, ops.fma(x.y, x.y, softened ? ops.fma(x.z, x.z, soft) : ops.mul(x.z, x.z)));
        const Real inverse = ops.inverse_root(s2);
        const Real scale = ops.mul(rows(row_rho), ops.mul(inverse, inverse));
        put(ops.mul(x.x, scale), stage.u[0]);
        put(ops.mul(x.y, scale), stage.u[1]);
        put(ops.mul(x.z, scale), stage.u[2]);
        put(ops.mul(scale, inverse), stage.across);
        put(ops.mul(inverse, rows(row_inverse_rho)), stage.along);
        if constexpr (with_potential)
            put(inverse, stage.inverse);
        if constexpr (screened) {
            const Real ratio = softened ? ops.mul(soft, ops.mul(inverse, inverse)) : ops.set(0);
            screen_root<T, order, softened>(ops, ops.mul(ops.mul(s2, inverse), ops.set(alpha)),
                                            ops.mul(rows(row_rho), scale), ratio, stage.screen);
        } else if constexpr (softened && order >= 2) {
            put(ops.mul(soft, ops.mul(scale, scale)), stage.e);
            put(ops.mul(rows(row_rho), scale), stage.t);
        }
    }

    static HWY_INLINE void add_cell(const Rows& rows, const Stage& stage, PairSum<Real>& sum) {
        const Vector u{get(stage.u[0]), get(stage.u[1]), get(stage.u[2])};
        Value v = Terms::polynomial(rows, stage, u);
        if constexpr (screened && order >= 2)
            add_screened_traces(rows, u, stage, v);
        else if constexpr (softened && order >= 2)
            Terms::add_traces(rows, u, get(stage.e), get(stage.t), v);
        const Real along = ops.mul(v.w, get(stage.along));
        if constexpr (order >= 1) {
            const Real across = get(stage.across);
            sum.x = ops.fma(v.g.x, across, sum.x);
            sum.y = ops.fma(v.g.y, across, sum.y);
            sum.z = ops.fma(v.g.z, across, sum.z);
        }
        sum.x = ops.fnma(along, u.x, sum.x);
        sum.y = ops.fnma(along, u.y, sum.y);
        sum.z = ops.fnma(along, u.z, sum.z);
        if constexpr (with_potential)
            sum.potential = ops.fma(v.p, get(stage.inverse), sum.potential);
    }

    static HWY_INLINE Rows rows_of(const Cells<T>& cells, int64_t j) {
        constexpr int64_t block_size = row_count(order, softened || screened) * source_pad;
        return {cells.rows + j / source_pad * block_size + j % source_pad};
    }

    /// One target against cells begin..end, at most `batch` vectors at a time.
    static HWY_INLINE void run_target(Real common, double alpha, const Cells<T>& cells, int64_t begin,
                                      int64_t end, const Targets<T>& targets, int64_t k, PairSum<Real>& sum) {
        constexpr int64_t batch = 8;
        const typename Ops::D d;
        const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
        const Vector place{hn::Set(d, targets.x[k]), hn::Set(d, targets.y[k]), hn::Set(d, targets.z[k])};
        const Real own = softened && per_particle ? hn::Set(d, targets.s[k]) : common;
        PairSum<Real> total{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
        Stage stages[batch];
        for (int64_t first = begin; first < end; first += batch * lanes) {
            const int64_t last = std::min(end, first + batch * lanes);
            Stage* stage = stages;
            for (int64_t j = first; j < last; j += lanes)
                take_root(rows_of(cells, j), place, own, alpha, *stage++);
            stage = stages;
            for (int64_t j = first; j < last; j += lanes)
                add_cell(rows_of(cells, j), *stage++, total);
        }
        sum = total;
    }

    static HWY_NOINLINE void run(double length, double alpha, const Cells<T>& cells,
                                 const Targets<T>& targets, int64_t chunk, const FieldSums& out) {
        const Real common = ops.set(length * length);
        for (int64_t begin = 0; begin < cells.padded(); begin += chunk) {
            const int64_t end = std::min(cells.padded(), begin + chunk);
            for (int64_t first = 0; first < targets.count; first += block) {
                PairSum<Real> sum[block];
                for (int k = 0; k < block; ++k)
                    run_target(common, alpha, cells, begin, end, targets, first + k, sum[k]);
                add_sums(sum, &PairSum<Real>::x, out.ax + first);
                add_sums(sum, &PairSum<Real>::y, out.ay + first);
                add_sums(sum, &PairSum<Real>::z, out.az + first);
                if constexpr (with_potential)
                    add_sums(sum, &PairSum<Real>::potential, out.potential + first);
            }
        }
    }

    static HWY_INLINE void add_sums(const PairSum<Real> (&sum)[block], Real PairSum<Real>::*member,
                                    double* out) {
        const Real gather[block] = {sum[0].*member, sum[1].*member, sum[2].*member, sum[3].*member};
        add_lane_sums(typename Ops::D(), gather, 1.0, out);
    }
};

/// A call of the kernel that the variant asks for; `alpha` is that of the screen.
template <typename T, bool screened>
struct CellCall {
    const CellVariant& variant;
    double length, alpha;
    const Cells<T>& cells;
    const Targets<T>& targets;
    int64_t chunk;
    const FieldSums& out;

    template <int order, bool softened, bool per_particle>
    void run() const {
        if (variant.potential)
            CellKernel<T, order, softened, per_particle, true, screened>::run(length, alpha, cells, targets,
                                                                              chunk, out);
        else
            CellKernel<T, order, softened, per_particle, false, screened>::run(length, alpha, cells, targets,
                                                                               chunk, out);
    }
    template <int order>
    void of_order() const {
        if (!variant.softened)
            return run<order, false, false>();
        if constexpr (!screened)
            if (variant.per_particle)
                return run<order, true, true>();
        run<order, true, false>();
    }
    void operator()() const {
        switch (variant.order) {
        case 0:
            return of_order<0>();
        case 1:
            return of_order<1>();
        case 2:
            return of_order<2>();
        case 3:
            return of_order<3>();
        default:
            return of_order<4>();
        }
    }
};

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
