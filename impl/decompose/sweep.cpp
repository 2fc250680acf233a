// Loops over records, see sweep.hpp.
#include "decompose/sweep.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/sweep.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::decompose::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint32_t>;
using Indices = hn::ScalableTag<int32_t>;
using Longs = hn::ScalableTag<uint64_t>;
using SignedLongs = hn::ScalableTag<int64_t>;
using Halves = hn::Rebind<uint32_t, Longs>;

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

/// Adds the weights of a vector of words' worth of records, where `bits` says so.
struct WeightSum {
    hn::Vec<Longs> low, high; // no initial values: a constructor of its own would not know the SIMD target
    HWY_INLINE void add(hn::Vec<Longs> weight, hn::Mask<Longs> mask) {
        const Longs d;
        const auto taken = hn::IfThenElseZero(mask, weight);
        low = hn::Add(low, hn::And(taken, hn::Set(d, 0xffffffffU)));
        high = hn::Add(high, hn::ShiftRight<32>(taken));
    }
    void store(Tally& tally) const {
        const Longs d;
        tally.low += hn::GetLane(hn::SumOfLanes(d, low));
        tally.high += hn::GetLane(hn::SumOfLanes(d, high));
    }
};

/// Keys are below 2^32: a signed comparison of the widened ones does.
HWY_INLINE hn::Mask<Longs> below(const uint32_t* keys, hn::Vec<SignedLongs> limit) {
    const SignedLongs d;
    const auto wide = hn::BitCast(d, hn::PromoteTo(Longs(), hn::LoadU(Halves(), keys)));
    return hn::RebindMask(Longs(), hn::Lt(wide, limit));
}

void tally_left_simd(const uint32_t* HWY_RESTRICT keys, const uint64_t* HWY_RESTRICT weights, int64_t n,
                     uint32_t cut, Tally* tally) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Longs()));
    const auto limit = hn::Set(SignedLongs(), static_cast<int64_t>(cut));
    WeightSum sum{hn::Zero(Longs()), hn::Zero(Longs())};
    int64_t i = 0, count = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto mask = below(keys + i, limit);
        sum.add(hn::LoadU(Longs(), weights + i), mask);
        count += static_cast<int64_t>(hn::CountTrue(Longs(), mask));
    }
    for (; i < n; ++i)
        if (keys[i] < cut)
            tally->add(weights[i]);
    tally->count += static_cast<uint64_t>(count);
    sum.store(*tally);
}

template <class D, typename T>
HWY_INLINE void keep(D d, hn::Vec<D> values, hn::Mask<D> mask, T* to) {
    hn::StoreU(hn::Compress(values, mask), d, to); // compressing stores are slow on some processors
}

/// Mask bits of a vector of words, spread over two vectors of longs.
HWY_INLINE uint64_t bits_of(hn::Mask<Words> mask) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(Words(), mask, bytes);
    uint64_t bits;
    hwy::CopyBytes<8>(bytes, &bits);
    return bits;
}
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, uint64_t bits) {
    uint8_t bytes[8];
    hwy::CopyBytes<8>(&bits, bytes);
    return hn::LoadMaskBits(d, bytes);
}

