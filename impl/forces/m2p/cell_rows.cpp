// SPDX-License-Identifier: BSD-3-Clause
// Packing of cells: one column per cell, one row per number. Records are transposed in small blocks, then the
// rows of the kernel's basis are made from them, both compiled once per SIMD target.
#include "forces/m2p/cell_rows.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2p/cell_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// One vector of cells: from record rows to kernel rows.
template <typename T>
struct Expand {
    using D = hn::ScalableTag<T>;
    using Real = hn::Vec<D>;
    const T* in;
    T* out;
    int64_t stride;

    HWY_INLINE Real get(int k) const { return hn::Load(D(), in + k * stride); }
    HWY_INLINE void put(int k, Real v) const { hn::Store(v, D(), out + k * source_pad); }
    static HWY_INLINE Real minus_sum(Real a, Real b) { return hn::Neg(hn::Add(a, b)); }
    static HWY_INLINE Real times(double f, Real a) { return hn::Mul(hn::Set(D(), static_cast<T>(f)), a); }

    /// Five numbers of a traceless symmetric matrix to six.
    HWY_INLINE void matrix(int from, int to) const {
        for (int k = 0; k < 5; ++k)
            put(to + k, get(from + k));
        put(to + 5, minus_sum(get(from), get(from + 3)));
    }
    HWY_INLINE void octupole_row(int to, Real xx, Real yy, Real xy, Real xz, Real yz) const {
        put(to, xx), put(to + 1, yy), put(to + 2, times(2, xy)), put(to + 3, times(2, xz)),
            put(to + 4, times(2, yz));
    }
    HWY_INLINE void octupole(int from, int to) const {
        const Real xxx = get(from), xxy = get(from + 1), xxz = get(from + 2), xyy = get(from + 3),
                   xyz = get(from + 4);
        const Real yyy = get(from + 5), yyz = get(from + 6);
        octupole_row(to, xxx, xyy, xxy, xxz, xyz);
        octupole_row(to + 5, xxy, yyy, xyy, xyz, yyz);
        octupole_row(to + 10, xxz, yyz, xyz, minus_sum(xxx, xyy), minus_sum(xxy, yyy));
    }
    HWY_INLINE void hexadecapole_row(int to, Real xxx, Real xyy, Real yyy, Real xxy, Real xxz, Real yyz,
                                     Real xyz) const {
        put(to, xxx), put(to + 1, times(3, xyy)), put(to + 2, yyy), put(to + 3, times(3, xxy));
        put(to + 4, xxz), put(to + 5, yyz), put(to + 6, times(6, xyz));
    }
    HWY_INLINE void hexadecapole(int from, int to) const {
        const Real xxxx = get(from), xxxy = get(from + 1), xxxz = get(from + 2), xxyy = get(from + 3);
        const Real xxyz = get(from + 4), xyyy = get(from + 5), xyyz = get(from + 6), yyyy = get(from + 7);
        const Real yyyz = get(from + 8);
        hexadecapole_row(to, xxxx, xxyy, xyyy, xxxy, xxxz, xyyz, xxyz);
        hexadecapole_row(to + 7, xxxy, xyyy, yyyy, xxyy, xxyz, yyyz, xyyz);
        hexadecapole_row(to + 14, xxxz, xyyz, yyyz, xxyz, minus_sum(xxxx, xxyy), minus_sum(xxyy, yyyy),
                         minus_sum(xxxy, xyyy));
    }

    HWY_INLINE void all(int order, bool softened) const {
        if (moments::is_harmonic(order)) {
            for (int k = 0; k < moments::harmonic_count(order); ++k)
                put(row_charge + k, get(k));
            return;
        }
        for (int k = 0; k < std::min(4, moments::traceless_terms(order)); ++k)
            put(row_charge + k, get(k));
        if (order >= 2)
            matrix(4, row_quadrupole);
        if (order >= 3)
            octupole(9, row_octupole);
        if (order >= 4)
            hexadecapole(16, row_hexadecapole);
        if (!softened || order < 2)
            return;
        const int from = moments::traceless_terms(order), to = gradient_rows(order);
        for (int k = 0; k < std::min(4, moments::trace_terms(order)); ++k)
            put(to + k, get(from + k));
        if (order >= 4) {
            matrix(from + 4, to + 4);
            put(to + 10, get(from + 9));
        }
    }
};

