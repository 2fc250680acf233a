// SPDX-License-Identifier: BSD-3-Clause
// Records of numbers, one a cell, to rows of numbers, one column a cell: four records at a time. Read once
// per SIMD target, see pair.hpp.
#if defined(GRAFT_KERNELS_TRANSPOSE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_TRANSPOSE_HPP
#undef GRAFT_KERNELS_TRANSPOSE_HPP
#else
#define GRAFT_KERNELS_TRANSPOSE_HPP
#endif

#include "core/instruction_sets.hpp"

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Four numbers of four records, to four rows.
#if GRAFT_ONE_LANE
template <typename T>
HWY_INLINE void transpose_block(const T* const (&record)[4], T* row, int64_t stride) {
    for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 4; ++j)
            row[k * stride + j] = record[j][k];
}
#else
HWY_INLINE void transpose_block(const float* const (&record)[4], float* row, int64_t stride) {
    const hn::FixedTag<float, 4> d;
    const auto a = hn::Load(d, record[0]), b = hn::Load(d, record[1]);
    const auto c = hn::Load(d, record[2]), e = hn::Load(d, record[3]);
    const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
    const auto ab_high = hn::InterleaveUpper(d, a, b), ce_high = hn::InterleaveUpper(d, c, e);
    hn::Store(hn::ConcatLowerLower(d, ce, ab), d, row);
    hn::Store(hn::ConcatUpperUpper(d, ce, ab), d, row + stride);
    hn::Store(hn::ConcatLowerLower(d, ce_high, ab_high), d, row + 2 * stride);
    hn::Store(hn::ConcatUpperUpper(d, ce_high, ab_high), d, row + 3 * stride);
}
HWY_INLINE void transpose_block(const double* const (&record)[4], double* row, int64_t stride) {
    const hn::FixedTag<double, 2> d;
    for (int pair = 0; pair < 4; pair += 2)
        for (int k = 0; k < 4; k += 2) {
            const auto a = hn::Load(d, record[pair] + k), b = hn::Load(d, record[pair + 1] + k);
            hn::Store(hn::InterleaveLower(d, a, b), d, row + k * stride + pair);
            hn::Store(hn::InterleaveUpper(d, a, b), d, row + (k + 1) * stride + pair);
        }
}
#endif

/// The records of `count` nodes, `size` numbers each (a multiple of 4), to rows `stride` apart; columns from
/// `count` to `padded` (a multiple of 4) become `zeros`.
template <typename T>
void transpose(const T* expansion, int size, const int32_t* nodes, int64_t count, const T* zeros, T* rows,
               int64_t stride, int64_t padded) {
    for (int64_t j = 0; j < padded; j += 4) {
        const T* record[4];
        for (int64_t k = 0; k < 4; ++k)
            record[k] = j + k < count ? expansion + static_cast<int64_t>(nodes[j + k]) * size : zeros;
        for (int k = 0; k < size; k += 4) {
            transpose_block(record, rows + k * stride + j, stride);
            for (const T*& next : record)
                next += 4;
        }
    }
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
