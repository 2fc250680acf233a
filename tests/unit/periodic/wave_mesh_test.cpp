// SPDX-License-Identifier: BSD-3-Clause
// The mesh beside what it stands for: plain Fourier sums, and the sum over wave vectors.
#include "periodic/mesh/wave_mesh.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

namespace graft::periodic {
namespace {

constexpr double pi = 3.14159265358979323846;

TEST(FourierPlanTest, LengthsAreProductsOfTwoThreeAndFive) {
    for (const auto& [least, length] : {std::pair(1.0, 1), {7.0, 8}, {8.0, 8}, {11.0, 12}, {13.5, 15}, {97.0, 100}, {121.0, 125},
                                        {126.0, 128}, {241.0, 243}, {487.0, 500}})
        EXPECT_EQ(fourier_length(least), length) << least;
}

template <typename T>
void expect_plain_sums(const int64_t (&count)[3]) {
    const MeshShape shape = mesh_shape<T>(count);
    const FourierPlan plan[3] = {FourierPlan(static_cast<int>(count[0])), FourierPlan(static_cast<int>(count[1])),
                                 FourierPlan(static_cast<int>(count[2]))};
    core::Memory memory;
    core::Buffer<T> mesh(memory), real(memory), imaginary(memory), influence(memory), scratch(memory);
    mesh.resize(shape.size());
    for (core::Buffer<T>* values : {&real, &imaginary, &influence})
        values->resize(shape.spectrum_size());
    scratch.resize(fourier_scratch<T>(shape));
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values;
    const int64_t rows = count[0] * count[1];
    std::fill(mesh.begin(), mesh.end(), T(0));
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t k = 0; k < count[2]; ++k) {
            values.push_back(static_cast<double>(static_cast<T>(uniform(random))));
            mesh[row * shape.row + k] = static_cast<T>(values.back());
        }
    mesh[count[2]] += T(0.5); // beyond the first row's end: folded back to its first point
    values[0] += 0.5;
    std::fill(influence.begin(), influence.end(), static_cast<T>(1.0 / static_cast<double>(count[0])));
    const Spectrum<T> spectrum{real.data(), imaginary.data()};
    const int64_t pairs = (rows + 1) / 2;
    const auto transform = [&](bool inverse) {
        for (int64_t first = 0; first < pairs; first += mesh_row_pairs<T>)
            transform_rows<T>(shape, plan[2], first, std::min(mesh_row_pairs<T>, pairs - first), inverse, mesh.data(), spectrum,
                              scratch.data());
    };
    const auto transform_planes = [&](bool inverse) {
        for (int64_t i = 0; i < count[0]; ++i)
            for (int64_t k = 0; k < shape.half_row; k += mesh_row_pairs<T>)
                transform_columns<T>(shape, plan[1], i, k, inverse, spectrum, scratch.data());
    };
    transform(false);
    transform_planes(false);
    const double rounding = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (int64_t i = 0; i < count[0]; ++i)
        for (int64_t m = 0; m < count[1]; ++m)
            for (int64_t h = 0; h <= count[2] / 2; ++h) {
                std::complex<double> sum = 0;
                for (int64_t j = 0; j < count[1]; ++j)
                    for (int64_t k = 0; k < count[2]; ++k)
                        sum += values[static_cast<size_t>((i * count[1] + j) * count[2] + k)] *
                               std::polar(1.0, -2 * pi * (static_cast<double>(j * m) / static_cast<double>(count[1]) +
                                                          static_cast<double>(k * h) / static_cast<double>(count[2])));
                const int64_t at = (i * count[1] + m) * shape.half_row + h;
                ASSERT_NEAR(static_cast<double>(real[at]), sum.real(), 10 * rounding) << i << " " << m << " " << h;
                ASSERT_NEAR(static_cast<double>(imaginary[at]), sum.imag(), 10 * rounding) << i << " " << m << " " << h;
            }
    for (int64_t j = 0; j < count[1]; ++j)
        for (int64_t k = 0; k < shape.half_row; k += mesh_row_pairs<T>)
            convolve_columns<T>(shape, plan[0], j, k, influence.data(), spectrum, nullptr, scratch.data());
    transform_planes(true);
    transform(true);
    const auto factor = static_cast<double>(count[1] * count[2]);
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t k = 0; k < count[2] + spline_lanes; ++k) // and what stands beyond the end for those who read
            ASSERT_NEAR(static_cast<double>(mesh[row * shape.row + k]) / factor,
                        values[static_cast<size_t>(row * count[2] + k % count[2])], rounding);
}

TEST(MeshKernels, TransformsArePlainFourierSums) {
    expect_plain_sums<double>({9, 10, 12});
    expect_plain_sums<double>({8, 15, 25}); // odd: no vector in the middle
    expect_plain_sums<double>({5, 3, 16});  // an odd number of rows
    expect_plain_sums<float>({16, 9, 20});
    expect_plain_sums<float>({3, 3, 8});
}

