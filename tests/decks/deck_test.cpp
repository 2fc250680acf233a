// SPDX-License-Identifier: BSD-3-Clause
// Decks: each file in good/ is read, each in bad/ fails with the status and the words its own first two lines
// promise.
#include "deck/deck.hpp"
#include "deck/quantity.hpp"
#include "deck/yaml_reader.hpp"
#include "guard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using graft::core::Error;
using graft::plugin::read_deck;
using graft::plugin::read_deck_file;
using graft::plugin::Settings;
using namespace graft;

std::vector<std::string> decks_in(const char* folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(GRAFT_DECKS) + "/" + folder))
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

std::string file_name(const testing::TestParamInfo<std::string>& info) {
    return std::filesystem::path(info.param).stem().string();
}

Settings settings_of(const char* text) {
    Settings settings;
    read_deck(settings, text, "deck");
    return settings;
}

/// Runs what must fail; its status and message.
template <typename Body>
std::pair<int, std::string> failure_of(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return {static_cast<int>(error.status()), error.what()};
    }
    return {0, "no failure"};
}

class GoodDeck : public testing::TestWithParam<std::string> {};
class BadDeck : public testing::TestWithParam<std::string> {};

TEST_P(GoodDeck, ReadsAndCanBeSetAgainFromItsOwnValues) {
    Settings settings;
    read_deck_file(settings, GetParam());
    Settings again;
    for (const auto& [key, value] : settings.all())
        again.set(key, value);
    EXPECT_EQ(again.all(), settings.all());
}

TEST_P(BadDeck, FailsAsItsFirstLinesSayAndChangesNothing) {
    std::ifstream file(GetParam());
    std::string status_line, message_line;
    std::getline(file, status_line);
    std::getline(file, message_line);
    ASSERT_TRUE(status_line.starts_with("# status: ") && message_line.starts_with("# message: "));
    Settings settings;
    settings.set("host.kept", "as it was");
    const auto before = settings.all();
    const auto [status, message] = failure_of([&] { read_deck_file(settings, GetParam()); });
    EXPECT_EQ(status, std::stoi(status_line.substr(10))) << message;
    EXPECT_TRUE(message.starts_with(GetParam() + ":")) << message;
    std::string promised = message_line.substr(11);
    if (std::isdigit(static_cast<unsigned char>(promised[0])))
        promised = GetParam() + ":" + promised;
    EXPECT_NE(message.find(promised), std::string::npos) << message << "\npromised: " << promised;
    EXPECT_EQ(settings.all(), before);
}

INSTANTIATE_TEST_SUITE_P(Files, GoodDeck, testing::ValuesIn(decks_in("good")), file_name);
INSTANTIATE_TEST_SUITE_P(Files, BadDeck, testing::ValuesIn(decks_in("bad")), file_name);

TEST(Deck, EveryKeyArrivesInItsField) {
    Settings settings;
    read_deck_file(settings, std::string(GRAFT_DECKS) + "/good/full.yaml");
    const capi::Options& v = settings.values();
    EXPECT_EQ(v.engine.method, settings::Method::tree);
    EXPECT_EQ(v.asked.backend, settings::Backend::cpu);
    EXPECT_EQ(v.asked.precision, settings::Precision::mixed);
    EXPECT_EQ(v.engine.interaction, settings::Interaction::gravity);
    EXPECT_EQ(v.engine.dimension, 3);
    EXPECT_EQ(v.engine.threads, 2);
    EXPECT_EQ(v.engine.constant, 43007.1);
    EXPECT_EQ(v.asked.order, 2);
    EXPECT_EQ(v.engine.local, settings::Local::on);
    EXPECT_EQ(v.asked.walk, capi::WalkAsked::transposed);
    EXPECT_EQ(v.engine.tree_type, tree::TreeType::orb);
    EXPECT_EQ(v.asked.leaf, 16);
    EXPECT_EQ(v.asked.group, 32);
    EXPECT_EQ(v.engine.mac, settings::MacType::error);
    EXPECT_EQ(v.engine.theta, 0.7);
    EXPECT_EQ(v.engine.accuracy, 1e-4);
    EXPECT_EQ(v.engine.mac_history, 1);
    EXPECT_EQ(v.engine.softening, settings::Softening::spline);
    EXPECT_EQ(v.engine.softening_length, 0.028);
    EXPECT_EQ(v.asked.log_level, core::LogLevel::debug);
}

