// SPDX-License-Identifier: BSD-3-Clause
// Bodies absurdly far from the others, softening lengths absurdly longer than the system, and results that are no
// finite numbers: right as the CPU's and as a plain sum in long double, or VALUE in the CPU's words.
#include "engine_scene.cuh"

#include <array>
#include <cmath>
#include <utility>

namespace {

using namespace graft::test;
using Wide = long double;

class Extremes : public OnDevice {
  protected:
    Answer run(const Settings& settings, const Cloud& cloud, const Wish& wish, Layout layout = Layout::soa64,
               MemorySpace space = MemorySpace::device) {
        return engine().run(settings, cloud, wish, layout, space);
    }
    Engine& engine() {
        if (!engine_)
            engine_ = std::make_unique<Engine>();
        return *engine_;
    }
    std::unique_ptr<Engine> engine_;
};

/// In the unit cube, with lengths of its own.
Cloud cube(int64_t n, bool both_signs = false) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double x = uniform(random), y = uniform(random), z = uniform(random);
        add(cloud, x, y, z, (0.5 + uniform(random)) * (both_signs && i % 2 != 0 ? -1 : 1));
        cloud.softening.back() = 0.01 + 0.01 * uniform(random);
    }
    return cloud;
}

/// Acceleration of target i, unsoftened or of one Plummer length, and the sum of the magnitudes in it.
struct Exact {
    Wide a[3] = {0, 0, 0}, size = 0;
    Exact(const Cloud& cloud, size_t i, Wide length) {
        for (size_t j = 0; j < cloud.x.size(); ++j) {
            const Wide d[3] = {static_cast<Wide>(cloud.x[j]) - cloud.x[i], static_cast<Wide>(cloud.y[j]) - cloud.y[i],
                               static_cast<Wide>(cloud.z[j]) - cloud.z[i]};
            const Wide r = std::hypot(std::hypot(d[0], d[1]), d[2]), s = std::hypot(r, length);
            if (r == 0)
                continue;
            for (int c = 0; c < 3; ++c)
                a[c] += cloud.q[j] * d[c] / s / s / s;
            size += std::abs(cloud.q[j]) * r / s / s / s;
        }
    }
};

/// Right accelerations of some targets; strays stand last.
struct Sample {
    std::vector<std::pair<size_t, Exact>> targets;
    Sample(const Cloud& cloud, const std::vector<size_t>& at, double length) {
        for (const size_t i : at)
            targets.emplace_back(i, Exact(cloud, i, length));
    }
    Sample(const Cloud& cloud, double length) {
        for (size_t i = 0; i < cloud.x.size(); ++i)
            if (i % 97 == 0 || i + 3 >= cloud.x.size())
                targets.emplace_back(i, Exact(cloud, i, length));
    }
};

/// Largest error over the sum of the magnitudes that add up to the field; infinite where one is no number.
double worst_error(const Answer& found, const Sample& sample) {
    for (size_t i = 0; i < found.ax.size(); ++i)
        if (!std::isfinite(found.ax[i] + found.ay[i] + found.az[i] + found.potential[i]))
            return INFINITY;
    double worst = 0;
    for (const auto& [i, right] : sample.targets) {
        const Wide wrong =
            std::hypot(std::hypot(found.ax[i] - right.a[0], found.ay[i] - right.a[1]), found.az[i] - right.a[2]);
        constexpr Wide least = 1e-290L; // below, double has no digits
        worst = std::max(worst, static_cast<double>(wrong / std::max(right.size, least)));
    }
    return worst;
}

/// Of a call that may be refused, in words: infinite.
template <typename Body>
double worst_error_of(const Body& body, const Sample& sample, const std::string& what) {
    try {
        return worst_error(body(), sample);
    } catch (const Error& error) {
        ADD_FAILURE() << what << ": " << error.what();
        return INFINITY;
    }
}

constexpr double tolerance = 2e-3; // of the tree at its default accuracy, in the worst target