TEST(SplineTest, WeightsAddUpToOneAndSlopesToNothing) {
    for (const int order : {4, 6, 8}) {
        const Spline<double> spline = make_spline<double>(order);
        for (const double t : {-0.5, -0.2, 0.0, 0.3, 0.5}) {
            double sum = 0, slope = 0, middle = 0;
            for (int lane = 0; lane < spline_lanes; ++lane) {
                double value = 0, derivative = 0;
                for (int power = order - 1; power >= 0; --power) {
                    value = value * t + spline.value[power][lane];
                    derivative = derivative * t + spline.slope[power][lane];
                }
                EXPECT_GE(value, -1e-15);
                EXPECT_TRUE(lane < order || value == 0);
                sum += value, slope += derivative, middle += value * (lane - order / 2 + 1);
            }
            EXPECT_NEAR(sum, 1, 1e-14) << order;
            EXPECT_NEAR(slope, 0, 1e-14) << order;
            EXPECT_NEAR(middle, t + 0.5, 1e-14) << order; // about u
        }
    }
}

struct Charges {
    std::vector<double> f[3], q;
    int64_t size() const { return static_cast<int64_t>(q.size()); }
    Fractions fractions() const { return {f[0].data(), f[1].data(), f[2].data(), size()}; }
};
Charges charges_in_a_box(int64_t n) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform;
    Charges charges;
    for (int64_t i = 0; i < n; ++i) {
        for (std::vector<double>& axis : charges.f)
            axis.push_back(uniform(random));
        charges.q.push_back(i % 2 == 0 ? 1 : -1);
    }
    return charges;
}

struct Smooth {
    std::vector<double> value[4]; // potential and derivatives
    WaveEnergy energy;
    explicit Smooth(int64_t n) {
        for (std::vector<double>& values : value)
            values.assign(static_cast<size_t>(n), 0);
    }
};

/// By vectors.
Smooth sum_waves(const Waves& waves, const Charges& charges) {
    core::Memory memory;
    core::Buffer<double> scratch(memory);
    scratch.resize(wave_scratch(waves));
    std::vector<double> sums(static_cast<size_t>(structure_size * waves.value_count()));
    std::vector<double> weighted(static_cast<size_t>(wave_size * waves.value_count()));
    Smooth smooth(charges.size());
    add_structure(waves, charges.fractions(), charges.q.data(), scratch.data(), sums.data());
    weigh_structure(waves, sums.data(), weighted.data());
    add_waves(waves, weighted.data(), charges.fractions(), scratch.data(), smooth.value[0].data(), smooth.value[1].data(),
              smooth.value[2].data(), smooth.value[3].data());
    smooth.energy = wave_energy(waves, sums.data());
    return smooth;
}

template <typename T>
Smooth sum_on_mesh(const Waves& waves, const MeshChoice& choice, const Charges& charges, int threads = 1) {
    core::Memory memory;
    const backend::Executor executor{memory, threads};
    WaveMesh<T> mesh(memory);
    mesh.prepare(executor, waves, choice, 4);
    mesh.spread(executor, charges.fractions(), charges.q.data());
    Smooth smooth(charges.size());
    mesh.convolve(executor, static_cast<double>(charges.size()), &smooth.energy);
    for (int64_t begin = 0; begin < charges.size(); begin += WaveMesh<T>::most_read) {
        const int64_t count = std::min(WaveMesh<T>::most_read, charges.size() - begin);
        const Fractions part{charges.f[0].data() + begin, charges.f[1].data() + begin, charges.f[2].data() + begin, count};
        mesh.read(part, charges.q.data() + begin, smooth.value[0].data() + begin, smooth.value[1].data() + begin,
                  smooth.value[2].data() + begin, smooth.value[3].data() + begin);
    }
    for (std::vector<double>& values : smooth.value)
        for (double& value : values)
            value /= 4;
    return smooth;
}

double rms_of_forces(const geometry::Lattice& lattice, const Smooth& a, const Smooth& b) {
    double sum = 0;
    const geometry::Vec3 g[3] = {lattice.reciprocal(1, 0, 0), lattice.reciprocal(0, 1, 0), lattice.reciprocal(0, 0, 1)};
    for (size_t i = 0; i < a.value[0].size(); ++i)
        for (int c = 0; c < 3; ++c) {
            double force = 0;
            for (int d = 0; d < 3; ++d)
                force += g[d][c] * (a.value[1 + d][i] - b.value[1 + d][i]);
            sum += force * force;
        }
    return std::sqrt(sum / static_cast<double>(a.value[0].size()));
}

