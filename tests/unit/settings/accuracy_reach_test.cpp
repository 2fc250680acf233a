// SPDX-License-Identifier: BSD-3-Clause
// What is said of mac.accuracy before anything is computed.
#include "settings/accuracy_reach.hpp"

#include <gtest/gtest.h>

namespace {

using namespace graft;
using settings::accuracy_doubt;

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
                 {1, 1e-3, Precision::fp64, ""},
                 {1, 9e-4, Precision::fp64, "order 1"},
                 {2, 3e-6, Precision::fp64, "order 2"},
                 {2, 3e-6, Precision::mixed, "order 2"},
                 {2, 1e-4, Precision::mixed, ""},
                 {3, 1e-5, Precision::mixed, "order 3"},
                 {0, 1e-3, Precision::fp64, ""}};
    for (const auto& item : cases) {
        const std::string warning = accuracy_doubt(with(item.order, item.accuracy, item.precision)).warning;
        EXPECT_EQ(warning.empty(), *item.word == '\0')
            << item.order << " " << item.accuracy << ": " << warning;
        EXPECT_NE(warning.find(item.word), std::string::npos) << warning;
    }
}

TEST(AccuracyReach, softening_is_a_caution_and_other_criteria_promise_nothing) {
    settings::Settings s = with(2, 1e-3, settings::Precision::mixed);
    EXPECT_EQ(accuracy_doubt(s).caution, "");
    s.softening = settings::Softening::plummer;
    EXPECT_NE(accuracy_doubt(s).caution.find("softening"), std::string::npos);
    s.order = 1;
    s.mac = settings::MacType::box;
    EXPECT_EQ(accuracy_doubt(s).warning + accuracy_doubt(s).caution, "");
    s.mac = settings::MacType::error;
    s.method = settings::Method::direct;
    EXPECT_EQ(accuracy_doubt(s).warning + accuracy_doubt(s).caution, "");
}

} // namespace