struct Scene {
    std::string name;
    Cloud cloud;
};

std::vector<Scene> scenes() {
    const int64_t n = test_size(4000, 900);
    std::vector<Scene> all;
    const auto with = [&](const char* name, bool both_signs, const std::vector<std::array<double, 4>>& strays) {
        all.push_back({name, cube(n, both_signs)});
        for (const auto& s : strays)
            add(all.back().cloud, s[0], s[1], s[2], s[3]);
    };
    with("one at 1e15", false, {{1e15, 3, 4, 1}});
    with("one at 1e19", false, {{1e19, 3, 4, 1}});
    with("one at 1e26", false, {{-7e25, 7e25, 1, 1}});
    with("one at 1e30, both signs", true, {{1e30, -2e30, 0, -2}});
    with("one at 1e100", false, {{0, 1e100, 1e99, 1}});
    with("one of tiny mass", false, {{1e21, 0, 0, 1e-20}});
    with("one whose pull is that of the cube", false, {{0, 0, -1e14, 1e31}});
    with("three", true, {{1e18, 0, 0, 1}, {1e19, 1, 0, -1}, {0, -3e24, 0, 2}});
    with("two beside each other, and a third", false, {{4096, 3, 4, 1}, {4096 + 1e-6, 3, 4, 1}, {1e15, 0, 0, 1}});
    with("two clumps", false, {});
    Cloud& pair = all.back().cloud;
    for (size_t i = 0; i < pair.x.size() / 3; ++i)
        pair.x[i] = 1e19 + 8192 * std::round(100 * pair.x[i]), pair.y[i] *= 1e6;
    return all;
}

TEST_F(Extremes, StraysOfEveryOrderAndPrecision) {
    Cases cases(3);
    for (const Scene& scene : scenes())
        for (const double length : {0.0, 0.02}) {
            const Sample right(scene.cloud, length);
            for (const Method method : {Method::tree, Method::direct})
                for (int order = 0; order <= (method == Method::tree ? 4 : 0); ++order)
                    for (const Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64}) {
                        if (cases.skip())
                            continue;
                        Settings s;
                        s.method = method, s.order = order, s.precision = precision;
                        s.softening = length > 0 ? Softening::plummer : Softening::none;
                        s.softening_length = length;
                        const std::string what = scene.name + ", method " + std::to_string(int(method)) + ", order " +
                                                 std::to_string(order) + ", precision " +
                                                 std::to_string(int(precision)) + ", length " + std::to_string(length);
                        EXPECT_LT(worst_error_of([&] { return run(s, scene.cloud, {}); }, right, what), tolerance)
                            << what;
                    }
        }
}

/// Keys that hold most particles: every criterion knows where the others are. In the corners of the cube, and many.
TEST_F(Extremes, StraysOutsideTheCubeOfKeys) {
    Cases cases(3);
    for (const double far : {1e6, 1e9, 1e13})
        for (const int64_t count : {1, 40}) {
            Cloud cloud = cube(test_size(20000, 2000));
            for (int64_t k = 0; k < count; ++k)
                add(cloud, k % 2 != 0 ? -far : far * (1 + 0.01 * static_cast<double>(k)), far, k % 3 != 0 ? far : 0.5, 1);
            for (int k = 0; k < 100; ++k) // a cell without extent
                add(cloud, 0.999, 0.998, 0.997, 0.01);
            std::vector<size_t> sample; // those beside the rim share groups with strays
            for (size_t i = 0; i < cloud.x.size(); ++i)
                if (i % 97 == 0 || i + 3 >= cloud.x.size() || (cloud.x[i] > 0.97 && cloud.y[i] > 0.9))
                    sample.push_back(i);
            const Sample right(cloud, sample, 0);
            for (const MacType mac : {MacType::edge, MacType::box, MacType::error})
                for (const Precision precision : {Precision::mixed, Precision::fp64}) {
                    if (cases.skip())
                        continue;
                    Settings s;
                    s.mac = mac, s.theta = 0.5, s.precision = precision;
                    const std::string what = std::to_string(count) + " at " + std::to_string(far) + ", mac " +
                                             std::to_string(int(mac)) + ", precision " + std::to_string(int(precision));
                    EXPECT_LT(worst_error_of([&] { return run(s, cloud, {}); }, right, what), 2 * tolerance) << what;
                }
        }
}

