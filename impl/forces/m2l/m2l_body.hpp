// SPDX-License-Identifier: BSD-3-Clause
// M2L of one cell (or of one a lane), L2P of one target: one template over the arithmetic, `Ops`, for SIMD vectors, CUDA
// threads and plain numbers (core/target_bodies.hpp). m2l_terms.hpp has the mathematics. Loops over terms are folds: every
// index is known to the compiler, every number stands in a register (or where the compiler puts it).
//
// Unsoftened, sources and expansion have terms up to z^1 only, and the expansion's others follow afterwards
// (complete_terms): of degree 4, 25 sums instead of 35, 118 products of source and derivative instead of 155.
// `dipole` false: the sources' terms of order 1 are zero.
//
// `Ops` is the arithmetic: set, add, mul, fma (a b + c), fnma (c - a b).
#if defined(GRAFT_FORCES_M2L_BODY_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_FORCES_M2L_BODY_HPP
#undef GRAFT_FORCES_M2L_BODY_HPP
#else
#define GRAFT_FORCES_M2L_BODY_HPP
#endif

#include "core/target_bodies.hpp"
#include "forces/m2l/m2l_terms.hpp"

#include <utility>

GRAFT_BEFORE_BODIES();
namespace graft::forces GRAFT_OF_TARGET {

template <class Ops, int order, bool softened, bool dipole>
struct M2lBody {
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr int degree = local_order(order), count = moments::term_count(degree);
    static constexpr int sources = moments::term_count(order);

    /// T_a^n; at n = 0 also -T_a for a with z^2, where unsoftened.
    struct Table {
        Real value[count];
    };

    static constexpr bool has_source(int alpha) {
        return is_kept(alpha, softened) && (dipole || term_order(alpha) != 1);
    }
    template <int... k>
    using Indices = std::integer_sequence<int, k...>;
    template <int n>
    using UpTo = std::make_integer_sequence<int, n>;

    /// T_a^n of |a| <= degree - n, from those of n + 1.
    template <int n, int k>
    static GRAFT_BODY void next(const Real (&u)[3], const Table& above, Table& table) {
        if constexpr (k == 0) {
            table.value[0] = ops.set(radial_constant(n));
        } else if constexpr (is_kept(k, softened)) {
            constexpr Step step = step_of(k);
            const Real lower = above.value[step.lower];
            if constexpr (step.lowest < 0)
                table.value[k] = ops.mul(u[step.axis], lower);
            else if constexpr (step.factor == 1)
                table.value[k] = ops.fma(u[step.axis], lower, above.value[step.lowest]);
            else
                table.value[k] = ops.fma(u[step.axis], lower,
                                         ops.mul(ops.set(step.factor), above.value[step.lowest]));
        }
    }
    template <int k>
    static GRAFT_BODY void second(Table& table) {
        constexpr moments::Term t = local_term(k);
        if constexpr (t.c == 2)
            table.value[k] = ops.add(table.value[moments::term_index(t.a + 2, t.b, 0)],
                                     table.value[moments::term_index(t.a, t.b + 2, 0)]);
    }
    template <int n, int... k>
    static GRAFT_BODY void level(const Real (&u)[3], const Table& above, Table& table, Indices<k...>) {
        (next<n, k>(u, above, table), ...);
        if constexpr (n == 0 && !softened)
            (second<k>(table), ...);
    }
    template <int n>
    static GRAFT_BODY void tensors(const Real (&u)[3], Table& table) {
        if constexpr (n == degree) {
            table.value[0] = ops.set(radial_constant(n));
        } else {
            Table above;
            tensors<n + 1>(u, above);
            level<n>(u, above, table, UpTo<moments::term_count(degree - n)>());
        }
    }

    /// sum over |alpha| <= degree - |beta| of w_alpha T_(alpha + beta)
    template <int beta, int alpha>
    static GRAFT_BODY void add_product(const Real* w, const Table& t, Real& sum) {
        constexpr int both = sum_index(alpha, beta);
        if constexpr (alpha > 0 && has_source(alpha)) {
            if constexpr (is_kept(both, softened))
                sum = ops.fma(w[alpha], t.value[both], sum);
            else
                sum = ops.fnma(w[alpha], t.value[both], sum);
        }
    }
    template <int beta, int... alpha>
    static GRAFT_BODY Real contract(const Real* w, const Table& t, Indices<alpha...>) {
        Real sum = ops.mul(w[0], t.value[beta]);
        (add_product<beta, alpha>(w, t, sum), ...);
        return sum;
    }
    /// charge[l] = w_0 s^-(1+l): the highest terms meet the charge alone.
    template <int beta>
    static GRAFT_BODY void add_term(const Real* w, const Table& t, const Real* power,
                                    const Real* charge, Real* sum) {
        if constexpr (is_kept(beta, softened)) {
            constexpr int l = term_order(beta), own = moments::term_count(degree - l);
            if constexpr (is_monopole(l))
                sum[beta] = ops.fma(charge[l], t.value[beta], sum[beta]);
            else
                sum[beta] = ops.fma(contract<beta>(w, t, UpTo<(own < sources ? own : sources)>()), power[l],
                                    sum[beta]);
        }
    }
    /// Whether terms of order l meet no source but the charge.
    static constexpr bool is_monopole(int l) {
        return l == degree || order == 0 || (!dipole && (l + 1 == degree || order == 1));
    }
    template <int... beta>
    static GRAFT_BODY void add_terms(const Real* w, const Table& t, const Real* power,
                                     const Real* charge, Real* sum, Indices<beta...>) {
        (add_term<beta>(w, t, power, charge, sum), ...);
    }

