// SPDX-License-Identifier: BSD-3-Clause
// Loops over records, see sweep.hpp.
#include "decompose/points/sweep.hpp"

#include "core/instruction_sets.hpp"
#include "decompose/points/pack_table.hpp" // IWYU pragma: keep (AVX2)

#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/points/sweep.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::decompose::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint32_t>;
using Longs = hn::ScalableTag<uint64_t>;

int64_t lanes_of_words() {
    return static_cast<int64_t>(hn::Lanes(Words()));
}

/// Sum of 32-bit lane counts that stand for up to 2^32 - 1 each.
int64_t sum_words(hn::Vec<Words> counts) {
    HWY_ALIGN uint32_t values[HWY_MAX_BYTES / 4];
    hn::Store(counts, Words(), values);
    int64_t sum = 0;
    for (int64_t lane = 0; lane < lanes_of_words(); ++lane)
        sum += values[lane];
    return sum;
}

int64_t count_left_simd(const uint32_t* HWY_RESTRICT keys, int64_t n, uint32_t cut) {
    const Words d;
    const int64_t lanes = lanes_of_words();
    const auto limit = hn::Set(d, cut);
    // A mask is 0 or -1: subtracting it counts. Four sums hide the latency.
    const auto one = [&](int64_t i)
                         HWY_ATTR { return hn::VecFromMask(d, hn::Lt(hn::LoadU(d, keys + i), limit)); };
    auto a = hn::Zero(d), b = a, c = a, e = a;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a = hn::Sub(a, one(i));
        b = hn::Sub(b, one(i + lanes));
        c = hn::Sub(c, one(i + 2 * lanes));
        e = hn::Sub(e, one(i + 3 * lanes));
    }
    int64_t count = sum_words(a) + sum_words(b) + sum_words(c) + sum_words(e);
    for (; i < n; ++i)
        count += keys[i] < cut ? 1 : 0;
    return count;
}

/// Sums of weights as their low and high halves.
struct WeightSum {
    hn::Vec<Longs> low, high; // no initial values: a constructor of its own would not know the SIMD target
    /// Both 32-bit halves of each lane of 64 bits.
    static HWY_INLINE hn::Vec<Longs> widen(hn::Vec<Words> values) {
        const Longs d;
#if GRAFT_ONE_LANE
        return hn::PromoteTo(d, values);
#else
        const auto pairs = hn::BitCast(d, values);
        return hn::Add(hn::And(pairs, hn::Set(d, 0xffffffffU)), hn::ShiftRight<32>(pairs));
#endif
    }
    HWY_INLINE void add(const RecordArrays& arrays, int64_t i, hn::Mask<Words> mask) {
        const Words d;
        low = hn::Add(low, widen(hn::IfThenElseZero(mask, hn::LoadU(d, arrays.weight[0] + i))));
        high = hn::Add(high, widen(hn::IfThenElseZero(mask, hn::LoadU(d, arrays.weight[1] + i))));
    }
    void store(RecordSum& to) const {
        const Longs d;
        to.low += hn::GetLane(hn::SumOfLanes(d, low));
        to.high += hn::GetLane(hn::SumOfLanes(d, high));
    }
};

void sum_left_simd(const RecordArrays* arrays, int axis, int64_t n, uint32_t cut, RecordSum* out) {
    const Words d;
    const int64_t lanes = lanes_of_words();
    const auto limit = hn::Set(d, cut);
    const uint32_t* keys = arrays->key[axis];
    WeightSum sum{hn::Zero(Longs()), hn::Zero(Longs())};
    int64_t i = 0, count = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto mask = hn::Lt(hn::LoadU(d, keys + i), limit);
        sum.add(*arrays, i, mask);
        count += static_cast<int64_t>(hn::CountTrue(d, mask));
    }
    for (; i < n; ++i)
        if (keys[i] < cut)
            out->add(arrays->weight[0][i], arrays->weight[1][i]);
    out->count += static_cast<uint64_t>(count);
    sum.store(*out);
}

/// Mask bits. Read back in the size they are written in, or the processor waits.
HWY_INLINE uint64_t bits_of(hn::Mask<Words> mask) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(Words(), mask, bytes);
    uint64_t bits = 0;
    hwy::CopyBytes<(hn::MaxLanes(Words()) + 7) / 8>(bytes, &bits);
    return bits;
}
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, uint64_t bits) {
    uint8_t bytes[8];
    hwy::CopyBytes<8>(&bits, bytes);
    return hn::LoadMaskBits(d, bytes);
}

