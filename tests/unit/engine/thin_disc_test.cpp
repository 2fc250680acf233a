// SPDX-License-Identifier: BSD-3-Clause
// What mac.accuracy says of thin discs: the errors of flat cells have one sign, and add up.
#include "ranks_scene.hpp"

#include "settings/accuracy_reach.hpp"

#include <random>

namespace graft::engine {
namespace {

using namespace testing;

Cloud thin_disc(int64_t n, double thickness) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    Cloud cloud = make_cloud(n);
    for (size_t i = 0; i < cloud.x.size(); ++i) {
        cloud.x[i] = normal(random), cloud.y[i] = normal(random), cloud.z[i] = thickness * normal(random);
        cloud.q[i] = 1;
    }
    return cloud;
}

/// The 99th percentile of the errors of forces in units of the accuracy asked.
double p99(const Cloud& cloud, const Results& exact, double accuracy, int order) {
    settings::Settings s;
    s.accuracy = accuracy, s.order = order, s.precision = settings::Precision::auto_;
    Choice choice;
    choice.potential = choice.virial = false;
    return percentile(errors(compute_over(1, cloud, all_on(cloud, 0), s, choice), exact), 0.99) / accuracy;
}

TEST(ThinDisc, ErrorsAreThoseThatAccuracySays) {
    for (const double thickness : {0.0, 0.01, 0.1}) {
        SCOPED_TRACE(thickness);
        const Cloud cloud = thin_disc(10000, thickness);
        settings::Settings s;
        s.method = settings::Method::direct, s.precision = settings::Precision::fp64;
        Choice choice;
        choice.potential = choice.virial = false;
        const Results exact = compute_over(1, cloud, all_on(cloud, 0), s, choice);
        for (const double accuracy : {1e-2, 1e-3, 1e-5, 1e-7})
            EXPECT_LT(p99(cloud, exact, accuracy, -1), 2) << accuracy;
        for (const int order : {0, 1, 2, 3, 4, 6})
            for (const double accuracy : {settings::least_accuracy[order], 1e-3})
                EXPECT_LT(p99(cloud, exact, accuracy, order), order == 1 ? 20 : 6.5) << order << " " << accuracy;
    }
}

} // namespace
} // namespace graft::engine