/// Charges of very different size, softened and not: the light ones alone where they are the field.
TEST_F(Extremes, LightBodiesBesideHeavyOnes) {
    Cases cases(3);
    for (const double heavy : {1e8, 1e13, 1e20, 1e31})
        for (const double length : {0.0, 0.3, 1e5})
            for (const Method method : {Method::tree, Method::direct})
                for (const Precision precision : {Precision::fp32, Precision::mixed}) {
                    if (cases.skip())
                        continue;
                    Cloud cloud = cube(test_size(3000, 700));
                    cloud.q[5] = heavy;
                    Settings s;
                    s.method = method, s.precision = precision;
                    s.softening = length > 0 ? Softening::plummer : Softening::none, s.softening_length = length;
                    const std::string what = "heavy " + std::to_string(heavy) + ", length " + std::to_string(length) +
                                             ", method " + std::to_string(int(method)) + ", precision " +
                                             std::to_string(int(precision));
                    const Sample right(cloud, length);
                    EXPECT_LT(worst_error_of([&] { return run(s, cloud, {}); }, right, what), tolerance) << what;
                    EXPECT_LT(worst_error_of([&] { return run(s, cloud, {}); }, Sample(cloud, {5}, length), what), 3 * tolerance)
                        << what << ", at the heavy one";
                }
}

/// Of a heavy one, and of light ones whose field it matches from far away: numbers that single precision does not have.
TEST_F(Extremes, ChargesThatDifferByMoreThanSinglePrecisionHolds) {
    Cases cases(3);
    for (const double heavy : {1e34, 1e60, 1e200})
        for (const bool far : {false, true})
            for (const Softening softening : {Softening::none, Softening::plummer, Softening::spline})
                for (const Method method : {Method::tree, Method::direct})
                    for (const Precision precision : {Precision::fp32, Precision::mixed}) {
                        if ((far && heavy > 1e60) || cases.skip())
                            continue;
                        Cloud cloud = cube(test_size(3000, 700));
                        cloud.q[5] = heavy;
                        if (far)
                            cloud.x[5] = std::sqrt(heavy);
                        Settings s;
                        s.softening = softening, s.softening_length = softening == Softening::none ? 0 : 0.02;
                        s.method = method, s.precision = precision;
                        Settings exact = s;
                        exact.method = Method::direct, exact.precision = Precision::fp64;
                        Wish all, one;
                        all.sums = one.sums = heavy < 1e100; // else beyond double
                        one.active.assign(cloud.x.size(), 0), one.active[5] = 1;
                        const std::string what = "heavy " + std::to_string(heavy) + (far ? ", far" : "") + ", softening " +
                                                 std::to_string(int(softening)) + ", method " + std::to_string(int(method)) +
                                                 ", precision " + std::to_string(int(precision));
                        EXPECT_LT(errors(run(s, cloud, all), on_cpu(exact, cloud, all)).back(), 2 * tolerance) << what;
                        const Answer own = run(s, cloud, one), right = on_cpu(exact, cloud, one);
                        EXPECT_LT(std::hypot(own.ax[5] - right.ax[5], own.ay[5] - right.ay[5], own.az[5] - right.az[5]),
                                  2 * tolerance * std::hypot(right.ax[5], right.ay[5], right.az[5]))
                            << what << ", at the heavy one";
                    }
}

