// SPDX-License-Identifier: BSD-3-Clause
// Far cells as polynomials of groups (deck key local), through the whole engine: the error stays what it is
// without them, whatever is asked for, and the same bits come out for any number of threads.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

/// Two Plummer spheres of different size.
Cloud two_clusters(int64_t n) {
    Cloud cloud = make_cloud(n, 5);
    for (size_t i = 0; i < cloud.x.size(); ++i)
        cloud.x[i] += i % 3 == 0 ? 6 : 0, cloud.y[i] += i % 3 == 0 ? 2 : 0;
    return cloud;
}

/// Flat and exponential.
Cloud disc(int64_t n) {
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> uniform(1e-6, 1);
    std::normal_distribution<double> normal;
    Cloud cloud = make_cube(n);
    for (size_t i = 0; i < cloud.x.size(); ++i) {
        const double r = -std::log(uniform(random) * uniform(random)), angle = 2 * M_PI * uniform(random);
        cloud.x[i] = r * std::cos(angle), cloud.y[i] = r * std::sin(angle),
        cloud.z[i] = 0.05 * normal(random);
    }
    return cloud;
}

constexpr int64_t count = 16000;
struct Input {
    const char* name;
    Cloud cloud;
    Results exact;
};

/// The clouds and their fields by all pairs, computed once.
const std::vector<Input>& inputs() {
    static const std::vector<Input> all = [] {
        std::vector<Input> made = {{"Plummer", make_cloud(count), {}},
                                   {"cube", make_cube(count), {}},
                                   {"two clusters", two_clusters(count), {}},
                                   {"disc", disc(count), {}}};
        settings::Settings settings;
        settings.method = settings::Method::direct;
        settings.precision = settings::Precision::fp64;
        for (Input& input : made)
            input.exact = compute_over(1, input.cloud, all_on(input.cloud, 0), settings);
        return made;
    }();
    return all;
}

settings::Settings with(settings::Local local, int order = 2) {
    settings::Settings settings;
    settings.local = local;
    settings.order = order;
    settings.leaf = 32;
    settings.group = 64;
    return settings;
}

Results of(const Cloud& cloud, const settings::Settings& settings, const Choice& choice = {}) {
    return compute_over(1, cloud, all_on(cloud, 0), settings, choice);
}

double potential_error(const Results& a, const Results& b) {
    std::vector<double> list;
    for (size_t i = 0; i < a.potential.size(); ++i)
        list.push_back(std::abs(a.potential[i] / b.potential[i] - 1));
    return percentile(list, 0.99);
}

void expect_as_good(const Results& on, const Results& off, const Results& exact, double most = 1.05) {
    for (const double share : {0.5, 0.99})
        EXPECT_LT(percentile(errors(on, exact), share), most * percentile(errors(off, exact), share))
            << share;
    EXPECT_LT(potential_error(on, exact), most * potential_error(off, exact) + 1e-7);
}

} // namespace

TEST(Local, MedianAndP99StayWhatTheyAreForCloudsAndOrders) {
    for (const Input& input : inputs())
        for (int order = 0; order <= 4; ++order) {
            SCOPED_TRACE(::testing::Message() << input.name << " order " << order);
            const Results off = of(input.cloud, with(settings::Local::off, order));
            const Results on = of(input.cloud, with(settings::Local::on, order));
            expect_as_good(on, off, input.exact);
            const Report &was = off.reports[0], &is = on.reports[0];
            EXPECT_EQ(was.far_cells, 0);
            EXPECT_LT(is.pairs, 1.15 * was.pairs); // large cells open what a group in them might have accepted
            if (order > 0) {
                EXPECT_LT(is.cells, 0.75 * was.cells);
                EXPECT_GT(is.far_cells, 20 * static_cast<double>(is.groups)); // many serve several groups
            }
            const double size = std::abs(input.exact.energy); // the virial's trace, too
            const auto no_worse = [&](double with_local, double without, double exact) {
                EXPECT_LT(std::abs(with_local - exact), 1.1 * std::abs(without - exact) + 2e-3 * size);
            };
            no_worse(on.energy, off.energy, input.exact.energy);
            for (int c = 0; c < 6; ++c)
                no_worse(on.virial[c], off.virial[c], input.exact.virial[c]);
        }
}

