// The M2P kernel, compiled once per SIMD target; m2p.hpp says what it does, moments/expansion.hpp the mathematics.
//
// With u = rho x / s^2 the symmetric tensors A_l are contracted with u one index at a time: A_4 u (10 numbers), (A_4 u) u
// (6), ... down to vectors V_l = A_l u^(l-1). Then P = sum V_l u, P' = sum l V_l and
// a = (rho P' - x (P + 2 u P' + 2 t dP/dt)) / s^3.
#include "kernels/m2p.hpp"

#include "moments/terms.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/m2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ops.hpp"
#include "kernels/pair.hpp"
#include "kernels/reduce.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::kernels::HWY_NAMESPACE {

/// Which term of order n + 1 holds term k of order n times y: k + 1 + (b + c), see moments/terms.hpp; z is the next.
constexpr int times_y(int k) {
    int rest = 0;
    while ((rest + 1) * (rest + 2) / 2 <= k)
        ++rest;
    return k + rest + 1;
}

template <typename T, int order, bool softened, bool per_particle, bool with_potential>
struct CellKernel {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
#if HWY_TARGET == HWY_AVX3
    static constexpr int block = order <= 2 ? 4 : 2;
#else
    static constexpr int block = order <= 1 ? 2 : 1;
#endif

    struct Direction {
        Real x, y, z; // u
    };

    /// One index contracted: out_k = q_(k x) u_x + q_(k y) u_y + q_(k z) u_z for every term k of the lower order.
    template <typename Get, size_t... k>
    static HWY_INLINE void contract(const Get& q, const Direction& u, Real* out, std::index_sequence<k...>) {
        ((out[k] = ops.fma(q(times_y(k) + 1), u.z, ops.fma(q(times_y(k)), u.y, ops.mul(q(k), u.x)))), ...);
    }
    template <int terms, typename Get>
    static HWY_INLINE void contract(const Get& q, const Direction& u, Real* out) {
        contract(q, u, out, std::make_index_sequence<terms>());
    }

    static HWY_INLINE Real dot(const Real* v, const Direction& u) {
        return ops.fma(v[2], u.z, ops.fma(v[1], u.y, ops.mul(v[0], u.x)));
    }

    struct Cell {
        const T* coefficients;
        int64_t stride;
        HWY_INLINE Real operator()(int k) const { return hn::LoadU(typename Ops::D(), coefficients + k * stride); }
    };

    /// V = A_l u^(l-1) for l = 2, 3, 4; `scratch` collects partial contractions.
    template <int l>
    static HWY_INLINE void vector_of(const Cell& cell, const Direction& u, Real* v) {
        const auto given = [&](int k) HWY_ATTR { return cell(moments::term_count(l - 1) + k); };
        if constexpr (l == 2) {
            contract<3>(given, u, v);
        } else {
            Real second[6];
            const auto of_second = [&](int k) HWY_ATTR { return second[k]; };
            if constexpr (l == 3) {
                contract<6>(given, u, second);
            } else {
                Real third[10];
                const auto of_third = [&](int k) HWY_ATTR { return third[k]; };
                contract<10>(given, u, third);
                contract<6>(of_third, u, second);
            }
            contract<3>(of_second, u, v);
        }
    }

    template <int l>
    static HWY_INLINE void add_order(const Cell& cell, const Direction& u, Real& p, Real& p_weighted, Real* gradient) {
        if constexpr (l <= order) {
            Real v[3];
            vector_of<l>(cell, u, v);
            const Real value = dot(v, u);
            p_weighted = ops.fma(value, ops.set(2 * l + 1), p_weighted);
            if constexpr (with_potential)
                p = ops.add(p, value);
            for (int a = 0; a < 3; ++a)
                gradient[a] = ops.fma(v[a], ops.set(l), gradient[a]);
        }
    }

