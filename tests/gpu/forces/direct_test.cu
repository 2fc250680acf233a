// SPDX-License-Identifier: BSD-3-Clause
// All pairs on the device against the reference sum on the host, which shares no code with it.
#include "forces/evaluate_gpu.cuh"
#include "reference/direct_sum.hpp"

#include "device_fixture.cuh"

#include <algorithm>
#include <cmath>
#include <random>

namespace {

using namespace graft;
using forces::DevicePrecision;
using forces::DirectStage;
using forces::Softening;

struct Particles {
    std::vector<double> x, y, z, charge, softening;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
};

/// Uniform in a cube of this edge about (offset, offset, offset); every tenth charge is negative if `mixed`.
Particles cube(int64_t n, double edge, double offset, bool mixed, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> place(offset - edge / 2, offset + edge / 2), unit(0.1, 1);
    Particles p;
    for (int64_t k = 0; k < n; ++k) {
        p.x.push_back(place(random)), p.y.push_back(place(random)), p.z.push_back(place(random));
        p.charge.push_back((mixed && k % 10 == 0 ? -1 : 1) * unit(random) / static_cast<double>(n));
        p.softening.push_back(edge * 0.1 * unit(random));
    }
    return p;
}

struct Answer {
    std::vector<double> ax, ay, az, potential;
};

Answer reference_of(const Particles& from, const Particles& at, const forces::DeviceEvaluation& how) {
    const size_t n = static_cast<size_t>(at.size());
    Answer answer{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n),
                  std::vector<double>(n)};
    const bool each = how.pairs.per_particle;
    reference::direct_sum(
        {from.size(), from.x.data(), from.y.data(), from.z.data(), each ? from.softening.data() : nullptr},
        from.charge.data(),
        {at.size(), at.x.data(), at.y.data(), at.z.data(), each ? at.softening.data() : nullptr}, nullptr,
        static_cast<reference::Softening>(how.pairs.softening), how.softening_length, 2,
        {answer.ax.data(), answer.ay.data(), answer.az.data(), answer.potential.data()});
    return answer;
}

struct ParticlesOnDevice {
    explicit ParticlesOnDevice(backend::DeviceMemory& memory)
        : x(memory, "x"), y(memory, "y"), z(memory, "z"), charge(memory, "q"), softening(memory, "s") {}
    backend::DeviceBuffer<double> x, y, z, charge, softening;
    forces::DeviceSources view(bool each) const {
        return {x.data(), y.data(), z.data(), charge.data(), each ? softening.data() : nullptr, x.size()};
    }
};

class Direct : public test::DeviceTest {
  protected:
    void upload(const Particles& p, ParticlesOnDevice& to) {
        put(p.x, to.x), put(p.y, to.y), put(p.z, to.z), put(p.charge, to.charge),
            put(p.softening, to.softening);
    }
    /// Fields are poisoned first.
    Answer run(const Particles& from, const Particles& at, const forces::DeviceEvaluation& how,
               DirectStage stage, double before = std::nan("")) {
        ParticlesOnDevice sources(*memory), targets(*memory);
        upload(from, sources), upload(at, targets);
        forces::DeviceField field(*memory);
        const std::vector<double> poison(at.x.size(), before);
        put(poison, field.ax), put(poison, field.ay), put(poison, field.az);
        if (how.pairs.potential)
            put(poison, field.potential);
        forces::DeviceDirect direct(*memory);
        direct.evaluate(*queue, how, stage, sources.view(how.pairs.per_particle),
                        targets.view(how.pairs.per_particle), field);
        queue->wait();
        const int64_t n = at.size();
        return {get(field.ax.data(), n), get(field.ay.data(), n), get(field.az.data(), n),
                how.pairs.potential ? get(field.potential.data(), n) : std::vector<double>()};
    }
};

