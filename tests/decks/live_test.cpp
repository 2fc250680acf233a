// SPDX-License-Identifier: BSD-3-Clause
// Keys of a living context (context_set): a live key makes the context compute as a new one with that value would; any
// other is refused and changes nothing.
#include "deck/schema.hpp"
#include "entries.hpp"
#include "guard.hpp"
#include "options.hpp"

#include <graft/graft.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace graft;

constexpr int64_t n = 600;

/// Points without a pattern, the same in every run.
std::vector<double> cloud() {
    std::vector<double> x(3 * n);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = std::sin(1.7 * static_cast<double>(i) * static_cast<double>(i) + 0.3);
    return x;
}

struct Context {
    explicit Context(const std::map<std::string, std::string>& keys) {
        graft_options* options = nullptr;
        EXPECT_EQ(plugin::options_create(&options), GRAFT_OK);
        for (const auto& [key, value] : keys) {
            EXPECT_EQ(plugin::options_set(options, key.c_str(), value.c_str()), GRAFT_OK)
                << capi::last_error();
        }
        EXPECT_EQ(plugin::context_create(options, nullptr, &context), GRAFT_OK) << capi::last_error();
        plugin::options_destroy(&options);
    }
    ~Context() { capi::context_destroy(&context); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    std::string get(const char* key) const {
        char text[256];
        EXPECT_EQ(plugin::context_get(context, key, text, sizeof text, nullptr), GRAFT_OK)
            << capi::last_error();
        return text;
    }
    int32_t set(const char* key, const std::string& value) const {
        return plugin::context_set(context, key, value.c_str());
    }
    double number(const char* key) const {
        double value = -1;
        return capi::query(context, key, &value) == GRAFT_OK ? value : -1;
    }
    graft_context* context = nullptr;
};

/// What this context does: statuses, results and figures of one call of each sort.
std::vector<double> probe(const Context& c) {
    const std::vector<double> x = cloud(), mass(n, 1.0 / n);
    std::vector<double> a(3 * n), phi(n), sums(n);
    std::vector<int32_t> owner(n);
    const graft_array at = graft_rows_const_f64(x.data(), n, 3, 3),
                      charge = graft_view_const_f64(mass.data(), n),
                      field = graft_rows_f64(a.data(), n, 3, 3), potential = graft_view_f64(phi.data(), n),
                      parts = graft_view_i32(owner.data(), n), near = graft_view_f64(sums.data(), n);
    graft_particles particles{};
    particles.struct_size = sizeof particles;
    particles.n = n, particles.position[0] = &at, particles.charge = &charge;
    graft_results results{};
    results.struct_size = sizeof results;
    results.acceleration[0] = &field, results.potential = &potential;
    std::vector<double> seen;
    const auto note = [&seen](double value) { seen.push_back(value); };
    note(capi::compute(c.context, &particles, &results));
    note(c.number("threads")), note(c.number("interactions.p2p"));
    graft_decomposition decomposition{};
    decomposition.struct_size = sizeof decomposition;
    decomposition.owner = &parts;
    note(capi::decompose(c.context, &particles, &decomposition));
    for (const int32_t part : owner)
        note(part);
    graft_balancing balancing{};
    balancing.struct_size = sizeof balancing;
    balancing.owner = &parts;
    note(capi::balance(c.context, &particles, &balancing));
    graft_near_field d{};
    d.struct_size = sizeof d;
    d.dimension = 3, d.boxes = GRAFT_NEAR_BOXES_LEAVES, d.target_count = n, d.target_position[0] = &at;
    graft_near_plan* plan = nullptr;
    note(capi::near_field_create(c.context, &d, &plan));
    note(plan != nullptr ? c.number("near.boxes") : 0);
    for (const char* word : {"near.layout", "near.precision"}) {
        if (plan == nullptr)
            break; // query tells of the last one
        capi::query_text(
            c.context, word,
            [](void* user, const char* text, int64_t bytes) {
                for (int64_t i = 0; i < bytes; ++i)
                    static_cast<std::vector<double>*>(user)->push_back(text[i]);
            },
            &seen);
    }
    if (plan != nullptr) {
        graft_near_sums near_sums{};
        near_sums.struct_size = sizeof near_sums;
        near_sums.charge[0] = &charge, near_sums.potential[0] = &near;
        note(capi::near_field_execute(c.context, plan, &near_sums));
        capi::near_field_destroy(c.context, &plan);
    }
    seen.insert(seen.end(), a.begin(), a.end());
    seen.insert(seen.end(), phi.begin(), phi.end());
    seen.insert(seen.end(), sums.begin(), sums.end());
    return seen;
}

const std::map<std::string, std::string> base = {{"backend", "cpu"},           {"softening.kind", "plummer"},
                                                 {"softening.length", "0.01"}, {"threads", "1"},
                                                 {"decompose.parts", "3"},     {"balance.cost", "count"}};

/// What a context must have for this key to mean something.
std::map<std::string, std::string> base_for(const std::string& key) {
    std::map<std::string, std::string> keys = base;
    if (key == "ewald.alpha") {
        keys.erase("softening.kind"), keys.erase("softening.length");
        keys.insert({{"box.periodic", "xyz"}, {"box.x", "2"}, {"box.y", "2"}, {"box.z", "2"}});
        keys.insert({{"ewald.part", "long_range"}, {"ewald.cutoff", "0.7"}});
    }
    return keys;
}

/// A value that is neither the default nor the base's; for keys that show in probe() one that does.
std::string another_value(const plugin::Key& key, const Context& context) {
    static const std::map<std::string, std::string> chosen = {{"mac.theta", "0.2"},
                                                              {"mac.accuracy", "1e-6"},
                                                              {"decompose.mix", "0"},
                                                              {"softening.kind", "spline"},
                                                              {"near_field.layout", "replicated_group"}};
    if (const auto found = chosen.find(key.name); found != chosen.end())
        return found->second;
    const std::string now = context.get(key.name);
    switch (key.takes.type) {
    case plugin::Type::choice:
        return now != key.takes.choices[0].word ? key.takes.choices[0].word : key.takes.choices[1].word;
    case plugin::Type::boolean:
        return now == "true" ? "false" : "true";
    case plugin::Type::integer:
        return std::to_string(std::stoll(now) < key.takes.range.maximum ? std::stoll(now) + 1
                                                                        : std::stoll(now) - 1);
    default:
        return std::to_string(0.5 * (std::stod(now) + std::min(key.takes.range.maximum, 8.0)));
    }
}

TEST(LiveKeys, ChangeAContextIntoTheOneThatWouldBeMade) {
    std::vector<std::string> seen;
    for (const plugin::Key& key : plugin::schema()) {
        if (!key.is_live() || !key.has_field())
            continue;
        std::map<std::string, std::string> keys = base_for(key.name);
        const std::vector<double> before = probe(Context(keys));
        const Context changed(keys);
        ASSERT_EQ(probe(changed), before);
        const std::string value = another_value(key, changed);
        ASSERT_EQ(changed.set(key.name, value), GRAFT_OK) << key.name << ": " << capi::last_error();
        keys[key.name] = value;
        const Context made(keys);
        const std::vector<double> wanted = probe(made);
        EXPECT_EQ(probe(changed), wanted) << key.name << ": " << value;
        for (const plugin::Key& other : plugin::schema())
            if (other.has_field()) {
                EXPECT_EQ(changed.get(other.name), made.get(other.name))
                    << other.name << " after " << key.name;
            }
        if (wanted != before)
            seen.push_back(key.name);
    }
    for (const char* name :
         {"threads", "constant", "order", "mac.theta", "mac.accuracy", "softening.kind", "softening.length", "ewald.alpha",
          "decompose.parts", "decompose.shape", "near_field.layout", "near_field.precision", "near_field.most"})
        EXPECT_NE(std::find(seen.begin(), seen.end(), name), seen.end())
            << name << " changes nothing that probe() sees";
}

TEST(LiveKeys, OthersAreRefusedAndChangeNothing) {
    const Context context(base);
    const std::vector<double> before = probe(context);
    for (const plugin::Key& key : plugin::schema()) {
        if (key.is_live())
            continue;
        EXPECT_EQ(context.set(key.name, key.has_field() ? another_value(key, context) : "1"),
                  GRAFT_ERROR_CALL_ORDER)
            << key.name;
        char text[1024];
        ASSERT_EQ(capi::context_error(context.context, text, sizeof text, nullptr), GRAFT_OK);
        EXPECT_NE(std::string(text).find(std::string("'") + key.name + "'"), std::string::npos) << text;
    }
    EXPECT_EQ(context.set("host.mine", "1"), GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(context.set("mac.thta", "1"), GRAFT_ERROR_DECK_KEY);
    EXPECT_EQ(context.set("mac.theta", "3"), GRAFT_ERROR_DECK_RANGE);
    EXPECT_EQ(context.set("mac.theta", "x"), GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(plugin::context_set(context.context, nullptr, "1"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(plugin::context_set(context.context, "order", nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(plugin::context_set(nullptr, "order", "1"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(probe(context), before);
}

TEST(LiveKeys, WhatWouldBeIgnoredIsRefusedAsAtCreation) {
    std::map<std::string, std::string> keys = base;
    keys["softening.kind"] = "none", keys["softening.length"] = "0";
    const Context context(keys);
    EXPECT_EQ(context.set("softening.length", "0.1"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(context.get("softening.length"), "0");
    EXPECT_EQ(context.set("softening.kind", "plummer"), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(context.set("softening.length", "0.1"), GRAFT_OK) << capi::last_error();
    const std::vector<double> softened = probe(context);
    EXPECT_EQ(context.set("softening.kind", "none"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(context.get("softening.kind"), "plummer");
    EXPECT_EQ(probe(context), softened);
    EXPECT_EQ(context.set("softening.length", "0"), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(context.set("softening.kind", "none"), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(probe(context), probe(Context(keys)));
}

TEST(LiveKeys, BoxAndUnitsOfTheContextAreWhatItTells) {
    const Context context(base);
    graft_box box{};
    box.struct_size = sizeof box;
    for (int axis = 0; axis < 3; ++axis)
        box.lower[axis] = -2, box.upper[axis] = 2 + axis, box.periodic[axis] = axis != 1;
    ASSERT_EQ(capi::context_set_box(context.context, &box), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(context.get("box.periodic"), "xz");
    EXPECT_EQ(context.get("box.y"), "5");
    EXPECT_EQ(context.get("box.lower_x"), "-2");
    ASSERT_EQ(capi::context_set_box(context.context, nullptr), GRAFT_OK);
    EXPECT_EQ(context.get("box.periodic"), "none");
    EXPECT_EQ(context.get("box.y"), "0");
    graft_units units{};
    units.struct_size = sizeof units;
    units.constant = 7;
    ASSERT_EQ(capi::context_set_units(context.context, &units), GRAFT_OK);
    EXPECT_EQ(context.get("constant"), "7");
    ASSERT_EQ(context.set("order", "3"), GRAFT_OK);
    EXPECT_EQ(context.get("constant"), "7");
}

TEST(LiveKeys, LogFollowsItsKeyUntilTheHostSaysItself) {
    auto keys = base;
    keys["mac.type"] = "box"; // nothing to warn of
    const Context context(keys);
    int messages = 0;
    const auto count = [](void* user, int32_t level, const char*) {
        EXPECT_GE(level, GRAFT_LOG_ERROR);
        EXPECT_LE(level, GRAFT_LOG_DEBUG);
        ++*static_cast<int*>(user);
    };
    EXPECT_EQ(capi::context_set_log(context.context, count, &messages, 5), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::context_set_log(context.context, count, &messages, -1), GRAFT_ERROR_ARGUMENT);
    ASSERT_EQ(capi::context_set_log(context.context, count, &messages, 0), GRAFT_OK);
    probe(context);
    EXPECT_EQ(messages, 0) << "log.level is warning";
    ASSERT_EQ(context.set("log.level", "debug"), GRAFT_OK);
    probe(context);
    EXPECT_GT(messages, 0);
    ASSERT_EQ(capi::context_set_log(context.context, count, &messages, GRAFT_LOG_ERROR), GRAFT_OK);
    messages = 0;
    ASSERT_EQ(context.set("log.level", "info"), GRAFT_OK);
    probe(context);
    EXPECT_EQ(messages, 0) << "the host's own level counts";
}

TEST(LiveKeys, ADoubtAboutTheAccuracyIsToldWithTheKeyThatBringsIt) {
    auto keys = base;
    keys["method"] = "tree", keys["mac.type"] = "error", keys["mac.accuracy"] = "0.001", keys["order"] = "2";
    const Context context(keys);
    std::string said;
    const auto note = [](void* user, int32_t level, const char* text) {
        *static_cast<std::string*>(user) += std::to_string(level) + text;
    };
    const auto after = [&](const char* key, const char* value) {
        said.clear();
        EXPECT_EQ(context.set(key, value), GRAFT_OK) << key << ": " << capi::last_error();
        return said;
    };
    const std::string level = std::to_string(GRAFT_LOG_WARNING);
    ASSERT_EQ(capi::context_set_log(context.context, note, &said, 0), GRAFT_OK);
    EXPECT_EQ(said.find(level + "mac.accuracy 0.001: where"), 0u) << said;
    const std::string warning = level + "mac.accuracy 5e-05: ";
    EXPECT_EQ(after("mac.accuracy", "5e-5").find(warning + "at order 2"), 0u) << said;
    EXPECT_NE(said.find("mac.accuracy 5e-05: where many particles"), std::string::npos) << said;
    EXPECT_EQ(after("mac.theta", "0.4"), "") << "nothing new";
    EXPECT_EQ(after("order", "1").find(warning + "at order 1"), 0u) << said;
    EXPECT_EQ(after("order", "4"), "") << "it holds";
    said.clear();
    EXPECT_NE(context.set("mac.accuracy", "1e-7 m"), GRAFT_OK);
    EXPECT_EQ(said, "") << "a change that is refused";
}

} // namespace
