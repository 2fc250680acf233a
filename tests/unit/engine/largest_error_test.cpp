// SPDX-License-Identifier: BSD-3-Clause
// mac.kind max: no force of any scene is wrong by more than mac.accuracy, but for what double makes of sums that cancel.
// With --gtest_repeat=N each turn has scenes of its own.
#include "ranks_scene.hpp"

#include <random>

namespace graft::engine {
namespace {

using namespace testing;

struct Scene {
    std::string what;
    Cloud cloud;
};

/// Numbers of one scene.
class Draw {
  public:
    explicit Draw(unsigned seed) : random_(seed) {}
    double between(double from, double to) { return from + (to - from) * std::uniform_real_distribution<double>()(random_); }
    double normal() { return std::normal_distribution<double>()(random_); }
    int whole(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  private:
    std::mt19937_64 random_;
};

void strew(Draw& draw, Scene& scene, int n) {
    Cloud& cloud = scene.cloud;
    const int kind = draw.whole(0, 8);
    static const char* const names[] = {"cube", "ball", "lattice", "cusp", "disc", "clumps", "line", "two balls", "shells"};
    scene.what += names[kind];
    const int side = static_cast<int>(std::ceil(std::cbrt(n)));
    const double jitter = draw.whole(0, 1) * draw.between(0, 0.3);
    for (int i = 0; i < n; ++i) {
        double x = draw.between(-1, 1), y = draw.between(-1, 1), z = draw.between(-1, 1);
        const double norm = std::sqrt(x * x + y * y + z * z) + 1e-30;
        double radius = norm; // along the same ray
        if (kind == 1)
            radius = std::cbrt(draw.between(0, 1));
        else if (kind == 3)
            radius = std::pow(draw.between(0, 1), 3);
        else if (kind == 8)
            radius = draw.whole(1, 2) + 1e-4 * draw.normal();
        x *= radius / norm, y *= radius / norm, z *= radius / norm;
        if (kind == 2)
            x = i % side + jitter * x, y = i / side % side + jitter * y, z = i / side / side + jitter * z;
        else if (kind == 4)
            z *= 0.01;
        else if (kind == 5)
            x = std::round(3 * x) + 0.01 * draw.normal(), y = std::round(3 * y) + 0.01 * draw.normal();
        else if (kind == 6)
            y *= 1e-6, z *= 1e-6;
        else if (kind == 7)
            x = 0.2 * x + (i % 2 == 0 ? 3 : -3);
        test::add(cloud, x, y, z, 1);
    }
}

void charge(Draw& draw, Scene& scene) {
    Cloud& cloud = scene.cloud;
    const int kind = draw.whole(0, 4);
    static const char* const names[] = {" equal", " of many sizes", " ions", " nearly neutral", " one heavy"};
    scene.what += names[kind];
    for (size_t i = 0; i < cloud.q.size(); ++i)
        cloud.q[i] = kind == 0   ? 1
                     : kind == 1 ? std::pow(draw.between(1e-3, 1), 3)
                     : kind == 2 ? (i % 2 == 0 ? 1 : -1)
                     : kind == 3 ? draw.normal()
                                 : (i == 0 ? 1e3 : 1);
}

Scene scene_of(unsigned seed) {
    Draw draw(seed);
    Scene scene;
    strew(draw, scene, draw.whole(0, 11) == 0 ? draw.whole(2500, 9000) : draw.whole(50, 2500));
    charge(draw, scene);
    Cloud& cloud = scene.cloud;
    if (draw.whole(0, 3) == 0) {
        scene.what += " and strays";
        for (int k = 0; k < 3; ++k)
            test::add(cloud, draw.between(10, 1000), draw.normal(), draw.normal(), 1);
    }
    if (draw.whole(0, 3) == 0) {
        scene.what += " and close pairs";
        for (int k = 0; k < 3; ++k) {
            const size_t of = static_cast<size_t>(draw.whole(0, 49));
            test::add(cloud, cloud.x[of] + 1e-7, cloud.y[of], cloud.z[of], cloud.q[of]);
        }
    }
    for (size_t i = 0; i < cloud.softening.size(); ++i)
        cloud.softening[i] = 0.01 + 0.1 * draw.between(0, 1);
    return scene;
}

/// Of each target, the sum of the sizes of what acts on it.
std::vector<double> sums_of_sizes(const Cloud& cloud, const Cloud& at) {
    std::vector<double> sums(at.x.size());
    for (size_t i = 0; i < at.x.size(); ++i)
        for (size_t j = 0; j < cloud.x.size(); ++j) {
            const double x = at.x[i] - cloud.x[j], y = at.y[i] - cloud.y[j], z = at.z[i] - cloud.z[j];
            const double square = x * x + y * y + z * z;
            sums[i] += square > 0 ? std::abs(cloud.q[j]) / square : 0;
        }
    return sums;
}

void expect_within(const Results& got, const Results& exact, const std::vector<double>& sums, double accuracy,
                   const Choice& choice) {
    constexpr double rounding = 1e-14;
    double worst = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
        if (choice.points == nullptr && !choice.active.empty() && choice.active[i] == 0)
            continue;
        const double error = std::hypot(got.ax[i] - exact.ax[i], got.ay[i] - exact.ay[i], got.az[i] - exact.az[i]);
        worst = std::max(worst, (error - rounding * sums[i]) / (accuracy * size_of(exact, i) + 1e-300));
    }
    EXPECT_LE(worst, 1);
}

settings::Settings asked(double accuracy) {
    settings::Settings s;
    s.interaction = settings::Interaction::coulomb;
    s.precision = settings::Precision::auto_, s.order = -1, s.tuned = false;
    s.accuracy = accuracy, s.mac_kind = settings::MacKind::max;
    return s;
}

settings::Settings all_pairs(settings::Settings s) {
    s.method = settings::Method::direct, s.precision = settings::Precision::fp64, s.mac_kind = settings::MacKind::usual;
    return s;
}

class LargestError : public ::testing::Test {
  protected:
    static unsigned next_seed() {
        static unsigned seed = 0;
        return ++seed;
    }
};

} // namespace

TEST_F(LargestError, OfRandomScenes) {
    for (int k = 0; k < 60; ++k) {
        const unsigned seed = next_seed();
        Draw draw(1000000 + seed);
        const Scene scene = scene_of(seed);
        const double accuracy = std::pow(10, -draw.between(1.5, 9));
        settings::Settings s = asked(accuracy);
        Choice choice;
        const int kind = draw.whole(0, 5);
        s.softening = kind == 0   ? settings::Softening::plummer
                      : kind == 1 ? settings::Softening::spline
                                  : settings::Softening::none;
        s.softening_length = kind < 2 ? 0.05 : 0;
        choice.softening = kind == 1 && draw.whole(0, 1) == 1;
        if (s.softening == settings::Softening::plummer && accuracy < 1e-4)
            s.accuracy = 1e-4; // order 4 is the highest
        if (draw.whole(0, 3) == 0)
            s.tree_type = tree::TreeType::orb;
        choice.virial = choice.potential = draw.whole(0, 1) == 1;
        SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scene.what << ", " << scene.cloud.size() << ", accuracy "
                                          << s.accuracy << ", softening " << kind << (choice.softening ? " each" : "")
                                          << (s.tree_type == tree::TreeType::orb ? " orb" : ""));
        const Results exact = compute_over(1, scene.cloud, all_on(scene.cloud, 0), all_pairs(s), choice);
        const Results got = compute_over(1, scene.cloud, all_on(scene.cloud, 0), s, choice);
        expect_within(got, exact, sums_of_sizes(scene.cloud, scene.cloud), s.accuracy, choice);
    }
}

