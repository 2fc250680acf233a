// SPDX-License-Identifier: BSD-3-Clause
// Harmonic polynomials of any order, in terms x^a y^b z^c with c <= 1: moments, M2M, M2L, L2L and L2P of the orders above
// cartesian_order are made of them.
//
// A harmonic function's derivatives of z^2 follow from the others: d_zz = -d_xx - d_yy. So the 2l + 1 terms of order l
// without z^2 are all that a sum of derivatives of 1/r has, and polynomials in the derivatives may be reduced by
// z^2 = -(x^2 + y^2). Degree l of a table stands at l^2: x^l, x^(l-1) y ... y^l, then z x^(l-1) ... z y^(l-1).
//     regular:    (v . d)^l / l!, reduced: what moves a harmonic function by v
//     irregular:  the derivatives of 1/r at a unit vector
//     multiply:   the product of two polynomials, reduced
//     correlate:  sum over alpha of w_alpha T_(alpha + beta), T an irregular table or an expansion
// The cost of an M2L is a sixth of (p+1)^2 (N+1)^2 products, as |alpha + beta| <= N, with no complex numbers, and
// centres stand anywhere. Sources: the idea of d_zz is that of McMillan & Aarseth's reduced moments (1993); recurrence of the
// derivatives: Legendre's, as tensors (Applequist 1989, J. Phys. A 22, 4303).
#if defined(GRAFT_MOMENTS_HARMONICS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_MOMENTS_HARMONICS_HPP
#undef GRAFT_MOMENTS_HARMONICS_HPP
#else
#define GRAFT_MOMENTS_HARMONICS_HPP
#endif

#include "core/target_bodies.hpp"
#include "moments/harmonic_products.hpp"

#include <utility>

GRAFT_BEFORE_BODIES();
namespace graft::moments GRAFT_OF_TARGET {

template <class Ops>
struct Harmonics {
    using Real = typename Ops::Real;
    static constexpr Ops ops{};

    static GRAFT_BODY void regular(int degree, const Real (&v)[3], Real* h) {
        h[0] = ops.set(1);
        for (int l = 1; l <= degree; ++l) {
            const Real part = ops.set(1.0 / l);
            const Real x = ops.mul(v[0], part), y = ops.mul(v[1], part), z = ops.mul(v[2], part);
            const Real *const from = h + harmonic_index(l - 1, 0, 0), *const from_z = h + harmonic_index(l - 1, 0, 1);
            Real *const to = h + harmonic_index(l, 0, 0), *const to_z = h + harmonic_index(l, 0, 1);
            to[0] = ops.mul(x, from[0]);
            for (int b = 1; b < l; ++b)
                to[b] = ops.fma(x, from[b], ops.mul(y, from[b - 1]));
            to[l] = ops.mul(y, from[l - 1]);
            for (int b = 0; b < l; ++b)
                to_z[b] = ops.mul(z, from[b]);
            for (int b = 0; b < l - 1; ++b) {
                to_z[b] = ops.fma(x, from_z[b], to_z[b]);
                to_z[b + 1] = ops.fma(y, from_z[b], to_z[b + 1]);
                const Real square = ops.mul(z, from_z[b]); // of z^2
                to[b] = ops.sub(to[b], square);
                to[b + 2] = ops.sub(to[b + 2], square);
            }
        }
    }

    /// u: a unit vector. n T_n = -(2n-1) u T_(n-1) - (n-1) delta T_(n-2), symmetrised, term by term.
    static GRAFT_BODY void irregular(int degree, const Real (&u)[3], Real* t) {
        t[0] = ops.set(1);
        each_order(degree, [&]<int n>() GRAFT_BODY_LAMBDA {
            if constexpr (n > 0)
                irregular_order<n>(u, t);
        });
        complete(degree, t);
    }

    /// Fills in a table's terms of z^2.
    static GRAFT_BODY void complete(int degree, Real* t) {
        each_order(degree, [&]<int l>() GRAFT_BODY_LAMBDA {
            Real* const second = t + second_index(degree, l);
            for (int b = 0; b <= l - 2; ++b)
                second[b] = ops.sub(ops.set(0), ops.add(t[harmonic_index(l, b, 0)], t[harmonic_index(l, b + 2, 0)]));
        });
    }

    /// The same polynomial in another unit of length: degree l of `from` times ratio^l.
    template <class Source>
    static GRAFT_BODY void scale(int order, Real ratio, const Source& from, Real* to) {
        Real power = ops.set(1);
        for (int l = 0; l <= order; ++l, power = ops.mul(power, ratio))
            for (int i = l * l; i < (l + 1) * (l + 1); ++i)
                to[i] = ops.mul(from(i), power);
    }

    /// Adds the product's terms up to `order`.
    static GRAFT_BODY void multiply(int order, const Real* p, const Real* q, Real* product) {
        for (int l = 0; l <= order; ++l)
            for (int m = 0; l + m <= order; ++m)
                multiply_orders(l, m, p + l * l, q + m * m, product + (l + m) * (l + m));
    }

