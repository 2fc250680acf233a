// SPDX-License-Identifier: BSD-3-Clause
// graft_acc.so in a NEMO in small (mini_nemo.hpp), against sums made here and conservation.
#include "mini_nemo.hpp"

#include <graft/graft.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace {

const std::string exact = "method: direct\nprecision: fp64\nsoftening: {kind: plummer, length: 0.1}\n";

/// A deck in a file of the test's own.
std::string deck(const std::string& text) {
    static int number = 0;
    const std::string path =
        ::testing::TempDir() + "nemo_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".yaml";
    std::ofstream(path) << text;
    return path;
}

/// Most processes need one field only, and ten are all there are: fields of the same deck are shared, and stay where they are.
const mini::Field& field_of(std::string_view text) {
    static std::deque<std::pair<std::string, mini::Field>> made;
    for (const auto& [known, field] : made)
        if (known == text)
            return field;
    made.emplace_back(text, mini::get_acceleration("graft_acc", "", deck(std::string(text))));
    return made.back().second;
}

/// Bodies of a Plummer sphere in its own frame, G = M = a = 1, velocities by von Neumann's rejection
/// (Aarseth, Henon & Wielen 1974).
template <typename T>
mini::Block<T> plummer(int n, unsigned seed = 7) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto direction = [&](double length, std::vector<T>& to) {
        const double z = 2 * uniform(random) - 1, angle = 2 * M_PI * uniform(random),
                     ring = std::sqrt(1 - z * z);
        to.insert(to.end(),
                  {T(length * ring * std::cos(angle)), T(length * ring * std::sin(angle)), T(length * z)});
    };
    mini::Block<T> block;
    for (int i = 0; i < n; ++i) {
        const double r = 1 / std::sqrt(std::pow(0.99 * uniform(random), -2.0 / 3) - 1);
        double q = 0, g = 1;
        while (g > q * q * std::pow(1 - q * q, 3.5)) {
            q = uniform(random);
            g = 0.1 * uniform(random);
        }
        direction(r, block.position);
        direction(q * std::sqrt(2 / std::sqrt(1 + r * r)), block.velocity);
        block.mass.push_back(T(1.0 / n));
    }
    const auto size = static_cast<std::size_t>(n);
    block.pex.assign(size, T(0));
    block.acceleration.assign(3 * size, T(0));
    block.flags.assign(size, mini::active_bit);
    return block;
}

/// Potential (0) and acceleration (1..3) at a body, all others summed in double, Plummer softening.
template <typename T>
std::array<double, 4> summed(const mini::Block<T>& b, std::size_t i, double softening) {
    std::array<double, 4> field{};
    for (std::size_t j = 0; j < b.mass.size(); ++j) {
        if (j == i)
            continue;
        double d[3], square = softening * softening;
        for (std::size_t k = 0; k < 3; ++k) {
            d[k] = double(b.position[3 * j + k]) - double(b.position[3 * i + k]);
            square += d[k] * d[k];
        }
        const double inverse = 1 / std::sqrt(square);
        field[0] -= b.mass[j] * inverse;
        for (std::size_t k = 0; k < 3; ++k)
            field[k + 1] += b.mass[j] * d[k] * inverse * inverse * inverse;
    }
    return field;
}

template <typename T>
class Types : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Types, Reals);

TYPED_TEST(Types, EveryIndicatorAndFlag) {
    using T = TypeParam;
    const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-12;
    const T before = T(3);
    for (const bool half : {false, true})
        for (const bool all : {true, false})
            for (int indicator = 0; indicator < 4; ++indicator) {
                const mini::Field& field = field_of(exact + (half ? "host: {half_potential: true}\n" : ""));
                std::vector<mini::Block<T>> snapshot{plummer<T>(50)};
                mini::Block<T>& b = snapshot[0];
                b.pex.assign(b.pex.size(), before);
                b.acceleration.assign(b.acceleration.size(), before);
                for (std::size_t i = 0; i < b.flags.size();
                     ++i) // other bits are the host's: odd bodies active, the last not
                    b.flags[i] = (i % 2 == 1 ? 1 : 0) | (i % 3 == 0 ? 6 : 0) | (i % 5 == 0 ? 1 << 30 : 0);
                mini::set(field, 0.25 + indicator, snapshot, all, indicator);
                for (std::size_t i = 0; i < b.mass.size(); ++i) {
                    std::array<double, 4> expected = summed(b, i, 0.1);
                    expected[0] *= half ? 0.5 : 1;
                    const bool active = all || i % 2 == 1;
                    for (std::size_t k = 0; k < 4; ++k) {
                        const bool add = (indicator & (k == 0 ? 1 : 2)) != 0;
                        const double want = !active ? before : expected[k] + (add ? before : T(0));
                        const double got = k == 0 ? b.pex[i] : b.acceleration[3 * i + k - 1];
                        ASSERT_NEAR(got, want, active ? tolerance * 10 : 0)
                            << "body " << i << " component " << k << " indicator " << indicator << " all "
                            << all << " half " << half;
                    }
                }
            }
}

