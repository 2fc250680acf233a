// SPDX-License-Identifier: BSD-3-Clause
// Strided and typed loads and stores, and the bounds of hostile layouts.
#include "particles/import_arrays.hpp"
#include "particles/export_arrays.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

using namespace graft;
using particles::ArrayView;
using particles::ElementType;

namespace {

template <typename Callable>
core::Status status_of(Callable&& callable) {
    try {
        callable();
    } catch (const core::Error& error) {
        return error.status();
    }
    return core::Status::ok;
}

} // namespace

TEST(CheckView, AcceptsWhatFitsExactly) {
    std::vector<char> memory(112 * 10);
    ArrayView view{memory.data() + 24, ElementType::f64, 3, 10, 112, 8};
    EXPECT_EQ(status_of([&] { particles::check_view(view, 9 * 112 + 24, "a"); }), core::Status::ok);
    EXPECT_EQ(status_of([&] { particles::check_view(view, 9 * 112 + 23, "a"); }), core::Status::array);
}

TEST(CheckView, DoesNotWrapAround) {
    char byte = 0;
    const int64_t big = std::numeric_limits<int64_t>::max();
    ArrayView view{&byte, ElementType::f64, 3, big, big, big};
    EXPECT_EQ(status_of([&] { particles::check_view(view, big, "a"); }), core::Status::array);
    view = {&byte, ElementType::f32, 1, 3, -4, 4};
    EXPECT_EQ(status_of([&] { particles::check_view(view, 100, "a"); }), core::Status::array);
}

TEST(ImportReals, ReadsUnalignedFloatsInAStruct) {
    core::Memory memory;
    const backend::Executor executor{memory, 2};
    std::vector<char> raw(1000 * 9 + 1);
    for (int i = 0; i < 1000; ++i) {
        const float value = 0.5f * static_cast<float>(i);
        std::memcpy(raw.data() + 1 + 9 * i, &value, 4);
    }
    std::vector<double> out(1000);
    const ArrayView view{raw.data() + 1, ElementType::f32, 1, 1000, 9, 4};
    particles::import_reals(executor, view, "values", -1e9, 1e9, out.data());
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(out[i], 0.5 * i);
}

TEST(ImportReals, NamesTheFirstBadItemForAnyThreadCount) {
    core::Memory memory;
    std::vector<double> values(100000, 1.0), out(100000);
    values[70001] = std::numeric_limits<double>::quiet_NaN();
    values[99999] = -5;
    const ArrayView view{reinterpret_cast<char*>(values.data()), ElementType::f64, 1, 100000, 8, 8};
    for (int threads : {1, 2, 4}) {
        const backend::Executor executor{memory, threads};
        try {
            particles::import_reals(executor, view, "mass", 0.0, 1e9, out.data());
            FAIL();
        } catch (const core::Error& error) {
            EXPECT_NE(std::string(error.what()).find("mass: item 70001 "), std::string::npos) << error.what();
        }
    }
}

TEST(ExportReals, WritesOnlyTheIndexedItems) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    std::vector<float> host(6, 2.0f);
    const ArrayView view{reinterpret_cast<char*>(host.data()), ElementType::f32, 1, 3, 8, 4};
    const double value[2] = {1, 10};
    const int32_t index[2] = {2, 0};
    particles::ArrayView added = view;
    added.add = true;
    particles::export_reals(executor, {added, "values", value, 3.0}, index, 2);
    EXPECT_EQ(host, (std::vector<float>{32, 2, 2, 2, 5, 2}));
}

/// A piece of the results: without an index it begins at `first`, and the first bad item is the view's.
TEST(ExportReals, PiecesAreLookedAtAndWrittenWhereTheyStand) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    std::vector<float> host(6, 2.0f);
    ArrayView view{reinterpret_cast<char*>(host.data()), ElementType::f32, 1, 6, 4, 4};
    view.add = true;
    double value[3] = {1, 1e39, std::numeric_limits<double>::quiet_NaN()};
    const particles::RealExport piece{view, "values", value, 1.0, nullptr, 3};
    const particles::Unfinished found = particles::first_unfinished(executor, piece, nullptr, 3);
    EXPECT_TRUE(found.any());
    EXPECT_EQ(found.item, 4);
    EXPECT_EQ(found.value, 1e39 + 2);
    try {
        particles::check_reals(executor, piece, nullptr, 3);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find("values: item 4 "), std::string::npos) << error.what();
    }
    value[1] = value[2] = 5;
    EXPECT_FALSE(particles::first_unfinished(executor, piece, nullptr, 3).any());
    particles::export_reals(executor, piece, nullptr, 3);
    EXPECT_EQ(host, (std::vector<float>{2, 2, 2, 3, 7, 7}));
}
