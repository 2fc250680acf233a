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
        for (int l = 2; l <= degree; ++l)
            for (int b = 0; b <= l - 2; ++b)
                t[second_index(degree, l) + b] =
                    ops.sub(ops.set(0), ops.add(t[harmonic_index(l, b, 0)], t[harmonic_index(l, b + 2, 0)]));
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
            const auto add = [&]<int plain, int with_z>(int first_plain, int first_z) GRAFT_BODY_LAMBDA {
                correlate_some<plain, with_z>(products.begin(k), products.end(k), w, table + first_plain, table + first_z,
                                              factor[k], to + harmonic_index(k, first_plain, 0),
                                              to + harmonic_index(k, first_z, 1));
            };
            constexpr int half = (k + 1) / 2;
            if constexpr (2 * k + 1 <= most_sums) {
                add.template operator()<k + 1, k>(0, 0);
            } else if constexpr (k + 1 <= most_sums) {
                add.template operator()<k + 1, 0>(0, 0);
                add.template operator()<0, k>(0, 0);
            } else {
                add.template operator()<half, 0>(0, 0);
                add.template operator()<k + 1 - half, 0>(half, 0);
                add.template operator()<0, half>(0, 0);
                add.template operator()<0, k - half>(0, half);
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
    /// That stand in registers at once, of 32 or of 16.
    static constexpr int most_sums = sizeof(Real) >= 64 ? 16 : 9;
    static_assert(max_degree / 2 + 1 <= 9);

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
        Real times_x[n + 1], times_y[n + 1], pairs[n + 1]; // by a, b, and a (a - 1)
        for (int a = 0; a <= n; ++a) {
            times_x[a] = ops.mul(x, ops.set(a));
            times_y[a] = ops.mul(y, ops.set(a));
            pairs[a] = ops.set(-(n - 1.0) / n * a * (a - 1));
        }
        for (int c = 0; c < 2; ++c) {
            const int rest = n - c; // of x and y
            const Real* const one = t + harmonic_index(n - 1, 0, c);
            const Real* const two = t + (rest > 1 ? harmonic_index(n - 2, 0, c) : 0);
            Real* const to = t + harmonic_index(n, 0, c);
            for (int b = 0; b <= rest; ++b) {
                Real sum = c > 0 ? ops.mul(z, t[harmonic_index(n - 1, b, 0)]) : ops.set(0);
                if (b < rest)
                    sum = ops.fma(times_x[rest - b], one[b], sum);
                if (b > 0)
                    sum = ops.fma(times_y[b], one[b - 1], sum);
                if (b + 1 < rest)
                    sum = ops.fma(pairs[rest - b], two[b], sum);
                if (b > 1)
                    sum = ops.fma(pairs[b], two[b - 2], sum);
                to[b] = sum;
            }
        }
    }

    template <int plain, int with_z>
    static GRAFT_BODY void correlate_some(const Product* begin, const Product* end, const Real* w, const Real* table_plain,
                                          const Real* table_z, Real factor, Real* to_plain, Real* to_z) {
        constexpr int count = plain + with_z;
        constexpr int parts = count < 4 ? 4 : (count < 8 ? 2 : 1); // sums that do not wait for each other
        Real part[parts][count];
        for (auto& some : part)
            for (Real& value : some)
                value = ops.set(0);
        const auto add = [&](const Product& one, Real(&sum)[count]) GRAFT_BODY_LAMBDA {
            const Real source = w[one.source];
            const Real *const of_plain = table_plain + one.plain, *const of_z = table_z + one.with_z;
            for (int i = 0; i < plain; ++i)
                sum[i] = ops.fma(source, of_plain[i], sum[i]);
            for (int i = 0; i < with_z; ++i)
                sum[plain + i] = ops.fma(source, of_z[i], sum[plain + i]);
        };
        const Product* one = begin;
        for (; end - one >= parts; one += parts)
            for (int p = 0; p < parts; ++p)
                add(one[p], part[p]);
        for (; one != end; ++one)
            add(*one, part[0]);
        for (int i = 0; i < count; ++i) {
            Real sum = part[0][i];
            for (int p = 1; p < parts; ++p)
                sum = ops.add(sum, part[p][i]);
            Real& to = i < plain ? to_plain[i] : to_z[i - plain];
            to = ops.fma(sum, factor, to);
        }
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