int64_t collect_simd(const uint32_t* keys, const int32_t* index, const uint64_t* weights, int64_t n,
                     uint32_t first, uint32_t last, uint32_t* to_keys, int32_t* to_index,
                     uint64_t* to_weights, Tally* under) {
    const Words d;
    const Indices di;
    const Longs dl;
    const int64_t lanes = lanes_of_words(), half = lanes / 2;
    const auto low = hn::Set(d, first), width = hn::Set(d, last - first);
    const auto limit = hn::Set(SignedLongs(), static_cast<int64_t>(first));
    WeightSum sum{hn::Zero(Longs()), hn::Zero(Longs())};
    int64_t i = 0, kept = 0, count = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto key = hn::LoadU(d, keys + i);
        const auto item = hn::LoadU(di, index + i);
        const auto inside = hn::Not(hn::Gt(hn::Sub(key, low), width));
        count += static_cast<int64_t>(hn::CountTrue(d, hn::Lt(key, low)));
        if (weights != nullptr) {
            const auto a = hn::LoadU(dl, weights + i), b = hn::LoadU(dl, weights + i + half);
            sum.add(a, below(keys + i, limit));
            sum.add(b, below(keys + i + half, limit));
            const uint64_t bits = bits_of(inside);
            const auto mask_a = mask_of(dl, bits), mask_b = mask_of(dl, bits >> half);
            const auto kept_a = static_cast<int64_t>(hn::CountTrue(dl, mask_a));
            keep(dl, a, mask_a, to_weights + kept);
            keep(dl, b, mask_b, to_weights + kept + kept_a);
        }
        keep(d, key, inside, to_keys + kept);
        keep(di, item, hn::RebindMask(di, inside), to_index + kept);
        kept += static_cast<int64_t>(hn::CountTrue(d, inside));
    }
    under->count += static_cast<uint64_t>(count);
    if (weights != nullptr)
        sum.store(*under);
    for (; i < n; ++i) {
        const uint32_t key = keys[i];
        const int32_t item = index[i];
        const uint64_t weight = weights != nullptr ? weights[i] : 1;
        if (key < first)
            under->add(weight);
        if (key - first > last - first)
            continue;
        to_keys[kept] = key;
        to_index[kept] = item;
        if (weights != nullptr)
            to_weights[kept] = weight;
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

/// Moves one vector of records to both sides.
template <bool blended>
struct Mover {
    template <class D, typename T>
    static HWY_INLINE void one(D d, const T* from, hn::Mask<D> mask, T* left, T* right) {
        const auto values = hn::LoadU(d, from);
        if (blended) {
            hn::CompressBlendedStore(values, mask, d, left);
            hn::CompressBlendedStore(values, hn::Not(mask), d, right);
        } else {
            keep(d, values, mask, left);
            keep(d, values, hn::Not(mask), right);
        }
    }
    static HWY_INLINE void index_only(const Shelf& from, int64_t i, hn::Mask<Words> mask, const Shelf& left,
                                      int64_t l, const Shelf& right, int64_t r) {
        one(Indices(), from.index + i, hn::RebindMask(Indices(), mask), left.index + l, right.index + r);
    }
    static HWY_INLINE void all(const Shelf& from, int64_t i, hn::Mask<Words> mask, const Shelf& left,
                               int64_t l, const Shelf& right, int64_t r) {
        index_only(from, i, mask, left, l, right, r);
        one(Words(), from.key[0] + i, mask, left.key[0] + l, right.key[0] + r);
        one(Words(), from.key[1] + i, mask, left.key[1] + l, right.key[1] + r);
        if (from.key[2] != nullptr)
            one(Words(), from.key[2] + i, mask, left.key[2] + l, right.key[2] + r);
        if (from.weight == nullptr)
            return;
        const Longs d;
        const int64_t half = lanes_of_words() / 2;
        const uint64_t bits = bits_of(mask);
        const auto first = mask_of(d, bits), second = mask_of(d, bits >> half);
        const auto taken = static_cast<int64_t>(hn::CountTrue(d, first));
        one(d, from.weight + i, first, left.weight + l, right.weight + r);
        one(d, from.weight + i + half, second, left.weight + l + taken, right.weight + r + half - taken);
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

void move_record(const Shelf& from, int64_t i, const Shelf& to, int64_t at) {
    to.index[at] = from.index[i];
    if (to.key[0] == nullptr)
        return;
    for (int a = 0; a < 3; ++a)
        if (from.key[a] != nullptr)
            to.key[a][at] = from.key[a][i];
    if (from.weight != nullptr)
        to.weight[at] = from.weight[i];
}

template <bool with_keys>
void partition_with(const Shelf& from, int64_t n, int axis, uint32_t cut, const TieRule& rule,
                    const Shelf& left, int64_t left_count, const Shelf& right) {
    const Words d;
    const int64_t lanes = lanes_of_words(), right_count = n - left_count;
    const auto limit = hn::Set(d, cut);
    const uint32_t* keys = from.key[axis];
    int64_t i = 0, l = 0, r = 0;
    const auto move = [&](auto mover) HWY_ATTR {
        const auto mask = side_mask(hn::LoadU(d, keys + i), limit, from.index + i, rule);
        const auto taken = static_cast<int64_t>(hn::CountTrue(d, mask));
        if (with_keys)
            decltype(mover)::all(from, i, mask, left, l, right, r);
        else
            decltype(mover)::index_only(from, i, mask, left, l, right, r);
        i += lanes, l += taken, r += lanes - taken;
    };
    // Whole vectors while neither side can be written past its end, then only the lanes that are meant.
    while (i + lanes <= n && l + lanes <= left_count && r + lanes <= right_count)
        move(Mover<false>());
    while (i + lanes <= n)
        move(Mover<true>());
    for (; i < n; ++i) {
        if (keys[i] < cut || (keys[i] == cut && rule.left(from.index[i])))
            move_record(from, i, left, l++);
        else
            move_record(from, i, right, r++);
    }
}

void partition_simd(const Shelf& from, int64_t n, int axis, uint32_t cut, const TieRule& rule,
                    const Shelf& left, int64_t left_count, const Shelf& right) {
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
HWY_EXPORT(tally_left_simd);
HWY_EXPORT(collect_simd);
HWY_EXPORT(count_left_exactly_simd);
HWY_EXPORT(partition_simd);

int64_t count_left(const uint32_t* keys, int64_t n, uint32_t cut) {
    return HWY_DYNAMIC_DISPATCH(count_left_simd)(keys, n, cut);
}

Tally tally_left(const uint32_t* keys, const uint64_t* weights, int64_t n, uint32_t cut) {
    Tally tally;
    if (weights == nullptr)
        tally.count = static_cast<uint64_t>(count_left(keys, n, cut));
    else
        HWY_DYNAMIC_DISPATCH(tally_left_simd)(keys, weights, n, cut, &tally);
    return tally;
}

int64_t collect(const uint32_t* keys, const int32_t* index, const uint64_t* weights, int64_t n,
                uint32_t first, uint32_t last, uint32_t* to_keys, int32_t* to_index, uint64_t* to_weights,
                Tally& under) {
    return HWY_DYNAMIC_DISPATCH(collect_simd)(keys, index, weights, n, first, last, to_keys, to_index,
                                              to_weights, &under);
}

void add_to_histogram(const uint32_t* keys, const uint64_t* weights, int64_t n, uint32_t first, uint32_t last,
                      int shift, Tally* bins, Tally& under) {
    const uint32_t width = last - first;
    if (weights == nullptr) {
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t offset = keys[i] - first;
            if (offset <= width)
                ++bins[offset >> shift].count;
            else
                under.count += keys[i] < first ? 1 : 0;
        }
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t offset = keys[i] - first;
        if (offset <= width)
            bins[offset >> shift].add(weights[i]);
        else if (keys[i] < first)
            under.add(weights[i]);
    }
}

int64_t count_left_exactly(const uint32_t* keys, const int32_t* index, int64_t n, uint32_t key,
                           const TieRule& rule) {
    return HWY_DYNAMIC_DISPATCH(count_left_exactly_simd)(keys, index, n, key, &rule);
}

void partition(const Shelf& from, int64_t n, int axis, uint32_t key, const TieRule& rule, const Shelf& left,
               int64_t left_count, const Shelf& right) {
    HWY_DYNAMIC_DISPATCH(partition_simd)(from, n, axis, key, rule, left, left_count, right);
}

} // namespace graft::decompose
#endif