TEST(Deck, EveryKeyAboutRanksArrivesInItsField) {
    Settings settings;
    read_deck_file(settings, std::string(GRAFT_DECKS) + "/good/ranks.yaml");
    const capi::Options& v = settings.values();
    EXPECT_EQ(v.engine.tree_scope, settings::TreeScope::global);
    EXPECT_EQ(v.engine.exchange, settings::Exchange::fetch);
    EXPECT_EQ(v.asked.deadline_s, 30);
    EXPECT_EQ(v.balance.decompose.shape, decompose::Shape::prefix);
    EXPECT_EQ(v.balance.decompose.strategy, decompose::Strategy::central);
    EXPECT_EQ(v.balance.decompose.finder, decompose::CutFinder::bisection);
    EXPECT_EQ(v.balance.decompose.curve, decompose::Curve::morton);
    EXPECT_EQ(v.asked.parts, 64);
    EXPECT_EQ(v.balance.decompose.tolerance, 1e-3);
    EXPECT_EQ(v.balance.decompose.mix, 0.5);
    EXPECT_EQ(v.balance.decompose.cap, 1000000);
    EXPECT_EQ(v.balance.decompose.threshold_a, 100);
    EXPECT_EQ(v.balance.decompose.threshold_b, 10);
    EXPECT_EQ(v.balance.decompose.bins, 128);
    EXPECT_EQ(v.balance.kind, balance::Kind::prefix_distributed);
    EXPECT_EQ(v.balance.cost, balance::CostSource::count);
    EXPECT_EQ(v.balance.tolerance, 1.1);
    EXPECT_EQ(v.balance.steps, 12.5);
    EXPECT_EQ(v.balance.force, 1);
    EXPECT_EQ(v.balance.fuzzy, 1);
    EXPECT_EQ(v.balance.super, 3);
}

TEST(Deck, EveryKeyAboutTheGpuArrivesInItsField) {
    Settings settings;
    read_deck_file(settings, std::string(GRAFT_DECKS) + "/good/gpu.yaml");
    const capi::Options& v = settings.values();
    EXPECT_EQ(v.asked.backend, settings::Backend::cuda);
    EXPECT_EQ(v.asked.leaf, 0);
    EXPECT_EQ(v.asked.group, 0);
    EXPECT_EQ(v.engine.device.device, 1);
    EXPECT_EQ(v.engine.device.memory_limit, 8e9);
    EXPECT_EQ(v.engine.device.build, settings::build_two_phase);
    EXPECT_EQ(v.engine.device.top_depth, 9);
    EXPECT_EQ(v.engine.device.walk, 2);
    EXPECT_EQ(v.asked.walk, capi::WalkAsked::thread);
    EXPECT_EQ(v.engine.device.kernel, 4);
    EXPECT_EQ(v.engine.device.direct_stage, 2);
    EXPECT_EQ(v.engine.device.block_x, 128);
    EXPECT_EQ(v.engine.device.block_y, 8);
    EXPECT_EQ(v.engine.device.buffer, settings::feed_auto);
    EXPECT_EQ(v.engine.device.graph, 0);
    EXPECT_EQ(v.engine.device.list_limit, 1e9);
    EXPECT_EQ(v.engine.device.reuse, 4);
    EXPECT_EQ(v.engine.device.skin, 0.01);
}

TEST(Deck, EveryKeyAboutNearFieldsArrivesInItsField) {
    Settings settings;
    read_deck_file(settings, std::string(GRAFT_DECKS) + "/good/near_field.yaml");
    const capi::Options& v = settings.values();
    EXPECT_EQ(v.near.layout, static_cast<int32_t>(near::Layout::tiled_split));
    EXPECT_EQ(v.near.study_layout, static_cast<int32_t>(near::Layout::replicated_interleaved));
    EXPECT_EQ(v.near.precision, static_cast<int32_t>(near::Precision::fp64));
    EXPECT_EQ(v.near.devices, 2);
    EXPECT_EQ(v.near.most, 40);
    EXPECT_EQ(v.near.memory_bytes, 2e9);
    EXPECT_EQ(v.near.expected_executes, 250);
}

TEST(Deck, EveryKeyAboutPeriodicBoxesArrivesInItsField) {
    Settings settings;
    read_deck_file(settings, std::string(GRAFT_DECKS) + "/good/periodic.yaml");
    const capi::Options& v = settings.values();
    EXPECT_EQ(v.asked.periodic, 1);
    EXPECT_EQ(v.asked.box_x, 20);
    EXPECT_EQ(v.asked.box_y, 22.5);
    EXPECT_EQ(v.asked.box_z, 18);
    EXPECT_EQ(v.asked.box_lower_x, -10);
    EXPECT_EQ(v.asked.box_lower_y, 0);
    EXPECT_EQ(v.asked.box_lower_z, 0);
    EXPECT_EQ(v.asked.box_xy, 3);
    EXPECT_EQ(v.asked.box_xz, -2.5);
    EXPECT_EQ(v.asked.box_yz, 0.5);
    EXPECT_EQ(v.engine.ewald_accuracy, 1e-5);
}