/// A few particles of many, and points, that have a source much closer than their group is wide.
TEST_F(Extremes, CloseSourcesOfSomeTargets) {
    Cloud cloud = cube(test_size(20000, 2000));
    const auto size = cloud.x.size();
    std::vector<size_t> close;
    Wish some;
    some.active.assign(size, 0);
    for (size_t i = 3; i + size / 2 < size; i += 97) { // its partner is no target
        const size_t partner = i + size / 2;
        cloud.x[partner] = cloud.x[i] + 3e-9, cloud.y[partner] = cloud.y[i] - 2e-9, cloud.z[partner] = cloud.z[i];
        some.active[i] = 1, close.push_back(i);
    }
    const Sample right(cloud, close, 0);
    for (const auto& [method, precision] : {std::pair{Method::tree, Precision::fp32}, {Method::tree, Precision::mixed},
                                            {Method::direct, Precision::fp32}, {Method::direct, Precision::mixed}}) {
        Settings s;
        s.method = method, s.precision = precision;
        const Answer found = run(s, cloud, some);
        for (const auto& [i, exact] : right.targets)
            EXPECT_LT(std::abs(found.ax[i] - static_cast<double>(exact.a[0])), 1e-3 * static_cast<double>(exact.size)) << i;
        Cloud points = cube(300);
        for (size_t k = 0; k < close.size() && k < 300; ++k)
            points.x[k] = cloud.x[close[k]] + 1e-9, points.y[k] = cloud.y[close[k]], points.z[k] = cloud.z[close[k]];
        Wish at;
        at.points = &points;
        const Answer there = run(s, cloud, at), cpu = on_cpu(s, cloud, at);
        EXPECT_LT(errors(there, cpu).back(), tolerance)
            << "points, method " << int(method) << ", precision " << int(precision);
    }
}

/// A small clump of sources that a wide group of points accepts as a cell, far nearer to one of them than single precision
/// knows of places in the group.
TEST_F(Extremes, CellsBesideAWideGroup) {
    Cloud sources = cube(301), points;
    for (std::vector<double>* axis : {&sources.x, &sources.y, &sources.z})
        for (double& at : *axis)
            at *= 1e-16;
    add(points, -2e-7, -2e-8, -4e-7, 1);
    add(points, -3e5, 1e6, 8e5, 1);
    Wish at;
    at.points = &points;
    for (const Precision precision : {Precision::fp32, Precision::mixed})
        for (const MacType mac : {MacType::edge, MacType::box, MacType::error})
            for (const int order : {0, 2, 3}) {
                Settings s;
                s.precision = precision, s.mac = mac, s.leaf = 4, s.order = order;
                Settings full = s;
                full.precision = Precision::fp64;
                EXPECT_LT(errors(run(s, sources, at), on_cpu(full, sources, at)).back(), 1e-5)
                    << "precision " << int(precision) << ", MAC " << int(mac) << ", order " << order;
            }
}

/// Single precision again once the stray has gone: the bits of an engine that never met one.
TEST_F(Extremes, StraysLeaveNothingBehind) {
    const Cloud calm = cube(test_size(5000, 900));
    Cloud wild = calm;
    wild.x[7] = 1e19;
    Settings s;
    const Answer before = run(s, calm, {});
    (void)run(s, wild, {});
    const Answer after = run(s, calm, {});
    EXPECT_EQ(before.ax, after.ax);
    EXPECT_EQ(before.potential, after.potential);
}

