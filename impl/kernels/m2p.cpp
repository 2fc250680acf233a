// M2P of open boxes, compiled once per SIMD target; cell_kernel.hpp is the kernel, m2p_screened.cpp that of
// periodic boxes.
#include "kernels/m2p.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/m2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cell_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::kernels::HWY_NAMESPACE {

template <typename T, int order, bool softened, bool per_particle>
void cell_potential(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets,
                    int64_t chunk, const FieldSums& out) {
    if (v.potential)
        CellKernel<T, order, softened, per_particle, true>::run(length, 0, cells, targets, chunk, out);
    else
        CellKernel<T, order, softened, per_particle, false>::run(length, 0, cells, targets, chunk, out);
}

template <typename T, int order>
void cell_softening(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets,
                    int64_t chunk, const FieldSums& out) {
    if (!v.softened)
        cell_potential<T, order, false, false>(v, length, cells, targets, chunk, out);
    else if (!v.per_particle)
        cell_potential<T, order, true, false>(v, length, cells, targets, chunk, out);
    else
        cell_potential<T, order, true, true>(v, length, cells, targets, chunk, out);
}

template <typename T>
void cell_order(const CellVariant& v, double length, const Cells<T>& cells, const Targets<T>& targets,
                int64_t chunk, const FieldSums& out) {
    switch (v.order) {
    case 0:
        return cell_softening<T, 0>(v, length, cells, targets, chunk, out);
    case 1:
        return cell_softening<T, 1>(v, length, cells, targets, chunk, out);
    case 2:
        return cell_softening<T, 2>(v, length, cells, targets, chunk, out);
    case 3:
        return cell_softening<T, 3>(v, length, cells, targets, chunk, out);
    default:
        return cell_softening<T, 4>(v, length, cells, targets, chunk, out);
    }
}

void m2p_float(const CellVariant& variant, double length, const Cells<float>& cells,
               const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    cell_order(variant, length, cells, targets, chunk, sums);
}
void m2p_double(const CellVariant& variant, double length, const Cells<double>& cells,
                const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    cell_order(variant, length, cells, targets, chunk, sums);
}

} // namespace graft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::kernels {

HWY_EXPORT(m2p_float);
HWY_EXPORT(m2p_double);

template <>
void m2p<float>(const CellVariant& variant, double length, const Cells<float>& cells,
                const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_float)(variant, length, cells, targets, whole(cells, chunk), sums);
}
template <>
void m2p<double>(const CellVariant& variant, double length, const Cells<double>& cells,
                 const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_double)(variant, length, cells, targets, whole(cells, chunk), sums);
}

} // namespace graft::kernels
#endif
