// SPDX-License-Identifier: BSD-3-Clause
// What tests of the near-field entries share: a context on the CPU, four points in two boxes, and a plan of
// them.
#pragma once

#include "graft_loader.h"
#include "text.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace graft::test {

template <typename T>
graft_array view(std::vector<T>& data, int32_t components = 1) {
    graft_array a{};
    a.struct_size = sizeof a;
    a.data = data.data();
    a.dtype = std::is_same_v<T, float>     ? GRAFT_F32
              : std::is_same_v<T, double>  ? GRAFT_F64
              : std::is_same_v<T, int32_t> ? GRAFT_I32
                                           : GRAFT_I64;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = components;
    a.n = static_cast<int64_t>(data.size()) / components;
    a.bytes = static_cast<int64_t>(data.size() * sizeof(T));
    return a;
}

/// Four points in two boxes that both see both.
class NearTable : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
        ASSERT_EQ(api->options_set(options, "backend", "cpu"), GRAFT_OK);
        ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
        describe();
    }
    void TearDown() override {
        if (api == nullptr)
            return;
        api->near_field_destroy(context, &plan);
        api->context_destroy(&context);
        api->options_destroy(&options);
    }
    void describe() {
        place = view(xyz, 3);
        q = view(charge);
        phi = view(potential);
        grad = view(gradient, 3);
        first = view(offset);
        list_first = view(list_offset);
        lists = view(list);
        field = {};
        field.struct_size = sizeof field;
        field.dimension = 3;
        field.precision = GRAFT_PRECISION_FP64;
        field.target_count = 4;
        field.target_position[0] = &place;
        field.target_offset = &first;
        field.neighbour_offset = &list_first;
        field.neighbour = &lists;
        sums = {};
        sums.struct_size = sizeof sums;
        sums.charge[0] = &q;
        sums.potential[0] = &phi;
    }
    void create() {
        ASSERT_EQ(api->near_field_create(context, &field, &plan), GRAFT_OK) << api->last_error();
    }
    void expect_error(int32_t status, int32_t expected, const std::string& words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos)
            << api->last_error() << " lacks " << words;
    }
    /// The description as `change` makes it is refused; then it is as before.
    void refused(const std::function<void()>& change, int32_t expected, const std::string& words) {
        change();
        graft_near_plan* none = nullptr;
        expect_error(api->near_field_create(context, &field, &none), expected, words);
        EXPECT_EQ(none, nullptr);
        describe();
    }
    void refused_sums(const std::function<void()>& change, int32_t expected, const std::string& words) {
        change();
        potential.assign(4, 77);
        expect_error(api->near_field_execute(context, plan, &sums), expected, words);
        EXPECT_EQ(potential, std::vector<double>(4, 77));
        describe();
    }
    double figure(const char* key) {
        double value = std::numeric_limits<double>::quiet_NaN();
        EXPECT_EQ(api->query(context, key, &value), GRAFT_OK) << api->last_error();
        return value;
    }
    std::string text(const char* key) { return support::text_of(api, context, key); }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
    graft_near_plan* plan = nullptr;
    std::vector<double> xyz{0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 12}, charge{1, 2, -1, 5},
        potential = std::vector<double>(4), gradient = std::vector<double>(12);
    std::vector<int32_t> offset{0, 2, 4}, list{0, 1, 0, 1};
    std::vector<int64_t> list_offset{0, 2, 4};
    graft_array place{}, q{}, phi{}, grad{}, first{}, list_first{}, lists{};
    graft_near_field field{};
    graft_near_sums sums{};
};

} // namespace graft::test