    /// The trace parts -t b0 + t^2 c0 - t B1 u - t B2 u^2 of softened cells.
    static HWY_INLINE void add_traces(const Cell& cell, Real t, const Direction& u, Real& p, Real& p_weighted,
                                      Real* gradient) {
        constexpr int first = moments::term_count(order);
        if constexpr (order >= 2) { // order n in d counts (2 l + 1 + 2 j) for t^j u^l
            const Real b0 = ops.mul(t, cell(first));
            p_weighted = ops.fnma(b0, ops.set(3), p_weighted);
            p = ops.sub(p, b0);
        }
        if constexpr (order >= 3) {
            Real v[3];
            for (int a = 0; a < 3; ++a) {
                v[a] = ops.mul(t, cell(first + 2 + a));
                gradient[a] = ops.sub(gradient[a], v[a]);
            }
            const Real value = dot(v, u);
            p_weighted = ops.fnma(value, ops.set(5), p_weighted);
            p = ops.sub(p, value);
        }
        if constexpr (order >= 4) {
            const Real c0 = ops.mul(ops.mul(t, t), cell(first + 1));
            p_weighted = ops.fma(c0, ops.set(5), p_weighted);
            Real v[3];
            contract<3>([&](int k) HWY_ATTR { return cell(first + 5 + k); }, u, v);
            const Real value = ops.mul(t, dot(v, u));
            p_weighted = ops.fnma(value, ops.set(7), p_weighted);
            p = ops.add(p, ops.sub(c0, value));
            const Real twice_t = ops.add(t, t);
            for (int a = 0; a < 3; ++a)
                gradient[a] = ops.fnma(v[a], twice_t, gradient[a]);
        }
    }

    static HWY_INLINE void add_cell(const Cell& cell, Real x, Real y, Real z, Real rho, Real soft, PairSum<Real>& sum) {
        const Real s2 = ops.fma(x, x, ops.fma(y, y, softened ? ops.fma(z, z, soft) : ops.mul(z, z)));
        const Real inverse = ops.inverse_root(s2);
        const Real inverse2 = ops.mul(inverse, inverse);
        const Real scale = ops.mul(rho, inverse2);
        const Direction u{ops.mul(x, scale), ops.mul(y, scale), ops.mul(z, scale)};
        Real p = cell(0), p_weighted = p;
        Real gradient[3] = {hn::Zero(typename Ops::D()), hn::Zero(typename Ops::D()), hn::Zero(typename Ops::D())};
        if constexpr (order >= 1) {
            for (int a = 0; a < 3; ++a)
                gradient[a] = cell(1 + a);
            const Real value = dot(gradient, u);
            p_weighted = ops.fma(value, ops.set(3), p_weighted);
            if constexpr (with_potential)
                p = ops.add(p, value);
        }
        add_order<2>(cell, u, p, p_weighted, gradient);
        add_order<3>(cell, u, p, p_weighted, gradient);
        add_order<4>(cell, u, p, p_weighted, gradient);
        if constexpr (softened)
            add_traces(cell, ops.mul(rho, scale), u, p, p_weighted, gradient);
        const Real inverse3 = ops.mul(inverse, inverse2);
        const Real along = ops.mul(p_weighted, inverse3);
        if constexpr (order >= 1) {
            const Real across = ops.mul(rho, inverse3);
            sum.x = ops.fma(gradient[0], across, sum.x);
            sum.y = ops.fma(gradient[1], across, sum.y);
            sum.z = ops.fma(gradient[2], across, sum.z);
        }
        sum.x = ops.fnma(along, x, sum.x);
        sum.y = ops.fnma(along, y, sum.y);
        sum.z = ops.fnma(along, z, sum.z);
        if constexpr (with_potential)
            sum.potential = ops.fma(p, inverse, sum.potential);
    }

