// SPDX-License-Identifier: BSD-3-Clause
// The P2P kernel on every SIMD target against the plain sum of reference/, which shares no code with it.
//
// Tolerances: float pairs carry 3 roundings of coordinates and about 12 of arithmetic (6e-8 each) and the
// sums grow by their square root, hence 2e-6 of the sum of absolute terms; double likewise, hence 4e-15.
#include "forces/p2p/gather.hpp"
#include "forces/p2p/p2p.hpp"
#include "forces/simd.hpp"
#include "reference/direct_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace graft;

namespace {

struct Particles {
    std::vector<double> x, y, z, q, h;

    /// Uniform in a cube of edge `size`; charges of both signs when `mixed`; softening lengths up to 0.6
    /// size.
    Particles(int64_t n, double size, bool mixed, unsigned seed, double offset = 0) {
        std::mt19937_64 random(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        for (int64_t i = 0; i < n; ++i) {
            for (std::vector<double>* axis :
                 {&x, &y, &z}) // float's grid about the centre: both see the same places
                axis->push_back(offset + size * std::floor(uniform(random) * 65536) / 65536);
            q.push_back(mixed ? uniform(random) - 0.5 : uniform(random) + 0.1);
            h.push_back(0.6 * size * uniform(random));
        }
    }
    int64_t count() const { return static_cast<int64_t>(x.size()); }
    forces::ParticleArrays arrays(bool per_particle) const {
        return {x.data(), y.data(), z.data(), q.data(), per_particle ? h.data() : nullptr, count()};
    }
    reference::Points points(bool per_particle) const {
        return {count(), x.data(), y.data(), z.data(), per_particle ? h.data() : nullptr};
    }
    geometry::Box box() const {
        geometry::Box b;
        for (size_t i = 0; i < x.size(); ++i)
            b.include(x[i], y[i], z[i]);
        return b;
    }
};

struct Field {
    std::vector<double> ax, ay, az, potential;
    explicit Field(int64_t n) : ax(n), ay(n), az(n), potential(n) {}
    reference::Field view() { return {ax.data(), ay.data(), az.data(), potential.data()}; }
};

template <typename T>
Field by_kernel(const Particles& sources, const Particles& targets, const forces::PairVariant& variant,
                double length, int64_t chunk = 0) {
    core::Memory memory;
    forces::SourceBuffer<T> source_buffer(memory);
    forces::TargetBuffer<T> target_buffer(memory);
    const forces::Frame frame = forces::make_frame<T>(targets.box(), 1);
    source_buffer.append(sources.arrays(variant.per_particle), 0, sources.count(), frame, variant);
    target_buffer.fill(targets.arrays(variant.per_particle), 0, targets.count(), frame, variant);
    forces::p2p(variant, length * frame.scale, source_buffer.view(), target_buffer.view(), chunk,
                 target_buffer.sums());
    Field field(targets.count());
    const forces::FieldSums sums = target_buffer.sums();
    for (int64_t i = 0; i < targets.count(); ++i) {
        field.ax[i] = sums.ax[i] * frame.scale * frame.scale;
        field.ay[i] = sums.ay[i] * frame.scale * frame.scale;
        field.az[i] = sums.az[i] * frame.scale * frame.scale;
        field.potential[i] = sums.potential[i] * frame.scale;
    }
    return field;
}

Field by_reference(const Particles& sources, const Particles& targets, const forces::PairVariant& variant,
                   double length, bool absolute = false) {
    Field field(targets.count());
    std::vector<double> charge = sources.q;
    if (absolute)
        for (double& q : charge)
            q = std::abs(q);
    reference::direct_sum(sources.points(variant.per_particle), charge.data(),
                          targets.points(variant.per_particle), nullptr,
                          static_cast<reference::Softening>(variant.softening), length, 2, field.view());
    return field;
}

template <typename T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 4e-15;

/// Every component within `tolerance` of a size that a sum of absolute terms has: the potential of |q| over
/// the nearest distances (force) and the potential of |q| itself.
template <typename T>
void expect_equal(const Particles& sources, const Particles& targets, const forces::PairVariant& variant,
                  double length, int64_t chunk = 0) {
    const Field found = by_kernel<T>(sources, targets, variant, length, chunk);
    const Field expected = by_reference(sources, targets, variant, length);
    const Field size = by_reference(sources, targets, variant, length, true);
    for (int64_t i = 0; i < targets.count(); ++i) {
        const double force = std::hypot(expected.ax[i], expected.ay[i], expected.az[i]) +
                             std::hypot(size.ax[i], size.ay[i], size.az[i]) + size.potential[i];
        const double error = std::hypot(found.ax[i] - expected.ax[i], found.ay[i] - expected.ay[i],
                                        found.az[i] - expected.az[i]);
        ASSERT_LE(error, tolerance<T> * force) << "target " << i;
        if (variant.potential) {
            ASSERT_LE(std::abs(found.potential[i] - expected.potential[i]), tolerance<T> * size.potential[i])
                << "target " << i;
        }
    }
}

const forces::PairVariant all_variants[] = {
    {forces::Softening::none, false, false},    {forces::Softening::none, false, true},
    {forces::Softening::plummer, false, false}, {forces::Softening::plummer, false, true},
    {forces::Softening::plummer, true, false},  {forces::Softening::plummer, true, true},
    {forces::Softening::spline, false, false},  {forces::Softening::spline, false, true},
    {forces::Softening::spline, true, false},   {forces::Softening::spline, true, true},
};

class EverySimd : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override { ASSERT_TRUE(forces::set_simd_limit(GetParam())); }
    void TearDown() override { forces::set_simd_limit(""); }
};

INSTANTIATE_TEST_SUITE_P(P2P, EverySimd, testing::ValuesIn(forces::simd_names()),
                         [](const auto& info) { return info.param; });

} // namespace