TEST_F(LargestError, OverRanksOfSomeAndAtPoints) {
    for (int k = 0; k < 8; ++k) {
        const unsigned seed = next_seed();
        const Scene scene = scene_of(seed), other = scene_of(seed + 77777);
        const settings::Settings s = asked(k % 2 == 0 ? 1e-3 : 1e-5);
        SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scene.what << ", " << scene.cloud.size());
        Choice some, at;
        some.virial = at.virial = false;
        for (int64_t i = 0; i < scene.cloud.size(); ++i)
            some.active.push_back(i % 5 == 0);
        at.points = &other.cloud, at.point_owners = scattered(other.cloud, 3);
        for (const Choice& choice : {Choice(), some, at}) {
            const Cloud& targets = choice.points != nullptr ? other.cloud : scene.cloud;
            Choice alone = choice;
            if (choice.points != nullptr)
                alone.point_owners = all_on(other.cloud, 0);
            const Results exact = compute_over(1, scene.cloud, all_on(scene.cloud, 0), all_pairs(s), alone);
            const std::vector<double> sums = sums_of_sizes(scene.cloud, targets);
            for (const int ranks : {1, 3}) {
                const Results got = ranks == 1 ? compute_over(1, scene.cloud, all_on(scene.cloud, 0), s, alone)
                                               : compute_over(ranks, scene.cloud, bisection(scene.cloud, ranks), s, choice);
                expect_within(got, exact, sums, s.accuracy, choice);
            }
        }
    }
}

