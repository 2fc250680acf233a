// SPDX-License-Identifier: BSD-3-Clause
// Single precision, targets beside sources that are no targets of their block: chosen ones, points, particles
// of another rank, pairs on two sides of a cell's face. Against sums in long double.
#include "ranks_scene.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace graft::engine {
namespace {

using testing::Choice;
using testing::Owners;
using testing::Results;
using test::Cloud;

constexpr double apart = 1e-8;

/// Particles in a cube about 0, then the partners of some of them, each at a random place beside its own.
struct Pairs {
    Cloud all;
    int64_t first_partner = 0;
    std::vector<int64_t> owner; // of each partner
};

Pairs make_pairs(int64_t n, unsigned seed) {
    Pairs pairs{testing::make_cube(n, seed), n, {}};
    Cloud& cloud = pairs.all;
    for (std::vector<double>* axis : {&cloud.x, &cloud.y, &cloud.z})
        for (double& at : *axis)
            at = 2 * at - 1;
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> offset(0.3 * apart, apart);
    for (int64_t i = 0; i < n; i += 8) {
        const auto k = static_cast<size_t>(i);
        test::add(cloud, cloud.x[k] + offset(random), cloud.y[k] - offset(random), cloud.z[k] + offset(random), 1);
        pairs.owner.push_back(i);
    }
    return pairs;
}

/// The field of `sources` at `at`, with Plummer's length.
Results exact(const Cloud& sources, const Cloud& at, double length) {
    Results r;
    for (size_t i = 0; i < at.x.size(); ++i) {
        long double a[3] = {}, potential = 0;
        for (size_t j = 0; j < sources.x.size(); ++j) {
            const long double d[3] = {static_cast<long double>(sources.x[j]) - at.x[i],
                                      static_cast<long double>(sources.y[j]) - at.y[i],
                                      static_cast<long double>(sources.z[j]) - at.z[i]};
            const long double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (square == 0)
                continue;
            const long double inverse = 1 / std::sqrt(square + static_cast<long double>(length) * length);
            potential += sources.q[j] * inverse;
            for (int c = 0; c < 3; ++c)
                a[c] += sources.q[j] * d[c] * inverse * inverse * inverse;
        }
        r.ax.push_back(static_cast<double>(a[0])), r.ay.push_back(static_cast<double>(a[1]));
        r.az.push_back(static_cast<double>(a[2])), r.potential.push_back(static_cast<double>(potential));
    }
    return r;
}

/// Largest error of a target, relative to its field; of the marked ones.
double worst(const Results& found, const Results& right, const std::vector<char>& marked) {
    const std::vector<double> errors = testing::errors(found, right);
    double worst = 0;
    for (size_t i = 0; i < errors.size(); ++i)
        if (marked.empty() || marked[i])
            worst = std::max(worst, errors[i]);
    return worst;
}

/// Both single precisions, all pairs and the tree, without softening, with one as short as the pairs and one within which
/// a pair's force is rounded to more than it is.
template <typename Check>
void for_settings(const Check& check) {
    for (const settings::Precision precision : {settings::Precision::fp32, settings::Precision::mixed})
        for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
            for (const double length : {0.0, apart, 1e-3}) {
                settings::Settings settings;
                settings.precision = precision, settings.method = method, settings.theta = 0.3;
                settings.softening = settings::Softening::plummer, settings.softening_length = length;
                SCOPED_TRACE("precision " + std::to_string(static_cast<int>(precision)) + ", method " +
                             std::to_string(static_cast<int>(method)) + ", length " + std::to_string(length * 1e8));
                check(settings, length);
            }
}

// A cube's field is small in its middle: targets without a partner have the tree's error.
constexpr double allowed = 3e-2;
/// Of targets that have one: it is the field, but within long softening.
double allowed_pair(double length) {
    return length > apart ? 2e-3 : 1e-4;
}

TEST(CloseSources, OfChosenTargets) {
    const Pairs pairs = make_pairs(1600, 1);
    Choice choice;
    choice.active.assign(pairs.all.x.size(), 0);
    std::fill_n(choice.active.begin(), pairs.first_partner, char{1});
    std::vector<char> paired(pairs.all.x.size(), 0);
    for (const int64_t i : pairs.owner)
        paired[static_cast<size_t>(i)] = 1;
    for_settings([&](const settings::Settings& settings, double length) {
        const Results right = exact(pairs.all, pairs.all, length);
        for (const bool list : {false, true}) {
            choice.as_list = list;
            const Results found =
                testing::compute_over(1, pairs.all, testing::all_on(pairs.all, 0), settings, choice);
            EXPECT_LT(worst(found, right, paired), allowed_pair(length)) << (list ? "list" : "mask");
            EXPECT_LT(worst(found, right, choice.active), allowed) << (list ? "list" : "mask");
        }
    });
}

TEST(CloseSources, OfPoints) {
    const Pairs pairs = make_pairs(1600, 2);
    Cloud sources, points;
    for (int64_t i = 0; i < pairs.all.size(); ++i) {
        const auto k = static_cast<size_t>(i);
        test::add(i < pairs.first_partner ? sources : points, pairs.all.x[k], pairs.all.y[k], pairs.all.z[k], 1);
    }
    for (int ranks = 1; ranks <= 2; ++ranks)
        for_settings([&](const settings::Settings& settings, double length) {
            Choice choice;
            choice.points = &points;
            choice.point_owners = testing::scattered(points, ranks);
            const Results found =
                testing::compute_over(ranks, sources, testing::slabs(sources, ranks), settings, choice);
            EXPECT_LT(worst(found, exact(sources, points, length), {}), allowed_pair(length)) << ranks << " ranks";
        });
}

TEST(CloseSources, OnAnotherRank) {
    const Pairs pairs = make_pairs(1600, 3);
    Owners owners = testing::slabs(pairs.all, 2);
    std::vector<char> paired(pairs.all.x.size(), 0);
    for (size_t p = 0; p < pairs.owner.size(); ++p) {
        const auto partner = static_cast<size_t>(pairs.first_partner) + p, own = static_cast<size_t>(pairs.owner[p]);
        owners[partner] = 1 - owners[own];
        paired[partner] = paired[own] = 1;
    }
    for_settings([&](const settings::Settings& settings, double length) {
        const Results found = testing::compute_over(2, pairs.all, owners, settings),
                      right = exact(pairs.all, pairs.all, length);
        EXPECT_LT(worst(found, right, paired), allowed_pair(length));
        EXPECT_LT(worst(found, right, {}), allowed);
    });
}

TEST(CloseSources, AcrossTheFaceOfACell) {
    Cloud cloud = testing::make_cube(1000, 4);
    std::vector<char> paired;
    for (std::vector<double>* axis : {&cloud.x, &cloud.y, &cloud.z})
        for (double& at : *axis)
            at = 2 * at - 1;
    for (const double corner : {-1.0, 1.0}) // the middle of the root is 0
        test::add(cloud, corner, corner, corner, 1);
    paired.assign(cloud.x.size(), 0);
    for (size_t i = 0; i < 100; ++i)
        for (const double side : {-0.5, 0.5})
            test::add(cloud, side * apart, cloud.y[i], cloud.z[i], 1), paired.push_back(1);
    for_settings([&](const settings::Settings& settings, double length) {
        const Results found = testing::compute_over(1, cloud, testing::all_on(cloud, 0), settings),
                      right = exact(cloud, cloud, length);
        EXPECT_LT(worst(found, right, paired), allowed_pair(length));
        EXPECT_LT(worst(found, right, {}), allowed);
    });
}

/// A small clump of sources that a wide group of points accepts as a cell: its distance from one of them is far below
/// what single precision knows of places in the group.
TEST(CloseSources, CellsBesideAWideGroup) {
    Cloud sources = testing::make_cube(300, 6);
    for (std::vector<double>* axis : {&sources.x, &sources.y, &sources.z})
        for (double& at : *axis)
            at *= 1e-16;
    Cloud points;
    test::add(points, -2e-7, -2e-8, -4e-7, 1);
    test::add(points, -3e5, 1e6, 8e5, 1);
    for (const settings::Precision precision : {settings::Precision::fp32, settings::Precision::mixed})
        for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::error}) {
            settings::Settings settings;
            settings.precision = precision, settings.mac = mac, settings.leaf = 4;
            Choice choice;
            choice.points = &points;
            choice.point_owners = testing::all_on(points, 0);
            const Results found =
                testing::compute_over(1, sources, testing::all_on(sources, 0), settings, choice);
            EXPECT_LT(worst(found, exact(sources, points, 0), {}), 1e-5)
                << "precision " << int(precision) << ", MAC " << int(mac);
        }
}

/// More points at one place than a group takes, in units that make every distance tiny: the box of such a cell has no
/// length to make a frame of.
TEST(CloseSources, ManyPointsAtOnePlaceInSmallUnits) {
    Cloud sources = testing::make_cube(3000, 7), points = testing::make_cube(200, 8);
    for (int k = 0; k < 600; ++k)
        test::add(points, 0.51, 0.49, 0.52, 1);
    test::add(points, 70, -90, 80, 1); // all that acts on it is far from the cells above it
    for (const double unit : {1e-60, 1e-28, 1.0, 1e25}) {
        Cloud from = sources, at = points;
        for (Cloud* cloud : {&from, &at})
            for (std::vector<double>* axis : {&cloud->x, &cloud->y, &cloud->z})
                for (double& x : *axis)
                    x *= unit;
        settings::Settings settings;
        settings.group = 64, settings.order = 1;
        Choice choice;
        choice.points = &at;
        choice.point_owners = testing::all_on(at, 0);
        const Results found = testing::compute_over(1, from, testing::all_on(from, 0), settings, choice);
        EXPECT_LT(worst(found, exact(from, at, 0), {}), 2e-2) << unit;
    }
}

} // namespace
} // namespace graft::engine
