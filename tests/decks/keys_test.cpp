// SPDX-License-Identifier: BSD-3-Clause
// One list of options (settings/keys.inc): the fields, the table of keys and what explain says of them agree, whichever
// keys there are. A key that is added to the list needs no change here.
#include "deck/deck.hpp"
#include "deck/schema.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>

namespace {

using namespace graft;
using plugin::Key;
using plugin::schema;
using plugin::Settings;

struct Line {
    const char* name;
    double standard; // of a field
    bool has_field;
};

/// The list itself, read without the table.
std::vector<Line> lines() {
    const capi::Options o;
    return {
#define GRAFT_LINE(place, name, ...) {name, static_cast<double>(o.place), true},
#define ENGINE_KEY(type, field, standard, ...) GRAFT_LINE(engine.field, __VA_ARGS__)
#define GPU_KEY(type, field, standard, ...) GRAFT_LINE(engine.device.field, __VA_ARGS__)
#define DECOMPOSE_KEY(type, field, standard, ...) GRAFT_LINE(balance.decompose.field, __VA_ARGS__)
#define BALANCE_KEY(type, field, standard, ...) GRAFT_LINE(balance.field, __VA_ARGS__)
#define NEAR_KEY(type, field, standard, ...) GRAFT_LINE(near.field, __VA_ARGS__)
#define ASKED_KEY(type, field, standard, ...) GRAFT_LINE(asked.field, __VA_ARGS__)
#define TEXT_KEY(name, ...) {name, 0, false},
#include "settings/keys.inc"
    };
}

/// A value in deck spelling that is not the default.
std::string another_value(const Key& key) {
    const std::string standard = Settings().get(key.name);
    const auto& range = key.takes.range;
    switch (key.takes.type) {
    case plugin::Type::choice:
        return standard != key.takes.choices[0].word ? key.takes.choices[0].word : key.takes.choices[1].word;
    case plugin::Type::boolean:
        return standard == "true" ? "false" : "true";
    case plugin::Type::integer:
        return std::to_string(std::stoll(standard) < range.maximum ? std::stoll(standard) + 1
                                                                   : std::stoll(standard) - 1);
    default:
        return std::stod(standard) == range.maximum
                   ? "0.25"
                   : std::to_string(0.5 * (std::stod(standard) + std::min(range.maximum, 8.0)));
    }
}

TEST(Keys, TheTableHasTheListsKeysInItsOrder) {
    const std::vector<Line> list = lines();
    ASSERT_EQ(schema().size(), list.size());
    std::set<std::string> names;
    for (size_t k = 0; k < list.size(); ++k) {
        const Key& key = schema()[k];
        EXPECT_STREQ(key.name, list[k].name);
        EXPECT_EQ(key.has_field(), list[k].has_field) << key.name;
        EXPECT_TRUE(names.insert(key.name).second) << key.name << " stands there twice";
        EXPECT_EQ(key.for_papers(), std::string_view(key.name).starts_with("study.")) << key.name;
        if (key.has_field()) {
            EXPECT_EQ(key.get(capi::Options()), list[k].standard) << key.name;
        }
    }
}

TEST(Keys, EachChangesItsOwnFieldAndNoOther) {
    for (const Key& key : schema()) {
        if (!key.has_field())
            continue;
        Settings settings;
        const std::string value = another_value(key);
        settings.set(key.name, value);
        for (const Key& other : schema())
            if (other.has_field()) {
                EXPECT_EQ(other.get(settings.values()) != other.get(capi::Options()), &other == &key)
                    << other.name << " after " << key.name << ": " << value;
            }
        Settings again;
        again.set(key.name, settings.get(key.name));
        EXPECT_EQ(key.get(again.values()), key.get(settings.values())) << key.name;
    }
}

TEST(Keys, RangesAndWordsAreHeld) {
    for (const Key& key : schema()) {
        Settings settings;
        if (key.takes.type == plugin::Type::choice) {
            EXPECT_THROW(settings.set(key.name, "no such word"), core::Error) << key.name;
        }
        if (key.takes.type != plugin::Type::integer && key.takes.type != plugin::Type::real)
            continue;
        if (key.takes.range.minimum > -1e300) {
            EXPECT_THROW(settings.set_number(key.name, key.takes.range.minimum - 1), core::Error) << key.name;
        }
        if (key.takes.range.maximum < 1e15) {
            EXPECT_THROW(settings.set_number(key.name, key.takes.range.maximum + 1), core::Error) << key.name;
        }
        if (key.takes.range.minimum_open && key.takes.range.minimum > -1e300) {
            EXPECT_THROW(settings.set_number(key.name, key.takes.range.minimum), core::Error) << key.name;
        }
    }
}

TEST(Keys, ExplainSaysTheSame) {
    const YAML::Node all = YAML::Load(plugin::explain_json(true)),
                     promised = YAML::Load(plugin::explain_json(false));
    const std::string text = plugin::explain_text(false);
    ASSERT_EQ(all.size(), schema().size() + 1); // and host.*
    size_t k = 0, studies = 0;
    for (const Key& key : schema()) {
        const YAML::Node told = all[k++];
        EXPECT_EQ(told["key"].as<std::string>(), key.name);
        EXPECT_EQ(told["meaning"].as<std::string>(), key.meaning);
        EXPECT_EQ(told["unit"].as<std::string>(), key.unit);
        EXPECT_EQ(told["allowed"].as<std::string>(), plugin::allowed_values(key));
        EXPECT_EQ(told["live"].as<bool>(), key.is_live()) << key.name;
        EXPECT_EQ(told["study"].as<bool>(), key.for_papers()) << key.name;
        EXPECT_EQ(told["shared"].as<bool>(), key.is_shared()) << key.name;
        if (key.has_field()) {
            EXPECT_EQ(told["default"].as<std::string>(), Settings().get(key.name));
        }
        EXPECT_EQ(text.find(core::format("\n%s\n", key.name)) != std::string::npos, !key.for_papers())
            << key.name;
        EXPECT_GT(std::string(key.meaning).size(), 10u);
        studies += key.for_papers() ? 1 : 0;
    }
    EXPECT_GT(studies, 0u);
    EXPECT_EQ(promised.size(), all.size() - studies);
}

/// Every key stands in the schema of decks where a deck has it, with the words and ends it takes.
TEST(Keys, TheSchemaOfDecksHasEveryKey) {
    const YAML::Node all = YAML::Load(plugin::explain_schema(true))["properties"],
                     promised = YAML::Load(plugin::explain_schema(false))["properties"];
    for (const plugin::Key& key : plugin::schema()) {
        const std::string name = key.name;
        const size_t dot = name.find('.');
        const auto property = [&](const YAML::Node& of) {
            if (dot == std::string::npos)
                return of[name];
            const YAML::Node section = of[name.substr(0, dot)];
            return section ? section["properties"][name.substr(dot + 1)] : section;
        };
        const YAML::Node found = property(all);
        ASSERT_TRUE(found.IsDefined() && found.IsMap()) << name;
        EXPECT_EQ(property(promised).IsDefined() && property(promised).IsMap(), !key.for_papers()) << name;
        EXPECT_NE(found["description"].as<std::string>().find(key.meaning), std::string::npos) << name;
        const size_t truths = name == "far_cells" ? 2 : 0; // on and off, as older YAML reads them
        EXPECT_EQ(found["enum"] ? found["enum"].size() : 0, key.takes.words + truths) << name;
    }
    EXPECT_EQ(all["mac"]["properties"]["theta"]["maximum"].as<double>(), 2);
    EXPECT_EQ(all["constant"]["exclusiveMinimum"].as<double>(), 0);
    EXPECT_EQ(all["softening"]["properties"]["kind"]["enum"][1].as<std::string>(), "plummer");
    EXPECT_EQ(all["mac"]["additionalProperties"].as<bool>(), false);
}

} // namespace