// Published values: 43007.1 (kpc, 1e10 Msun, km/s: Gadget-2's G, here per (kpc/(km/s))^2), Gauss' k^2, and
// the 138.935458 kJ mol^-1 nm e^-2 of MD codes.
TEST(Deck, UnitsMakeTheConstantOthersUse) {
    const double per_km_s = 977.7922216807891; // kpc/(km/s) in Myr
    const Settings gadget = settings_of(
        ("units: {length: kpc, mass: 1e10Msun, time: " + std::to_string(per_km_s) + " Myr}").c_str());
    EXPECT_NEAR(gadget.values().engine.constant / 43007.1, 1, 2e-4);
    const double gauss = 0.01720209895;
    const Settings solar = settings_of("units: {length: AU, mass: Msun, time: day}");
    EXPECT_NEAR(solar.values().engine.constant / (gauss * gauss), 1, 1e-6);
    const Settings md =
        settings_of("interaction: coulomb\nunits: {length: nm, mass: Da, time: ps, charge: e}");
    EXPECT_NEAR(md.values().engine.constant / 138.935458, 1, 1e-6);
    const Settings twice = settings_of("units: {length: 2*pc, mass: Msun, time: Myr}");
    const Settings once = settings_of("units: {length: pc, mass: Msun, time: Myr}");
    EXPECT_NEAR(once.values().engine.constant / twice.values().engine.constant, 8, 1e-12);
}

TEST(Deck, HostKeysOfAnyDepthAreKept) {
    const Settings s = settings_of("host: {a: {b: {c: deep}}, list: [1, {x: two}], nothing: }");
    EXPECT_EQ(s.get("host.a.b.c"), "deep");
    EXPECT_EQ(s.get("host.list.0"), "1");
    EXPECT_EQ(s.get("host.list.1.x"), "two");
    EXPECT_EQ(s.get("host.nothing"), "");
    EXPECT_EQ(failure_of([&] { s.get("host.absent"); }).first, GRAFT_ERROR_ABSENT);
}

TEST(Deck, RunKeysHaveDefaultsOrAreAbsent) {
    const Settings s = settings_of("run: {steps: 1e6, time_step: 1d-3}");
    EXPECT_EQ(s.get("run.steps"), "1000000");
    EXPECT_EQ(s.get("run.time_step"), "0.001");
    EXPECT_EQ(s.get("run.progress"), "true");
    EXPECT_EQ(failure_of([&] { s.get("run.input"); }).first, GRAFT_ERROR_ABSENT);
    EXPECT_EQ(failure_of([&] { s.get("run.stops"); }).second,
              "key 'run.stops': unknown; nearest known key: run.steps; allowed here: run.input, run.output, "
              "run.time_step, run.steps, run.snapshot_every, run.energy_every, run.restart, run.progress");
}

TEST(Deck, ALaterDeckOverridesAndConstantDropsUnits) {
    Settings s = settings_of("units: {length: kpc, mass: Msun, time: Gyr}\norder: 2");
    read_deck(s, "constant: 7\n", "second");
    EXPECT_EQ(s.values().engine.constant, 7);
    EXPECT_EQ(s.values().asked.order, 2);
    EXPECT_EQ(failure_of([&] { s.get("units.length"); }).first, GRAFT_ERROR_ABSENT);
}

TEST(Deck, MissingFileAndFolderAndHugeText) {
    Settings s;
    EXPECT_EQ(failure_of([&] { read_deck_file(s, "/no/such.yaml"); }),
              std::make_pair(
                  504, std::string("/no/such.yaml: the deck cannot be opened: No such file or directory")));
    EXPECT_EQ(failure_of([&] { read_deck_file(s, "/"); }).first, GRAFT_ERROR_DECK_FILE);
    EXPECT_EQ(failure_of([&] { read_deck(s, std::string((1 << 20) + 1, '#'), "big"); }).first,
              GRAFT_ERROR_DECK_SYNTAX);
    EXPECT_EQ(failure_of([&] { read_deck(s, std::string("order: 2\0", 9), "zero"); }).first,
              GRAFT_ERROR_DECK_SYNTAX);
}

