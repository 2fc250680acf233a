// SPDX-License-Identifier: BSD-3-Clause
// Wires: images along one axis, none along the others, against the images one by one.
#include "periodic_scene.hpp"
#include "wire_sum.hpp"

#include <array>

namespace graft::engine::testing {
namespace {

const PeriodicBox tube{{0.7, 0.4, 1.1}, {-0.4, 2, 5}};

settings::Settings wire_settings(const PeriodicBox& box, settings::Method method, int axis = 2) {
    settings::Settings s = periodic_settings(box, method);
    s.wire_axis = axis;
    return s;
}

/// Coulomb's signs; images along z.
Results wire_oracle(const Cloud& cloud, double period, const Cloud* points = nullptr) {
    const Cloud& at = points != nullptr ? *points : cloud;
    Results r;
    for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
        values->assign(at.x.size(), 0);
    reference::wire_sum(period, {cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(), nullptr},
                        cloud.q.data(), {at.size(), at.x.data(), at.y.data(), at.z.data(), nullptr}, 1,
                        {r.ax.data(), r.ay.data(), r.az.data(), r.potential.data()});
    for (size_t i = 0; i < at.x.size(); ++i) {
        r.ax[i] *= -1, r.ay[i] *= -1, r.az[i] *= -1;
        r.energy += points != nullptr ? 0 : 0.5 * cloud.q[i] * r.potential[i];
    }
    return r;
}

/// The oracle itself: charges in turn have the potential -2 ln 2 / spacing at each; a row far away is a line.
TEST(WireSum, KnownOnPaper) {
    const double x[2] = {0, 0}, y[2] = {0, 0}, z[2] = {0.3, 0.8}, q[2] = {1, -1};
    double ax[2], ay[2], az[2], potential[2];
    reference::wire_sum(1, {2, x, y, z, nullptr}, q, {2, x, y, z, nullptr}, 1, {ax, ay, az, potential});
    EXPECT_NEAR(potential[0], -4 * std::log(2.0), 1e-15);
    EXPECT_NEAR(potential[1], 4 * std::log(2.0), 1e-15);
    const double far[1] = {9.0}, none[1] = {0};
    reference::wire_sum(1, {1, x, y, z, nullptr}, q, {1, far, none, none, nullptr}, 1,
                        {ax, ay, az, potential});
    EXPECT_NEAR(potential[0], -2 * std::log(9.0), 1e-15);
    EXPECT_NEAR(ax[0], -2 / 9.0, 1e-15);
}

class Wire : public ::testing::TestWithParam<settings::Method> {};

TEST_P(Wire, IsTheSumOfItsImages) {
    for (const bool neutral : {true, false})
        for (const std::array<double, 2>& across :
             {std::array{0.7, 0.4}, {0.0, 0.0}, {4.0, 0.1}, {3.0, 3.0}}) {
            PeriodicBox box = tube; // a thread; on a line; a ribbon; a disc
            box.edge[0] = across[0], box.edge[1] = across[1];
            const Cloud cloud = random_charges(box, 30, neutral);
            box.edge[0] = box.edge[1] = 0.1; // what the host calls the box across is of no account
            const Results r = compute_periodic(cloud, wire_settings(box, GetParam())),
                          expected = wire_oracle(cloud, box.edge[2]);
            EXPECT_LT(rms_error(r, expected), 1e-11) << across[0];
            for (size_t i = 0; i < cloud.x.size(); ++i)
                EXPECT_NEAR(r.potential[i], expected.potential[i],
                            1e-9 * (1 + std::abs(expected.potential[i])))
                    << across[0] << " " << neutral;
            EXPECT_NEAR(r.energy, expected.energy, 1e-10 * (1 + std::abs(expected.energy))) << across[0];
            expect_no_net_force(cloud, r);
            expect_opposite_gravity(cloud, wire_settings(box, GetParam()), r);
        }
}

TEST_P(Wire, AnyAxisMayHaveTheImages) {
    const Cloud cloud = random_charges(tube, 40, false);
    const Results expected = wire_oracle(cloud, tube.edge[2]);
    const Results straight = compute_periodic(cloud, wire_settings(tube, GetParam()));
    for (int axis = 0; axis < 2; ++axis) { // images along x: z x y; along y: y z x
        Cloud turned = cloud;
        PeriodicBox box;
        const std::vector<double>* const from[3] = {&cloud.x, &cloud.y, &cloud.z};
        std::vector<double>* const to[3] = {&turned.x, &turned.y, &turned.z};
        for (int a = 0; a < 3; ++a) {
            *to[(a + axis + 1) % 3] = *from[a];
            box.edge[(a + axis + 1) % 3] = tube.edge[a], box.lower[(a + axis + 1) % 3] = tube.lower[a];
        }
        Results r = compute_periodic(turned, wire_settings(box, GetParam(), axis));
        std::vector<double>* const field[3] = {&r.ax, &r.ay, &r.az};
        const Results same = r;
        const std::vector<double>* const there[3] = {&same.ax, &same.ay, &same.az};
        for (int a = 0; a < 3; ++a)
            *field[a] = *there[(a + axis + 1) % 3];
        EXPECT_LT(rms_error(r, expected), 1e-11);
        for (int a = 0; a < 3; ++a)
            EXPECT_NEAR(r.virial[(a + axis + 1) % 3], straight.virial[a], 1e-9 * std::abs(expected.energy));
    }
}

TEST_P(Wire, VirialIsTheSlopeOfTheStrain) {
    constexpr int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
    for (const bool neutral : {true, false}) {
        const Cloud cloud = random_charges(tube, 30, neutral);
        const Results r = compute_periodic(cloud, wire_settings(tube, GetParam()));
        const auto strained = [&](int c, double by) { // the larger axis moves by the smaller: no tilt
            Cloud moved = cloud;
            PeriodicBox box = tube;
            std::vector<double>* const place[3] = {&moved.x, &moved.y, &moved.z};
            const std::vector<double>* const from[3] = {&cloud.x, &cloud.y, &cloud.z};
            for (size_t i = 0; i < cloud.x.size(); ++i)
                (*place[columns[c]])[i] += by * (*from[rows[c]])[i];
            box.edge[2] *= c == 2 ? 1 + by : 1;
            box.lower[2] *= c == 2 ? 1 + by : 1;
            return compute_periodic(moved, wire_settings(box, GetParam())).energy;
        };
        for (int c = 0; c < 6; ++c)
            EXPECT_NEAR(-(strained(c, 1e-5) - strained(c, -1e-5)) / 2e-5, r.virial[c],
                        2e-6 * std::abs(r.energy))
                << rows[c] << columns[c] << neutral;
        EXPECT_NEAR(r.virial[0] + r.virial[1] + r.virial[2], r.energy, 1e-9 * std::abs(r.energy));
    }
}

TEST_P(Wire, RanksPointsSubsetsAndImages) {
    Cloud cloud = random_charges(tube, 48, false);
    const settings::Settings s = wire_settings(tube, GetParam());
    const Results expected = wire_oracle(cloud, tube.edge[2]), alone = compute_periodic(cloud, s);
    for (size_t i = 0; i < cloud.x.size(); i += 3) // other images
        cloud.z[i] += (static_cast<double>(i) - 20) * tube.edge[2];
    for (const int ranks : {1, 2, 3, 4}) {
        const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), s);
        EXPECT_LT(rms_error(r, expected), 1e-11) << ranks;
        for (int c = 0; c < 6; ++c)
            EXPECT_NEAR(r.virial[c], alone.virial[c], 1e-9 * std::abs(expected.energy)) << ranks;
    }
    Cloud points = random_charges(tube, 20, true, 5);
    points.x[0] += 3, points.y[1] -= 3; // far beside it
    EXPECT_LT(
        rms_error(compute_periodic(cloud, s, field_at(points)), wire_oracle(cloud, tube.edge[2], &points)),
        1e-11);
    const Results active = compute_periodic(cloud, s, every(3, cloud));
    for (size_t i = 0; i < cloud.x.size(); i += 3)
        EXPECT_NEAR(active.ax[i], expected.ax[i], 1e-9 * size_of(expected, i));
}

