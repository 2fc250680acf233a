// SPDX-License-Identifier: BSD-3-Clause
// The near-field entries through the table of the built library: a plan's life, what query tells,
// and every way for a description, a plan or an execution to be wrong, refused by name.
#include "near_table.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

using graft::test::NearTable;
using graft::test::view;

TEST_F(NearTable, APlansLife) {
    field.outputs = GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT;
    sums.gradient[0] = &grad;
    create();
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(potential[0], 2 / 3.0 - 1 / 4.0 + 5 / 12.0, 1e-14);
    EXPECT_NEAR(gradient[0], 2 * 3 / 27.0, 1e-14); // d/dx 1/|x - y| = (y - x) / r^3
    EXPECT_NEAR(gradient[2], 5 * 12 / 1728.0, 1e-14);
    EXPECT_NEAR(potential[1], 1 / 3.0 - 1 / 5.0 + 5 / std::sqrt(153), 1e-14);

    charge = {0, 0, 0, 12};
    ASSERT_EQ(api->near_field_begin(context, plan, &sums), GRAFT_OK) << api->last_error();
    expect_error(api->near_field_execute(context, plan, &sums), GRAFT_ERROR_CALL_ORDER, "in flight");
    ASSERT_EQ(api->near_field_end(context, plan), GRAFT_OK) << api->last_error();
    expect_error(api->near_field_end(context, plan), GRAFT_ERROR_CALL_ORDER, "near_field_begin");
    EXPECT_NEAR(potential[0], 1, 1e-14);

    xyz[11] = 6;
    ASSERT_EQ(api->near_field_update(context, plan, &field), GRAFT_OK) << api->last_error();
    phi.flags = GRAFT_ARRAY_ADD;
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(potential[0], 1 + 2, 1e-14);
    EXPECT_EQ(potential[3], 0); // not with itself

    EXPECT_EQ(figure("near.pairs"), 16);
    EXPECT_EQ(figure("near.boxes"), 2);
    EXPECT_EQ(figure("near.largest"), 2);
    EXPECT_EQ(figure("near.density"), 2);
    EXPECT_EQ(figure("near.executes"), 3);
    EXPECT_EQ(figure("near.updates"), 1);
    EXPECT_EQ(figure("near.allocations"), 0);
    EXPECT_GT(figure("near.bytes.layout"), 0);
    EXPECT_GE(figure("near.time_s.total"), 0);
    EXPECT_GT(figure("near.predicted_s.kernel"), 0);
    EXPECT_EQ(text("near.backend"), "cpu");
    EXPECT_EQ(text("near.kernel"), "laplace");
    EXPECT_NE(text("").find("\"near\":{\"backend\":\"cpu\""), std::string::npos) << text("");
    ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
    EXPECT_EQ(figure("near.executes"), 3); // still told
}

TEST_F(NearTable, PlansBelongToTheirContext) {
    create();
    graft_context* other = nullptr;
    ASSERT_EQ(api->context_create(options, nullptr, &other), GRAFT_OK);
    expect_error(api->near_field_execute(other, plan, &sums), GRAFT_ERROR_ARGUMENT,
                 "not one of this context's");
    graft_near_plan* stale = plan;
    ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
    expect_error(api->near_field_execute(context, stale, &sums), GRAFT_ERROR_ARGUMENT, "destroyed");
    expect_error(api->near_field_update(context, nullptr, &field), GRAFT_ERROR_ARGUMENT, "plan is NULL");
    expect_error(api->near_field_end(context, nullptr), GRAFT_ERROR_ARGUMENT, "plan is NULL");
    expect_error(api->near_field_create(context, &field, nullptr), GRAFT_ERROR_ARGUMENT, "plan is NULL");
    expect_error(api->near_field_create(nullptr, &field, &plan), GRAFT_ERROR_ARGUMENT, "context is NULL");
    ASSERT_EQ(api->near_field_create(other, &field, &plan), GRAFT_OK) << api->last_error();
    EXPECT_EQ(api->context_destroy(&other), GRAFT_OK); // frees the plan
    plan = nullptr;
}