TYPED_TEST(Types, TreeOfManyBodies) {
    using T = TypeParam;
    std::vector<mini::Block<T>> snapshot{plummer<T>(20000)};
    mini::Block<T>& b = snapshot[0];
    mini::set(field_of("softening: {kind: plummer, length: 0.03}\nmac: {accuracy: 0.0003}\norder: 3\n"), 0,
              snapshot, true, 0);
    double worst = 0, worst_potential = 0;
    for (std::size_t i = 0; i < b.mass.size(); i += 97) {
        const std::array<double, 4> expected = summed(b, i, 0.03);
        double difference = 0, size = 0;
        for (std::size_t k = 1; k < 4; ++k) {
            difference += std::pow(b.acceleration[3 * i + k - 1] - expected[k], 2);
            size += expected[k] * expected[k];
        }
        worst = std::max(worst, std::sqrt(difference / size));
        worst_potential = std::max(worst_potential, std::abs(b.pex[i] / expected[0] - 1));
    }
    std::printf("20,000 bodies: worst error of 207: acceleration %.1e, potential %.1e\n", worst,
                worst_potential);
    EXPECT_LT(worst, 1e-3);
    EXPECT_LT(worst_potential, 1e-4);
}

TEST(Fields, SeveralAtATime) {
    const mini::Field one = field_of(exact), two = field_of("method: direct\nprecision: fp64\nconstant: 2\n");
    EXPECT_NE(one.function, two.function);
    EXPECT_TRUE(one.need_masses && two.need_masses);
    EXPECT_FALSE(one.need_velocities || two.need_velocities);
    std::vector<mini::Block<double>> snapshot{plummer<double>(40)};
    for (int round = 0; round < 2;
         ++round) { // in turns, the second added to the first: falcON's sum_acceleration
        mini::set(one, round, snapshot, true, 0);
        mini::set(two, round, snapshot, true, 3);
        for (std::size_t i = 0; i < 40; ++i)
            EXPECT_NEAR(snapshot[0].pex[i], summed(snapshot[0], i, 0.1)[0] + 2 * summed(snapshot[0], i, 0)[0],
                        1e-10);
    }
}

TEST(Fields, TwoDimensions) {
    const double mass[2] = {1, 3}, position[4] = {0, 0, 2, 0};
    double pex[2] = {9, 9}, acceleration[4] = {9, 9, 9, 9};
    const mini::Field& field = field_of("method: direct\nprecision: fp64\nconstant: 2\n");
    field.function(2, 0, 2, mass, position, nullptr, nullptr, pex, acceleration, 0, 'd');
    EXPECT_DOUBLE_EQ(acceleration[0], 2 * 3.0 / 4);
    EXPECT_DOUBLE_EQ(acceleration[2], -2 * 1.0 / 4);
    EXPECT_EQ(acceleration[1], 0);
    EXPECT_DOUBLE_EQ(pex[1], -2 * 1.0 / 2);
    std::vector<mini::Block<double>> snapshot{plummer<double>(40)}; // and back to three
    mini::set(field, 0, snapshot, true, 0);
    EXPECT_NEAR(snapshot[0].pex[5], 2 * summed(snapshot[0], 5, 0)[0], 1e-12);
}

TEST(Fields, NothingToDo) {
    const mini::Field& field = field_of(exact);
    field.function(3, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 'f');
    std::vector<mini::Block<double>> snapshot{plummer<double>(10)};
    snapshot[0].flags.assign(10, 2);
    snapshot[0].pex.assign(10, 5.0);
    mini::set(field, 0, snapshot, false, 0);
    EXPECT_EQ(snapshot[0].pex, std::vector<double>(10, 5.0));
}

