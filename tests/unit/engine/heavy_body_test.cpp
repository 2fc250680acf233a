// SPDX-License-Identifier: BSD-3-Clause
// The acceleration of a body that is far heavier than all beside it: the field there is its own, which it does not feel.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

constexpr double accuracy = 1e-3;

/// Ranks; tree.type orb; and which are targets: all, every other one, or the heavy one.
class HeavyBody : public ::testing::TestWithParam<std::tuple<int, tree::TreeType, int>> {
  protected:
    static void check(const Cloud& cloud, settings::Settings s, bool softened) {
        const auto [ranks, type, every] = GetParam();
        s.tree_type = type;
        Choice choice;
        choice.potential = choice.virial = false, choice.softening = softened;
        if (every != 1)
            for (int64_t i = 0; i < cloud.size(); ++i)
                choice.active.push_back(static_cast<char>(i % every == 0));
        s.method = settings::Method::direct, s.precision = settings::Precision::fp64;
        const Results exact = compute_over(1, cloud, all_on(cloud, 0), s, choice);
        s.method = settings::Method::tree, s.accuracy = accuracy;
        const Results got = compute_over(ranks, cloud, bisection(cloud, ranks), s, choice);
        EXPECT_LT(errors(got, exact)[0], 4 * accuracy);
    }
};

TEST_P(HeavyBody, InACluster) {
    for (const double mass : {1e-9, 0.01, 1.0, 1e6, 1e15})
        for (unsigned seed = 1; seed <= 3; ++seed) {
            SCOPED_TRACE(::testing::Message() << mass << " of all others' mass, seed " << seed);
            check(test::with_heavy_body(make_cloud(8000, seed), mass), {}, false);
        }
}

TEST_P(HeavyBody, Softened) {
    settings::Settings s;
    s.softening = settings::Softening::plummer, s.softening_length = 0.01;
    check(test::with_heavy_body(make_cloud(8000, 4), 1e6), s, false);
    check(test::with_heavy_body(make_cloud(8000, 5), 1e6), s, true);
}

/// Two at one place, which do not feel each other.
TEST_P(HeavyBody, WithOneAtItsPlace) {
    Cloud cloud = test::with_heavy_body(make_cloud(8000, 6), 1e3);
    cloud.x[5] = cloud.x[0], cloud.y[5] = cloud.y[0], cloud.z[5] = cloud.z[0], cloud.q[5] = cloud.q[0];
    check(cloud, {}, false);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HeavyBody,
                         ::testing::Combine(::testing::Values(1, 3),
                                            ::testing::Values(tree::TreeType::octree, tree::TreeType::orb),
                                            ::testing::Values(1, 2, 8000)));

/// Of a heavy one, and of light ones whose field it matches from far away: numbers that single precision does not have.
TEST(ChargesThatDiffer, ByMoreThanSinglePrecisionHolds) {
    for (const double mass : {1e34, 1e40, 1e60, 1e200})
        for (const bool far : {false, true})
            for (const settings::Method method : {settings::Method::tree, settings::Method::direct}) {
                if (far && mass > 1e60)
                    continue;
                Cloud cloud = make_cloud(2000, 7);
                cloud.q[0] = mass;
                if (far)
                    cloud.x[0] = std::sqrt(mass);
                settings::Settings s;
                Choice choice;
                choice.potential = choice.virial = false;
                s.method = settings::Method::direct, s.precision = settings::Precision::fp64;
                const Results exact = compute_over(1, cloud, all_on(cloud, 0), s, choice);
                s.method = method, s.precision = settings::Precision::mixed, s.accuracy = accuracy;
                const std::vector<double> error = errors(compute_over(1, cloud, all_on(cloud, 0), s, choice), exact);
                EXPECT_LT(error[0], 2 * accuracy) << mass << far;
                EXPECT_LT(percentile(error, 0.99), 2 * accuracy) << mass << far;
            }
}

} // namespace
} // namespace graft::engine
