// SPDX-License-Identifier: BSD-3-Clause
// What is said of mac.accuracy before anything is computed.
#include "settings/accuracy_reach.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <utility>

namespace {

using namespace graft;

/// All that is said, in lines.
std::string doubts_of(const settings::Settings& s) {
    std::string text;
    for (const std::string& doubt : settings::accuracy_doubts(s))
        text += doubt + "\n";
    return text;
}

settings::Settings with(int order, double accuracy, settings::Precision precision) {
    settings::Settings s;
    s.method = settings::Method::tree;
    s.mac = settings::MacType::error;
    s.order = order;
    s.accuracy = accuracy;
    s.precision = precision;
    return s;
}

TEST(AccuracyReach, is_warned_of_where_it_is_known_not_to_hold) {
    using settings::Precision;
    const struct {
        int order;
        double accuracy;
        Precision precision;
        const char* word; // "" : holds
    } cases[] = {{2, 1e-3, Precision::mixed, ""},
                 {4, 1e-7, Precision::mixed, "precision fp64"},
                 {4, 1e-7, Precision::fp32, "precision fp64"},
                 {4, 1e-7, Precision::fp64, "order 4"},
                 {4, 3e-6, Precision::mixed, ""},
                 {1, 1e-3, Precision::fp64, "thin disc"},
                 {1, 9e-4, Precision::fp64, "order 1"},
                 {2, 3e-6, Precision::fp64, "order 2"},
                 {2, 3e-6, Precision::mixed, "order 2"},
                 {2, 1e-4, Precision::mixed, ""},
                 {3, 1e-5, Precision::mixed, "order 3"},
                 {5, 1e-7, Precision::fp64, ""},
                 {5, 1e-8, Precision::fp64, "order 5"},
                 {6, 1e-8, Precision::fp64, ""},
                 {7, 1e-9, Precision::fp64, "order 7"},
                 {8, 1e-10, Precision::fp64, ""},
                 {8, 1e-11, Precision::fp64, "order 8"},
                 {12, 1e-10, Precision::fp64, ""},
                 {12, 1e-12, Precision::fp64, "order 12"},
                 {12, 1e-7, Precision::mixed, "precision fp64"},
                 {0, 1e-3, Precision::fp64, ""}};
    for (const auto& item : cases) {
        const std::string warning = doubts_of(with(item.order, item.accuracy, item.precision));
        EXPECT_EQ(warning.empty(), *item.word == '\0')
            << item.order << " " << item.accuracy << ": " << warning;
        EXPECT_NE(warning.find(item.word), std::string::npos) << warning;
    }
}

TEST(AccuracyReach, softening_and_signs_are_warned_of_and_other_criteria_promise_nothing) {
    settings::Settings s = with(2, 1e-3, settings::Precision::mixed);
    EXPECT_EQ(doubts_of(s), "");
    s.interaction = settings::Interaction::coulomb;
    EXPECT_NE(doubts_of(s).find("both signs"), std::string::npos);
    s.interaction = settings::Interaction::gravity;
    s.softening = settings::Softening::plummer;
    EXPECT_NE(doubts_of(s).find("softening"), std::string::npos);
    s.order = 1, s.accuracy = 1e-4;
    EXPECT_EQ(settings::accuracy_doubts(s).size(), 3u) << "the limit, discs and softening";
    s.mac = settings::MacType::box;
    EXPECT_EQ(doubts_of(s), "");
    s.mac = settings::MacType::error;
    s.method = settings::Method::direct;
    EXPECT_EQ(doubts_of(s), "");
}

TEST(AccuracyReach, lattice_sums_are_warned_of_in_single_precision) {
    settings::Settings s;
    s.periodic = true, s.ewald_accuracy = 1e-8, s.precision = settings::Precision::auto_;
    EXPECT_EQ(doubts_of(s), "") << "fp64 is chosen";
    for (const settings::Method method : {settings::Method::tree, settings::Method::direct}) {
        s.method = method, s.precision = settings::Precision::mixed;
        EXPECT_NE(doubts_of(s).find("ewald.accuracy 1e-08"), std::string::npos) << doubts_of(s);
        s.ewald_accuracy = 1e-6;
        EXPECT_EQ(doubts_of(s), "");
        s.ewald_accuracy = 1e-8, s.precision = settings::Precision::fp64;
        EXPECT_EQ(doubts_of(s), "");
    }
}

/// Of all orders, by the limits that are warned of.
TEST(AccuracyReach, the_text_has_the_limits) {
    const std::string text = settings::accuracy_meaning;
    const std::pair<const char*, double> said[] = {
        {"order 0", settings::least_accuracy[0]}, {"order 1", settings::least_accuracy[1]},
        {"order 2", settings::least_accuracy[2]}, {"order 3", settings::least_accuracy[3]},
        {"Order 4", settings::least_accuracy[4]}, {"order 5", settings::least_accuracy[5]},
        {"orders 6 and 7", settings::least_accuracy[6]}, {"orders 8 to 12", settings::least_accuracy[12]},
        {"fp32 and mixed", settings::single_precision_floor}};
    for (const auto& [where, least] : said) {
        char words[64];
        std::snprintf(words, sizeof words, "%.0e", least); // 1e-03: without the zero
        const std::string number = std::string(words).erase(std::string(words).find('-') + 1, words[3] == '0' ? 1 : 0);
        const std::string subject = where;
        bool joined = false;
        for (const std::string& words : {number + " at " + subject, subject + " " + number, subject + " reaches " + number,
                                         subject + " reach " + number})
            joined |= text.find(words) != std::string::npos;
        EXPECT_TRUE(joined) << number << ", " << where;
    }
    EXPECT_EQ(settings::least_accuracy[7], settings::least_accuracy[6]);
    for (int order = 8; order <= 12; ++order)
        EXPECT_EQ(settings::least_accuracy[order], settings::least_accuracy[12]);
}

TEST(AccuracyReach, of_all_forces_is_warned_of_by_what_was_asked) {
    settings::Settings s = with(-1, 1e-6, settings::Precision::auto_);
    s.mac_kind = settings::MacKind::max;
    s.interaction = settings::Interaction::coulomb; // no exception
    EXPECT_EQ(doubts_of(s), "");
    s.precision = settings::Precision::mixed;
    EXPECT_NE(doubts_of(s).find("mac.kind max: single precision"), std::string::npos);
    s.precision = settings::Precision::fp64, s.order = 4;
    EXPECT_NE(doubts_of(s).find("mac.accuracy 1e-06, mac.kind max: at order 4"), std::string::npos);
    EXPECT_NE(doubts_of(s).find("expected 0.0003 and more, or a higher order"), std::string::npos);
}

} // namespace
