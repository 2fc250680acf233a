// SPDX-License-Identifier: BSD-3-Clause
// M2P of periodic boxes, compiled once per SIMD target: the kernel of m2p.cpp with screened roots.
#include "forces/m2p/m2p.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2p/m2p_screened.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/m2p/m2p_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

void m2p_screened_float(const CellVariant& variant, double length, double alpha, const Cells<float>& cells,
                        const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    CellCall<float, true>{variant, length, alpha, cells, targets, chunk, sums}();
}
void m2p_screened_double(const CellVariant& variant, double length, double alpha, const Cells<double>& cells,
                         const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    CellCall<double, true>{variant, length, alpha, cells, targets, chunk, sums}();
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(m2p_screened_float);
HWY_EXPORT(m2p_screened_double);

template <>
void m2p_screened<float>(const CellVariant& variant, double length, double alpha, const Cells<float>& cells,
                         const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_screened_float)
    (variant, length, alpha, cells, targets, whole(cells, chunk), sums);
}
template <>
void m2p_screened<double>(const CellVariant& variant, double length, double alpha, const Cells<double>& cells,
                          const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_screened_double)
    (variant, length, alpha, cells, targets, whole(cells, chunk), sums);
}

} // namespace graft::forces
#endif