/// Errors of the acceleration relative to its size, sorted; the potential's are added where there is one.
std::vector<double> errors(const Answer& found, const Answer& expected) {
    std::vector<double> list;
    for (size_t k = 0; k < found.ax.size(); ++k) {
        const double size = std::hypot(expected.ax[k], expected.ay[k], expected.az[k]);
        const double off = std::hypot(found.ax[k] - expected.ax[k], found.ay[k] - expected.ay[k],
                                      found.az[k] - expected.az[k]);
        list.push_back(size > 0 ? off / size : off);
        if (!found.potential.empty()) {
            const double p = std::abs(expected.potential[k]);
            const double wrong = std::abs(found.potential[k] - expected.potential[k]);
            list.push_back(p > 0 ? wrong / p : wrong);
        }
    }
    for (double& error : list) // NaN must not pass
        error = std::isfinite(error) ? error : HUGE_VAL;
    std::sort(list.begin(), list.end());
    return list;
}

void expect_close(const Answer& found, const Answer& expected, DevicePrecision precision,
                  const std::string& what) {
    const std::vector<double> list = errors(found, expected);
    if (list.empty())
        return;
    const bool full = precision == DevicePrecision::fp64;
    EXPECT_LT(list[list.size() / 2], full ? 2e-15 : 2e-6) << what;
    EXPECT_LT(list.back(), full ? 1e-11 : 5e-4) << what;
}

TEST_F(Direct, MatchesTheReferenceInAllVariants) {
    graft::test::Cases cases(7);
    for (int64_t n : {1, 2, 31, 33, 1000}) {
        const Particles p = cube(n, 1, 0.3, false, static_cast<unsigned>(n));
        for (Softening softening : {Softening::none, Softening::plummer, Softening::spline})
            for (bool each : {false, true})
                for (bool potential : {false, true})
                    for (auto precision :
                         {DevicePrecision::fp32, DevicePrecision::mixed, DevicePrecision::fp64}) {
                        if (cases.skip())
                            continue;
                        if (each && softening == Softening::none)
                            continue;
                        forces::DeviceEvaluation how;
                        how.pairs = {softening, each, potential};
                        how.softening_length = softening == Softening::none ? 0 : 0.07;
                        how.precision = precision;
                        expect_close(run(p, p, how, DirectStage::best), reference_of(p, p, how), precision,
                                     core::format("n %lld softening %d each %d potential %d precision %d",
                                                  static_cast<long long>(n), static_cast<int>(softening),
                                                  each, potential, static_cast<int>(precision)));
                    }
    }
}

TEST_F(Direct, StagesMatchTheReference) {
    graft::test::Cases cases(7);
    for (int64_t n : {1, 31, 997, 3000}) {
        const Particles p = cube(n, 1, 0, false, 5), at = cube(n / 2 + 1, 1, 0.2, false, 6);
        for (auto stage : {DirectStage::plain, DirectStage::grouped, DirectStage::tiled})
            for (auto precision : {DevicePrecision::fp32, DevicePrecision::fp64})
                for (int threads : {0, 16, 1024}) {
                    if (cases.skip())
                        continue;
                    forces::DeviceEvaluation how;
                    how.pairs = {Softening::plummer, false, true};
                    how.softening_length = 0.01;
                    how.precision = precision, how.block_x = threads;
                    expect_close(
                        run(p, at, how, stage), reference_of(p, at, how), precision,
                        core::format("stage %d n %lld", static_cast<int>(stage), static_cast<long long>(n)));
                }
    }
}

