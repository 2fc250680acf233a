// M2L and L2P, compiled once per SIMD target; local.hpp says what they do, local_terms.hpp the mathematics.
// Loops over terms are folds: every index is known to the compiler.
#include "kernels/local.hpp"

#include "moments/source_terms.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/local.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ops.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::kernels::HWY_NAMESPACE {

/// M2L of cells of `order`, in the lanes of vectors.
template <typename T, int order, bool softened>
struct LocalKernel {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr int degree = local_order(order), count = moments::term_count(degree);
    static constexpr int sources = moments::term_count(order);

    struct Table {
        Real value[count];
    };

    /// T_a^n of |a| <= degree - n, from those of n + 1.
    template <int n, int k>
    static HWY_INLINE Real next(const Real (&u)[3], const Table& above) {
        if constexpr (k == 0) {
            return ops.set(radial_constant(n));
        } else {
            constexpr Step step = step_of(k);
            const Real first = ops.mul(u[step.axis], above.value[step.lower]);
            if constexpr (step.lowest < 0)
                return first;
            else if constexpr (step.factor == 1)
                return ops.add(first, above.value[step.lowest]);
            else
                return ops.fma(ops.set(step.factor), above.value[step.lowest], first);
        }
    }
    template <int n, int... k>
    static HWY_INLINE Table level(const Real (&u)[3], const Table& above, std::integer_sequence<int, k...>) {
        Table table;
        ((table.value[k] = next<n, k>(u, above)), ...);
        return table;
    }
    template <int n>
    static HWY_INLINE Table tensors(const Real (&u)[3]) {
        if constexpr (n == degree) {
            Table table;
            table.value[0] = ops.set(radial_constant(n));
            return table;
        } else {
            return level<n>(u, tensors<n + 1>(u),
                            std::make_integer_sequence<int, moments::term_count(degree - n)>());
        }
    }

    /// sum over |alpha| <= degree - |beta| of w_alpha T_(alpha + beta)
    template <int beta, int... alpha>
    static HWY_INLINE Real contract(const Real* w, const Table& t, std::integer_sequence<int, alpha...>) {
        Real sum = ops.mul(w[0], t.value[beta]);
        ((sum = alpha == 0 ? sum : ops.fma(w[alpha], t.value[sum_index(alpha, beta)], sum)), ...);
        return sum;
    }
    template <int beta>
    static HWY_INLINE void add_term(const Real* w, const Table& t, const Real* power, Real* sum) {
        constexpr int most = std::min(sources, moments::term_count(degree - term_order(beta)));
        const Real value = contract<beta>(w, t, std::make_integer_sequence<int, most>());
        sum[beta] = ops.fma(value, power[term_order(beta)], sum[beta]);
    }
    template <int... beta>
    static HWY_INLINE void add_terms(const Real* w, const Table& t, const Real* power, Real* sum,
                                     std::integer_sequence<int, beta...>) {
        (add_term<beta>(w, t, power, sum), ...);
    }

    static HWY_INLINE void add_cells(const LocalSources<T>& cells, int64_t j, const Real (&centre)[3],
                                     Real square, Real* sum) {
        const typename Ops::D d;
        const auto row = [&](int k) HWY_ATTR { return hn::Load(d, cells.row(k) + j); };
        Real u[3] = {ops.sub(centre[0], row(0)), ops.sub(centre[1], row(1)), ops.sub(centre[2], row(2))};
        const Real s2 = ops.fma(
            u[0], u[0], ops.fma(u[1], u[1], softened ? ops.fma(u[2], u[2], square) : ops.mul(u[2], u[2])));
        const Real inverse = ops.inverse_root(s2);
        for (Real& x : u)
            x = ops.mul(x, inverse);
        Real power[degree + 1]; // s^-(1 + |beta|)
        power[0] = inverse;
        for (int k = 1; k <= degree; ++k)
            power[k] = ops.mul(power[k - 1], inverse);
        Real w[sources];
        const Real shrink = ops.mul(row(3), inverse);
        Real scale = ops.set(1);
        for (int l = 0, k = 0; l <= order; ++l, scale = ops.mul(scale, shrink))
            for (; k < moments::term_count(l); ++k)
                w[k] = ops.mul(row(4 + k), scale);
        add_terms(w, tensors<0>(u), power, sum, std::make_integer_sequence<int, count>());
    }