    /// Adds factor[k] times the sums over alpha of w_alpha T_(alpha + beta) to `to`, for beta of every order k up to `degree`.
    static GRAFT_BODY void correlate(const Products& products, int degree, const Real* w, const Real* table,
                                     const Real* factor, Real* to) {
        each_order(degree, [&]<int k>() GRAFT_BODY_LAMBDA {
            const Real* const tables[2] = {table, table};
            Real* const rows[2] = {to + harmonic_index(k, 0, 0), to + harmonic_index(k, 0, 1)};
            if constexpr (2 * k + 1 <= most_sums) {
                correlate_some<k + 1, k>(products, k, 0, w, tables, factor[k], rows);
            } else {
                correlate_row<k + 1>(products, k, 0, w, table, factor[k], rows[0]);
                correlate_row<k>(products, k, 1, w, table, factor[k], rows[1]);
            }
        });
    }

    /// Such sums of beta = x, y, z and 0: the gradient of sum w_alpha T_alpha, and itself. Of w the orders up to
    /// `order`; the gradient has those alone whose derivative is in the table.
    template <class Source, class Table>
    static GRAFT_BODY void field(int order, int degree, const Source& of, const Table& table, Real (&sum)[4]) {
        for (int l = 0; l <= order; ++l) {
            const int at = l * l, next = at + 2 * l + 1; // of order l + 1
            const bool inner = l < degree;
            for (int i = 0; i <= l; ++i)
                add_field(of(at + i), table, at + i, next + i, next + l + 2 + i, inner, sum);
            for (int i = 0; i < l; ++i)
                add_field(of(at + l + 1 + i), table, at + l + 1 + i, next + l + 2 + i, second_index(degree, l + 1) + i, inner,
                          sum);
        }
    }

  private:
    /// That stand in registers at once, of 32 or of 16, beside three factors and a value.
    static constexpr int most_sums = sizeof(Real) >= 64 ? 16 : 11;

    /// body<n>() for n = 0 ... degree: code for each order, without loops whose ends depend on it.
    template <class Body>
    static GRAFT_BODY void each_order(int degree, const Body& body) {
        each_order_of(degree, body, std::make_integer_sequence<int, max_degree + 1>());
    }
    template <class Body, int... n>
    static GRAFT_BODY void each_order_of(int degree, const Body& body, std::integer_sequence<int, n...>) {
        ((n <= degree ? body.template operator()<n>() : void()), ...);
    }

    template <int n>
    static GRAFT_BODY void irregular_order(const Real (&u)[3], Real* t) {
        const Real factor = ops.set(-(2.0 * n - 1) / n);
        const Real x = ops.mul(u[0], factor), y = ops.mul(u[1], factor), z = ops.mul(u[2], factor);
        irregular_terms<n, 0>(x, y, z, t, std::make_integer_sequence<int, n + 1>());
        irregular_terms<n, 1>(x, y, z, t, std::make_integer_sequence<int, n>());
    }
    template <int n, int c, int... b>
    static GRAFT_BODY void irregular_terms(Real x, Real y, Real z, Real* t, std::integer_sequence<int, b...>) {
        ((t[harmonic_index(n, b, c)] = irregular_term<n, b, c>(x, y, z, t)), ...);
    }
    /// Of x^(n-b-c) y^b z^c.
    template <int n, int b, int c>
    static GRAFT_BODY Real irregular_term(Real x, Real y, Real z, const Real* t) {
        constexpr int a = n - b - c;
        constexpr double part = -(n - 1.0) / n;
        Real sum = ops.set(0);
        if constexpr (c > 0)
            sum = ops.mul(z, t[harmonic_index(n - 1, b, 0)]);
        if constexpr (a > 0)
            sum = ops.fma(ops.mul(x, ops.set(a)), t[harmonic_index(n - 1, b, c)], sum);
        if constexpr (b > 0)
            sum = ops.fma(ops.mul(y, ops.set(b)), t[harmonic_index(n - 1, b - 1, c)], sum);
        if constexpr (a > 1)
            sum = ops.fma(ops.set(part * a * (a - 1)), t[harmonic_index(n - 2, b, c)], sum);
        if constexpr (b > 1)
            sum = ops.fma(ops.set(part * b * (b - 1)), t[harmonic_index(n - 2, b - 2, c)], sum);
        return sum;
    }