TEST_F(Direct, TenThousandFarFromTheOrigin) {
    // In double coordinates of size 1e6 leave 1e-10 of the edge: fp32 relative to the block is as good as
    // ever.
    Particles p = cube(test::test_size(10000, 2000), 1, 1e6, true, 3);
    std::vector<size_t> order(p.x.size());
    for (size_t k = 0; k < order.size(); ++k)
        order[k] = k;
    const auto cell = [&](double v) { return std::floor((v - 1e6 + 0.5) * 4); };
    const auto key = [&](size_t k) { return cell(p.x[k]) * 16 + cell(p.y[k]) * 4 + cell(p.z[k]); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    Particles sorted = p;
    for (size_t k = 0; k < order.size(); ++k)
        sorted.x[k] = p.x[order[k]], sorted.y[k] = p.y[order[k]], sorted.z[k] = p.z[order[k]];
    forces::DeviceEvaluation how;
    how.pairs.potential = true;
    for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
        how.precision = precision;
        const std::vector<double> list =
            errors(run(sorted, sorted, how, DirectStage::best), reference_of(sorted, sorted, how));
        EXPECT_LT(list[list.size() / 2], 2e-6);
        EXPECT_LT(list[list.size() * 99 / 100], 1e-4); // charges of both signs: sums may cancel
    }
    how.precision = DevicePrecision::fp64;
    const std::vector<double> list =
        errors(run(sorted, sorted, how, DirectStage::best), reference_of(sorted, sorted, how));
    EXPECT_LT(list[list.size() * 99 / 100], 1e-12);
}

TEST_F(Direct, ManyTargetsTakeWholeTiles) {
    graft::test::Cases cases(7);
    // So many targets that a part of the sources is longer than a tile, in every shape; some of them checked.
    const Particles p = cube(test::test_size(4000, 400), 1, 0, false, 21),
                    at = cube(test::test_size(300001, 20011), 1, 0.1, false, 22);
    Particles some;
    std::vector<size_t> place;
    for (size_t k = 0; k < at.x.size(); k += 83) {
        place.push_back(k);
        some.x.push_back(at.x[k]), some.y.push_back(at.y[k]), some.z.push_back(at.z[k]);
        some.softening.push_back(at.softening[k]);
    }
    for (Softening softening : {Softening::none, Softening::plummer, Softening::spline})
        for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed, DevicePrecision::fp64})
            for (bool potential : {false, true}) {
                if (cases.skip())
                    continue;
                forces::DeviceEvaluation how;
                how.pairs = {softening, softening != Softening::none, potential}, how.precision = precision;
                const Answer all = run(p, at, how, DirectStage::best);
                Answer found;
                for (const size_t k : place) {
                    found.ax.push_back(all.ax[k]), found.ay.push_back(all.ay[k]);
                    found.az.push_back(all.az[k]);
                    if (potential)
                        found.potential.push_back(all.potential[k]);
                }
                expect_close(found, reference_of(p, some, how), precision,
                             core::format("softening %d precision %d", static_cast<int>(softening),
                                          static_cast<int>(precision)));
            }
}

TEST_F(Direct, SameBitsEveryRun) {
    const Particles p = cube(test::test_size(7001, 2001), 1, 0, true, 9),
                    at = cube(test::test_size(2049, 1025), 1, 0.1, true, 10);
    for (auto stage : {DirectStage::plain, DirectStage::tiled, DirectStage::best})
        for (auto precision : {DevicePrecision::fp32, DevicePrecision::fp64}) {
            forces::DeviceEvaluation how;
            how.pairs.potential = true, how.precision = precision;
            const Answer first = run(p, at, how, stage), second = run(p, at, how, stage);
            EXPECT_EQ(first.ax, second.ax);
            EXPECT_EQ(first.potential, second.potential);
        }
}

TEST_F(Direct, ExtremeUnits) {
    // Lengths of 1e-30 and 1e25: float alone has no such squares.
    for (double edge : {1e-30, 1e25}) {
        const Particles p = cube(300, edge, 0, false, 11);
        for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed, DevicePrecision::fp64}) {
            forces::DeviceEvaluation how;
            how.precision = precision;
            expect_close(run(p, p, how, DirectStage::best), reference_of(p, p, how), precision,
                         core::format("edge %g", edge));
        }
    }
}

