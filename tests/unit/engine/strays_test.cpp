// SPDX-License-Identifier: BSD-3-Clause
// Bodies absurdly far from the others, and softening lengths absurdly longer than the system: every field that
// double can hold is right in any precision, against a plain sum in long double.
#include "array_view.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace graft::engine {
namespace {

using support::view;
using Wide = long double;

struct Bodies {
    std::vector<double> x[3], charge, softening;
    size_t size() const { return charge.size(); }
    void add(double px, double py, double pz, double q, double length = 0.02) {
        x[0].push_back(px), x[1].push_back(py), x[2].push_back(pz);
        charge.push_back(q), softening.push_back(length);
    }
};

/// Uniform in the unit cube.
Bodies cube(size_t n, bool both_signs = false) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform;
    Bodies bodies;
    for (size_t i = 0; i < n; ++i) {
        const double x = uniform(random), y = uniform(random), z = uniform(random);
        bodies.add(x, y, z, (0.5 + uniform(random)) * (both_signs && i % 2 ? -1 : 1),
                   0.01 + 0.01 * uniform(random));
    }
    return bodies;
}

struct Field {
    std::vector<double> a[3], potential;
    explicit Field(size_t n) : potential(n) {
        for (auto& axis : a)
            axis.resize(n);
    }
};

Field field_of(Bodies& bodies, const settings::Settings& settings, bool each_softened, bool with_potential,
               Bodies* points = nullptr) {
    core::Memory memory;
    Solver solver(settings, memory);
    Bodies& at = points != nullptr ? *points : bodies;
    Field field(at.size());
    ParticleInput input, places;
    Outputs outputs;
    input.n = static_cast<int64_t>(bodies.size());
    places.n = static_cast<int64_t>(at.size());
    input.charge = view(bodies.charge);
    if (each_softened)
        input.softening = view(bodies.softening);
    if (with_potential)
        outputs.potential = view(field.potential);
    for (int c = 0; c < 3; ++c) {
        input.position[c] = view(bodies.x[c]), places.position[c] = view(at.x[c]);
        outputs.acceleration[c] = view(field.a[c]);
    }
    points != nullptr ? solver.field_at(input, places, outputs) : solver.compute(input, outputs);
    return field;
}

/// Force and potential of a unit charge at distance r, as factors of the distance vector and of 1.
struct Pair {
    Wide force = 0, potential = 0;
    Pair(settings::Softening kind, Wide r, Wide length) {
        const Wide u = kind == settings::Softening::spline && length > 0 ? r / length : 1;
        if (u < 1) {
            spline(u, length);
        } else if (const Wide s = kind == settings::Softening::plummer ? std::hypot(r, length) : r; s > 0) {
            force = 1 / s / s / s, potential = 1 / s;
        }
    }

  private:
    void spline(Wide u, Wide h) { // Springel 2005, eq. 4
        force = u < 0.5L ? 32 / 3.0L - 38.4L * u * u + 32 * u * u * u
                         : 64 / 3.0L - 48 * u + 38.4L * u * u - 32 / 3.0L * u * u * u - 1 / (15 * u * u * u);
        potential = u < 0.5L ? 2.8L - 16 / 3.0L * u * u + 9.6L * u * u * u * u - 6.4L * u * u * u * u * u
                             : 3.2L - 32 / 3.0L * u * u + 16 * u * u * u - 9.6L * u * u * u * u +
                                   32 / 15.0L * u * u * u * u * u - 1 / (15 * u);
        force = force / h / h / h, potential /= h;
    }
};

struct Wanted {
    settings::Settings settings;
    bool each_softened = false;
    Bodies* points = nullptr;
    size_t step = 1; // every how many targets are looked at
};