TEST_P(EverySimd, LimitIsObeyed) {
    EXPECT_EQ(forces::simd_name(), GetParam());
    EXPECT_FALSE(forces::set_simd_limit("MMX"));
}

TEST_P(EverySimd, EveryVariantEqualsThePlainSum) {
    for (const bool mixed : {false, true}) {
        const Particles sources(333, 1, mixed, 1), targets(67, 1, mixed, 2);
        for (const forces::PairVariant& variant : all_variants) {
            SCOPED_TRACE(testing::Message()
                         << "softening " << static_cast<int>(variant.softening) << " per particle "
                         << variant.per_particle << " potential " << variant.potential);
            expect_equal<float>(sources, targets, variant, 0.3);
            expect_equal<double>(sources, targets, variant, 0.3);
        }
    }
}

TEST_P(EverySimd, EveryRemainderOfBothCounts) {
    const forces::PairVariant variant{forces::Softening::none, false, true};
    for (int64_t n = 1; n <= 70; ++n) {
        const Particles sources(n, 1, false, 3), targets(71 - n, 1, false, 4);
        expect_equal<float>(sources, targets, variant, 0);
        expect_equal<double>(sources, targets, variant, 0);
    }
}

TEST_P(EverySimd, NothingAtAll) {
    const Particles none(0, 1, false, 1), some(5, 1, false, 2);
    const Field field = by_kernel<float>(none, some, {forces::Softening::none, false, true}, 0);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(field.ax[i] + field.ay[i] + field.az[i] + field.potential[i], 0);
    EXPECT_TRUE(by_kernel<float>(some, none, {}, 0).ax.empty());
}

TEST_P(EverySimd, ATargetAmongTheSourcesFeelsNoForceOfItsOwn) {
    const Particles all(100, 1, true, 5);
    for (const forces::PairVariant& variant : all_variants) {
        expect_equal<float>(all, all, variant, 0.2);
        expect_equal<double>(all, all, variant, 0.2);
    }
}

TEST_P(EverySimd, AllAtOnePlace) {
    Particles all(40, 1, false, 6);
    for (std::vector<double>* axis : {&all.x, &all.y, &all.z})
        std::fill(axis->begin(), axis->end(), 0.25);
    double total = 0;
    for (const double q : all.q)
        total += q;
    const Field bare = by_kernel<float>(all, all, {forces::Softening::none, false, true}, 0);
    const Field plummer = by_kernel<double>(all, all, {forces::Softening::plummer, false, true}, 0.5);
    const Field spline = by_kernel<double>(all, all, {forces::Softening::spline, false, true}, 0.5);
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(bare.ax[i], 0);
        EXPECT_EQ(bare.potential[i], 0);
        EXPECT_EQ(plummer.ax[i] + spline.az[i], 0);
        EXPECT_NEAR(plummer.potential[i], total * forces::self_potential(forces::Softening::plummer, 0.5),
                    1e-13 * total);
        EXPECT_NEAR(spline.potential[i], total * forces::self_potential(forces::Softening::spline, 0.5),
                    2e-13 * total);
    }
}

