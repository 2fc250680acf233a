// SPDX-License-Identifier: BSD-3-Clause
// Keys of coordinates, see point_records.hpp. This file is compiled without contraction of a * b + c, so that the
// scalar and the vector form of a key agree to the bit.
#include "decompose/points/point_records.hpp"

#include "core/instruction_sets.hpp"
#include "geometry/box.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/points/point_records.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::decompose::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Adding 2^52 leaves a number below 2^32, rounded, in the low half of the bits.
constexpr double magic = 4503599627370496.0;

void make_keys_simd(const double* values, int64_t n, double half_origin, double scale, uint32_t* keys) {
    int64_t i = 0;
#if !GRAFT_ONE_LANE // the last loop does the same
    const hn::ScalableTag<double> d;
    const hn::ScalableTag<uint32_t> du;
    const auto half = hn::Set(d, 0.5), origin = hn::Set(d, half_origin), factor = hn::Set(d, scale),
               shift = hn::Set(d, magic);
    const auto place = [&](auto x) HWY_ATTR {
        const auto offset = hn::Sub(hn::Mul(x, half), origin);
        return hn::BitCast(du, hn::Add(hn::Mul(offset, factor), shift));
    };
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const auto low = place(hn::LoadU(d, values + i)), high = place(hn::LoadU(d, values + i + lanes));
        hn::StoreU(hn::ConcatEven(du, high, low), du, keys + i);
    }
#endif
    for (; i < n; ++i) {
        const double offset = values[i] * 0.5 - half_origin;
        keys[i] = static_cast<uint32_t>(std::bit_cast<uint64_t>(offset * scale + magic));
    }
}

bool widen_bounds_simd(const double* values, int64_t n, double* least, double* most) {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto zero = hn::Zero(d);
    auto low = hn::Set(d, *least), low2 = low, high = hn::Set(d, *most), high2 = high, odd = zero,
         odd2 = zero;
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const auto a = hn::LoadU(d, values + i), b = hn::LoadU(d, values + i + lanes);
        low = hn::Min(low, a);
        low2 = hn::Min(low2, b);
        high = hn::Max(high, a);
        high2 = hn::Max(high2, b);
        odd = hn::Add(odd, hn::Mul(a, zero));
        odd2 = hn::Add(odd2, hn::Mul(b, zero)); // NaN from NaN, infinities
    }
    double rest = 0;
    *least = hn::GetLane(hn::MinOfLanes(d, hn::Min(low, low2)));
    *most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(high, high2)));
    for (; i < n; ++i) {
        *least = std::min(*least, values[i]);
        *most = std::max(*most, values[i]);
        rest += values[i] * 0.0;
    }
    return hn::AllTrue(d, hn::Eq(hn::Add(odd, odd2), zero)) && rest == 0;
}

} // namespace graft::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::decompose {

HWY_EXPORT(make_keys_simd);
HWY_EXPORT(widen_bounds_simd);

bool widen_bounds(const double* values, int64_t n, double& least, double& most) {
    return HWY_DYNAMIC_DISPATCH(widen_bounds_simd)(values, n, &least, &most);
}

void make_keys(const double* values, int64_t n, const KeyFrame& frame, uint32_t* keys) {
    HWY_DYNAMIC_DISPATCH(make_keys_simd)(values, n, frame.half_origin, frame.scale, keys);
}

KeyFrame::KeyFrame(double lower, double upper) : half_origin(lower * 0.5) {
    constexpr double keys = 4294967295.0;
    const double range = upper * 0.5 - half_origin; // of halves: the range itself may overflow
    scale = range > 0 ? std::min(keys / range, 1e300) : 0;
    while (range * scale > keys) // the division may have rounded up
        scale = std::nextafter(scale, 0.0);
}

uint32_t KeyFrame::key(double x, double lower, double upper) const {
    const double inside = geometry::between(x, lower, upper);
    uint32_t result;
    make_keys(&inside, 1, *this, &result);
    return result;
}

double KeyFrame::first_with(uint32_t wanted, double lower, double upper) const {
    uint64_t low = ordered_image(lower), high = ordered_image(upper) + 1; // key(high) counts as enough
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (key(from_ordered_image(middle), lower, upper) >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low > ordered_image(upper) ? std::nextafter(upper, HUGE_VAL) : from_ordered_image(low);
}

void RecordStore::resize(int64_t n, int dimension, bool weighted) {
    dimension_ = dimension;
    weighted_ = weighted;
    x_.resize(n);
    y_.resize(n);
    z_.resize(dimension == 3 ? n : 0);
    index_.resize(n);
    low_.resize(weighted ? n : 0);
    high_.resize(weighted ? n : 0);
}

RecordArrays RecordStore::arrays() {
    RecordArrays arrays;
    arrays.key[0] = x_.data();
    arrays.key[1] = y_.data();
    arrays.key[2] = dimension_ == 3 ? z_.data() : nullptr;
    arrays.index = index_.data();
    arrays.weight[0] = weighted_ ? low_.data() : nullptr;
    arrays.weight[1] = weighted_ ? high_.data() : nullptr;
    return arrays;
}

} // namespace graft::decompose
#endif