TEST_F(Extremes, SofteningFarLongerThanTheSystem) {
    Cases cases(3);
    for (const bool both_signs : {false, true})
        for (const Softening kind : {Softening::plummer, Softening::spline})
            for (const double length : {1e6, 1e8, 1e11, 1e13, 1e16, 1e20, 1e30, 1e45})
                for (const Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64})
                    for (const Method method : {Method::tree, Method::direct}) {
                        if (cases.skip())
                            continue;
                        const Cloud cloud = cube(test_size(3000, 700), both_signs);
                        Settings s;
                        s.method = method, s.precision = precision;
                        s.softening = kind, s.softening_length = length;
                        const Answer found = run(s, cloud, {}), cpu = on_cpu(s, cloud, {});
                        const std::string what = "length " + std::to_string(length) + ", kind " +
                                                 std::to_string(int(kind)) + ", precision " +
                                                 std::to_string(int(precision)) + ", method " +
                                                 std::to_string(int(method));
                        EXPECT_LT(errors(found, cpu).back(), tolerance) << what;
                        EXPECT_LT(worst(found.potential, cpu.potential), tolerance) << what;
                        if (kind == Softening::plummer) {
                            EXPECT_LT(worst_error(found, Sample(cloud, length)), tolerance) << what;
                        }
                    }
}

TEST_F(Extremes, SofteningFarLongerOfOneOrOfAll) {
    for (const double length : {1e13, 1e20})
        for (const bool of_all : {false, true})
            for (const Softening kind : {Softening::plummer, Softening::spline})
                for (const Method method : {Method::tree, Method::direct}) {
                    Cloud cloud = cube(test_size(3000, 700));
                    for (size_t i = 0; i < cloud.softening.size(); ++i)
                        if (of_all || i == 50)
                            cloud.softening[i] *= length;
                    Settings s;
                    s.method = method, s.softening = kind;
                    Wish wish;
                    wish.softening = true;
                    const Answer found = run(s, cloud, wish), cpu = on_cpu(s, cloud, wish);
                    EXPECT_LT(errors(found, cpu).back(), tolerance)
                        << "length " << length << (of_all ? ", all" : ", one") << ", kind " << int(kind)
                        << ", method " << int(method);
                }
}

/// What a call is refused with; "" where it is not.
template <typename Body>
std::string refusal(const Body& body) {
    try {
        body();
    } catch (const Error& error) {
        return "status " + std::to_string(int(error.status())) + ": " + error.what();
    }
    return "";
}

/// Expansions of cells bear no more: a refusal, not a wrong field.
TEST_F(Extremes, SofteningBeyondAllRangeIsRefusedByTheTree) {
    const Cloud cloud = cube(test_size(3000, 700));
    for (const Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64}) {
        Settings s;
        s.precision = precision;
        s.softening = Softening::plummer, s.softening_length = 1e80;
        EXPECT_NE(refusal([&] { (void)run(s, cloud, {}); }).find("softening length is more than 1e60 times"),
                  std::string::npos);
    }
}

/// Where all arrays start from is what stands there afterwards.
void expect_untouched(Call& call, bool added, const std::string& what) {
    const Answer now = call.answer();
    const double start = added ? 0.25 : static_cast<double>(-7e30);
    for (const std::vector<double>* values : {&now.ax, &now.ay, &now.az, &now.potential})
        for (const double value : *values)
            ASSERT_NEAR(value, start, std::abs(start) * 1e-6) << what;
    for (const double value : now.virial)
        ASSERT_EQ(value, 0) << what;
    ASSERT_EQ(now.energy, 0) << what;
}

class ResultsThatAre : public Extremes {
  protected:
    void expect_refused_alike(const Settings& s, const Cloud& cloud, const Wish& wish, Layout layout,
                              const std::string& what) {
        const std::string words = refusal([&] { (void)on_cpu(s, cloud, wish, layout); });
        EXPECT_FALSE(words.empty()) << what << ": the CPU takes it";
        for (const MemorySpace space : {MemorySpace::host, MemorySpace::device, MemorySpace::managed})
            for (int turn = 0; turn < 2; ++turn) {
                Call call(cloud, wish, layout, space);
                EXPECT_EQ(refusal([&] {
                              engine().begin(s, call);
                              (void)engine().end();
                          }),
                          words)
                    << what << ", space " << int(space);
                expect_untouched(call, wish.add, what + ", space " + std::to_string(int(space)));
            }
        Settings ordinary;
        EXPECT_TRUE(std::isfinite(run(ordinary, cube(500), {}).energy)) << what << ": the next call";
    }
};