/// Largest error of a target over the sum of the magnitudes that add up to its field, or its potential;
/// infinite where one is no number.
double worst_error(Bodies& bodies, const Wanted& wanted, bool with_potential) {
    const settings::Settings& s = wanted.settings;
    const Bodies& at = wanted.points != nullptr ? *wanted.points : bodies;
    const Field found = field_of(bodies, s, wanted.each_softened, with_potential, wanted.points);
    double worst = 0;
    for (size_t i = 0; i < at.size(); ++i) {
        if (!std::isfinite(found.a[0][i] + found.a[1][i] + found.a[2][i] + found.potential[i]))
            return INFINITY;
        if (i % wanted.step != 0 && i + 3 < at.size()) // strays stand last
            continue;
        Wide sum[4] = {}, size[2] = {};
        for (size_t j = 0; j < bodies.size(); ++j) {
            Wide d[3];
            for (size_t c = 0; c < 3; ++c)
                d[c] = static_cast<Wide>(bodies.x[c][j]) - at.x[c][i];
            Wide length = s.softening_length;
            if (wanted.each_softened) {
                const Wide own = wanted.points != nullptr ? 0 : at.softening[i], other = bodies.softening[j];
                length = s.softening == settings::Softening::plummer ? std::sqrt((own * own + other * other) / 2)
                                                           : std::max(own, other);
            }
            const Wide r = std::hypot(std::hypot(d[0], d[1]), d[2]);
            const Pair pair(s.softening, r, length);
            for (size_t c = 0; c < 3; ++c)
                sum[c] += bodies.charge[j] * pair.force * d[c];
            size[0] += std::abs(bodies.charge[j]) * pair.force * r;
            size[1] += std::abs(bodies.charge[j]) * pair.potential; // its own is added and taken off
            if (wanted.points != nullptr || i != j)
                sum[3] -= bodies.charge[j] * pair.potential;
        }
        Wide wrong = 0;
        for (size_t c = 0; c < 3; ++c)
            wrong = std::hypot(wrong, found.a[c][i] - sum[c]);
        constexpr Wide least = 1e-290L; // below, double has no digits
        worst = std::max(worst, static_cast<double>(wrong / std::max(size[0], least)));
        if (with_potential)
            worst = std::max(worst, static_cast<double>(std::abs(found.potential[i] - sum[3]) /
                                                        std::max(size[1], least)));
    }
    return worst;
}

std::string say(const Wanted& w, const std::string& scene) {
    return scene + ", order " + std::to_string(w.settings.order) + ", precision " +
           std::to_string(static_cast<int>(w.settings.precision)) + ", tree " +
           std::to_string(static_cast<int>(w.settings.tree_type)) + ", softening " +
           std::to_string(static_cast<int>(w.settings.softening)) + (w.each_softened ? " each" : "") +
           ", length " + std::to_string(w.settings.softening_length) + ", method " +
           std::to_string(static_cast<int>(w.settings.method));
}

constexpr double tolerance = 2e-3; // of the tree at its default accuracy, in the worst target

void expect_right(Bodies& bodies, const Wanted& wanted, const std::string& scene) {
    for (const bool potential : {true, false})
        EXPECT_LT(worst_error(bodies, wanted, potential), tolerance)
            << say(wanted, scene) << (potential ? ", with potential" : "");
}

/// A cube and bodies far from it.
struct Scene {
    const char* name;
    Bodies bodies;
};

std::vector<Scene> scenes() {
    std::vector<Scene> all;
    const auto with = [&](const char* name, Bodies bodies, auto&&... strays) {
        (bodies.add(strays[0], strays[1], strays[2], strays[3]), ...);
        all.push_back({name, std::move(bodies)});
    };
    using Body = std::vector<double>;
    with("one at 1e19", cube(3000), Body{1e19, 3, 4, 1});
    with("one at 1e26", cube(600), Body{-7e25, 7e25, 1, 1});
    with("one at 1e30, both signs", cube(900, true), Body{1e30, -2e30, 0, -2});
    with("one at 1e100", cube(900), Body{0, 1e100, 1e99, 1});
    with("one at 1e150", cube(900), Body{9e149, 0, 0, 1});
    with("one of tiny mass", cube(900), Body{1e21, 0, 0, 1e-20});
    with("one whose pull is that of the cube", cube(900), Body{0, 0, -1e14, 1e31});
    with("three", cube(900, true), Body{1e18, 0, 0, 1}, Body{1e19, 1, 0, -1}, Body{0, -3e24, 0, 2});
    with("at three distances", cube(900), Body{1e15, 0, 0, 1}, Body{0, 1e60, 0, 1}, Body{0, 0, 1e120, 1});
    Bodies pair = cube(900);
    for (size_t i = 0; i < 300; ++i)
        pair.x[0][i] = 1e19 + 8192 * std::round(100 * pair.x[0][i]), pair.x[1][i] *= 1e6;
    with("two clumps", std::move(pair));
    return all;
}

TEST(Strays, EveryOrderPrecisionAndTreeIsRight) {
    for (Scene& scene : scenes())
        for (int order = 0; order <= 4; ++order)
            for (const settings::Precision precision :
                 {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64})
                for (const tree::TreeType type : {tree::TreeType::octree, tree::TreeType::orb}) {
                    Wanted wanted;
                    wanted.settings.order = order, wanted.settings.precision = precision;
                    wanted.settings.tree_type = type, wanted.step = 41;
                    expect_right(scene.bodies, wanted, scene.name);
                }
}