TEST(Local, PrecisionsAccuraciesSofteningAndTrees) {
    const Input& input = inputs()[0];
    const auto compare = [&](const settings::Settings& off, double most = 1.05) {
        settings::Settings on = off;
        on.local = settings::Local::on;
        const Results with_local = of(input.cloud, on);
        EXPECT_GT(with_local.reports[0].far_cells, 0);
        expect_as_good(with_local, of(input.cloud, off), input.exact, most);
    };
    settings::Settings settings = with(settings::Local::off);
    for (const settings::Precision precision :
         {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
        settings.precision = precision;
        compare(settings);
    }
    for (const double accuracy : {1e-2, 1e-4}) {
        settings = with(settings::Local::off, 3);
        settings.accuracy = accuracy;
        compare(settings, 1.1);
    }
    settings = with(settings::Local::off);
    settings.tree_type = tree::TreeType::orb;
    compare(settings);
    settings = with(settings::Local::off);
    settings.walk = settings::Walk::transposed;
    compare(settings);
    settings = with(settings::Local::off);
    settings.mac_history = true;
    compare(settings);
}

TEST(Local, OneSofteningLengthForAll) {
    const Input& input = inputs()[0];
    for (const settings::Softening softening : {settings::Softening::plummer, settings::Softening::spline}) {
        settings::Settings pairs = with(settings::Local::off);
        pairs.softening = softening, pairs.softening_length = 0.3;
        pairs.method = settings::Method::direct, pairs.precision = settings::Precision::fp64;
        const Results exact = of(input.cloud, pairs);
        for (int order = 1; order <= 4; ++order) {
            SCOPED_TRACE(::testing::Message() << "softening " << int(softening) << " order " << order);
            settings::Settings settings = with(settings::Local::off, order);
            settings.softening = softening, settings.softening_length = 0.3;
            const Results off = of(input.cloud, settings);
            settings.local = settings::Local::on;
            const Results on = of(input.cloud, settings);
            EXPECT_GT(on.reports[0].far_cells, 0);
            expect_as_good(on, off, exact, 1.07);
        }
    }
}

TEST(Local, SubsetsAndPoints) {
    const Input& input = inputs()[2];
    Choice some;
    for (int64_t i = 0; i < count; ++i)
        some.active.push_back(i % 3 == 1);
    const Results off = of(input.cloud, with(settings::Local::off), some), on = of(input.cloud, with(settings::Local::on), some);
    EXPECT_GT(on.reports[0].far_cells, 0);
    std::vector<double> is, was;
    const std::vector<double> all_on_errors = errors(on, input.exact), all_off = errors(off, input.exact);
    for (size_t i = 0; i < some.active.size(); ++i)
        if (some.active[i])
            is.push_back(all_on_errors[i]), was.push_back(all_off[i]);
    for (const double share : {0.5, 0.99})
        EXPECT_LT(percentile(is, share), 1.05 * percentile(was, share));

    const Cloud points = make_cube(5000, 12);
    Choice at;
    at.points = &points, at.point_owners = all_on(points, 0);
    settings::Settings pairs = with(settings::Local::off);
    pairs.method = settings::Method::direct, pairs.precision = settings::Precision::fp64;
    const Results field = of(input.cloud, with(settings::Local::on), at);
    EXPECT_GT(field.reports[0].far_cells, 0);
    expect_as_good(field, of(input.cloud, with(settings::Local::off), at), of(input.cloud, pairs, at));
}

TEST(Local, RanksRemoteCellsAreSourcesLikeOthers) {
    const Input& input = inputs()[0];
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
        for (const settings::Exchange exchange : {settings::Exchange::push, settings::Exchange::fetch})
            for (const int ranks : {2, 5}) {
                SCOPED_TRACE(::testing::Message() << ranks << " ranks, scope " << int(scope));
                settings::Settings settings = with(settings::Local::off);
                settings.tree_scope = scope, settings.exchange = exchange;
                const Owners owners = bisection(input.cloud, ranks);
                const Results off = compute_over(ranks, input.cloud, owners, settings);
                settings.local = settings::Local::on;
                const Results on = compute_over(ranks, input.cloud, owners, settings);
                expect_as_good(on, off, input.exact);
                double far = 0, cells = 0, were = 0;
                for (int r = 0; r < ranks; ++r) {
                    far += on.reports[static_cast<size_t>(r)].far_cells;
                    cells += on.reports[static_cast<size_t>(r)].cells;
                    were += off.reports[static_cast<size_t>(r)].cells;
                }
                EXPECT_GT(far, 0);
                EXPECT_LT(cells, 0.75 * were);
            }
}

TEST(Local, SameBitsForAnyNumberOfThreadsAndEveryTime) {
    const Cloud& cloud = inputs()[3].cloud;
    const Results one = of(cloud, with(settings::Local::on));
    for (const int threads : {2, 3, 8}) {
        Choice choice;
        choice.threads = threads, choice.calls = 2;
        const Results many = of(cloud, with(settings::Local::on), choice);
        EXPECT_EQ(one.ax, many.ax);
        EXPECT_EQ(one.az, many.az);
        EXPECT_EQ(one.potential, many.potential);
    }
}

TEST(Local, OffWhereNothingIsFarAndTheReportSaysWhy) {
    const Cloud cloud = make_cloud(3000);
    const auto words = [&](const settings::Settings& settings, bool softening = false) {
        Choice choice;
        choice.softening = softening;
        const Results results = of(cloud, settings, choice);
        std::string text;
        EXPECT_TRUE(results.reports[0].find_words("local", &text));
        EXPECT_EQ(results.reports[0].far_cells > 0, text == "on");
        return text;
    };
    EXPECT_EQ(words(with(settings::Local::auto_)), "on");
    EXPECT_EQ(words(with(settings::Local::on)), "on");
    EXPECT_EQ(words(with(settings::Local::on, 0)), "on");
    EXPECT_EQ(words(with(settings::Local::auto_, 0)), "off: no faster at order 0");
    EXPECT_EQ(words(with(settings::Local::off)), "off: local is off");
    settings::Settings settings = with(settings::Local::on);
    settings.mac = settings::MacType::edge;
    EXPECT_EQ(words(settings), "off: the criterion is not mac.type error");
    settings = with(settings::Local::on);
    settings.softening = settings::Softening::plummer;
    EXPECT_EQ(words(settings, true), "off: every particle has a Plummer length of its own");
    settings.softening = settings::Softening::spline;
    EXPECT_EQ(words(settings, true), "on");
}

// Charges of both signs: far is judged by sum |q|.
TEST(Local, ChargesOfBothSigns) {
    const Cloud cloud = make_cloud(8000, 4, true);
    for (const int order : {1, 2, 3}) {
        settings::Settings settings = with(settings::Local::off, order);
        settings.accuracy = 1e-4;
        settings::Settings pairs = settings;
        pairs.method = settings::Method::direct, pairs.precision = settings::Precision::fp64;
        const Results exact = of(cloud, pairs), off = of(cloud, settings);
        settings.local = settings::Local::on;
        const Results on = of(cloud, settings);
        for (const double share : {0.5, 0.99})
            EXPECT_LT(percentile(errors(on, exact), share), 1.08 * percentile(errors(off, exact), share))
                << "order " << order << " share " << share;
    }
}

} // namespace graft::engine