    /// The `sums` sums of row 0 (plain) or 1 (with_z), in two parts where they do not fit into the registers.
    template <int sums>
    static GRAFT_BODY void correlate_row(const Products& products, int k, int row, const Real* w, const Real* table,
                                         const Real& factor, Real* to) {
        if constexpr (sums <= most_sums) {
            correlate_some<sums, 0>(products, k, row, w, &table, factor, &to);
        } else {
            constexpr int half = sums / 2;
            correlate_row<half>(products, k, row, w, table, factor, to);
            correlate_row<sums - half>(products, k, row, w, table + half, factor, to + half);
        }
    }
    /// `one` sums of that row from tables[0] to to[0], and `other` sums of row 1 from tables[1] to to[1].
    template <int one, int other>
    static GRAFT_CALLED_BODY void correlate_some(const Products& products, int k, int row, const Real* w,
                                                 const Real* const* tables, const Real& factor, Real* const* to) {
        constexpr int count = one + other;
        constexpr int parts = count < 3 ? 4 : (count < 6 ? 2 : 1); // sums that do not wait for each other
        Real sums[parts * count];
        for (Real& value : sums)
            value = ops.set(0);
        constexpr std::make_integer_sequence<int, parts> each_part;
        constexpr std::make_integer_sequence<int, parts * count> each_sum;
        add_blocks<3, one, other>(products, k, row, w, tables, sums, each_part, each_sum);
        add_blocks<2, one, other>(products, k, row, w, tables, sums, each_part, each_sum);
        add_blocks<1, one, other>(products, k, row, w, tables, sums, each_part, each_sum);
        for (int i = 0; i < count; ++i) {
            Real sum = sums[i];
            for (int p = 1; p < parts; ++p)
                sum = ops.add(sum, sums[p * count + i]);
            Real& value = i < one ? to[0][i] : to[1][i - one];
            value = ops.fma(sum, factor, value);
        }
    }
    /// All blocks of one size. No loop over sums, for the compiler to see that they may stand in registers.
    template <int block, int one, int other, int all, int... part, int... i>
    static GRAFT_BODY void add_blocks(const Products& products, int k, int row, const Real* w, const Real* const* tables,
                                      Real (&sums)[all], std::integer_sequence<int, part...>, std::integer_sequence<int, i...>) {
        constexpr int parts = sizeof...(part), count = one + other;
        const Product *some = products.begin(k, block), *const end = products.end(k, block);
        Real own[all] = {sums[i]...};
        for (; end - some >= parts; some += parts)
            (add_both<block, one, other, part * count>(some[part], row, w, tables, own), ...);
        for (; some != end; ++some)
            add_both<block, one, other, 0>(*some, row, w, tables, own);
        ((sums[i] = own[i]), ...);
    }
    template <int block, int one, int other, int first, int all>
    static GRAFT_BODY void add_both(const Product& some, int row, const Real* w, const Real* const* tables, Real (&sum)[all]) {
        add_block<block, one, first>(w + some.source, tables[0] + some.table[row], sum,
                                     std::make_integer_sequence<int, one + block - 1>());
        if constexpr (other > 0)
            add_block<block, other, first + one>(w + some.source, tables[1] + some.table[1], sum,
                                                 std::make_integer_sequence<int, other + block - 1>());
    }
    /// sum[first + i] += w_0 T_i + w_1 T_(i+1) ... of `block` terms, for i < sums: each T is read once.
    template <int block, int sums, int first, int all, int... t>
    static GRAFT_BODY void add_block(const Real* w, const Real* table, Real (&sum)[all], std::integer_sequence<int, t...>) {
        (add_term<block, sums, first, t>(w[0], w[block > 1 ? 1 : 0], w[block - 1], table[t], sum), ...);
    }
    template <int block, int sums, int first, int t, int all>
    static GRAFT_BODY void add_term(Real w0, Real w1, Real w2, Real value, Real (&sum)[all]) {
        if constexpr (t < sums)
            sum[first + t] = ops.fma(w0, value, sum[first + t]);
        if constexpr (block > 1 && t > 0 && t - 1 < sums)
            sum[first + t - 1] = ops.fma(w1, value, sum[first + t - 1]);
        if constexpr (block > 2 && t > 1 && t - 2 < sums)
            sum[first + t - 2] = ops.fma(w2, value, sum[first + t - 2]);
    }

    static GRAFT_BODY void multiply_orders(int l, int m, const Real* p, const Real* q, Real* to) {
        const Real *const p_z = p + l + 1, *const q_z = q + m + 1;
        Real* const to_z = to + l + m + 1;
        for (int i = 0; i <= l; ++i) {
            for (int j = 0; j <= m; ++j)
                to[i + j] = ops.fma(p[i], q[j], to[i + j]);
            for (int j = 0; j < m; ++j)
                to_z[i + j] = ops.fma(p[i], q_z[j], to_z[i + j]);
        }
        for (int i = 0; i < l; ++i) {
            for (int j = 0; j <= m; ++j)
                to_z[i + j] = ops.fma(p_z[i], q[j], to_z[i + j]);
            for (int j = 0; j < m; ++j) {
                const Real square = ops.mul(p_z[i], q_z[j]); // of z^2
                to[i + j] = ops.sub(to[i + j], square);
                to[i + j + 2] = ops.sub(to[i + j + 2], square);
            }
        }
    }
    template <class Table>
    static GRAFT_BODY void add_field(Real source, const Table& table, int own, int along_x, int along_z, bool inner,
                                     Real (&sum)[4]) {
        if (inner) {
            sum[0] = ops.fma(source, table(along_x), sum[0]);
            sum[1] = ops.fma(source, table(along_x + 1), sum[1]);
            sum[2] = ops.fma(source, table(along_z), sum[2]);
        }
        sum[3] = ops.fma(source, table(own), sum[3]);
    }
};

} // namespace graft::moments GRAFT_OF_TARGET
GRAFT_AFTER_BODIES();
#endif
