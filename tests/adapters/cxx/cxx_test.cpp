// SPDX-License-Identifier: BSD-3-Clause
// The C++ header against sums written here, compiled as C++17 and as C++20.
#include <graft/graft.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

struct Star {
    char name[12];
    std::array<double, 3> position;
    float mass;
    double acceleration[3];
    int32_t active;
};

const graft::Library& library() {
    static const graft::Library loaded = graft::Library::load();
    return loaded;
}

graft::Context direct() {
    return graft::Context(graft::Options(library()).set("method", "direct").set("precision", "fp64"));
}

struct Cloud {
    std::vector<double> x, y, z, m, ax, ay, az;
    explicit Cloud(std::size_t n) : x(n), y(n), z(n), m(n), ax(n, -9), ay(n, -9), az(n, -9) {
        for (std::size_t i = 0; i < n; ++i) {
            const double k = static_cast<double>(i);
            x[i] = std::sin(1.7 * k), y[i] = std::cos(2.3 * k), z[i] = std::sin(0.9 * k + 1),
            m[i] = 1 + std::fmod(k, 3);
        }
    }
    double exact_ax(double px, double py, double pz) const {
        double sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
            const double dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz,
                         r = std::sqrt(dx * dx + dy * dy + dz * dz);
            sum += r > 0 ? m[j] * dx / (r * r * r) : 0;
        }
        return sum;
    }
};

static_assert(!std::is_copy_constructible_v<graft::Context> &&
              std::is_nothrow_move_constructible_v<graft::Context>);
static_assert(!std::is_copy_constructible_v<graft::Options> &&
              std::is_nothrow_move_assignable_v<graft::Options>);

TEST(Cxx, VectorsGiveTheDirectSum) {
    Cloud c(80);
    graft::Context gravity = direct();
    gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(c.m),
                    graft::Results().accelerations(c.ax, c.ay, c.az));
    for (std::size_t i = 0; i < c.x.size(); ++i)
        EXPECT_NEAR(c.ax[i], c.exact_ax(c.x[i], c.y[i], c.z[i]), 1e-9 * std::abs(c.ax[i]) + 1e-9);
}

TEST(Cxx, MembersOfStructsAreUsedInPlace) {
    const Cloud c(50);
    std::vector<Star> stars(50);
    for (std::size_t i = 0; i < stars.size(); ++i) {
        std::strcpy(stars[i].name, "unchanged");
        stars[i].position = {c.x[i], c.y[i], c.z[i]};
        stars[i].mass = static_cast<float>(c.m[i]);
        stars[i].acceleration[0] = 7;
        stars[i].active = i % 2 == 0;
    }
    graft::Context gravity = direct();
    gravity.compute(graft::Particles()
                        .positions(graft::view_of(stars, &Star::position))
                        .charges(graft::view_of(stars, &Star::mass))
                        .active(graft::view_of(stars, &Star::active)),
                    graft::Results().accelerations(graft::view_of(stars, &Star::acceleration)));
    for (std::size_t i = 0; i < stars.size(); ++i) {
        const double expected = i % 2 == 0 ? c.exact_ax(c.x[i], c.y[i], c.z[i]) : 7;
        EXPECT_NEAR(stars[i].acceleration[0], expected, 1e-9 * std::abs(expected) + 1e-9);
        EXPECT_STREQ(stars[i].name, "unchanged");
    }
}

TEST(Cxx, TargetsAddEnergyAndPoints) {
    Cloud c(40);
    std::vector<int64_t> targets{39, 0};
    double energy = 1;
    std::array<double, 6> virial{};
    graft::Context gravity = direct();
    std::vector<double> phi(40, 5);
    gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(c.m).target_index(targets),
                    graft::Results().accelerations(graft::add(c.ax), graft::add(c.ay), c.az).potentials(phi));
    EXPECT_NEAR(c.ax[39], c.exact_ax(c.x[39], c.y[39], c.z[39]) - 9, 1e-8);
    EXPECT_EQ(c.ax[1], -9);
    const double written = phi[39], z = c.az[39];
    gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(c.m).target_index(targets),
                    graft::Results()
                        .accelerations(c.ax, c.ay, c.az)
                        .potentials(graft::add(phi))
                        .energy(graft::add(graft::view(&energy, 1))));
    EXPECT_EQ(phi[39], 2 * written) << "added";
    EXPECT_NEAR(c.ax[39], c.exact_ax(c.x[39], c.y[39], c.z[39]), 1e-8) << "written over";
    EXPECT_EQ(c.az[39], z);
    gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(c.m),
                    graft::Results().accelerations(c.ax, c.ay, c.az).energy(energy).virial(virial));
    EXPECT_NEAR(virial[0] + virial[1] + virial[2], energy, 1e-9 * std::abs(energy));
    std::vector<double> px{3}, py{1}, pz{-2}, fx(1), fy(1), fz(1);
    gravity.field_at(graft::Particles().positions(c.x, c.y, c.z).charges(c.m),
                     graft::Particles().positions(px, py, pz), graft::Results().accelerations(fx, fy, fz));
    EXPECT_NEAR(fx[0], c.exact_ax(3, 1, -2), 1e-10);
}