    static HWY_INLINE void run_block(double length, const Cells<T>& cells, int64_t begin, int64_t end,
                                     const Targets<T>& targets, int64_t first, const FieldSums& out) {
        const typename Ops::D d;
        const Real common = ops.set(length * length);
        PairSum<Real> sum[block];
        Real x[block], y[block], z[block], soft[block];
        for (int k = 0; k < block; ++k) {
            sum[k].x = sum[k].y = sum[k].z = sum[k].potential = hn::Zero(d);
            x[k] = hn::Set(d, targets.x[first + k]);
            y[k] = hn::Set(d, targets.y[first + k]);
            z[k] = hn::Set(d, targets.z[first + k]);
            soft[k] = softened && per_particle ? hn::Set(d, targets.s[first + k]) : common;
        }
        for (int64_t j = begin; j < end; j += static_cast<int64_t>(hn::Lanes(d))) {
            const Real cx = hn::Load(d, cells.x + j), cy = hn::Load(d, cells.y + j), cz = hn::Load(d, cells.z + j);
            const Real rho = hn::Load(d, cells.rho + j);
            const Real cell_soft = softened && per_particle ? hn::Load(d, cells.s + j) : common;
            const Cell cell{cells.coefficients + j, cells.stride};
            for (int k = 0; k < block; ++k)
                add_cell(cell, ops.sub(x[k], cx), ops.sub(y[k], cy), ops.sub(z[k], cz), rho,
                         softened && per_particle ? ops.add(soft[k], cell_soft) : common, sum[k]);
        }
        for (int k = 0; k < block; ++k) {
            out.ax[first + k] += lane_sum(sum[k].x);
            out.ay[first + k] += lane_sum(sum[k].y);
            out.az[first + k] += lane_sum(sum[k].z);
            if constexpr (with_potential)
                out.potential[first + k] += lane_sum(sum[k].potential);
        }
    }

    static HWY_INLINE double lane_sum(Real v) {
        const typename Ops::D d;
        return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, v)));
    }

    static HWY_NOINLINE void run(double length, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
                                 const FieldSums& out) {
        for (int64_t begin = 0; begin < cells.count; begin += chunk) {
            const int64_t end = std::min(cells.count, begin + chunk);
            for (int64_t first = 0; first < targets.count; first += block)
                run_block(length, cells, begin, end, targets, first, out);
        }
    }
};

template <typename T, int order, bool softened, bool per_particle>
void cell_potential(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
                    const FieldSums& out) {
    if (v.potential)
        CellKernel<T, order, softened, per_particle, true>::run(length, cells, targets, chunk, out);
    else
        CellKernel<T, order, softened, per_particle, false>::run(length, cells, targets, chunk, out);
}

template <typename T, int order>
void cell_softening(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
                    const FieldSums& out) {
    if (!v.softened)
        cell_potential<T, order, false, false>(v, length, cells, targets, chunk, out);
    else if (!v.per_particle)
        cell_potential<T, order, true, false>(v, length, cells, targets, chunk, out);
    else
        cell_potential<T, order, true, true>(v, length, cells, targets, chunk, out);
}

template <typename T>
void cell_order(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
                const FieldSums& out) {
    chunk = chunk <= 0 ? std::max(source_pad, cells.count) : (chunk + source_pad - 1) / source_pad * source_pad;
    switch (v.order) {
    case 0: return cell_softening<T, 0>(v, length, cells, targets, chunk, out);
    case 1: return cell_softening<T, 1>(v, length, cells, targets, chunk, out);
    case 2: return cell_softening<T, 2>(v, length, cells, targets, chunk, out);
    case 3: return cell_softening<T, 3>(v, length, cells, targets, chunk, out);
    default: return cell_softening<T, 4>(v, length, cells, targets, chunk, out);
    }
}

void m2p_float(const CellVariant& variant, double length, const Cells<float>& cells, const Targets<float>& targets,
               int64_t chunk, const FieldSums& sums) {
    cell_order(variant, length, cells, targets, chunk, sums);
}
void m2p_double(const CellVariant& variant, double length, const Cells<double>& cells, const Targets<double>& targets,
                int64_t chunk, const FieldSums& sums) {
    cell_order(variant, length, cells, targets, chunk, sums);
}

} // namespace graft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::kernels {

HWY_EXPORT(m2p_float);
HWY_EXPORT(m2p_double);

template <>
void m2p<float>(const CellVariant& variant, double length, const Cells<float>& cells, const Targets<float>& targets,
                int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_float)(variant, length, cells, targets, chunk, sums);
}
template <>
void m2p<double>(const CellVariant& variant, double length, const Cells<double>& cells, const Targets<double>& targets,
                 int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_double)(variant, length, cells, targets, chunk, sums);
}

} // namespace graft::kernels
#endif
