// SPDX-License-Identifier: BSD-3-Clause
// What travels to and from a device: packed from any layout and back.
#include "particles/charge_scale.hpp"
#include "particles/staging.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace {

using namespace graft;
using particles::ArrayView;
using particles::ElementType;

TEST(Pack, TakesElementsOfAnyStride) {
    core::Memory memory;
    constexpr int64_t n = 70001;
    std::vector<char> bytes(31 * n);
    for (int64_t i = 0; i < n; ++i) {
        const float value = static_cast<float>(i) + 0.5f;
        std::memcpy(bytes.data() + 31 * i + 7, &value, 4);
    }
    std::vector<double> plain(n);
    std::iota(plain.begin(), plain.end(), -3.0);
    const ArrayView strided{bytes.data() + 7, ElementType::f32, 1, n, 31, 4};
    const ArrayView contiguous{reinterpret_cast<char*>(plain.data()), ElementType::f64, 1, n, 8, 8};
    for (int threads : {1, 3}) {
        std::vector<float> single(n, -1);
        std::vector<double> full(n, -1);
        const particles::PackItem items[] = {{strided, reinterpret_cast<char*>(single.data())},
                                             {contiguous, reinterpret_cast<char*>(full.data())}};
        particles::pack({memory, threads}, 2, items, 1, n - 1);
        for (int64_t i = 1; i < n; ++i) {
            ASSERT_EQ(single[i - 1], static_cast<float>(i) + 0.5f);
            ASSERT_EQ(full[i - 1], static_cast<double>(i) - 3);
        }
        EXPECT_EQ(single[n - 1], -1) << "nothing behind the last item is written";
    }
}

TEST(Pack, ReturnsThemInPlaceOrAdded) {
    core::Memory memory;
    const std::vector<double> values = {1.25, 2.5, 3.75};
    const std::vector<float> singles = {1.25f, 2.5f, 3.75f};
    const std::vector<int32_t> index = {4, 0, 2};
    std::vector<float> to(5, 10);
    ArrayView view{reinterpret_cast<char*>(to.data()), ElementType::f32, 1, 5, 4, 4};
    view.add = true;
    const backend::Executor executor{memory, 2};
    particles::unpack(executor, reinterpret_cast<const char*>(values.data()), ElementType::f64, index.data(),
                      0, 3, view);
    EXPECT_EQ(to, (std::vector<float>{12.5f, 10, 13.75f, 10, 11.25f}));
    particles::unpack(executor, reinterpret_cast<const char*>(singles.data()), ElementType::f32, nullptr, 1,
                      3, view);
    EXPECT_EQ(to, (std::vector<float>{12.5f, 1.25f, 2.5f, 3.75f, 11.25f}));
}

TEST(ChargeScale, HasNoLimitAtAPowerOfTwo) {
    for (double power : {1.0, 1024.0, 0x1p-900, 0x1p900}) {
        const double scale = particles::charge_scale(power);
        EXPECT_EQ(scale, particles::charge_scale(power * (1 + 1e-10)));
        EXPECT_EQ(scale, particles::charge_scale(power * (1 - 1e-10)));
        EXPECT_EQ(power * scale, 0.5);
    }
    for (double total = 1e-3; total < 1e3; total *= 1.1) {
        EXPECT_GE(total * particles::charge_scale(total), 0.4);
        EXPECT_LT(total * particles::charge_scale(total), 0.8);
    }
    EXPECT_EQ(particles::charge_scale(0), 1);
    EXPECT_EQ(particles::charge_scale(1e308 * 10), 0);
}

} // namespace