TEST_F(LargestError, OfAllPairsAsOfTheTree) {
    Scene scene = scene_of(7);
    for (size_t i = 0; i < scene.cloud.q.size(); ++i)
        scene.cloud.q[i] = i % 2 == 0 ? 1 : -1;
    settings::Settings s = asked(1e-3);
    s.method = settings::Method::direct;
    const Results exact = compute_over(1, scene.cloud, all_on(scene.cloud, 0), all_pairs(s));
    expect_within(compute_over(1, scene.cloud, all_on(scene.cloud, 0), s), exact, sums_of_sizes(scene.cloud, scene.cloud), 1e-11,
                  {});
}

/// What has no field is not looked for.
TEST_F(LargestError, WithoutCharges) {
    Scene scene = scene_of(3);
    std::fill(scene.cloud.q.begin(), scene.cloud.q.end(), 0.0);
    const Results r = compute_over(1, scene.cloud, all_on(scene.cloud, 0), asked(1e-3));
    EXPECT_EQ(size_of(r, 0), 0);
    const double n = static_cast<double>(scene.cloud.size());
    EXPECT_LT(r.reports[0].pairs, n * n);
}

TEST_F(LargestError, IsRefusedWhereItIsNotHad) {
    const Scene scene = scene_of(1);
    const auto refusal = [&](const settings::Settings& s) -> std::string {
        try {
            compute_over(1, scene.cloud, all_on(scene.cloud, 0), s);
        } catch (const core::Error& error) {
            return error.what();
        }
        return "";
    };
    settings::Settings s = asked(1e-3);
    s.mac = settings::MacType::box;
    EXPECT_NE(refusal(s).find("mac.kind max is not had with mac.type edge or box"), std::string::npos);
    s = asked(1e-3), s.tree_scope = settings::TreeScope::global;
    EXPECT_NE(refusal(s).find("mac.kind max is not had with tree.scope global"), std::string::npos);
    s = asked(1e-3), s.has_box = s.periodic = true;
    for (int a = 0; a < 3; ++a)
        s.box_upper[a] = 1;
    EXPECT_NE(refusal(s).find("mac.kind max is not had with a periodic box"), std::string::npos);
    s = asked(1e-3), s.conserve_momentum = true;
    EXPECT_NE(refusal(s).find("mac.kind max is not had with conserve_momentum"), std::string::npos);
    s = asked(1e-3), s.softening = settings::Softening::plummer;
    Choice each;
    each.softening = true;
    EXPECT_THROW(compute_over(2, scene.cloud, scattered(scene.cloud, 2), s, each), core::Error);
}

} // namespace graft::engine