TEST_F(NearTable, StructsAreVersioned) {
    refused([&] { field.struct_size = 4; }, GRAFT_ERROR_ABI, "struct_size is 4");
    refused([&] { field.flags = 1; }, GRAFT_ERROR_ABI, "flags is 0x1");
    refused([&] { field.reserved[3] = 1; }, GRAFT_ERROR_ABI, "reserved");
    create();
    refused_sums([&] { sums.struct_size = 7; }, GRAFT_ERROR_ABI, "struct_size is 7");
    refused_sums([&] { sums.flags = 1; }, GRAFT_ERROR_ABI, "flags is 0x1");
    refused_sums([&] { phi.flags = GRAFT_ARRAY_READ_ONLY; }, GRAFT_ERROR_ARRAY, "potential[0]");
    refused_sums([&] { phi.flags = GRAFT_ARRAY_READ_ONLY | GRAFT_ARRAY_ADD; }, GRAFT_ERROR_ARRAY, "potential[0]");
    expect_error(api->near_field_execute(context, plan, nullptr), GRAFT_ERROR_ARGUMENT, "sums is NULL");
    expect_error(api->near_field_update(context, plan, nullptr), GRAFT_ERROR_ARGUMENT, "near_field is NULL");
}

TEST_F(NearTable, WrongDescriptions) {
    refused([&] { field.dimension = 0; }, GRAFT_ERROR_ARGUMENT, "dimension is 0");
    refused([&] { field.kernel = 6; }, GRAFT_ERROR_ARGUMENT, "kernel is 6");
    refused([&] { field.components = 17; }, GRAFT_ERROR_ARGUMENT, "components is 17");
    refused([&] { field.outputs = 8; }, GRAFT_ERROR_ARGUMENT, "outputs is 8");
    refused([&] { field.precision = 4; }, GRAFT_ERROR_ARGUMENT, "precision is 4");
    for (int32_t layout : {-1, 1, 3, 4, 8, 10}) // those that never win have no number of the ABI
        refused([&] { field.layout = layout; }, GRAFT_ERROR_ARGUMENT, "layout is " + std::to_string(layout));
    refused([&] { field.boxes = 5; }, GRAFT_ERROR_ARGUMENT, "boxes is 5");
    refused([&] { field.softening = -1; }, GRAFT_ERROR_ARGUMENT, "softening is -1");
    refused([&] { field.wave_number = 1; }, GRAFT_ERROR_ARGUMENT, "wave_number is 1");
    refused([&] { field.factor = INFINITY; }, GRAFT_ERROR_ARGUMENT, "factor is inf");
    refused([&] { field.memory_bytes = -1; }, GRAFT_ERROR_ARGUMENT, "memory_bytes is -1");
    refused([&] { field.expected_executes = NAN; }, GRAFT_ERROR_ARGUMENT, "expected_executes is nan");
    refused([&] { field.table_step = 1; }, GRAFT_ERROR_ARGUMENT, "table is NULL");
    refused([&] { field.kernel = GRAFT_NEAR_TABLE; }, GRAFT_ERROR_ARGUMENT, "0 knots");
    refused([&] { field.target_count = -1; }, GRAFT_ERROR_ARGUMENT, "target_count is -1");
    refused([&] { field.target_count = 5; }, GRAFT_ERROR_ARRAY, "n is 4; expected 5");
    refused([&] { field.source_count = 3; }, GRAFT_ERROR_ARGUMENT, "source_count is 3");
    refused([&] { field.source_offset = &first; }, GRAFT_ERROR_ARRAY, "there are coordinates of 0");
    refused([&] { field.target_position[0] = nullptr; }, GRAFT_ERROR_ARGUMENT, "target_position[0] is NULL");
    refused([&] { field.target_offset = nullptr; }, GRAFT_ERROR_ARGUMENT, "target_offset is NULL");
    refused([&] { field.neighbour = nullptr; }, GRAFT_ERROR_ARGUMENT, "neighbour is NULL");
    refused([&] { first.dtype = GRAFT_F64; }, GRAFT_ERROR_ARRAY, "near_field.target_offset: dtype");
    refused([&] { list_first.n = 2; }, GRAFT_ERROR_ARRAY, "neighbour_offset: n is 2");
    refused([&] { first.flags = GRAFT_ARRAY_INDEX_FROM_1; }, GRAFT_ERROR_VALUE, "target_offset: item 0 is 0");
    refused([&] { lists.flags = GRAFT_ARRAY_INDEX_FROM_1; }, GRAFT_ERROR_VALUE, "neighbour: item 0");
    refused([&] { field.target_index = &lists; }, GRAFT_ERROR_VALUE, "target_index: item 2");
    for (auto [where, value, words] :
         {std::tuple<std::vector<int32_t>*, int32_t, const char*>{&offset, 5, "target_offset"},
          {&list, 0, "neighbour: item 1"}}) {
        const int32_t old = (*where)[1];
        (*where)[1] = value;
        refused([] {}, GRAFT_ERROR_VALUE, words);
        (*where)[1] = old;
    }
    xyz[4] = NAN;
    refused([] {}, GRAFT_ERROR_VALUE, "target y: item 1");
    xyz[4] = 0;
    refused([&] { field.boxes = GRAFT_NEAR_BOXES_LEVEL; }, GRAFT_ERROR_ARGUMENT, "expected NULL");
    const auto made = [&] { field.target_offset = field.neighbour_offset = field.neighbour = nullptr; };
    refused([&] { made(), field.boxes = GRAFT_NEAR_BOXES_GRID; }, GRAFT_ERROR_ARGUMENT, "a grid needs its box");
    refused([&] { made(), field.boxes = GRAFT_NEAR_BOXES_LEVEL, field.height = 99; }, GRAFT_ERROR_ARGUMENT,
            "height is 99");
    refused([&] { made(), field.boxes = GRAFT_NEAR_BOXES_LEAVES, field.most = -1; }, GRAFT_ERROR_ARGUMENT,
            "most is -1");
    refused([&] { place.memory = GRAFT_MEMORY_DEVICE; }, GRAFT_ERROR_UNSUPPORTED, "backend: cpu");
    refused([&] { field.layout = GRAFT_NEAR_LAYOUT_REPLICATED_GROUP, field.memory_bytes = 1; }, GRAFT_ERROR_MEMORY,
            "near_field.memory");
}