TEST(Strays, SofteningOfEveryKindIsRight) {
    for (Scene& scene : scenes())
        for (const settings::Softening kind : {settings::Softening::plummer, settings::Softening::spline})
            for (const bool each : {false, true})
                for (const int order : {1, 2, 4}) {
                    Wanted wanted;
                    wanted.settings.order = order, wanted.settings.softening = kind;
                    wanted.settings.softening_length = 0.02, wanted.each_softened = each, wanted.step = 41;
                    expect_right(scene.bodies, wanted, scene.name);
                }
}

TEST(Strays, TheFieldAtPointsNearAndFarIsRight) {
    for (Scene& scene : scenes())
        for (const settings::Softening kind : {settings::Softening::none, settings::Softening::plummer})
            for (const int order : {1, 2, 4}) {
                Bodies points = cube(100);
                for (const double far : {1e4, 1e12, 1e18, 1e19, 1e40})
                    points.add(far, -far, 0.5, 0);
                Wanted wanted;
                wanted.settings.order = order, wanted.points = &points;
                wanted.settings.softening = kind, wanted.settings.softening_length = 0.02;
                expect_right(scene.bodies, wanted, scene.name);
            }
}

TEST(Strays, MethodDirectIsRight) {
    for (Scene& scene : scenes())
        for (const settings::Precision precision :
             {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
            Wanted wanted;
            wanted.settings.method = settings::Method::direct, wanted.settings.precision = precision, wanted.step = 41;
            expect_right(scene.bodies, wanted, scene.name);
        }
}

TEST(LongSoftening, FieldsAreThoseOfDouble) {
    for (const bool both_signs : {false, true})
        for (const settings::Softening kind : {settings::Softening::plummer, settings::Softening::spline})
            for (const double length : {1e6, 1e8, 1e13, 1e16, 1e20, 1e30, 1e45, 1e80})
                for (const settings::Precision precision :
                     {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64})
                    for (const int order : {0, 1, 2, 4})
                        for (const settings::Method method : {settings::Method::tree, settings::Method::direct}) {
                            if (method == settings::Method::direct && order > 0)
                                continue;
                            Bodies bodies = cube(700, both_signs);
                            Wanted wanted;
                            wanted.settings.softening = kind, wanted.settings.softening_length = length;
                            wanted.settings.precision = precision, wanted.settings.order = order;
                            wanted.settings.method = method, wanted.step = 41;
                            expect_right(bodies, wanted, both_signs ? "both signs" : "one sign");
                        }
}

TEST(LongSoftening, OfOneParticleOrOfAllIsRight) {
    for (const double length : {1e13, 1e16, 1e20, 1e80})
        for (const bool of_all : {false, true})
            for (const settings::Softening kind : {settings::Softening::plummer, settings::Softening::spline})
                for (const settings::Method method : {settings::Method::tree, settings::Method::direct}) {
                    Bodies bodies = cube(700);
                    for (size_t i = 0; i < bodies.size(); ++i)
                        if (of_all || i == 50)
                            bodies.softening[i] *= length;
                    Wanted wanted;
                    wanted.settings.softening = kind, wanted.each_softened = true;
                    wanted.settings.method = method, wanted.step = 41;
                    expect_right(bodies, wanted, of_all ? "all" : "one");
                    Bodies points = cube(50);
                    wanted.points = &points;
                    expect_right(bodies, wanted, "at points");
                }
}

/// A heavy one feels the light ones only: over the cube of the length little is left of them in single precision.
TEST(LongSoftening, OfLightChargesBesideAHeavyOne) {
    for (const double light : {1e-10, 1e-20, 1e-30})
        for (const double length : {1.0, 30.0, 1e3, 1e5, 3e6})
            for (const settings::Softening kind : {settings::Softening::plummer, settings::Softening::spline})
                for (const settings::Method method : {settings::Method::tree, settings::Method::direct})
                    for (const settings::Precision precision : {settings::Precision::fp32, settings::Precision::mixed}) {
                        Bodies bodies = cube(120);
                        for (double& charge : bodies.charge)
                            charge *= light;
                        bodies.charge[57] = 1;
                        Wanted wanted;
                        wanted.settings.softening = kind, wanted.settings.softening_length = length;
                        wanted.settings.method = method, wanted.settings.precision = precision;
                        expect_right(bodies, wanted, "light " + std::to_string(light));
                    }
}

TEST(LongSoftening, WithAStray) {
    for (const double length : {1e3, 1e13, 1e22, 1e60}) {
        Bodies bodies = cube(700);
        bodies.add(1e19, 0, 0, 1);
        for (const int order : {1, 2}) {
            Wanted wanted;
            wanted.settings.order = order, wanted.step = 41;
            wanted.settings.softening = settings::Softening::plummer, wanted.settings.softening_length = length;
            expect_right(bodies, wanted, "a stray");
        }
    }
}

} // namespace
} // namespace graft::engine
