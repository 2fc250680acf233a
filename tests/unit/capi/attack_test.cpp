// SPDX-License-Identifier: BSD-3-Clause
// Hostile inputs that once gave wrong numbers: extreme units, particles alone in their group, outliers, 2-D
// boxes.
#include "host.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace graft;
using namespace graft::test;

namespace {

Field field_of(const Bodies& bodies, const capi::Options& values) {
    Field field(bodies.size());
    Context context(values);
    Call call(bodies, field);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    return field;
}

Bodies scaled(Bodies bodies, double unit) {
    for (std::vector<double>* axis : {&bodies.x, &bodies.y, &bodies.z})
        for (double& value : *axis)
            value *= unit;
    return bodies;
}

/// The error that `share` of the particles stay below; infinity where an error is not a number.
double quantile(std::vector<double> errors, double share) {
    for (double& e : errors)
        e = std::isnan(e) ? INFINITY : e;
    std::sort(errors.begin(), errors.end());
    return errors[static_cast<size_t>(share * static_cast<double>(errors.size() - 1))];
}

/// A cluster and two particles far away, which the octree puts in groups of their own.
Bodies with_outliers(double distance) {
    Bodies bodies = plummer(1500, 7);
    bodies.add(distance, 0.3 * distance, 0.1, 1e-3);
    bodies.add(-distance, 0.1, 0.2 * distance, 1e-3);
    return bodies;
}

TEST(Attack, ParticlesAloneInTheirGroupInAnyUnit) {
    for (const double unit : {1.0, 1e20, 1e-25}) {
        const Bodies bodies = scaled(with_outliers(1e3), unit);
        const Field exact = field_of(bodies, options(settings::Method::reference));
        for (const auto precision : {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64})
            for (const auto tree : {tree::TreeType::octree, tree::TreeType::orb}) {
                capi::Options values = options(settings::Method::tree, precision);
                values.engine.tree_type = tree;
                EXPECT_LT(quantile(errors(field_of(bodies, values), exact), 1), 0.05)
                    << "unit " << unit << ", precision " << static_cast<int>(precision) << ", tree " << static_cast<int>(tree);
            }
    }
}

TEST(Attack, LastBlockOfOneParticleInAnyUnit) {
    for (const double unit : {1e-100, 1e-20, 1e20, 1e60}) {
        const Bodies bodies = scaled(plummer(257, 3), unit);
        const Field exact = field_of(bodies, options(settings::Method::reference));
        for (const auto precision : {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64})
            EXPECT_LT(quantile(errors(field_of(bodies, options(settings::Method::direct, precision)), exact), 1),
                      1e-3)
                << "unit " << unit << ", precision " << static_cast<int>(precision);
    }
}

TEST(Attack,
     PairMuchCloserThanTheSystemIsWide) { // cos(pi / 2) is 6e-17: float overflowed at 1e19 group sizes
    Bodies bodies = plummer(600, 5);
    for (const double x : {0.0, 6e-17, 1.2e-16})
        bodies.add(x, 0, 0, 1e-40);
    bodies.add(4e3, 1e3, 0, 1e-3);
    const Field exact = field_of(bodies, options(settings::Method::reference));
    for (const int32_t group : {1, 2, 128}) {
        capi::Options values = options(settings::Method::tree, settings::Precision::mixed);
        values.asked.leaf = values.asked.group = group;
        const Field field = field_of(bodies, values);
        EXPECT_LT(quantile(errors(field, exact), 1), 0.1) << "group " << group;
    }
}

TEST(Attack, OnePointInAnyUnit) {
    for (const double unit : {1e-25, 1e20}) {
        const Bodies bodies = scaled(plummer(1000, 4), unit);
        const Bodies point = scaled(
            [] {
                Bodies b;
                b.add(30, 20, 10, 0);
                return b;
            }(),
            unit);
        Field field(1), exact(1);
        for (const auto& [method, to] : {std::pair{settings::Method::reference, &exact},
                                         {settings::Method::tree, &field},
                                         {settings::Method::direct, &field}}) {
            Context context(options(method, settings::Precision::mixed));
            Field unused(bodies.size());
            Call sources(bodies, unused), points(point, *to);
            points.results.virial = points.results.energy = nullptr;
            ASSERT_EQ(capi::field_at(context, &sources.particles, &points.particles, &points.results),
                      GRAFT_OK)
                << capi::last_error();
            EXPECT_LT(errors(*to, exact)[0], 1e-3) << "unit " << unit << ", method " << static_cast<int>(method);
            EXPECT_NEAR(to->potential[0] / exact.potential[0], 1, 1e-3);
        }
    }
}

TEST(Attack, ErrorCriterionHoldsInTinyUnits) { // its powers of lengths and forces left double
    for (const double unit : {1.0, 1e-100}) {
        const Bodies bodies = scaled(plummer(1000, 3), unit);
        const Field exact = field_of(bodies, options(settings::Method::reference));
        const Field field = field_of(bodies, options(settings::Method::tree));
        EXPECT_LT(quantile(errors(field, exact), 0.99), 2e-3) << "unit " << unit;
    }
}

/// Five clusters in a row, each ten times smaller than the last: leaves of a k-d tree span the gaps between
/// them, and a target may stand just beside a node's outermost particles.
Bodies clusters_in_a_row(size_t n) {
    std::mt19937_64 random(6);
    std::normal_distribution<double> normal;
    Bodies bodies;
    for (size_t i = 0; i < n; ++i) {
        const double number = static_cast<double>(random() % 5), size = std::pow(10, -number);
        bodies.add(10 * number + size * normal(random), size * normal(random), size * normal(random),
                   1.0 / n);
    }
    return bodies;
}

TEST(Attack, ErrorCriterionBesideTheRimOfANode) {
    const Bodies bodies = clusters_in_a_row(3000);
    const Field exact = field_of(bodies, options(settings::Method::reference));
    for (const auto tree : {tree::TreeType::octree, tree::TreeType::orb})
        for (const int32_t leaf : {8, 64}) {
            capi::Options values = options(settings::Method::tree);
            values.engine.tree_type = tree;
            values.asked.leaf = leaf;
            values.asked.group = 2 * leaf;
            EXPECT_LT(quantile(errors(field_of(bodies, values), exact), 0.99), 10 * values.engine.accuracy)
                << "tree " << static_cast<int>(tree) << ", leaf " << leaf;
        }
}

TEST(Attack, StridesInElementsInsteadOfBytes) { // elements that overlap: outputs would be written by two
                                                // threads at once
    const Bodies bodies = plummer(50);
    Field field(50);
    Context context(options(settings::Method::direct));
    Call call(bodies, field);
    call.out[0].item_stride = 4;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
    EXPECT_NE(std::string(capi::last_error()).find("overlap"), std::string::npos);
    call.out[0].item_stride = 8;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
}

TEST(Attack, DirectKeepsItsDigitsBesideAnOutlier) {
    const Bodies bodies = with_outliers(1e6);
    const Field exact = field_of(bodies, options(settings::Method::reference));
    const Field field = field_of(bodies, options(settings::Method::direct, settings::Precision::mixed));
    EXPECT_LT(quantile(errors(field, exact), 0.99), 1e-4);
}

TEST(Attack, BoxInTwoDimensionsNeedsNoThirdAxis) {
    capi::Options values = options(settings::Method::tree);
    values.engine.dimension = 2;
    Context context(values);
    graft_box box{};
    box.struct_size = sizeof box;
    box.upper[0] = box.upper[1] = 1;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_OK) << capi::last_error();
    box.upper[1] = 0;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT);
}

} // namespace