    static HWY_NOINLINE void run(double length, const LocalSources<T>& cells, LocalExpansion& local) {
        const typename Ops::D d;
        const Real centre[3] = {ops.set(local.centre[0]), ops.set(local.centre[1]), ops.set(local.centre[2])};
        const Real square = ops.set(length * length);
        Real sum[count];
        for (Real& value : sum)
            value = hn::Zero(d);
        for (int64_t j = 0; j < cells.count(); j += static_cast<int64_t>(hn::Lanes(d)))
            add_cells(cells, j, centre, square, sum);
        for (int k = 0; k < count; ++k)
            local.value[static_cast<size_t>(k)] +=
                static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum[k])));
    }
};

/// L2P of an expansion of this degree, targets in lanes, in double.
template <int degree>
struct PointKernel {
    using Ops = VectorOps<double>;
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr int count = moments::term_count(degree);

    /// h^gamma / gamma! from the monomials of one order less.
    template <int k>
    static HWY_INLINE void monomial(const Real (&h)[3], Real* m) {
        constexpr Step step = step_of(k);
        m[k] = ops.mul(h[step.axis], m[step.lower]);
        if constexpr (step.factor > 0) // one more along the axis: divided by it
            m[k] = ops.mul(m[k], ops.set(1.0 / (step.factor + 1)));
    }
    template <int k>
    static HWY_INLINE void add(const double* l, const Real* m, Real* sum, bool with_potential) {
        if constexpr (term_order(k) < degree) {
            sum[0] = ops.fma(ops.set(l[sum_index(k, 1)]), m[k], sum[0]);
            sum[1] = ops.fma(ops.set(l[sum_index(k, 2)]), m[k], sum[1]);
            sum[2] = ops.fma(ops.set(l[sum_index(k, 3)]), m[k], sum[2]);
        }
        if (with_potential)
            sum[3] = ops.fma(ops.set(l[k]), m[k], sum[3]);
    }
    template <int... k>
    static HWY_INLINE void evaluate(const double* l, const Real (&h)[3], Real* sum, bool with_potential,
                                    std::integer_sequence<int, k...>) {
        Real m[count];
        m[0] = ops.set(1);
        (monomial<k + 1>(h, m), ...);
        add<0>(l, m, sum, with_potential);
        (add<k + 1>(l, m, sum, with_potential), ...);
    }

    template <typename T>
    static HWY_NOINLINE void run(bool with_potential, const LocalExpansion& local, const Targets<T>& targets,
                                 const FieldSums& out) {
        const typename Ops::D d;
        const auto lanes = static_cast<int64_t>(hn::Lanes(d));
        const T* const from[3] = {targets.x, targets.y, targets.z};
        double* const to[4] = {out.ax, out.ay, out.az, out.potential};
        for (int64_t k = 0; k < targets.count; k += lanes) {
            const int64_t n = std::min(lanes, targets.count - k);
            alignas(64) double place[3][8] = {}, value[8];
            Real h[3], sum[4];
            for (int a = 0; a < 3; ++a) {
                for (int64_t i = 0; i < n; ++i)
                    place[a][i] = static_cast<double>(from[a][k + i]) - local.centre[a];
                h[a] = hn::Load(d, place[a]);
            }
            for (Real& s : sum)
                s = hn::Zero(d);
            evaluate(local.value.data(), h, sum, with_potential,
                     std::make_integer_sequence<int, count - 1>());
            for (int a = 0; a < (with_potential ? 4 : 3); ++a) {
                hn::Store(sum[a], d, value);
                for (int64_t i = 0; i < n; ++i)
                    to[a][k + i] += value[i];
            }
        }
    }
};

