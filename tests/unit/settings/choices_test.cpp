// SPDX-License-Identifier: BSD-3-Clause
// What is chosen where settings leave it to Graft, and that nothing else is.
#include "settings/accuracy_reach.hpp"
#include "settings/choices.hpp"

#include <gtest/gtest.h>

namespace {

using namespace graft::settings;

/// All of it left to Graft.
Settings left(double accuracy) {
    Settings s;
    s.accuracy = accuracy;
    s.order = -1;
    s.precision = Precision::auto_;
    s.leaf = s.group = 0;
    s.tuned = false;
    return s;
}

TEST(Choices, the_default_accuracy_keeps_quadrupoles_in_mixed_precision) {
    const Settings s = with_choices(left(1e-3), false);
    EXPECT_EQ(s.order, 2);
    EXPECT_EQ(s.precision, Precision::mixed);
    EXPECT_EQ(s.leaf, 64);
    EXPECT_EQ(s.group, 128);
}

TEST(Choices, every_accuracy_gets_an_order_and_a_precision_that_reach_it) {
    for (double accuracy = 0.1; accuracy > 1e-10; accuracy /= 1.1) {
        const Settings s = with_choices(left(accuracy), false);
        EXPECT_GE(accuracy, least_accuracy[s.order] * 0.999) << accuracy << ", order " << s.order;
        EXPECT_EQ(s.precision == Precision::fp64, accuracy < single_precision_floor) << accuracy;
        EXPECT_TRUE(accuracy_doubts(left(accuracy)).empty()) << accuracy;
        const Settings smaller = with_choices(left(0.1 * accuracy), false);
        EXPECT_GE(smaller.order, s.order) << accuracy;
    }
}

TEST(Choices, all_pairs_and_lattice_sums_get_the_precision_that_they_are_asked_for) {
    Settings s = left(1e-8);
    s.method = Method::direct;
    EXPECT_EQ(with_choices(s, false).precision, Precision::fp64);
    s = left(1e-3);
    s.ewald_accuracy = 1e-7;
    EXPECT_EQ(with_choices(s, false).precision, Precision::mixed) << "an open box";
    s.periodic = true;
    EXPECT_EQ(with_choices(s, false).precision, Precision::fp64);
    EXPECT_EQ(with_choices(s, true).precision, Precision::fp64);
    s.ewald_accuracy = 1e-6;
    EXPECT_EQ(with_choices(s, false).precision, Precision::mixed);
    s.ewald_accuracy = 1e-7, s.precision = Precision::mixed;
    EXPECT_EQ(with_choices(s, false).precision, Precision::mixed) << "as it was set";
}

TEST(Choices, orders_above_four_only_where_they_are_computed) {
    EXPECT_GT(with_choices(left(1e-9), false).order, 4);
    EXPECT_EQ(with_choices(left(1e-9), true).order, 4) << "GPU";
    EXPECT_EQ(with_choices(left(1e-4), true).order, 2) << "GPU: far cells become polynomials at order 2 only";
    EXPECT_EQ(with_choices(left(1e-4), true).accuracy, 1e-4);
    EXPECT_EQ(with_choices(left(2e-5), true).order, 2);
    EXPECT_LT(with_choices(left(2e-5), true).accuracy, 0.3 * 2e-5) << "cells that are more exact";
    EXPECT_TRUE(accuracy_doubts(left(2e-5), true).empty());
    EXPECT_EQ(with_choices(left(5e-6), true).order, 4);
    Settings s = left(1e-9);
    s.softening = Softening::plummer;
    EXPECT_EQ(with_choices(s, false).order, 4);
    s.softening = Softening::spline;
    EXPECT_GT(with_choices(s, false).order, 4);
    s.periodic = true;
    EXPECT_EQ(with_choices(s, false).order, 4);
    EXPECT_EQ(with_choices(s, false).leaf, 16) << "a cut-off wants small boxes";
}

TEST(Choices, what_is_given_stays) {
    Settings s = left(1e-9);
    s.order = 1;
    s.precision = Precision::fp32;
    s.leaf = 10, s.tuned = true;
    const Settings chosen = with_choices(s, false);
    EXPECT_EQ(chosen.order, 1);
    EXPECT_EQ(chosen.precision, Precision::fp32);
    EXPECT_EQ(chosen.leaf, 10);
    EXPECT_EQ(chosen.group, 128);
    EXPECT_EQ(accuracy_doubts(s).size(), 2u) << "and is warned of: the precision, the order";
}

TEST(Choices, nobody_is_sent_to_an_order_that_is_refused) {
    Settings s = left(1e-8);
    s.order = 4;
    ASSERT_EQ(accuracy_doubts(s).size(), 1u);
    EXPECT_NE(accuracy_doubts(s)[0].find("a higher order"), std::string::npos);
    ASSERT_EQ(accuracy_doubts(s, true).size(), 1u) << "GPU";
    EXPECT_EQ(accuracy_doubts(s, true)[0].find("a higher order"), std::string::npos);
    s.order = -1;
    s.periodic = true;
    ASSERT_EQ(accuracy_doubts(s).size(), 1u) << "periodic";
    EXPECT_EQ(accuracy_doubts(s)[0].find("a higher order"), std::string::npos) << accuracy_doubts(s)[0];
}

TEST(Choices, other_criteria_have_no_accuracy_to_choose_by) {
    Settings s = left(1e-9);
    s.mac = MacType::box;
    EXPECT_EQ(with_choices(s, false).order, 2);
    EXPECT_EQ(with_choices(s, false).precision, Precision::mixed);
}

TEST(Choices, accelerations_of_many_particles_in_a_periodic_box_are_summed_by_replicas) {
    Settings s = left(1e-3);
    s.periodic = s.has_box = true;
    const Call suits{100000, true};
    EXPECT_TRUE(with_choices(s, false, suits).replicas);
    EXPECT_EQ(with_choices(s, false, suits).order, 4) << "fields that cancel";
    EXPECT_EQ(with_choices(s, false, suits).leaf, 64) << "as in an open box";
    EXPECT_FALSE(with_choices(s, false, {100000, false}).replicas);
    EXPECT_FALSE(with_choices(s, false, {10000, true}).replicas);
    EXPECT_FALSE(with_choices(s, true, suits).replicas) << "GPU";
    s.lattice_sum = LatticeSum::split;
    EXPECT_FALSE(with_choices(s, false, suits).replicas);
    s.lattice_sum = LatticeSum::replicas;
    EXPECT_TRUE(with_choices(s, false, {10, false}).replicas);
    const auto refuses = [&](auto change) {
        Settings other = left(1e-3);
        other.periodic = other.has_box = true;
        change(other);
        return !with_choices(other, false, suits).replicas;
    };
    EXPECT_TRUE(refuses([](Settings& o) { o.accuracy = 1e-6; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.open_axis = 2; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.wire_axis = 0; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.softening = Softening::plummer; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.ewald_accuracy = 1e-4; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.method = Method::direct; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.tree_scope = TreeScope::global; }));
    EXPECT_TRUE(refuses([](Settings& o) { o.exchange = Exchange::fetch; }));
}

} // namespace
