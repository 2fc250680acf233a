// SPDX-License-Identifier: BSD-3-Clause
// Orders above 4 (moments/harmonics.hpp) through the whole engine, against all pairs in double.
#include "ranks_scene.hpp"

#include "core/error.hpp"

namespace graft::engine {
namespace {

using namespace testing;

constexpr int64_t count = 6000;

Cloud flattened(int64_t n) {
    Cloud cloud = make_cloud(n, 8);
    for (double& z : cloud.z)
        z *= 0.02;
    return cloud;
}

settings::Settings in_double() {
    settings::Settings settings;
    settings.precision = settings::Precision::fp64;
    settings.leaf = settings.group = 32;
    return settings;
}

Results exact_of(const Cloud& cloud, settings::Settings settings = in_double(), const Choice& choice = {}) {
    settings.method = settings::Method::direct, settings.precision = settings::Precision::fp64;
    return compute_over(1, cloud, all_on(cloud, 0), settings, choice);
}

void expect_within(const Results& got, const Results& exact, double accuracy) {
    EXPECT_LT(percentile(errors(got, exact), 0.99), accuracy);
    EXPECT_LT(percentile(errors(got, exact), 1), 8 * accuracy);
    std::vector<double> potentials;
    for (size_t i = 0; i < exact.potential.size(); ++i)
        potentials.push_back(std::abs(got.potential[i] - exact.potential[i]) / std::abs(exact.potential[i]));
    EXPECT_LT(percentile(potentials, 0.99), 12 * accuracy); // which says nothing of them
}

const Cloud& sphere() {
    static const Cloud cloud = make_cloud(count, 5);
    return cloud;
}
const Results& sphere_exact() {
    static const Results exact = exact_of(sphere());
    return exact;
}

} // namespace

TEST(HigherOrders, TheErrorIsWhatIsAskedFor) {
    const Cloud clouds[] = {sphere(), make_cube(count), flattened(count)};
    for (const Cloud& cloud : clouds) {
        const Results exact = exact_of(cloud);
        for (const int order : {5, 6, 8, 10, 12})
            for (const double accuracy : {1e-4, 1e-6, 1e-9}) {
                SCOPED_TRACE(::testing::Message()
                             << "cloud " << &cloud - clouds << " order " << order << " accuracy " << accuracy);
                settings::Settings settings = in_double();
                settings.order = order, settings.accuracy = accuracy;
                Choice twice;
                twice.calls = 2; // the first has but an estimate of the accelerations
                const Results got = compute_over(1, cloud, all_on(cloud, 0), settings, twice);
                expect_within(got, exact, (accuracy < 1e-8 ? 3.5 : 2) * accuracy);
                if (accuracy > 1e-7) {
                    EXPECT_GT(got.reports[0].far_cells, 0);
                }
            }
    }
}

TEST(HigherOrders, PrecisionsTreesCriteriaAndSoftening) {
    settings::Settings orb = in_double(), single = in_double(), mixed = in_double(), spline = in_double(), box = in_double(),
                       cells = in_double();
    orb.tree_type = tree::TreeType::orb;
    single.precision = settings::Precision::fp32;
    mixed.precision = settings::Precision::mixed;
    spline.softening = settings::Softening::spline, spline.softening_length = 0.05;
    box.mac = settings::MacType::box, box.theta = 0.3;
    cells.local = settings::Local::off;
    for (settings::Settings settings : {orb, single, mixed, spline, box, cells})
        for (const int order : {5, 9}) {
            SCOPED_TRACE(::testing::Message() << "order " << order << " precision " << int(settings.precision) << " criterion "
                                              << int(settings.mac) << " softening " << int(settings.softening));
            settings.order = order, settings.accuracy = 1e-5;
            Choice twice;
            twice.calls = 2;
            expect_within(compute_over(1, sphere(), all_on(sphere(), 0), settings, twice), exact_of(sphere(), settings), 3e-5);
        }
}

TEST(HigherOrders, ChargesOfBothSigns) {
    const Cloud cloud = make_cloud(count, 4, true);
    settings::Settings settings = in_double();
    settings.order = 8, settings.accuracy = 1e-7;
    EXPECT_LT(percentile(errors(compute_over(1, cloud, all_on(cloud, 0), settings), exact_of(cloud)), 0.99), 1e-6);
}

TEST(HigherOrders, SubsetsAndPoints) {
    settings::Settings settings = in_double();
    settings.order = 7, settings.accuracy = 1e-6;
    Choice some;
    for (int64_t i = 0; i < count; ++i)
        some.active.push_back(i % 3 == 1);
    const Results got = compute_over(1, sphere(), all_on(sphere(), 0), settings, some);
    std::vector<double> of_some;
    const std::vector<double> all = errors(got, sphere_exact());
    for (size_t i = 0; i < some.active.size(); ++i)
        if (some.active[i])
            of_some.push_back(all[i]);
    EXPECT_LT(percentile(of_some, 0.99), 2e-6);

    const Cloud points = make_cube(1000, 12);
    Choice at;
    at.points = &points, at.point_owners = all_on(points, 0);
    expect_within(compute_over(1, sphere(), all_on(sphere(), 0), settings, at), exact_of(sphere(), in_double(), at), 3e-6);
}

TEST(HigherOrders, OverRanks) {
    settings::Settings settings = in_double();
    settings.order = 6, settings.accuracy = 1e-6;
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
        for (const settings::Exchange exchange : {settings::Exchange::push, settings::Exchange::fetch})
            for (const int ranks : {2, 5}) {
                SCOPED_TRACE(::testing::Message() << ranks << " ranks, scope " << int(scope));
                settings.tree_scope = scope, settings.exchange = exchange;
                expect_within(compute_over(ranks, sphere(), bisection(sphere(), ranks), settings), sphere_exact(), 2e-6);
            }
}

// The other ranks' nodes are accepted as wholes, near and far.
TEST(HigherOrders, OverRanksThatStandApart) {
    for (const double gap : {1.3, 1.6, 2.0, 3.0, 10.0}) {
        Cloud cloud = make_cube(600);
        Owners owners(cloud.x.size());
        for (size_t i = 0; i < cloud.x.size(); ++i) {
            owners[i] = static_cast<int>(i % 3);
            cloud.x[i] += gap * owners[i];
        }
        const Results exact = exact_of(cloud);
        for (const int order : {5, 8, 12})
            for (const double accuracy : {1e-2, 1e-4}) {
                settings::Settings settings = in_double();
                settings.order = order, settings.accuracy = accuracy, settings.leaf = settings.group = 256;
                expect_within(compute_over(3, cloud, owners, settings), exact, 2 * accuracy);
            }
    }
}

TEST(HigherOrders, SameBitsForAnyNumberOfThreads) {
    settings::Settings settings = in_double();
    settings.order = 8, settings.accuracy = 1e-6;
    const Results one = compute_over(1, sphere(), all_on(sphere(), 0), settings);
    for (const int threads : {2, 5}) {
        Choice choice;
        choice.threads = threads;
        const Results many = compute_over(1, sphere(), all_on(sphere(), 0), settings, choice);
        EXPECT_EQ(one.ax, many.ax);
        EXPECT_EQ(one.potential, many.potential);
    }
}

TEST(HigherOrders, PlummerSofteningIsRefused) {
    settings::Settings settings = in_double();
    settings.order = 5, settings.softening = settings::Softening::plummer, settings.softening_length = 0.1;
    try {
        compute_over(1, sphere(), all_on(sphere(), 0), settings);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), core::Status::unsupported);
        EXPECT_STREQ(error.what(), "order 5 with softening.kind plummer; expected 0 to 4 there");
    }
}

} // namespace graft::engine