TEST_P(Wire, AccuraciesAskedForAreKept) {
    if (GetParam() == settings::Method::reference)
        return; // knows no accuracy
    for (const double across : {0.3, 5.0}) {
        PeriodicBox box = tube;
        box.edge[0] = box.edge[1] = across;
        const Cloud cloud = random_charges(box, 64, true);
        const Results expected = wire_oracle(cloud, box.edge[2]);
        for (const settings::Precision precision : {settings::Precision::fp64, settings::Precision::mixed})
            for (const double accuracy : {1e-3, 1e-5}) {
                settings::Settings s = wire_settings(box, GetParam());
                s.precision = precision, s.ewald_accuracy = accuracy;
                EXPECT_LT(rms_error(compute_periodic(cloud, s), expected), accuracy) << across;
            }
    }
}

TEST(Wires, CellsAndBothTreeScopesOverRanks) {
    PeriodicBox box{{1, 1, 4}};
    const Cloud cloud = random_charges(box, 6000, false);
    settings::Settings s = wire_settings(box, settings::Method::tree);
    const Results expected = compute_periodic(cloud, s);
    s.theta = 1, s.order = 4, s.accuracy = 1e-5, s.precision = settings::Precision::mixed;
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
        for (const int ranks : {1, 2, 3, 4}) {
            s.tree_scope = scope;
            EXPECT_LT(rms_error(compute_over(ranks, cloud, bisection(cloud, ranks), s), expected), 1e-4)
                << ranks;
        }
}

INSTANTIATE_TEST_SUITE_P(Of, Wire,
                         ::testing::Values(settings::Method::direct, settings::Method::tree, settings::Method::reference),
                         [](const auto& info) {
                             return info.param == settings::Method::direct ? "direct"
                                    : info.param == settings::Method::tree ? "tree"
                                                                 : "reference";
                         });

} // namespace
} // namespace graft::engine::testing