TEST_F(NearTable, NumbersThatSinglePrecisionCannotHold) {
    std::vector<double> knots{1, 0, 0.5, -1, 0, 0}, large{1, 0, 1e38, 0, 0, 0}, steep{1, 0, 1, 1e39, 0, 0};
    const graft_array table = view(knots, 2), of_large = view(large, 2), of_steep = view(steep, 2);
    const auto use = [&](const graft_array& values, double begin, double step) {
        field.kernel = GRAFT_NEAR_TABLE;
        field.table = &values, field.table_begin = begin, field.table_step = step;
    };
    for (const int32_t precision : {GRAFT_PRECISION_FP32, GRAFT_PRECISION_MIXED}) {
        const auto beyond = [&](const std::function<void()>& change, int32_t status, const char* words) {
            refused([&] { field.precision = precision, change(); }, status, words);
            change(); // fp64 can
            create();
            EXPECT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
            for (const double phi : potential)
                EXPECT_TRUE(std::isfinite(phi)) << words;
            EXPECT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
            describe();
        };
        beyond([&] { field.softening = 1e20; }, GRAFT_ERROR_ARGUMENT,
               "softening is 1e+20; expected at most 1e+18");
        beyond([&] { field.kernel = GRAFT_NEAR_YUKAWA, field.wave_number = 1e39; }, GRAFT_ERROR_ARGUMENT,
               "wave_number is 1e+39; expected at most 1e+18");
        beyond([&] { use(table, -1e19, 1); }, GRAFT_ERROR_ARGUMENT, "table_begin is -1e+19");
        beyond([&] { use(table, 0, 1e19); }, GRAFT_ERROR_ARGUMENT, "table_step is 1e+19");
        beyond([&] { use(table, 0, 1e-45); }, GRAFT_ERROR_ARGUMENT, "1 / table_step is 1e+45");
        beyond([&] { use(of_large, 0, 1); }, GRAFT_ERROR_VALUE, "knot 1 of the table is 1e+38");
        beyond([&] { use(of_steep, 0, 1); }, GRAFT_ERROR_VALUE,
               "knot 1 of the table is 1 with derivative 1e+39");
    }
    refused([&] { field.softening = 1e160; }, GRAFT_ERROR_ARGUMENT,
            "softening is 1e+160; expected at most 1e+150");
    refused([&] { field.kernel = GRAFT_NEAR_HELMHOLTZ, field.wave_number = 1.5e308; }, GRAFT_ERROR_ARGUMENT,
            "wave_number is 1.5e+308");
    std::vector<float> many(2 * ((size_t{1} << 24) + 4)); // more intervals than float numbers one by one
    const graft_array of_many = view(many, 2);
    refused([&] { field.precision = GRAFT_PRECISION_FP32, use(of_many, 0, 1e-6); }, GRAFT_ERROR_ARGUMENT,
            "the number of knots is 1.67772e+07");
}