template <typename T>
void pack(const T* expansion, int order, bool softened, const int32_t* nodes, int64_t count, int64_t padded,
          int64_t stride, T* scratch, T* rows) {
    alignas(64) static constexpr T zeros[moments::record_size(moments::max_order, false)] = {};
    const int size = moments::record_size(order, softened);
    transpose(expansion, size, nodes, count, zeros, scratch, stride, padded);
    const int64_t block_size = row_count(order, softened) * source_pad;
    for (int64_t j = 0; j < padded; j += static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())))
        Expand<T>{scratch + j, rows + j / source_pad * block_size + j % source_pad, stride}.all(order,
                                                                                                softened);
}

void pack_float(const float* expansion, int order, bool softened, const int32_t* nodes, int64_t count,
                int64_t padded, int64_t stride, float* scratch, float* rows) {
    pack(expansion, order, softened, nodes, count, padded, stride, scratch, rows);
}
void pack_double(const double* expansion, int order, bool softened, const int32_t* nodes, int64_t count,
                 int64_t padded, int64_t stride, double* scratch, double* rows) {
    pack(expansion, order, softened, nodes, count, padded, stride, scratch, rows);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {
namespace {

HWY_EXPORT(pack_float);
HWY_EXPORT(pack_double);

template <typename T>
void pack(const T* expansion, int order, bool softened, const int32_t* nodes, int64_t count, int64_t padded,
          int64_t stride, T* scratch, T* rows) {
    if constexpr (sizeof(T) == 4)
        HWY_DYNAMIC_DISPATCH(pack_float)
    (expansion, order, softened, nodes, count, padded, stride, scratch, rows);
    else HWY_DYNAMIC_DISPATCH(pack_double)(expansion, order, softened, nodes, count, padded, stride, scratch,
                                           rows);
}

} // namespace

template <typename T>
void CellBuffer<T>::fill_places(const moments::Moments& moments, const int32_t* nodes, int64_t count,
                                const Frame& frame, const CellVariant& variant) {
    // A cell much smaller than the frame is a point; so small a rho keeps u and 1 / rho in range.
    constexpr double point = sizeof(T) == 4 ? 1e-12 : 1e-30, least = sizeof(T) == 4 ? point : 1e-150;
    const double scale = frame.scale;
    for (int64_t j = 0; j < view().padded(); ++j) { // filled up by the last cell, which is away from all targets
        const int32_t node = nodes[std::min(j, count - 1)];
        T* const to = values_.data() +
                      j / source_pad * row_count(variant.order, variant.traces()) * source_pad +
                      j % source_pad;
        const double rho = moments.radius[node] > 0 ? std::max(moments.rho[node] * scale, least) : point;
        to[row_x * source_pad] = static_cast<T>((moments.cx[node] - frame.centre[0]) * scale);
        to[row_y * source_pad] = static_cast<T>((moments.cy[node] - frame.centre[1]) * scale);
        to[row_z * source_pad] = static_cast<T>((moments.cz[node] - frame.centre[2]) * scale);
        to[row_rho * source_pad] = static_cast<T>(rho);
        to[row_inverse_rho * source_pad] = static_cast<T>(1 / rho);
        if (variant.per_particle)
            to[row_softening * source_pad] =
                static_cast<T>(0.5 * moments.softening_square[node] * scale * scale);
    }
}

template <typename T>
void CellBuffer<T>::fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes,
                         int64_t count, const Frame& frame, const CellVariant& variant) {
    fill_rows(moments, expansion, nodes, nodes, count, frame, variant);
}

/// Record j is number record[j] of the expansion.
template <typename T>
void CellBuffer<T>::fill_rows(const moments::Moments& moments, const T* expansion, const int32_t* nodes,
                              const int32_t* record, int64_t count, const Frame& frame,
                              const CellVariant& variant) {
    values_.resize(row_count(variant.order, variant.traces()) * capacity);
    scratch_.resize(moments::record_size(variant.order, variant.traces()) * stride);
    count_ = count;
    if (count == 0)
        return;
    fill_places(moments, nodes, count, frame, variant);
    pack(expansion, variant.order, variant.traces(), record, count, view().padded(), stride, scratch_.data(), values_.data());
}

template <typename T>
void CellBuffer<T>::fill(const moments::Moments& moments, const float* expansion, const int32_t* nodes,
                         int64_t count, const Frame& frame,
                         const CellVariant& variant) requires(sizeof(T) == 8) {
    const int64_t size = moments::record_size(variant.order, variant.traces());
    int32_t places[capacity];
    widened_.resize(size * capacity);
    for (int32_t j = 0; j < count; ++j) {
        places[j] = j;
        std::copy_n(expansion + nodes[j] * size, size, widened_.data() + j * size);
    }
    fill_rows(moments, widened_.data(), nodes, places, count, frame, variant);
}

template class CellBuffer<float>;
template class CellBuffer<double>;

} // namespace graft::forces
#endif