template <typename T>
void m2l_any(const CellVariant& v, double length, const LocalSources<T>& cells, LocalExpansion& local) {
    const auto run = [&]<int order>() {
        if (v.softened)
            LocalKernel<T, order, true>::run(length, cells, local);
        else
            LocalKernel<T, order, false>::run(length, cells, local);
    };
    switch (v.order) {
    case 0:
        return run.template operator()<0>();
    case 1:
        return run.template operator()<1>();
    case 2:
        return run.template operator()<2>();
    case 3:
        return run.template operator()<3>();
    default:
        return run.template operator()<4>();
    }
}

template <typename T>
void l2p_any(const CellVariant& v, const LocalExpansion& local, const Targets<T>& targets,
             const FieldSums& out) {
    switch (v.order) {
    case 0:
        return PointKernel<local_order(0)>::run(v.potential, local, targets, out);
    case 1:
        return PointKernel<local_order(1)>::run(v.potential, local, targets, out);
    case 2:
        return PointKernel<local_order(2)>::run(v.potential, local, targets, out);
    case 3:
        return PointKernel<local_order(3)>::run(v.potential, local, targets, out);
    default:
        return PointKernel<local_order(4)>::run(v.potential, local, targets, out);
    }
}

void m2l_float(const CellVariant& v, double length, const LocalSources<float>& cells, LocalExpansion& local) {
    m2l_any(v, length, cells, local);
}
void m2l_double(const CellVariant& v, double length, const LocalSources<double>& cells,
                LocalExpansion& local) {
    m2l_any(v, length, cells, local);
}
void l2p_float(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
               const FieldSums& out) {
    l2p_any(v, local, targets, out);
}
void l2p_double(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                const FieldSums& out) {
    l2p_any(v, local, targets, out);
}

} // namespace graft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::kernels {

HWY_EXPORT(m2l_float);
HWY_EXPORT(m2l_double);
HWY_EXPORT(l2p_float);
HWY_EXPORT(l2p_double);

template <>
void m2l<float>(const CellVariant& v, double length, const LocalSources<float>& cells,
                LocalExpansion& local) {
    HWY_DYNAMIC_DISPATCH(m2l_float)(v, length, cells, local);
}
template <>
void m2l<double>(const CellVariant& v, double length, const LocalSources<double>& cells,
                 LocalExpansion& local) {
    HWY_DYNAMIC_DISPATCH(m2l_double)(v, length, cells, local);
}
template <>
void l2p<float>(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
                const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(l2p_float)(v, local, targets, sums);
}
template <>
void l2p<double>(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                 const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(l2p_double)(v, local, targets, sums);
}

template <typename T>
void LocalSources<T>::fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes,
                           int64_t count, const Frame& frame, const CellVariant& variant) {
    constexpr int rows = 4 + moments::max_terms;
    values_.resize(rows * capacity);
    padded_ = (count + source_pad - 1) / source_pad * source_pad;
    const int size = moments::record_size(variant.order, variant.softened);
    const int terms = moments::term_count(variant.order);
    T column[rows] = {};
    for (int64_t j = 0; j < padded_; ++j) { // filled up by the last cell without its charges
        if (j < count) {
            const int32_t node = nodes[j];
            column[0] = static_cast<T>((moments.cx[node] - frame.centre[0]) * frame.scale);
            column[1] = static_cast<T>((moments.cy[node] - frame.centre[1]) * frame.scale);
            column[2] = static_cast<T>((moments.cz[node] - frame.centre[2]) * frame.scale);
            column[3] = static_cast<T>(moments.rho[node] * frame.scale);
            moments::source_terms(expansion + static_cast<int64_t>(node) * size, variant.order,
                                  variant.softened, column + 4);
        } else if (j == count) {
            std::fill(column + 4, column + rows, T(0));
        }
        for (int k = 0; k < 4 + terms; ++k)
            values_[k * capacity + j] = column[k];
    }
}

template class LocalSources<float>;
template class LocalSources<double>;

} // namespace graft::kernels
#endif