TEST_F(Direct, AllAtOnePlaceAndFarSources) {
    Particles p = cube(700, 1, 0, false, 12);
    for (size_t k = 0; k < p.x.size(); ++k)
        p.x[k] = 5, p.y[k] = -3, p.z[k] = 1e5;
    for (auto precision : {DevicePrecision::fp32, DevicePrecision::fp64}) {
        forces::DeviceEvaluation how;
        how.pairs.potential = true, how.precision = precision;
        const Answer none = run(p, p, how, DirectStage::best);
        EXPECT_EQ(*std::max_element(none.ax.begin(), none.ax.end()), 0);
        EXPECT_EQ(*std::max_element(none.potential.begin(), none.potential.end()), 0);
        const Particles far = cube(65, 1e-3, -7e4, false, 13); // the targets have no extent of their own
        expect_close(run(far, p, how, DirectStage::best), reference_of(far, p, how), precision, "far");
    }
}

/// The particles of a cube of edge 1, every other one moved along x.
Particles clumps(int64_t n, double apart, unsigned seed) {
    Particles p = cube(n, 1, 0, true, seed);
    for (size_t k = static_cast<size_t>(n) / 2; k < p.x.size(); ++k)
        p.x[k] += apart;
    return p;
}

TEST_F(Direct, BlocksThatStraddleFarClumpsKeepTheirDigits) {
    graft::test::Cases cases(3);
    for (double apart : {1e6, 1e9, 1e30})
        for (Softening softening : {Softening::none, Softening::plummer, Softening::spline})
            for (bool each : {false, true})
                for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
                    if (cases.skip() || (each && softening == Softening::none))
                        continue;
                    Particles p = clumps(453, apart, 17);
                    for (double& length : p.softening)
                        length *= 1e-2; // of 0.1: far below the block's resolution
                    forces::DeviceEvaluation how;
                    how.pairs = {softening, each, true}, how.precision = precision;
                    how.softening_length = softening == Softening::none ? 0 : 1e-3;
                    const std::vector<double> list =
                        errors(run(p, p, how, DirectStage::best), reference_of(p, p, how));
                    EXPECT_LT(list.back(), 1e-9) << "apart " << apart << " softening "
                                                 << static_cast<int>(softening) << " each " << each;
                }
}

TEST_F(Direct, AClosePairInAWideBlockKeepsItsDigitsAndNoOtherTargetChanges) {
    Particles p = cube(3000, 1, 0, false, 18);
    p.x[1999] = p.x[2000], p.y[1999] = p.y[2000], p.z[1999] = p.z[2000];
    forces::DeviceEvaluation how;
    how.precision = DevicePrecision::fp32, how.pairs.potential = true;
    const Answer before = run(p, p, how, DirectStage::best);
    const double apart = 0x1p-30;
    p.z[1999] += apart;
    const Answer after = run(p, p, how, DirectStage::best), expected = reference_of(p, p, how);
    for (const size_t k : {size_t{1999}, size_t{2000}})
        EXPECT_NEAR(after.az[k] / expected.az[k], 1, 1e-9) << k;
    int64_t changed = 0;
    for (size_t k = 0; k < p.x.size(); ++k)
        changed += after.ax[k] != before.ax[k] ? 1 : 0;
    EXPECT_LE(changed, 2); // their places round alike
    const Answer again = run(p, p, how, DirectStage::best);
    EXPECT_EQ(again.ax, after.ax);
    how.add = true;
    EXPECT_EQ(run(p, p, how, DirectStage::best, 2.0).az[2000], 2.0 + after.az[2000]);
}

TEST_F(Direct, AHeapInAWideBlockHasItsNeighbours) {
    // A thread block of targets and more at one place, others before it in no order, one close behind it, and
    // one far away.
    Particles p = cube(1500, 1, 0, true, 20);
    for (size_t k = 700; k < 1100; ++k)
        p.x[k] = p.y[k] = p.z[k] = 0.25;
    p.x[1100] = p.y[1100] = 0.25, p.z[1100] = 0.25 + 0x1p-30;
    p.x.back() = 1e20;
    forces::DeviceEvaluation how;
    how.pairs.potential = true;
    for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
        how.precision = precision;
        const std::vector<double> list = errors(run(p, p, how, DirectStage::best), reference_of(p, p, how));
        EXPECT_LT(list[list.size() - 3], 1e-9);
        EXPECT_LT(list.back(), 1e-6); // the far one, whose field and potential single precision serves
    }
}