/// A close pair whose accelerations single precision cannot hold; its members are no neighbours in memory.
Cloud with_a_close_pair(int64_t n, double distance = 1e-4) {
    Cloud cloud = cube(n);
    cloud.x[17] = cloud.x[333] + distance, cloud.y[17] = cloud.y[333], cloud.z[17] = cloud.z[333];
    return cloud;
}

TEST_F(ResultsThatAre, BeyondSinglePrecisionAreValue) {
    Cases cases(3);
    const Cloud cloud = with_a_close_pair(test_size(5000, 900));
    for (const Method method : {Method::tree, Method::direct})
        for (const Layout layout : {Layout::soa32, Layout::packed31})
            for (const bool add : {false, true})
                for (const bool force : {false, true}) {
                    if (cases.skip())
                        continue;
                    Settings s;
                    s.method = method, s.precision = Precision::fp64, s.constant = 1e32;
                    Wish wish;
                    wish.add = add, wish.force = force, wish.sums = false;
                    expect_refused_alike(s, cloud, wish, layout,
                                         "method " + std::to_string(int(method)) + (add ? ", added" : "") +
                                             (force ? ", force" : ""));
                }
}

TEST_F(ResultsThatAre, NotFiniteAreValue) {
    for (const Method method : {Method::tree, Method::direct})
        for (const bool add : {false, true})
            for (const Precision precision : {Precision::mixed, Precision::fp64}) {
                Settings s;
                s.method = method, s.precision = precision, s.constant = 1e300;
                Cloud cloud = with_a_close_pair(test_size(5000, 900));
                for (double& q : cloud.q)
                    q *= 1e6;
                Wish wish;
                wish.add = add;
                expect_refused_alike(s, cloud, wish, Layout::soa64, "constant 1e300");
            }
}

/// Accelerations are finite; their sums are not.
TEST_F(ResultsThatAre, SumsOfAllAndNotFiniteAreValue) {
    for (const Method method : {Method::tree, Method::direct}) {
        Settings s;
        s.method = method, s.precision = Precision::fp64, s.constant = 1e200;
        Cloud cloud = cube(test_size(5000, 900));
        for (double& q : cloud.q)
            q *= 1e80;
        Wish wish;
        expect_refused_alike(s, cloud, wish, Layout::soa64, "virial");
    }
}

/// Active particles, target lists and points are named by the caller's index.
TEST_F(ResultsThatAre, BadAreNamedByTheCallersIndex) {
    const Cloud cloud = with_a_close_pair(test_size(5000, 900));
    Settings s;
    s.precision = Precision::fp64, s.constant = 1e32;
    Wish active, listed, points;
    for (int64_t i = 0; i < cloud.size(); ++i)
        active.active.push_back(i >= 300 ? 1 : 0);
    for (int32_t i = 400; i >= 0; --i)
        listed.target.push_back(i);
    listed.has_target = true;
    Cloud at = cube(600);
    at.x[211] = cloud.x[333] + 1e-5, at.y[211] = cloud.y[333], at.z[211] = cloud.z[333];
    points.points = &at;
    for (Wish* wish : {&active, &listed, &points}) {
        wish->sums = false;
        expect_refused_alike(s, cloud, *wish, Layout::soa32, "of some");
    }
}

/// Enough particles for records of results.
TEST_F(ResultsThatAre, ManyAreLookedAtToo) {
    const int64_t n = test_size(300000, 5000);
    const Cloud cloud = with_a_close_pair(n, 1e-5);
    for (const bool potential : {false, true}) {
        Settings s;
        s.precision = Precision::fp64, s.constant = 1e29;
        Wish wish;
        wish.sums = false, wish.potential = potential;
        expect_refused_alike(s, cloud, wish, Layout::soa32, "many");
    }
}

} // namespace
