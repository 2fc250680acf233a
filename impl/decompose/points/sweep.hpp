// SPDX-License-Identifier: BSD-3-Clause
// The loops over records that finding cuts and moving points are made of, SIMD chosen at run time.
//
// They are rehmann2022's services (section 5.5) in this layout: count_left and sum_left count the points
// left of a cut, partition moves them. His make-axis, which copies one coordinate of each cell into an array
// of its own, has nothing to do here: the keys of an axis lie together.
#pragma once

#include "decompose/points/point_records.hpp"

#include <cstdint>

namespace graft::decompose {

/// Number and weight of some records: weight = low + 2^32 high, which cannot overflow. Where all weights are
/// 1 only count is kept.
struct RecordSum {
    uint64_t count = 0, low = 0, high = 0;
    void add(uint32_t weight_low, uint32_t weight_high) {
        ++count;
        low += weight_low;
        high += weight_high;
    }
    Wide weight() const { return low + (static_cast<Wide>(high) << 32); }
};

/// Keys below `cut`.
int64_t count_left(const uint32_t* keys, int64_t n, uint32_t cut);
/// The same with the weights of n records of `arrays`.
RecordSum sum_left(const RecordArrays& arrays, int axis, int64_t n, uint32_t cut);

/// Copies key of the axis, index and weight of those records with first <= key <= last to `to`, in order;
/// `below` gets those with key < first. from.index NULL: the copies get their position 0 ... n - 1. `to` may
/// be `from`. Returns how many were copied; may write up to one vector past them, never past n.
int64_t collect(const RecordArrays& from, int axis, int64_t n, uint32_t first, uint32_t last,
                const RecordArrays& to, RecordSum& below);

/// bins[(key - first) >> shift] += record for first <= key <= last; `below` gets those with key < first.
void add_to_histogram(const RecordArrays& arrays, int axis, int64_t n, uint32_t first, uint32_t last,
                      int shift, RecordSum* bins, RecordSum& below);

/// Which side points stand on whose key is that of the cut.
struct TieRule {
    const double* x = nullptr;   // the host's coordinate of the cut's axis, by index
    const int64_t* id = nullptr; // the host's ids, or NULL: id_base + index
    int64_t id_base = 0;
    Cut cut;
    bool left(int32_t index) const {
        return is_left(cut, x[index], id != nullptr ? id[index] : id_base + index);
    }
};

/// Points left of the cut: key < `key`, or key == `key` and the rule says so.
int64_t count_left_exactly(const uint32_t* keys, const int32_t* index, int64_t n, uint32_t key,
                           const TieRule& rule);

/// Moves n records from `from` to `left` or `right` in order, those to the left being left_count. Sides
/// without keys (both or none) get the indices only. Nothing is written behind the records of either side.
void partition(const RecordArrays& from, int64_t n, int axis, uint32_t key, const TieRule& rule,
               const RecordArrays& left, int64_t left_count, const RecordArrays& right);

} // namespace graft::decompose