void add(Particles& to, double x, double y, double z, double charge) {
    to.x.push_back(x), to.y.push_back(y), to.z.push_back(z);
    to.charge.push_back(charge), to.softening.push_back(0.01);
}

/// Sources in an order of their own, some of which stand beside a target, on any side of it; and of those targets the
/// largest error, relative to the field.
struct Partners {
    Particles from;
    std::vector<size_t> paired;
    Partners(const Particles& at, int64_t others, double apart) : from(cube(others, 1, 0, true, 22)) {
        constexpr size_t step = 8;
        for (size_t k = (at.x.size() - 1) / step * step; k < at.x.size(); k -= step) {
            paired.push_back(k);
            const double side = k % (2 * step) == 0 ? 1 : -1;
            add(from, at.x[k] + side * apart, at.y[k] - apart, at.z[k] + apart / 3, 1);
        }
    }
    double worst(const Answer& found, const Answer& expected) const {
        double worst = 0;
        for (const size_t k : paired) {
            const double size = std::hypot(expected.ax[k], expected.ay[k], expected.az[k]);
            const double error = std::hypot(found.ax[k] - expected.ax[k], found.ay[k] - expected.ay[k],
                                            found.az[k] - expected.az[k]) / size;
            worst = error <= worst ? worst : error; // NaN is kept
        }
        return worst;
    }
};

TEST_F(Direct, CloseSourcesThatAreNoTargets) {
    graft::test::Cases cases(3);
    for (const int64_t n : {1, 2, 7, 453, 3001})
        for (const double apart : {0x1p-22, 0x1p-40})
            for (const double length : {0.0, 1e-3})
                for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
                    if (cases.skip())
                        continue;
                    const Particles at = cube(n, 1, 0, false, 21);
                    const Partners sources(at, n + 2, apart);
                    forces::DeviceEvaluation how;
                    how.precision = precision, how.softening_length = length;
                    how.pairs.softening = length > 0 ? Softening::plummer : Softening::none;
                    const Answer expected = reference_of(sources.from, at, how);
                    const Answer found = run(sources.from, at, how, DirectStage::best);
                    EXPECT_LT(sources.worst(found, expected), n > 1 ? 1e-9 : 1e-5) // one has its partner for a frame
                        << n << " targets, apart " << apart << ", length " << length;
                    EXPECT_EQ(run(sources.from, at, how, DirectStage::best).ax, found.ax);
                }
}

/// More sizes of blocks than there are sizes of cells: cubes within each other.
TEST_F(Direct, CloseSourcesOfBlocksOfManySizes) {
    for (const double shrunk : {0.5, 1e-4}) {
        Particles at;
        for (double edge = 1; at.size() < 9 * 1024; edge *= shrunk) {
            const Particles one = cube(1024, edge, 0, false, 23);
            for (size_t k = 0; k < one.x.size(); ++k)
                add(at, one.x[k], one.y[k], one.z[k], one.charge[k]);
        }
        Partners sources(at, 100, 0);
        sources.from = cube(100, 1, 0, false, 24);
        for (const size_t k : sources.paired)
            add(sources.from, at.x[k] * (1 + 0x1p-40), at.y[k], at.z[k], 1);
        forces::DeviceEvaluation how;
        how.precision = DevicePrecision::mixed;
        EXPECT_LT(sources.worst(run(sources.from, at, how, DirectStage::best), reference_of(sources.from, at, how)), 1e-9)
            << shrunk;
    }
}