TEST(Fields, BlocksAreWarnedOf) {
    std::vector<mini::Block<double>> snapshot{plummer<double>(10, 1), plummer<double>(20, 2)};
    const mini::Field& field = field_of(exact + "threads: 1\n");
    const std::size_t before = mini::warnings.size();
    for (const double time : {100.0, 101.0})
        mini::set(field, time, snapshot, true, 0);
    ASSERT_EQ(mini::warnings.size(), before + 1); // once
    EXPECT_NE(mini::warnings.back().find("two sets of bodies (10, then 20) at time 100"), std::string::npos);
}

// gyrfalcON's leapfrog and block steps (nbody.cc): what it drives and what its energy says.
class Orbits : public ::testing::Test {
  protected:
    std::vector<mini::Block<double>> snapshot_{plummer<double>(2000)};

    mini::Block<double>& bodies() { return snapshot_[0]; }

    /// T + V_ex as gyrfalcON prints them: the external potential in full.
    double energy() {
        double sum = 0;
        for (std::size_t i = 0; i < bodies().mass.size(); ++i) {
            double square = 0;
            for (std::size_t k = 0; k < 3; ++k)
                square += std::pow(bodies().velocity[3 * i + k], 2);
            sum += bodies().mass[i] * (0.5 * square + bodies().pex[i]);
        }
        return sum;
    }

    void kick(double time_step) {
        for (std::size_t i = 0; i < bodies().velocity.size(); ++i)
            bodies().velocity[i] += time_step * bodies().acceleration[i];
    }

    void drift(double time_step) {
        for (std::size_t i = 0; i < bodies().velocity.size(); ++i)
            bodies().position[i] += time_step * bodies().velocity[i];
    }
};

constexpr const char* plummer_deck =
    "softening: {kind: plummer, length: 0.05}\nmac: {accuracy: 0.0003}\norder: 3\n";

TEST_F(Orbits, LeapfrogKeepsTheEnergyThatHalfPotentialsMake) {
    const mini::Field half = field_of(std::string(plummer_deck) + "host: {half_potential: true}\n"),
                      full = field_of(plummer_deck);
    mini::set(full, 0, snapshot_, true, 0);
    const std::vector<double> in_full = bodies().pex;
    mini::set(half, 0, snapshot_, true, 0);
    for (std::size_t i = 0; i < in_full.size(); ++i)
        ASSERT_DOUBLE_EQ(2 * bodies().pex[i], in_full[i]);
    const double before = energy();
    EXPECT_NEAR(before, -3 * M_PI / 64, 0.015); // a Plummer sphere's, softened and sampled
    const double step = 1.0 / 64;
    for (int i = 1; i <= 64; ++i) {
        kick(step / 2);
        drift(step);
        mini::set(half, i * step, snapshot_, true, 0);
        kick(step / 2);
    }
    std::printf("leapfrog, 2000 bodies to t = 1: energy changed by %.1e\n", energy() / before - 1);
    EXPECT_LT(std::abs(energy() / before - 1), 2e-4);
}

TEST_F(Orbits, BlockStepsGetForcesOfActiveBodiesOnly) {
    const mini::Field half = field_of(std::string(plummer_deck) + "host: {half_potential: true}\n");
    std::vector<int> level(bodies().mass.size());
    for (std::size_t i = 0; i < level.size(); ++i) // the inner bodies take four steps for one
        level[i] = std::hypot(bodies().position[3 * i], bodies().position[3 * i + 1],
                              bodies().position[3 * i + 2]) < 0.8
                       ? 2
                       : 0;
    mini::set(half, 0, snapshot_, true, 0);
    const double before = energy(), smallest = 1.0 / 128;
    const auto kick_half = [&](bool all) {
        for (std::size_t i = 0; i < level.size(); ++i)
            bodies().flags[i] = all || level[i] == 2 ? mini::active_bit : 2;
        for (std::size_t i = 0; i < bodies().velocity.size(); ++i)
            if (bodies().flags[i / 3] & mini::active_bit)
                bodies().velocity[i] +=
                    0.5 * smallest * (level[i / 3] == 2 ? 1 : 4) * bodies().acceleration[i];
    };
    for (int tiny = 0; tiny < 128; ++tiny) {
        const bool all = tiny % 4 == 3; // the long steps end
        kick_half(tiny % 4 == 0);
        drift(smallest);
        for (std::size_t i = 0; i < level.size(); ++i)
            bodies().flags[i] = all || level[i] == 2 ? mini::active_bit : 2;
        mini::set(half, (tiny + 1) * smallest, snapshot_, all, 0);
        kick_half(all);
    }
    std::printf("block steps, 2000 bodies to t = 1: energy changed by %.1e\n", energy() / before - 1);
    EXPECT_LT(std::abs(energy() / before - 1), 5e-4);
}