const geometry::Lattice straight{{0, 0, 0}, {2, 2.4, 1.7}}, tilted{{1, 0, 0}, {2, 2.2, 1.8}, 0.7, -0.5, 0.9};

/// Waves of all vectors that matter, and the same without vectors.
struct BothWaves {
    Waves sum, alone;
    BothWaves(const geometry::Lattice& lattice, double alpha, double softening)
        : sum(lattice, alpha, 11 * alpha, softening), alone(lattice, alpha, 0, softening) {}
};

TEST(WaveMeshTest, ErrorsAreThoseOfTheFormula) {
    const Charges charges = charges_in_a_box(1500);
    const double alpha = 4;
    for (const geometry::Lattice& lattice : {straight, tilted}) {
        const BothWaves waves(lattice, alpha, 0);
        const Smooth expected = sum_waves(waves.sum, charges);
        const double size = std::sqrt(static_cast<double>(charges.size()) * alpha / lattice.volume());
        for (const int order : {4, 6, 8})
            for (const double wanted : {3e-2, 1e-3, 1e-4, 1e-6}) {
                const MeshChoice choice = choose_mesh(lattice, alpha, order, wanted);
                if (choice.order == 0 || choice.points() > 300000)
                    continue;
                const Smooth found = sum_on_mesh<double>(waves.alone, choice, charges);
                const double error = rms_of_forces(lattice, found, expected) / size;
                EXPECT_LT(error, 1.2 * wanted) << order << " of " << choice.points();
                // In a tilted box the longer edges are what spacings are counted by; lengths of transforms are rounded up.
                EXPECT_GT(error, (lattice == straight ? 0.15 : 0.01) * wanted) << order << " of " << choice.points();
            }
    }
}

TEST(WaveMeshTest, PotentialsEnergyAndVirialAreTheSums) {
    const Charges charges = charges_in_a_box(700);
    for (const double softening : {0.0, 0.3})
        for (const geometry::Lattice& lattice : {straight, tilted}) {
            const BothWaves waves(lattice, 3, softening);
            const Smooth expected = sum_waves(waves.sum, charges);
            const Smooth found = sum_on_mesh<double>(waves.alone, choose_mesh(lattice, 3, 8, 1e-6), charges);
            const Smooth single = sum_on_mesh<float>(waves.alone, choose_mesh(lattice, 3, 8, 1e-6), charges);
            double size = 0;
            for (const double value : expected.value[0])
                size += value * value / static_cast<double>(charges.size());
            size = std::sqrt(size);
            for (size_t i = 0; i < charges.q.size(); ++i) {
                EXPECT_NEAR(found.value[0][i], expected.value[0][i], 1e-5 * size);
                EXPECT_NEAR(single.value[0][i], expected.value[0][i], 2e-5 * size);
            }
            const double energy = expected.energy.energy;
            EXPECT_NEAR(found.energy.energy, energy, 1e-6 * energy);
            EXPECT_NEAR(single.energy.energy, energy, 1e-5 * energy);
            for (int c = 0; c < 6; ++c) {
                EXPECT_NEAR(found.energy.virial[c], expected.energy.virial[c], 1e-5 * energy) << c;
                EXPECT_NEAR(single.energy.virial[c], expected.energy.virial[c], 2e-5 * energy) << c;
            }
        }
}

TEST(WaveMeshTest, AChargeAloneIsNotDrawnToTheMesh) {
    Charges one;
    one.f[0] = {0.137}, one.f[1] = {0.721}, one.f[2] = {0.404}, one.q = {1};
    const BothWaves waves(straight, 4, 0);
    const MeshChoice choice = choose_mesh(straight, 4, 6, 1e-3);
    const Smooth found = sum_on_mesh<double>(waves.alone, choice, one);
    const Smooth nothing(1);
    EXPECT_LT(rms_of_forces(straight, found, nothing), 1e-4 * 16); // alpha^2: what a charge does at 1 / alpha
}

TEST(WaveMeshTest, TheSameBitsForAnyNumberOfThreads) {
    const Charges charges = charges_in_a_box(20000);
    const BothWaves waves(tilted, 12, 0);
    const MeshChoice choice = choose_mesh(tilted, 12, 6, 1e-3);
    const Smooth one = sum_on_mesh<float>(waves.alone, choice, charges, 1);
    const Smooth four = sum_on_mesh<float>(waves.alone, choice, charges, 4);
    for (int c = 0; c < 4; ++c)
        EXPECT_EQ(one.value[c], four.value[c]);
    EXPECT_EQ(one.energy.energy, four.energy.energy);
    for (int c = 0; c < 6; ++c)
        EXPECT_EQ(one.energy.virial[c], four.energy.virial[c]);
}

} // namespace
} // namespace graft::periodic