    /// Adds to sum[beta], as far as they are kept, the cell with source terms w (in units of rho^|alpha|) that
    /// stands at -u s from the centre: u the unit vector (softened: less), inverse = 1/s, shrink = rho/s. w is
    /// scaled.
    static GRAFT_BODY void add(const Real (&u)[3], Real inverse, Real shrink, Real* w, Real* sum) {
        Real power[degree + 1]; // s^-(1 + |beta|)
        power[0] = inverse;
        for (int k = 1; k <= degree; ++k)
            power[k] = ops.mul(power[k - 1], inverse);
        Real charge[degree + 1];
        for (int k = 0; k <= degree; ++k)
            charge[k] = ops.mul(power[k], w[0]); // only what add_term() reads is computed
        scale_sources(shrink, w, UpTo<sources>());
        Table table;
        tensors<0>(u, table);
        add_terms(w, table, power, charge, sum, UpTo<count>());
    }

  private:
    template <int alpha>
    static GRAFT_BODY void scale_source(const Real* scale, Real* w) {
        if constexpr (alpha > 0 && has_source(alpha))
            w[alpha] = ops.mul(w[alpha], scale[term_order(alpha)]);
    }
    template <int... alpha>
    static GRAFT_BODY void scale_sources(Real shrink, Real* w, Indices<alpha...>) {
        Real scale[order + 2];
        scale[1] = shrink;
        for (int l = 2; l <= order; ++l)
            scale[l] = ops.mul(scale[l - 1], shrink);
        (scale_source<alpha>(scale, w), ...);
    }
};

/// The field of an expansion of this degree at h from its centre.
template <class Ops, int degree>
struct PointBody {
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr int count = moments::term_count(degree);

    /// Adds to sum the force (towards the sources) and, if wanted, the potential; l: `count` numbers, all
    /// terms.
    template <bool with_potential, typename T>
    static GRAFT_BODY void add(const T* l, const Real (&h)[3], Real* sum) {
        evaluate<with_potential>(l, h, sum, std::make_integer_sequence<int, count - 1>());
    }
    /// The same polynomial about the place h from its centre.
    static GRAFT_BODY void move(const Real* l, const Real (&h)[3], Real* moved) {
        Real m[count];
        monomials(h, m, std::make_integer_sequence<int, count - 1>());
        move_all(l, m, moved, std::make_integer_sequence<int, count>());
    }

  private:
    /// h^gamma / gamma! from the monomials of one order less.
    template <int k>
    static GRAFT_BODY void monomial(const Real (&h)[3], Real* m) {
        constexpr Step step = step_of(k);
        m[k] = ops.mul(h[step.axis], m[step.lower]);
        if constexpr (step.factor > 0) // one more along the axis: divided by it
            m[k] = ops.mul(m[k], ops.set(1.0 / (step.factor + 1)));
    }
    /// Of all terms; k + 1 their indices but the first.
    template <int... k>
    static GRAFT_BODY void monomials(const Real (&h)[3], Real* m, std::integer_sequence<int, k...>) {
        m[0] = ops.set(1);
        (monomial<k + 1>(h, m), ...);
    }
    template <int k, bool with_potential, typename T>
    static GRAFT_BODY void add_term(const T* l, const Real* m, Real* sum) {
        if constexpr (term_order(k) < degree) {
            sum[0] = ops.fma(ops.set(l[sum_index(k, 1)]), m[k], sum[0]);
            sum[1] = ops.fma(ops.set(l[sum_index(k, 2)]), m[k], sum[1]);
            sum[2] = ops.fma(ops.set(l[sum_index(k, 3)]), m[k], sum[2]);
        }
        if constexpr (with_potential)
            sum[3] = ops.fma(ops.set(l[k]), m[k], sum[3]);
    }
    /// sum over gamma, |gamma| <= degree - |beta|, of l_(beta + gamma) h^gamma / gamma!
    template <int beta, int... gamma>
    static GRAFT_BODY Real moved_term(const Real* l, [[maybe_unused]] const Real* m,
                                      std::integer_sequence<int, gamma...>) {
        Real sum = l[beta];
        ((sum = ops.fma(l[sum_index(beta, gamma + 1)], m[gamma + 1], sum)), ...);
        return sum;
    }
    /// Terms but the first that a term of this index meets.
    template <int k>
    using Above = std::make_integer_sequence<int, moments::term_count(degree - term_order(k)) - 1>;
    template <int... k>
    static GRAFT_BODY void move_all(const Real* l, const Real* m, Real* moved,
                                    std::integer_sequence<int, k...>) {
        ((moved[k] = moved_term<k>(l, m, Above<k>())), ...);
    }
    template <bool with_potential, typename T, int... k>
    static GRAFT_BODY void evaluate(const T* l, const Real (&h)[3], Real* sum,
                                    std::integer_sequence<int, k...>) {
        Real m[count];
        monomials(h, m, std::integer_sequence<int, k...>());
        add_term<0, with_potential>(l, m, sum);
        (add_term<k + 1, with_potential>(l, m, sum), ...);
    }
};

} // namespace graft::forces GRAFT_OF_TARGET
GRAFT_AFTER_BODIES();

#endif