/// Brings the lanes of a mask to the front, in order, for as many vectors as wanted.
struct Packing {
// A table of our own: that of hwy::Compress (1.0.3) is copied at each call by g++ 12.
#if GRAFT_X86_VECTORS && !GRAFT_AVX512
    decltype(hn::SetTableIndices(Words(), static_cast<const uint32_t*>(nullptr))) order;
    static HWY_INLINE Packing of(hn::Mask<Words> mask) {
        return {hn::SetTableIndices(Words(), pack_table[bits_of(mask)].data())};
    }
    HWY_INLINE hn::Vec<Words> operator()(hn::Vec<Words> values) const {
        return hn::TableLookupLanes(values, order);
    }
#else
    hn::Mask<Words> mask;
    static HWY_INLINE Packing of(hn::Mask<Words> mask) {
        return {mask};
    }
    HWY_INLINE hn::Vec<Words> operator()(hn::Vec<Words> values) const {
        return hn::Compress(values, mask);
    }
#endif
    /// Writes a whole vector: compressing stores are slow on some processors.
    HWY_INLINE void keep(hn::Vec<Words> values, uint32_t* to) const {
        hn::StoreU((*this)(values), Words(), to);
    }
};

HWY_INLINE uint32_t* words(int32_t* index) {
    return reinterpret_cast<uint32_t*>(index);
}

int64_t collect_simd(const RecordArrays* from, int axis, int64_t n, uint32_t first, uint32_t last,
                     const RecordArrays* to, RecordSum* under) {
    const Words d;
    const int64_t lanes = lanes_of_words();
    const auto low = hn::Set(d, first), width = hn::Set(d, last - first);
    const uint32_t* keys = from->key[axis];
    uint32_t* to_keys = to->key[axis];
    const bool weighted = from->weighted();
    WeightSum sum{hn::Zero(Longs()), hn::Zero(Longs())};
    int64_t i = 0, kept = 0, count = 0;
    auto place = hn::Iota(d, 0);
    const auto step = hn::Set(d, static_cast<uint32_t>(lanes));
    for (; i + lanes <= n; i += lanes) {
        const auto key = hn::LoadU(d, keys + i);
        const auto item = from->index != nullptr ? hn::LoadU(d, words(from->index) + i) : place;
        place = hn::Add(place, step);
        const auto inside = hn::Not(hn::Gt(hn::Sub(key, low), width)), less = hn::Lt(key, low);
        const Packing packing = Packing::of(inside);
        count += static_cast<int64_t>(hn::CountTrue(d, less));
        if (weighted) {
            sum.add(*from, i, less);
            const auto a = hn::LoadU(d, from->weight[0] + i), b = hn::LoadU(d, from->weight[1] + i);
            packing.keep(a, to->weight[0] + kept);
            packing.keep(b, to->weight[1] + kept);
        }
        packing.keep(key, to_keys + kept);
        packing.keep(item, words(to->index) + kept);
        kept += static_cast<int64_t>(hn::CountTrue(d, inside));
    }
    under->count += static_cast<uint64_t>(count);
    sum.store(*under);
    for (; i < n; ++i) {
        const uint32_t key = keys[i];
        const int32_t item = from->index != nullptr ? from->index[i] : static_cast<int32_t>(i);
        const uint32_t a = weighted ? from->weight[0][i] : 0, b = weighted ? from->weight[1][i] : 0;
        if (key < first)
            under->add(a, b);
        if (key - first > last - first)
            continue;
        to_keys[kept] = key;
        to->index[kept] = item;
        if (weighted) {
            to->weight[0][kept] = a;
            to->weight[1][kept] = b;
        }
        ++kept;
    }
    return kept;
}

int64_t count_left_exactly_simd(const uint32_t* keys, const int32_t* index, int64_t n, uint32_t cut,
                                const TieRule* rule) {
    const Words d;
    const int64_t lanes = lanes_of_words();
    const auto limit = hn::Set(d, cut);
    auto less = hn::Zero(d);
    int64_t i = 0, ties = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto key = hn::LoadU(d, keys + i);
        less = hn::Sub(less, hn::VecFromMask(d, hn::Lt(key, limit)));
        const auto equal = hn::Eq(key, limit);
        if (HWY_UNLIKELY(!hn::AllFalse(d, equal)))
            for (int64_t k = i; k < i + lanes; ++k)
                ties += keys[k] == cut && rule->left(index[k]) ? 1 : 0;
    }
    for (; i < n; ++i)
        ties += keys[i] < cut || (keys[i] == cut && rule->left(index[i])) ? 1 : 0;
    return sum_words(less) + ties;
}

