// SPDX-License-Identifier: BSD-3-Clause
// Sine, cosine, exponential, logarithm and roots of the near field's vectors against the C library in long
// double, on every SIMD target: error bounds that the kernels' accuracy rests on.
#include "forces/simd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../tests/unit/near/math_test.cpp" // from impl/, which is searched
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace near_math::HWY_NAMESPACE {

template <typename T>
void all(const T* in, int64_t n, T* out) {
    namespace hn = hwy::HWY_NAMESPACE;
    using Ops = graft::near::HWY_NAMESPACE::NearOps<T>;
    const typename Ops::D d;
    for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
        const auto x = hn::LoadU(d, in + i);
        typename Ops::Real sine, cosine;
        Ops::sine_cosine(x, sine, cosine);
        hn::StoreU(sine, d, out + i);
        hn::StoreU(cosine, d, out + n + i);
        hn::StoreU(Ops::exp(hn::Neg(hn::Abs(x))), d, out + 2 * n + i);
        hn::StoreU(Ops::log(hn::Abs(x)), d, out + 3 * n + i);
        hn::StoreU(Ops::inverse_root(hn::Abs(x)), d, out + 4 * n + i);
    }
}
static void all_float(const float* in, int64_t n, float* out) {
    all(in, n, out);
}
static void all_double(const double* in, int64_t n, double* out) {
    all(in, n, out);
}

} // namespace near_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace near_math {
namespace {

HWY_EXPORT(all_float);
HWY_EXPORT(all_double);

void apply(const float* in, int64_t n, float* out) {
    HWY_DYNAMIC_DISPATCH(all_float)(in, n, out);
}
void apply(const double* in, int64_t n, double* out) {
    HWY_DYNAMIC_DISPATCH(all_double)(in, n, out);
}

/// Arguments of all sizes up to `most`, and multiples of pi/4 and their neighbours.
template <typename T>
std::vector<T> arguments(double most) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> x;
    for (int i = 0; i < 100000; ++i)
        x.push_back(static_cast<T>(most * uniform(random) * std::pow(2.0, -static_cast<double>(i % 40))));
    for (int i = 1; i < 2000; ++i)
        for (const double nudge : {-1e-7, 0.0, 1e-7})
            x.push_back(static_cast<T>(i * 0.78539816339744830962 * (1 + nudge)));
    while (x.size() % 64 != 0)
        x.push_back(1);
    return x;
}

/// In units of eps: of 1 for sine and cosine, of the value for the others (log: of 1 + |log|).
template <typename T>
void expect_exact(double most) {
    const std::vector<T> x = arguments<T>(most);
    const size_t n = x.size();
    std::vector<T> y(5 * n);
    apply(x.data(), static_cast<int64_t>(n), y.data());
    constexpr long double eps = std::numeric_limits<T>::epsilon();
    long double worst[5] = {};
    for (size_t i = 0; i < n; ++i) {
        const long double v = x[i], a = std::abs(v), e = std::exp(-a), l = std::log(a), r = 1 / std::sqrt(a);
        const auto note = [&](int k, long double exact, long double unit) {
            worst[k] = std::max(worst[k], std::abs(y[k * n + i] - exact) / (unit * eps));
        };
        note(0, std::sin(v), 1);
        note(1, std::cos(v), 1);
        if (e > std::numeric_limits<T>::min())
            note(2, e, e);
        note(3, l, 1 + std::abs(l));
        note(4, r, r);
    }
    EXPECT_LE(worst[0], 2);
    EXPECT_LE(worst[1], 2);
    EXPECT_LE(worst[2], 2);
    EXPECT_LE(worst[3], 2);
    EXPECT_LE(worst[4], 2);
    EXPECT_GT(worst[0], 0.01L); // not compared with itself
}

TEST(NearMath, IsExactOnEveryTarget) {
    for (const std::string& set : graft::forces::simd_names()) {
        ASSERT_TRUE(graft::forces::set_simd_limit(set));
        SCOPED_TRACE(set);
        expect_exact<float>(8000);
        expect_exact<double>(1e6);
    }
    graft::forces::set_simd_limit("");
}

TEST(NearMath, DistanceZeroHasNoInverse) {
    std::vector<double> x(64, 0.0), y(5 * 64);
    apply(x.data(), 64, y.data());
    EXPECT_EQ(y[4 * 64], 0);
    std::vector<float> single(64, 1e-39F), out(5 * 64);
    apply(single.data(), 64, out.data());
    EXPECT_EQ(out[4 * 64], 0);
}

} // namespace
} // namespace near_math
#endif