/// The quickest of several calls in turn: what the field costs, and Graft alone with the same deck and
/// arrays.
TEST_F(Orbits, FieldCostsLittleMoreThanGraft) {
    const mini::Field field = field_of(plummer_deck);
    graft::Options options(graft::Library::load());
    options.read_text(plummer_deck, "the same deck");
    graft::Context context(options);
    const auto n = static_cast<std::int64_t>(bodies().mass.size());
    graft::Results results;
    results.accelerations(graft::view(bodies().acceleration.data(), n, 3))
        .potentials(graft::view(bodies().pex.data(), n, 1));
    const auto seconds = [](const auto& call) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    double by_field = 1e9, by_graft = 1e9;
    for (int i = 0; i < 50; ++i) {
        by_field = std::min(by_field, seconds([&] { mini::set(field, 0, snapshot_, true, 0); }));
        by_graft = std::min(by_graft, seconds([&] {
                                context.compute(graft::Particles()
                                                    .positions(graft::view(bodies().position.data(), n, 3))
                                                    .charges(bodies().mass),
                                                results);
                            }));
    }
    std::printf("2000 bodies: a call of the field %.3f ms, of it in Graft %.1f %%\n", 1e3 * by_field,
                100 * by_graft / by_field);
    EXPECT_GT(by_graft / by_field, 0.5);
}

// error() ends a NEMO program, so each of these is a process of its own.
class Failures : public ::testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Failures, Decks) {
    const auto exits = ::testing::ExitedWithCode(1);
    EXPECT_EXIT(mini::get_acceleration("graft_acc", "", deck("method: tree\nmac: {theat: 1}\n")), exits,
                "Fatal error.*graft_acc: accfile: .*yaml:2.*theta");
    EXPECT_EXIT(mini::get_acceleration("graft_acc", "", "/nowhere.yaml"), exits,
                "graft_acc: accfile: .*/nowhere.yaml");
    EXPECT_EXIT(mini::get_acceleration("graft_acc", "0,1.5", ""), exits, "accpars has 2 numbers.*accfile");
    EXPECT_EXIT(mini::get_acceleration("graft_acc", "", deck("host: {half_potential: maybe}\n")), exits,
                "half_potential is 'maybe'");
    EXPECT_EXIT(
        {
            setenv("GRAFT_LIBRARY", "/nowhere/libgraft.so.1", 1);
            mini::get_acceleration("graft_acc", "", "");
        },
        exits, "graft_acc: .*GRAFT_LIBRARY.*nowhere");
    EXPECT_EXIT(for (int i = 0; i < 11; ++i) mini::get_acceleration("graft_acc", "", ""), exits,
                "10 fields are in use");
}

TEST_F(Failures, Calls) {
    const auto exits = ::testing::ExitedWithCode(1);
    const auto call = [](int dimensions, bool masses, double x, char type) {
        const mini::Field field = mini::get_acceleration("graft_acc", "", "");
        const double mass[2] = {1, 1}, position[6] = {0, 0, 0, x, 0, 0};
        double pex[2], acceleration[6];
        field.function(dimensions, 0.5, 2, masses ? mass : nullptr, position, nullptr, nullptr, pex,
                       acceleration, 0, type);
    };
    EXPECT_EXIT(call(3, false, 1, 'd'), exits, "no masses");
    EXPECT_EXIT(call(4, true, 1, 'd'), exits, "4 dimensions");
    EXPECT_EXIT(call(3, true, 1, 'x'), exits, "type 'x'");
    EXPECT_EXIT(call(3, true, std::numeric_limits<double>::quiet_NaN(), 'd'), exits,
                "2 bodies at time 0.5: .*1");
}

} // namespace