TEST_F(NearTable, BoxesMadeHereHaveNoImages) {
    graft_box box{};
    box.struct_size = sizeof box;
    for (int a = 0; a < 3; ++a)
        box.lower[a] = -20, box.upper[a] = 20, box.periodic[a] = 1;
    ASSERT_EQ(api->context_set_box(context, &box), GRAFT_OK) << api->last_error();
    const auto made = [&] { field.target_offset = field.neighbour_offset = field.neighbour = nullptr; };
    refused([&] { made(), field.boxes = GRAFT_NEAR_BOXES_LEAVES; }, GRAFT_ERROR_UNSUPPORTED, "without images");
    create(); // the caller's lists say what meets what
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(potential[0], 2 / 3.0 - 1 / 4.0 + 5 / 12.0, 1e-14);
}

TEST_F(NearTable, WrongExecutions) {
    create();
    refused_sums([&] { sums.charge[0] = nullptr; }, GRAFT_ERROR_ARGUMENT, "0 components in all; expected 1");
    refused_sums([&] { sums.charge[1] = &q; }, GRAFT_ERROR_ARGUMENT, "2 components in all; expected 1");
    refused_sums([&] { sums.potential[1] = &phi, sums.potential[0] = nullptr; }, GRAFT_ERROR_ARGUMENT,
                 "the one before it is NULL");
    refused_sums([&] { sums.gradient[0] = &grad; }, GRAFT_ERROR_ARGUMENT, "made without gradients");
    refused_sums([&] { q.n = 3; }, GRAFT_ERROR_ARRAY, "n is 3; expected 4");
    refused_sums([&] { q.dtype = GRAFT_I64; }, GRAFT_ERROR_ARRAY, "dtype");
    refused_sums([&] { q.bytes = 8; }, GRAFT_ERROR_ARRAY, "reach past");
    refused_sums([&] { phi.data = charge.data(); }, GRAFT_ERROR_ARRAY, "overlap");
    charge[2] = NAN;
    refused_sums([] {}, GRAFT_ERROR_VALUE, "charge[0]: item 2");
    charge[2] = 1;
    EXPECT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    xyz[2] = -INFINITY;
    expect_error(api->near_field_update(context, plan, &field), GRAFT_ERROR_VALUE, "target z: item 0");
    xyz[2] = 0;
    field.target_count = 3;
    place.n = 3;
    expect_error(api->near_field_update(context, plan, &field), GRAFT_ERROR_ARGUMENT,
                 "expected the same points");
}

TEST_F(NearTable, TheDeckSpeaks) {
    for (const auto& [key, value] :
         std::vector<std::pair<const char*, const char*>>{{"near_field.layout", "ranges"},
                                                          {"near_field.precision", "fp32"},
                                                          {"near_field.memory", "1e9"},
                                                          {"near_field.most", "2"},
                                                          {"near_field.devices", "2"},
                                                          {"near_field.expected_executes", "1000"}})
        ASSERT_EQ(api->options_set(options, key, value), GRAFT_OK) << api->last_error();
    expect_error(api->options_set(options, "near_field.layout", "tile"), GRAFT_ERROR_DECK_RANGE,
                 "nearest: tiled");
    ASSERT_EQ(api->context_destroy(&context), GRAFT_OK);
    ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    field.precision = 0;
    field.target_offset = field.neighbour_offset = field.neighbour = nullptr;
    field.boxes = GRAFT_NEAR_BOXES_LEAVES;
    create();
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    EXPECT_EQ(text("near.layout"), "ranges");
    EXPECT_EQ(text("near.precision"), "fp32");
    EXPECT_EQ(text("near.reason"), "as near_field.layout says");
    EXPECT_LE(figure("near.largest"), 2);
}

