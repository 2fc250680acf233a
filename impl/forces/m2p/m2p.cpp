// SPDX-License-Identifier: BSD-3-Clause
// M2P of open boxes, compiled once per SIMD target; m2p_kernel.hpp is the kernel, m2p_screened.cpp that of
// periodic boxes.
#include "forces/m2p/m2p.hpp"

#include "forces/m2p/m2p_harmonic.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2p/m2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/m2p/m2p_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

void m2p_float(const CellVariant& variant, double length, const Cells<float>& cells,
               const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    CellCall<float, false>{variant, length, 0, cells, targets, chunk, sums}();
}
void m2p_double(const CellVariant& variant, double length, const Cells<double>& cells,
                const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    CellCall<double, false>{variant, length, 0, cells, targets, chunk, sums}();
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(m2p_float);
HWY_EXPORT(m2p_double);

template <>
void m2p<float>(const CellVariant& variant, double length, const Cells<float>& cells,
                const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    if (moments::is_harmonic(variant.order))
        return m2p_harmonic(variant, cells, targets, whole(cells, chunk), sums);
    HWY_DYNAMIC_DISPATCH(m2p_float)(variant, length, cells, targets, whole(cells, chunk), sums);
}
template <>
void m2p<double>(const CellVariant& variant, double length, const Cells<double>& cells,
                 const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    if (moments::is_harmonic(variant.order))
        return m2p_harmonic(variant, cells, targets, whole(cells, chunk), sums);
    HWY_DYNAMIC_DISPATCH(m2p_double)(variant, length, cells, targets, whole(cells, chunk), sums);
}

} // namespace graft::forces
#endif