#if __cplusplus >= 202002L
TEST(Cxx, Spans) {
    Cloud c(30);
    const std::span<const double> x(c.x), y(c.y), z(c.z), m(c.m);
    std::span<double> ax(c.ax);
    graft::Context gravity = direct();
    gravity.compute(graft::Particles().positions(x, y, z).charges(m),
                    graft::Results().accelerations(ax, c.ay, c.az));
    EXPECT_NEAR(c.ax[3], c.exact_ax(c.x[3], c.y[3], c.z[3]), 1e-9);
}
#endif

TEST(Cxx, FailuresAreExceptionsWithStatusAndText) {
    const auto status_of = [](auto&& call) {
        try {
            call();
        } catch (const graft::Error& error) {
            EXPECT_GT(std::strlen(error.what()), 10u);
            return error.status();
        }
        return 0;
    };
    graft::Options options(library());
    EXPECT_EQ(status_of([&] { options.set("mac.theat", 0.5); }), GRAFT_ERROR_DECK_KEY);
    EXPECT_EQ(status_of([&] { options.read_file("/no/such.yaml"); }), GRAFT_ERROR_DECK_FILE);
    EXPECT_EQ(status_of([&] { options.read_text("order: [1]"); }), GRAFT_ERROR_DECK_TYPE);
    EXPECT_EQ(status_of([] { graft::Library::load("/no/such/libgraft.so"); }), GRAFT_ERROR_LOAD_NOT_FOUND);
    EXPECT_EQ(status_of([] { library().run_tool("no such tool"); }), GRAFT_ERROR_ARGUMENT);
    graft::Context gravity(options);
    EXPECT_EQ(status_of([&] { gravity.query("time_s.total"); }), GRAFT_ERROR_ABSENT);
    Cloud c(10);
    c.x[4] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(status_of([&] {
                  gravity.compute(graft::Particles().positions(c.x, c.y, c.z),
                                  graft::Results().accelerations(c.ax, c.ay, c.az));
              }),
              GRAFT_ERROR_VALUE);
    EXPECT_EQ(c.ax[0], -9);
}

TEST(Cxx, ViewsOfConstAreReadOnlyAndNoResults) {
    Cloud c(20);
    const std::vector<double> fixed(20, 4);
    const std::vector<Star> stars(3);
    EXPECT_EQ(graft::view(fixed).flags, GRAFT_ARRAY_READ_ONLY);
    EXPECT_EQ(graft::view(c.ax).flags, 0u);
    EXPECT_EQ(graft::view_of(stars, &Star::position).flags, GRAFT_ARRAY_READ_ONLY);
    EXPECT_EQ(graft::view(static_cast<const std::complex<double>*>(nullptr), 0).flags, GRAFT_ARRAY_READ_ONLY);
    EXPECT_EQ(graft::add(c.ax).flags, GRAFT_ARRAY_ADD);
    graft::Context gravity = direct();
    try {
        gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(fixed),
                        graft::Results().accelerations(c.ax, c.ay, c.az).potentials(fixed));
        FAIL() << "nothing was thrown";
    } catch (const graft::Error& error) {
        EXPECT_EQ(error.status(), GRAFT_ERROR_ARRAY) << error.what();
        EXPECT_EQ(gravity.error(), error.what());
    }
    EXPECT_EQ(fixed[7], 4);
    EXPECT_EQ(c.ax[7], -9);
}

