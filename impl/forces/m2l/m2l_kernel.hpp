// SPDX-License-Identifier: BSD-3-Clause
// M2L of cells in the lanes of vectors, of all orders. Read once per instruction set, see forces/p2p/pair.hpp.
#if defined(GRAFT_FORCES_M2L_KERNEL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_FORCES_M2L_KERNEL_HPP
#undef GRAFT_FORCES_M2L_KERNEL_HPP
#else
#define GRAFT_FORCES_M2L_KERNEL_HPP
#endif

#include "forces/m2l/m2l.hpp"
#include "forces/m2l/m2l_body.hpp"
#include "forces/vector_ops.hpp"
#include "moments/source_terms.hpp"

#include <utility>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// M2L of cells of `order`, in the lanes of vectors.
template <typename T, int order, bool softened>
struct M2lKernel {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    using Body = M2lBody<Ops, order, softened, true>;
    static constexpr Ops ops{};
    static constexpr moments::SourceMatrix<order, softened> matrix{};

    /// Number k of the cells' series from their records.
    template <int k, int... j>
    static HWY_INLINE void source(const T* records, Real* w, std::integer_sequence<int, j...>) {
        bool first = true;
        const auto add = [&]<int i>() HWY_ATTR {
            constexpr double factor = matrix.value[k][i];
            if constexpr (factor != 0) {
                const Real number = hn::Load(typename Ops::D(), records + i * M2lSources<T>::stride);
                w[k] = first ? ops.mul(ops.set(factor), number) : ops.fma(ops.set(factor), number, w[k]);
                first = false;
            }
        };
        (add.template operator()<j>(), ...);
    }
    template <int... k>
    static HWY_INLINE void read_sources(const T* records, Real* w, std::integer_sequence<int, k...>) {
        constexpr int numbers = moments::record_terms(order, softened);
        (source<k>(records, w, std::make_integer_sequence<int, numbers>()), ...);
    }

    static HWY_INLINE void add_cells(const M2lSources<T>& cells, int64_t j, const Real (&centre)[3],
                                     Real square, Real* sum) {
        const typename Ops::D d;
        const auto row = [&](int k) HWY_ATTR { return hn::Load(d, cells.row(k) + j); };
        Real u[3] = {ops.sub(centre[0], row(0)), ops.sub(centre[1], row(1)), ops.sub(centre[2], row(2))};
        const Real s2 = ops.fma(
            u[0], u[0], ops.fma(u[1], u[1], softened ? ops.fma(u[2], u[2], square) : ops.mul(u[2], u[2])));
        const Real inverse = ops.inverse_root(s2);
        for (Real& x : u)
            x = ops.mul(x, inverse);
        Real w[Body::sources];
        read_sources(cells.row(4) + j, w, std::make_integer_sequence<int, Body::sources>());
        Body::add(u, inverse, ops.mul(row(3), inverse), w, sum);
    }

    static HWY_NOINLINE void run(double length, const M2lSources<T>& cells, LocalExpansion& local) {
        const typename Ops::D d;
        const Real centre[3] = {ops.set(local.centre[0]), ops.set(local.centre[1]), ops.set(local.centre[2])};
        const Real square = ops.set(length * length);
        Real sum[Body::count];
        for (Real& value : sum)
            value = hn::Zero(d);
        for (int64_t j = 0; j < cells.count(); j += static_cast<int64_t>(hn::Lanes(d)))
            add_cells(cells, j, centre, square, sum);
        double value[Body::count];
        for (int k = 0; k < Body::count; ++k)
            value[k] = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum[k])));
        if constexpr (!softened)
            complete_terms(Body::degree, value);
        for (int k = 0; k < Body::count; ++k)
            local.value[static_cast<size_t>(k)] += value[k];
    }
};

template <typename T, bool softened>
void m2l_of_order(int order, double length, const M2lSources<T>& cells, LocalExpansion& local) {
    switch (order) {
    case 0:
        return M2lKernel<T, 0, softened>::run(length, cells, local);
    case 1:
        return M2lKernel<T, 1, softened>::run(length, cells, local);
    case 2:
        return M2lKernel<T, 2, softened>::run(length, cells, local);
    case 3:
        return M2lKernel<T, 3, softened>::run(length, cells, local);
    default:
        return M2lKernel<T, 4, softened>::run(length, cells, local);
    }
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