/// Numbers of the ABI and words of decks are the same choices.
TEST_F(NearTable, NumbersAreTheDecksWords) {
    const auto made_with = [&](const char* told) {
        create();
        EXPECT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
        const std::string word = text(told);
        EXPECT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
        describe();
        return word;
    };
    for (const auto& [number, word] :
         {std::pair{GRAFT_PRECISION_FP32, "fp32"}, {GRAFT_PRECISION_MIXED, "mixed"}, {GRAFT_PRECISION_FP64, "fp64"}}) {
        field.precision = number;
        EXPECT_EQ(made_with("near.precision"), word);
        ASSERT_EQ(api->options_set(options, "near_field.precision", word), GRAFT_OK) << api->last_error();
    }
    for (const auto& [number, word] : {std::pair{GRAFT_NEAR_LAYOUT_RANGES, "ranges"},
                                       {GRAFT_NEAR_LAYOUT_REPLICATED_GROUP, "replicated_group"},
                                       {GRAFT_NEAR_LAYOUT_TILED, "tiled"},
                                       {GRAFT_NEAR_LAYOUT_TILED_SPLIT, "tiled_split"},
                                       {GRAFT_NEAR_LAYOUT_REPLICATED_GROUP_PADDED, "replicated_group_padded"}}) {
        field.layout = number;
        EXPECT_EQ(made_with("near.layout"), word);
        ASSERT_EQ(api->options_set(options, "near_field.layout", word), GRAFT_OK) << api->last_error();
    }
    for (const auto& [number, word] : {std::pair{GRAFT_NEAR_LAPLACE, "laplace"},
                                       {GRAFT_NEAR_LOGARITHM, "logarithm"},
                                       {GRAFT_NEAR_YUKAWA, "yukawa"},
                                       {0, "laplace"}}) {
        field.kernel = number;
        EXPECT_EQ(made_with("near.kernel"), word);
    }
    field.boxes = 0; // lists, which are given
    EXPECT_EQ(made_with("near.backend"), "cpu");
}

/// A machine file in the test's folder, gone with the test.
struct MachineFile {
    explicit MachineFile(const std::string& content)
        : path(testing::TempDir() + "near_machine_" + std::to_string(getpid()) + ".yaml") {
        std::ofstream(path) << content;
    }
    ~MachineFile() { std::remove(path.c_str()); }
    MachineFile(const MachineFile&) = delete;
    MachineFile& operator=(const MachineFile&) = delete;
    std::string path;
};

/// `layout` (ranges) sums a slot in its kernel's time and a call in 3 s; of no processor.
constexpr const char* slow_calls =
    "name: the slow one\nnear: {layouts: [{backend: 0, layout: 1, number_bytes: 8, "
    "error: 0.125, kernel_call_s: 3}]}\n";