/// Many sources at one place and in a clump smaller than a cell, both beside a target.
TEST_F(Direct, CloseHeapsAndClumps) {
    Particles at = cube(453, 1, 0, false, 25), from = cube(77, 1, 0, false, 26);
    std::mt19937_64 random(27);
    std::uniform_real_distribution<double> offset(-1e-9, 1e-9);
    for (int k = 0; k < 20000; ++k) {
        add(from, at.x[3] + 1e-8, at.y[3], at.z[3], 1e-3);
        add(from, at.x[300] + offset(random), at.y[300] + 2e-9 + offset(random), at.z[300] + offset(random), 1e-3);
    }
    forces::DeviceEvaluation how;
    how.pairs.potential = true;
    for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
        how.precision = precision;
        const Answer found = run(from, at, how, DirectStage::best), expected = reference_of(from, at, how);
        EXPECT_NEAR(found.ax[3] / expected.ax[3], 1, 1e-9);
        EXPECT_NEAR(found.ay[300] / expected.ay[300], 1, 1e-9);
        EXPECT_NEAR(found.potential[300] / expected.potential[300], 1, 1e-9);
    }
}

TEST_F(Direct, AFarSourceDoesNotMakeAFrameTooSmall) {
    // 2^60 edges away: the frame of the cube shrinks, so that the far source's square is finite.
    Particles from = cube(500, 1, 0, false, 19);
    const Particles at = from;
    from.x[7] = 1e30;
    forces::DeviceEvaluation how;
    how.pairs.potential = true;
    for (auto precision : {DevicePrecision::fp32, DevicePrecision::mixed}) {
        how.precision = precision;
        expect_close(run(from, at, how, DirectStage::best), reference_of(from, at, how), precision, "far");
    }
}

TEST_F(Direct, AddsAndTakesNothing) {
    const Particles p = cube(200, 1, 0, false, 14), none;
    forces::DeviceEvaluation how;
    how.precision = DevicePrecision::fp64;
    const Answer plain = run(p, p, how, DirectStage::best);
    how.add = true;
    const Answer added = run(p, p, how, DirectStage::best, 2.0);
    for (size_t k = 0; k < p.x.size(); ++k)
        EXPECT_EQ(added.ax[k], 2.0 + plain.ax[k]);
    EXPECT_EQ(run(none, p, how, DirectStage::best, 2.0).az, std::vector<double>(200, 2.0));
    how.add = false;
    EXPECT_EQ(run(none, p, how, DirectStage::best).az, std::vector<double>(200, 0.0));
    EXPECT_TRUE(run(p, none, how, DirectStage::best).ax.empty());
}

TEST_F(Direct, StagesRefuseWhatTheyDoNotDo) {
    const Particles p = cube(10, 1, 0, false, 15);
    forces::DeviceEvaluation how; // mixed
    EXPECT_THROW(run(p, p, how, DirectStage::tiled), core::Error);
    how.precision = DevicePrecision::fp32, how.pairs.softening = Softening::spline;
    EXPECT_THROW(run(p, p, how, DirectStage::plain), core::Error);
}

TEST_F(Direct, CountsPairsAndAllocatesOnce) {
    const Particles p = cube(1500, 1, 0, false, 16);
    ParticlesOnDevice on(*memory);
    upload(p, on);
    forces::DeviceField field(*memory);
    field.resize(p.size(), false);
    forces::DeviceDirect direct(*memory);
    forces::DeviceEvaluation how;
    direct.evaluate(*queue, how, DirectStage::best, on.view(false), on.view(false), field);
    queue->wait();
    const int64_t allocations = memory->allocations(), waits = queue->waits();
    for (int repetition = 0; repetition < 3; ++repetition)
        direct.evaluate(*queue, how, DirectStage::best, on.view(false), on.view(false), field);
    EXPECT_EQ(memory->allocations(), allocations);
    EXPECT_EQ(queue->waits(), waits);
    EXPECT_EQ(status().pairs, 4 * 1500.0 * 1500.0);
}

} // namespace
