// SPDX-License-Identifier: BSD-3-Clause
// Cells packed for M2L: their places and expansions as rows, a cell a lane.
#include "forces/m2l/m2l.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2l/m2l_cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

template <typename T>
void transpose_records(const T* expansion, int size, const int32_t* nodes, int64_t count, int64_t padded,
                       T* rows) {
    alignas(64) static constexpr T zeros[moments::record_size(moments::max_order, false)] = {};
    transpose(expansion, size, nodes, count, zeros, rows, M2lSources<T>::stride, padded);
}
void transpose_float(const float* expansion, int size, const int32_t* nodes, int64_t count, int64_t padded,
                     float* rows) {
    transpose_records(expansion, size, nodes, count, padded, rows);
}
void transpose_double(const double* expansion, int size, const int32_t* nodes, int64_t count, int64_t padded,
                      double* rows) {
    transpose_records(expansion, size, nodes, count, padded, rows);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

namespace {

HWY_EXPORT(transpose_float);
HWY_EXPORT(transpose_double);

} // namespace

template <typename T>
void M2lSources<T>::fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes,
                         int64_t count, const Frame& frame, const CellVariant& variant) {
    const int size = moments::record_size(variant.order, variant.softened);
    values_.resize((4 + size) * stride);
    padded_ = (count + source_pad - 1) / source_pad * source_pad;
    if (count == 0)
        return;
    T* const to = values_.data();
    for (int64_t j = 0; j < padded_; ++j) { // filled up by the last cell without its charges
        const int32_t node = nodes[std::min(j, count - 1)];
        to[j] = static_cast<T>((moments.cx[node] - frame.centre[0]) * frame.scale);
        to[stride + j] = static_cast<T>((moments.cy[node] - frame.centre[1]) * frame.scale);
        to[2 * stride + j] = static_cast<T>((moments.cz[node] - frame.centre[2]) * frame.scale);
        to[3 * stride + j] = static_cast<T>(moments.radius[node] > 0 ? moments.rho[node] * frame.scale : 0);
    }
    if constexpr (sizeof(T) == 4)
        HWY_DYNAMIC_DISPATCH(transpose_float)(expansion, size, nodes, count, padded_, to + 4 * stride);
    else
        HWY_DYNAMIC_DISPATCH(transpose_double)(expansion, size, nodes, count, padded_, to + 4 * stride);
}

template class M2lSources<float>;
template class M2lSources<double>;

} // namespace graft::forces
#endif
