// M2P of periodic boxes, compiled once per SIMD target: the kernel of m2p.cpp with screened roots.
#include "kernels/m2p.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/m2p_screened.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cell_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::kernels::HWY_NAMESPACE {

/// All that the kernels of one type of number are called with.
template <typename T>
struct ScreenedCall {
    const CellVariant& variant;
    double length, alpha;
    const Cells<T>& cells;
    const Targets<T>& targets;
    int64_t chunk;
    const FieldSums& out;

    template <int order, bool softened, bool potential>
    void run() const {
        CellKernel<T, order, softened, false, potential, true>::run(length, alpha, cells, targets, chunk,
                                                                    out);
    }
    template <int order>
    void choose() const {
        if (variant.softened)
            variant.potential ? run<order, true, true>() : run<order, true, false>();
        else
            variant.potential ? run<order, false, true>() : run<order, false, false>();
    }
    void any_order() const {
        switch (variant.order) {
        case 0:
            return choose<0>();
        case 1:
            return choose<1>();
        case 2:
            return choose<2>();
        case 3:
            return choose<3>();
        default:
            return choose<4>();
        }
    }
};

void m2p_screened_float(const CellVariant& variant, double length, double alpha, const Cells<float>& cells,
                        const Targets<float>& targets, int64_t chunk, const FieldSums& sums) {
    ScreenedCall<float>{variant, length, alpha, cells, targets, chunk, sums}.any_order();
}
void m2p_screened_double(const CellVariant& variant, double length, double alpha, const Cells<double>& cells,
                         const Targets<double>& targets, int64_t chunk, const FieldSums& sums) {
    ScreenedCall<double>{variant, length, alpha, cells, targets, chunk, sums}.any_order();
}

} // namespace graft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::kernels {

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

} // namespace graft::kernels
#endif