/// Moves one vector of records to both sides; `taken` of them go left.
template <bool blended>
struct Mover {
    Packing to_left, to_right;
    hn::Mask<Words> first_left, first_right; // as many lanes in front as are taken

    static HWY_INLINE Mover of(hn::Mask<Words> mask, int64_t taken) {
        const Words d;
        const auto count = static_cast<size_t>(taken);
        return {Packing::of(mask), Packing::of(hn::Not(mask)), hn::FirstN(d, count),
                hn::FirstN(d, hn::Lanes(d) - count)};
    }
    HWY_INLINE void one(const uint32_t* from, uint32_t* left, uint32_t* right) const {
        const Words d;
        const auto values = hn::LoadU(d, from);
        if (blended) {
            hn::BlendedStore(to_left(values), first_left, d, left);
            hn::BlendedStore(to_right(values), first_right, d, right);
        } else {
            to_left.keep(values, left);
            to_right.keep(values, right);
        }
    }
    HWY_INLINE void index_only(const RecordArrays& from, int64_t i, const RecordArrays& left, int64_t l,
                               const RecordArrays& right, int64_t r) const {
        one(words(from.index) + i, words(left.index) + l, words(right.index) + r);
    }
    HWY_INLINE void all(const RecordArrays& from, int64_t i, const RecordArrays& left, int64_t l,
                        const RecordArrays& right, int64_t r) const {
        index_only(from, i, left, l, right, r);
        one(from.key[0] + i, left.key[0] + l, right.key[0] + r);
        one(from.key[1] + i, left.key[1] + l, right.key[1] + r);
        if (from.key[2] != nullptr)
            one(from.key[2] + i, left.key[2] + l, right.key[2] + r);
        for (int half = 0; half < 2 && from.weighted(); ++half)
            one(from.weight[half] + i, left.weight[half] + l, right.weight[half] + r);
    }
};

HWY_INLINE hn::Mask<Words> side_mask(hn::Vec<Words> key, hn::Vec<Words> limit, const int32_t* index,
                                     const TieRule& rule) {
    const Words d;
    const auto less = hn::Lt(key, limit), equal = hn::Eq(key, limit);
    if (HWY_LIKELY(hn::AllFalse(d, equal)))
        return less;
    uint64_t bits = bits_of(less);
    for (uint64_t left = bits_of(equal); left != 0; left &= left - 1) {
        const int lane = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
        bits |= static_cast<uint64_t>(rule.left(index[lane])) << lane;
    }
    return mask_of(d, bits);
}

void move_record(const RecordArrays& from, int64_t i, const RecordArrays& to, int64_t at) {
    to.index[at] = from.index[i];
    if (to.key[0] == nullptr)
        return;
    for (int a = 0; a < 3; ++a)
        if (from.key[a] != nullptr)
            to.key[a][at] = from.key[a][i];
    for (int half = 0; half < 2 && from.weighted(); ++half)
        to.weight[half][at] = from.weight[half][i];
}

template <bool with_keys>
void partition_with(const RecordArrays& from, int64_t n, int axis, uint32_t cut, const TieRule& rule,
                    const RecordArrays& left, int64_t left_count, const RecordArrays& right) {
    const Words d;
    const int64_t lanes = lanes_of_words(), right_count = n - left_count;
    const auto limit = hn::Set(d, cut);
    const uint32_t* keys = from.key[axis];
    int64_t i = 0, l = 0, r = 0;
    const auto move = [&](auto kind) HWY_ATTR {
        const auto mask = side_mask(hn::LoadU(d, keys + i), limit, from.index + i, rule);
        const auto taken = static_cast<int64_t>(hn::CountTrue(d, mask));
        const auto mover = Mover<decltype(kind)::value>::of(mask, taken);
        if (with_keys)
            mover.all(from, i, left, l, right, r);
        else
            mover.index_only(from, i, left, l, right, r);
        l += taken;
        r += lanes - taken;
    };
    // Whole vectors while neither side can be written past its end, then only the lanes that are meant.
    for (; i + lanes <= n && l + lanes <= left_count && r + lanes <= right_count; i += lanes)
        move(std::false_type());
    for (; i + lanes <= n; i += lanes)
        move(std::true_type());
    for (; i < n; ++i) {
        if (keys[i] < cut || (keys[i] == cut && rule.left(from.index[i])))
            move_record(from, i, left, l++);
        else
            move_record(from, i, right, r++);
    }
}