// One megabyte of each opening must be refused in reasonable time and stack.
TEST(Deck, DeepAndLongInputIsRefusedWithoutHarm) {
    for (const char* opening :
         {"[", "{", "- ", "? ", "a: {", "!a ", "&a ", "[[], ", "\"", "'", "a: &x *x\n"}) {
        std::string text;
        while (text.size() < 200000)
            text += opening;
        Settings s;
        const int status = failure_of([&] { read_deck(s, text, "deep"); }).first;
        EXPECT_TRUE(status >= 500 && status <= 504) << opening << " gave " << status;
    }
}

TEST(Deck, DefaultsPassTheirOwnChecks) {
    Settings s;
    const auto all = s.all();
    for (const auto& [key, value] : all)
        s.set(key, value);
    EXPECT_EQ(s.all(), all);
}

TEST(Deck, WhatIsNoRegularFileIsRefusedAtOnce) {
    const auto folder = std::filesystem::temp_directory_path() / ("graft_decks_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const std::string pipe = (folder / "deck.yaml").string();
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Settings s;
    const std::pair<std::string, const char*> cases[] = {
        {pipe, "a pipe"}, {folder.string(), "a folder"}, {"/dev/null", "a device"}};
    for (const auto& [path, found] : cases) {
        for (const auto& failure : {failure_of([&] { graft::plugin::read_deck_file(s, path); }),
                                    failure_of([&] { s.set("near_field.machine", path); })}) {
            EXPECT_EQ(failure.first, GRAFT_ERROR_DECK_FILE);
            EXPECT_NE(failure.second.find(found), std::string::npos) << failure.second;
            EXPECT_NE(failure.second.find(path), std::string::npos) << failure.second;
        }
    }
    EXPECT_NE(failure_of([&] { s.set("run.input", pipe); }).second.find("is a pipe"), std::string::npos);
    std::filesystem::remove_all(folder);
}

TEST(Quantity, NumbersInEverySpellingPeopleUse) {
    using graft::plugin::parse_number;
    EXPECT_EQ(parse_number("1.5"), 1.5);
    EXPECT_EQ(parse_number("+2"), 2);
    EXPECT_EQ(parse_number(".5"), 0.5);
    EXPECT_EQ(parse_number("1.0D+03"), 1000);
    EXPECT_EQ(parse_number("1d-3"), 1e-3);
    EXPECT_EQ(parse_number(" 3 "), 3);
    for (const char* wrong : {"", "nan", "inf", "-inf", "1,5", "0x10", "1e", "--1", "+-1", "1 2", "."})
        EXPECT_EQ(failure_of([&] { parse_number(wrong); }).first, GRAFT_ERROR_DECK_TYPE) << wrong;
}

TEST(Settings, NumbersAreCheckedLikeTheDeck) {
    Settings s;
    s.set_number("mac.theta", 1);
    EXPECT_EQ(s.get("mac.theta"), "1");
    s.set_number("order", 4);
    EXPECT_EQ(s.get_number("order"), 4);
    s.set_number("mac.history", 1);
    EXPECT_EQ(s.get("mac.history"), "true");
    EXPECT_EQ(s.get_number("mac.history"), 1);
    s.set_number("run.steps", 1000);
    EXPECT_EQ(s.get_number("run.steps"), 1000);
    s.set_number("host.mine", 0.5);
    EXPECT_EQ(s.get_number("host.mine"), 0.5);
    EXPECT_EQ(failure_of([&] { s.set_number("mac.theta", 3); }).second,
              "key 'mac.theta': 3 is out of range; expected a number in [0, 2]");
    for (const double wrong : {2.5, -2.0, 13.0, std::nan("")})
        EXPECT_NE(failure_of([&] { s.set_number("order", wrong); }).first, 0) << wrong;
    EXPECT_EQ(failure_of([&] { s.set_number("order", 2.5); }).first, GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(failure_of([&] { s.set_number("mac.history", 2); }).first, GRAFT_ERROR_DECK_RANGE);
    EXPECT_EQ(failure_of([&] { s.set_number("mac.type", 1); }).first, GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(failure_of([&] { s.set_number("units.length", 1); }).first, GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(failure_of([&] { s.set_number("mac.thta", 1); }).first, GRAFT_ERROR_DECK_KEY);
    EXPECT_EQ(failure_of([&] { s.get_number("mac.type"); }).first, GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(failure_of([&] { s.get_number("run.time_step"); }).first, GRAFT_ERROR_ABSENT);
    EXPECT_EQ(s.get_number("order"), 4);
}

} // namespace