TEST_P(EverySimd, DoublesSpanManyOrdersOfMagnitude) {
    // A pair 1e-25 of the frame apart (1/r^2 beyond float's range) and one 1e25 away: both to full precision.
    Particles sources(3, 1, false, 7);
    sources.x = {1e-25, 1, 1e25}, sources.y = {0, 0, 0}, sources.z = {0, 0, 0}, sources.q = {1e-50, 1, 1e50};
    Particles target(1, 1, false, 8);
    target.x = {0}, target.y = {0}, target.z = {0};
    const Field field = by_kernel<double>(sources, target, {forces::Softening::none, false, true}, 0);
    EXPECT_NEAR(field.ax[0], 3, 1e-14);
    EXPECT_NEAR(field.potential[0] / (1e25 + 1 + 1e-25), 1, 1e-14);
}

TEST_P(EverySimd, FramesKeepFloatPrecisionFarFromTheOrigin) {
    const Particles sources(200, 1.0 / 1024, false, 9, 1000), targets(32, 1.0 / 1024, false, 10, 1000);
    expect_equal<float>(sources, targets, {forces::Softening::none, false, true}, 0);
}

TEST_P(EverySimd, ForceIsTheGradientOfThePotential) {
    const Particles sources(150, 1, true, 11);
    const double step = 1e-4;
    for (const forces::PairVariant& variant : all_variants) {
        // Unsoftened, the nearest pairs are too steep for a fixed step: the comparison with the plain sum
        // serves.
        if (!variant.potential || variant.softening == forces::Softening::none)
            continue;
        Particles targets(7, 1, false, 12);
        const Field field = by_kernel<double>(sources, targets, variant, 0.7);
        Particles left = targets, right = targets;
        for (int i = 0; i < 7; ++i)
            left.x[i] -= step, right.x[i] += step;
        const Field low = by_kernel<double>(sources, left, variant, 0.7);
        const Field high = by_kernel<double>(sources, right, variant, 0.7);
        for (int i = 0; i < 7; ++i)
            EXPECT_NEAR((high.potential[i] - low.potential[i]) / (2 * step), field.ax[i], 1e-5);
    }
}

TEST_P(EverySimd, ChunksOnlyRegroupTheSum) {
    const Particles sources(5000, 1, false, 13), targets(33, 1, false, 14);
    expect_equal<float>(sources, targets, {forces::Softening::none, false, true}, 0, 512);
    const Field all = by_kernel<float>(sources, targets, {}, 0);
    const Field whole = by_kernel<float>(sources, targets, {}, 0, 1 << 20);
    EXPECT_EQ(all.ax, whole.ax); // the same order of summation, the same bits
}

TEST_P(EverySimd, AppendedRangesAreOneSource) {
    core::Memory memory;
    const Particles particles(1000, 1, false, 15);
    const forces::PairVariant variant{forces::Softening::spline, true, false};
    const forces::Frame frame = forces::make_frame<float>(particles.box(), 1);
    forces::SourceBuffer<float> buffer(memory);
    int64_t first = 0;
    for (int64_t count : {1, 7, 16, 100, 3, 873}) {
        buffer.append(particles.arrays(true), first, count, frame, variant);
        first += count;
    }
    const forces::Sources<float> view = buffer.view();
    ASSERT_EQ(view.count, 1008);
    for (int64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(view.x[i], static_cast<float>((particles.x[i] - frame.centre[0]) * frame.scale));
        ASSERT_EQ(view.q[i], static_cast<float>(particles.q[i]));
        ASSERT_EQ(view.s[i], static_cast<float>(particles.h[i] * frame.scale));
    }
    for (int64_t i = 1000; i < 1008; ++i)
        ASSERT_EQ(view.q[i], 0);
}