void partition_simd(const RecordArrays& from, int64_t n, int axis, uint32_t cut, const TieRule& rule,
                    const RecordArrays& left, int64_t left_count, const RecordArrays& right) {
    if (left.key[0] != nullptr)
        partition_with<true>(from, n, axis, cut, rule, left, left_count, right);
    else
        partition_with<false>(from, n, axis, cut, rule, left, left_count, right);
}

} // namespace graft::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::decompose {

HWY_EXPORT(count_left_simd);
HWY_EXPORT(sum_left_simd);
HWY_EXPORT(collect_simd);
HWY_EXPORT(count_left_exactly_simd);
HWY_EXPORT(partition_simd);

int64_t count_left(const uint32_t* keys, int64_t n, uint32_t cut) {
    return HWY_DYNAMIC_DISPATCH(count_left_simd)(keys, n, cut);
}

RecordSum sum_left(const RecordArrays& arrays, int axis, int64_t n, uint32_t cut) {
    RecordSum out;
    if (arrays.weighted())
        HWY_DYNAMIC_DISPATCH(sum_left_simd)(&arrays, axis, n, cut, &out);
    else
        out.count = static_cast<uint64_t>(count_left(arrays.key[axis], n, cut));
    return out;
}

int64_t collect(const RecordArrays& from, int axis, int64_t n, uint32_t first, uint32_t last,
                const RecordArrays& to, RecordSum& under) {
    return HWY_DYNAMIC_DISPATCH(collect_simd)(&from, axis, n, first, last, &to, &under);
}

namespace {

/// Counts in four small tables in turns: neighbours in memory often fall into one bin, and adding to a number
/// that has just been written must wait for it.
void count_into(const uint32_t* keys, int64_t n, uint32_t first, uint32_t last, int shift, RecordSum* bins,
                RecordSum& under) {
    constexpr int tables = 4;
    const uint32_t width = last - first, outside = (width >> shift) + 1; // two more bins: below, above
    const size_t stride = outside + 2;
    std::vector<uint32_t> counts(tables * stride, 0);
    const auto bin_of = [&](uint32_t key) {
        const uint32_t offset = key - first;
        return offset <= width ? offset >> shift : outside + (key < first ? 0 : 1);
    };
    int64_t i = 0;
    for (; i + tables <= n; i += tables)
        for (int table = 0; table < tables; ++table)
            ++counts[static_cast<size_t>(table) * stride + bin_of(keys[i + table])];
    for (; i < n; ++i)
        ++counts[bin_of(keys[i])];
    for (size_t table = 0; table < tables; ++table) {
        for (uint32_t bin = 0; bin < outside; ++bin)
            bins[bin].count += counts[table * stride + bin];
        under.count += counts[table * stride + outside];
    }
}

} // namespace

void add_to_histogram(const RecordArrays& arrays, int axis, int64_t n, uint32_t first, uint32_t last,
                      int shift, RecordSum* bins, RecordSum& under) {
    const uint32_t width = last - first;
    const uint32_t* keys = arrays.key[axis];
    if (!arrays.weighted() && n > int64_t{16} * (width >> shift)) {
        count_into(keys, n, first, last, shift, bins, under);
        return;
    }
    const bool weighted = arrays.weighted();
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t offset = keys[i] - first;
        if (offset > width && keys[i] >= first)
            continue;
        RecordSum& out = offset <= width ? bins[offset >> shift] : under;
        if (weighted)
            out.add(arrays.weight[0][i], arrays.weight[1][i]);
        else
            ++out.count;
    }
}

int64_t count_left_exactly(const uint32_t* keys, const int32_t* index, int64_t n, uint32_t key,
                           const TieRule& rule) {
    return HWY_DYNAMIC_DISPATCH(count_left_exactly_simd)(keys, index, n, key, &rule);
}

void partition(const RecordArrays& from, int64_t n, int axis, uint32_t key, const TieRule& rule,
               const RecordArrays& left, int64_t left_count, const RecordArrays& right) {
    HWY_DYNAMIC_DISPATCH(partition_simd)(from, n, axis, key, rule, left, left_count, right);
}

} // namespace graft::decompose
#endif