TEST_F(NearTable, AMachineFileSpeaksForItsMachineOnly) {
    const auto make = [&] {
        api->near_field_destroy(context, &plan);
        EXPECT_EQ(api->context_destroy(&context), GRAFT_OK);
        EXPECT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
        return api->near_field_create(context, &field, &plan);
    };
    const auto named = [&](const std::string& path) {
        return api->options_set(options, "near_field.machine", path.c_str());
    };
    ASSERT_EQ(make(), GRAFT_OK) << api->last_error();
    EXPECT_EQ(text("near.machine"), "built-in");
    EXPECT_LT(figure("near.predicted_s.kernel"), 1e-3);
    {
        const MachineFile good(slow_calls);
        ASSERT_EQ(api->options_set(options, "near_field.layout", "ranges"), GRAFT_OK);
        ASSERT_EQ(named(good.path), GRAFT_OK) << api->last_error();
        ASSERT_EQ(make(), GRAFT_OK) << api->last_error();
        EXPECT_EQ(text("near.machine"), "the slow one");
        EXPECT_NEAR(figure("near.predicted_s.kernel"), 3, 1e-6);
        EXPECT_EQ(figure("near.prediction_error"), 0.125);
    }
    expect_error(named("/nowhere/m.yaml"), GRAFT_ERROR_DECK_FILE,
                 "key 'near_field.machine': file '/nowhere/m.yaml'");
    {
        const MachineFile misspelt("cpu:\n  core: 3\n");
        expect_error(named(misspelt.path), GRAFT_ERROR_DECK_KEY, misspelt.path + ":2:3: key 'cpu.core'");
        const MachineFile deck("method: tree\n");
        expect_error(named(deck.path), GRAFT_ERROR_DECK_KEY, "'method': no such key of a machine file");
    }
    {
        const MachineFile without("name: old\ncpu: {cores: 2}\n");
        ASSERT_EQ(named(without.path), GRAFT_OK) << api->last_error();
        expect_error(make(), GRAFT_ERROR_ARGUMENT, "near.layouts");
    }
    {
        const MachineFile foreign(std::string("cpu: {name: Z80}\n") + slow_calls);
        ASSERT_EQ(named(foreign.path), GRAFT_OK) << api->last_error();
        expect_error(make(), GRAFT_ERROR_ARGUMENT,
                     "measured on the processor 'Z80' (cpu.name), but this is '");
        EXPECT_EQ(plan, nullptr);
    }
}

TEST_F(NearTable, TheEnvironmentNamesAMachineFileWhereTheDeckDoesNot) {
    const MachineFile file(slow_calls);
    ASSERT_EQ(setenv("GRAFT_MACHINE", file.path.c_str(), 1), 0);
    EXPECT_EQ(api->context_destroy(&context), GRAFT_OK);
    EXPECT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    ASSERT_EQ(setenv("GRAFT_MACHINE", "/nowhere", 1), 0);
    graft_context* none = nullptr;
    expect_error(api->context_create(options, nullptr, &none), GRAFT_ERROR_DECK_FILE, "/nowhere");
    ASSERT_EQ(unsetenv("GRAFT_MACHINE"), 0);
    create();
    EXPECT_EQ(text("near.machine"), "the slow one");
}

TEST_F(NearTable, TheOtherKernels) {
    // Two points at distance 3: K(3) times the other's charge.
    xyz = {0, 0, 0, 3, 0, 0};
    offset = {0, 2};
    list = {0};
    list_offset = {0, 1};
    charge = {1, 2, 3, 4}; // helmholtz: 1 + 2i, 3 + 4i
    const auto run = [&](int32_t kernel, double wave_number) {
        describe();
        field.target_count = 2;
        field.kernel = kernel;
        field.wave_number = wave_number;
        field.factor = 10;
        q = view(charge, kernel == GRAFT_NEAR_HELMHOLTZ ? 2 : 1);
        phi = view(potential, kernel == GRAFT_NEAR_HELMHOLTZ ? 2 : 1);
        q.n = phi.n = 2;
        std::vector<double> knots; // f(r) = r^2, f' = 2 r: a cubic, so exact
        for (double r : {1.0, 2.0, 3.0, 4.0}) {
            knots.push_back(r * r);
            knots.push_back(2 * r);
        }
        const graft_array table = view(knots, 2);
        if (kernel == GRAFT_NEAR_TABLE) {
            field.table = &table;
            field.table_begin = field.table_step = 1;
        }
        create();
        EXPECT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
        EXPECT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
    };
    run(GRAFT_NEAR_LOGARITHM, 0);
    EXPECT_NEAR(potential[0], -10 * 2 * std::log(3), 1e-13);
    run(GRAFT_NEAR_YUKAWA, 0.5);
    EXPECT_NEAR(potential[1], 10 * std::exp(-1.5) / 3, 1e-13);
    run(GRAFT_NEAR_TABLE, 0);
    EXPECT_NEAR(potential[0], 10 * 2 * 9, 1e-12);
    run(GRAFT_NEAR_HELMHOLTZ, 2);
    EXPECT_NEAR(potential[0], 10 / 3.0 * (3 * std::cos(6) - 4 * std::sin(6)), 1e-12);
    EXPECT_NEAR(potential[1], 10 / 3.0 * (3 * std::sin(6) + 4 * std::cos(6)), 1e-12);
}