TEST(Cxx, LivingContextsTakeKeysAndGiveBackMemory) {
    graft::Context gravity(graft::Options(library()).set("method", "tree").set("backend", "cpu"));
    Cloud c(200);
    const auto error_with = [&](double theta) {
        gravity.set("mac.theta", theta);
        EXPECT_EQ(std::stod(gravity.get("mac.theta")), theta);
        gravity.compute(graft::Particles().positions(c.x, c.y, c.z).charges(c.m),
                        graft::Results().accelerations(c.ax, c.ay, c.az));
        return std::abs(c.ax[5] - c.exact_ax(c.x[5], c.y[5], c.z[5]));
    };
    EXPECT_EQ(gravity.error(), "");
    EXPECT_LT(error_with(0), 1e-4);
    gravity.release_memory();
    error_with(0.9);
    EXPECT_THROW(gravity.set("mac.theta", "wide"), graft::Error);
    EXPECT_THROW(gravity.set("backend", "gpu"), graft::Error) << "a new context's";
    EXPECT_NE(gravity.error().find("backend"), std::string::npos) << gravity.error();
    gravity.remove_box();
    gravity.set_device_allocator(nullptr);
}

TEST(Cxx, OptionsAndMoves) {
    graft::Options options(library());
    options.set("mac.theta", 0.1).set("order", 2).set("method", "tree").read_text("tree: {leaf: 20}");
    EXPECT_EQ(options.get<double>("mac.theta"), 0.1);
    EXPECT_EQ(options.get<int64_t>("order"), 2);
    EXPECT_THROW(options.get<int32_t>("method"), graft::Error);
    EXPECT_EQ(options.set("balance.force", true).get("balance.force"), "true");
    EXPECT_EQ(options.get("tree.leaf"), "20");
    const std::string long_text(1000, 'x');
    options.read_text("host: {text: " + long_text + "}");
    EXPECT_EQ(options.get("host.text"), long_text);
    graft::Options moved(std::move(options));
    EXPECT_EQ(moved.get("order"), "2");
    graft::Context first(moved);
    graft::Context second(std::move(first));
    first = std::move(second);
    Cloud c(10);
    first.compute(graft::Particles().positions(c.x, c.y, c.z).charge_all(2),
                  graft::Results().accelerations(c.ax, c.ay, c.az));
    EXPECT_EQ(first.query_text().front(), '{');
    EXPECT_NE(library().explain().find("mac.theta"), std::string::npos);
    EXPECT_EQ(library().explain(GRAFT_EXPLAIN_JSON).find("\"study."), std::string::npos);
    EXPECT_EQ(library().version(), GRAFT_VERSION_STRING);
    EXPECT_NE(library().status_text(GRAFT_ERROR_BUSY), library().status_text(-1));
}

TEST(Cxx, TwoHalvesAndDeviceSpans) {
    graft::Options options(library());
    options.set("backend", "cpu");
    graft::Context gravity(options);
    Cloud c(20);
    const auto particles = graft::Particles().positions(c.x, c.y, c.z);
    gravity.compute(particles, graft::Results().accelerations(c.ax, c.ay, c.az));
    const auto whole = c.ax;
    c.ax.assign(c.ax.size(), -9);
    gravity.set_stream(nullptr);
    gravity.compute_begin(particles, graft::Results().accelerations(c.ax, c.ay, c.az).no_repair());
    EXPECT_TRUE(gravity.compute_poll());
    EXPECT_EQ(gravity.compute_event(), nullptr) << "of a CPU";
    gravity.compute_end();
    EXPECT_EQ(c.ax, whole);
    const auto status_of = [](auto&& body) {
        try {
            body();
        } catch (const graft::Error& error) {
            return error.status();
        }
        return GRAFT_OK;
    };
    EXPECT_EQ(status_of([&] { gravity.compute_end(); }), GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(status_of([&] { gravity.compute_poll(); }), GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(status_of([&] { gravity.compute_event(); }), GRAFT_ERROR_CALL_ORDER);
    const graft::DeviceSpan<double> span{c.x.data(), 20, 3};
    const graft_array array = graft::view(span);
    EXPECT_EQ(array.memory, GRAFT_MEMORY_DEVICE);
    EXPECT_EQ(array.device, 3);
    EXPECT_EQ(array.bytes, 160);
    EXPECT_EQ(status_of([&] {
                  gravity.compute(graft::Particles().positions(span, span, span),
                                  graft::Results().accelerations(c.ax, c.ay, c.az));
              }),
              GRAFT_ERROR_UNSUPPORTED);
}

} // namespace
