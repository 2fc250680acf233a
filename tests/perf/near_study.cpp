// SPDX-License-Identifier: BSD-3-Clause
// How near the near field's layouts come to what one core's multiply-add units allow, over the points a box.
//
// Points at random in a cube of side^3 boxes, 27 neighbours, Laplace. The slots of a layout are the
// multiply-adds that the machine could have issued (rate of independent ones, timed in turn with the layout,
// best of all rounds of both) while one vector of pairs was summed, by processor time where one thread sums,
// so that other programs do not count; the floor are the arithmetic instructions of the compiled loop
// (`objdump -d`, AVX-512: potential 13, gradient 16, both 19 in float, see docs/lab/near.md). usage:
// near_study [points] [outputs 1|2|3] [rounds] [threads] [densities...]
#include "core/error.hpp"
#include "study/bench/bench_p2p.hpp"
#include "near/layouts/layout.hpp"
#include "forces/simd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace graft;

namespace {

struct Grid {
    std::vector<int64_t> offset{0}, neighbour_offset{0};
    std::vector<int32_t> neighbour;
    std::array<std::vector<double>, 3> place;
    std::vector<double> charge;

    Grid(int64_t points, double density) {
        const int side =
            std::max(3, static_cast<int>(std::lround(std::cbrt(static_cast<double>(points) / density))));
        std::mt19937_64 random(1);
        std::uniform_real_distribution<double> uniform(0, 1);
        std::vector<std::vector<std::array<double, 3>>> boxes(static_cast<size_t>(side) * side * side);
        for (int64_t i = 0; i < points; ++i) {
            const std::array<double, 3> p{uniform(random), uniform(random), uniform(random)};
            boxes[static_cast<size_t>(index(side, static_cast<int>(p[0] * side),
                                            static_cast<int>(p[1] * side), static_cast<int>(p[2] * side)))]
                .push_back(p);
            charge.push_back(uniform(random) - 0.5);
        }
        for (const auto& box : boxes) {
            for (const auto& p : box)
                for (int axis = 0; axis < 3; ++axis)
                    place[axis].push_back(p[axis]);
            offset.push_back(static_cast<int64_t>(place[0].size()));
        }
        for (int i = 0; i < side; ++i)
            for (int j = 0; j < side; ++j)
                for (int k = 0; k < side; ++k)
                    add_neighbours(side, i, j, k);
    }
    static int index(int side, int i, int j, int k) { return (i * side + j) * side + k; }
    void add_neighbours(int side, int i, int j, int k) {
        for (int a = std::max(i - 1, 0); a <= std::min(i + 1, side - 1); ++a)
            for (int b = std::max(j - 1, 0); b <= std::min(j + 1, side - 1); ++b)
                for (int c = std::max(k - 1, 0); c <= std::min(k + 1, side - 1); ++c)
                    neighbour.push_back(index(side, a, b, c));
        neighbour_offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    near::Structure structure() const { return {offset, offset, neighbour_offset, neighbour, {}, {}, true}; }
};

struct Measured {
    double pairs_per_s = 0, slots = 0;
    near::Times times;
};

template <typename T>
Measured measure(const Grid& grid, near::Layout layout, const near::Sums& sums, int rounds, int threads) {
    core::Memory memory;
    const near::Structure structure = grid.structure();
    const auto made = near::make_layout<T>(layout, structure, sums, {0, threads}, memory);
    std::array<std::vector<T>, 4> in;
    for (int axis = 0; axis < 3; ++axis)
        in[axis].assign(grid.place[axis].begin(), grid.place[axis].end());
    in[3].assign(grid.charge.begin(), grid.charge.end());
    std::array<std::vector<T>, 4> out;
    near::Fields<T> fields;
    for (int k = 0; k < 4; ++k) {
        out[k].resize(in[0].size());
        (k == 0 ? fields.potential[0] : fields.gradient[0][k - 1]) = out[k].data();
    }
    near::Charges<T> charges;
    charges.component[0] = in[3].data();
    made->set_points({in[0].data(), in[1].data(), in[2].data()}, {});
    made->set_charges(charges);
    const bool single = sums.precision != near::Precision::fp64;
    static double highest[2] = {0, 0}; // of the whole program: a quiet moment is enough
    double& fma_per_s = highest[single ? 0 : 1];
    double best_s = 1e300;
    Measured result;
    for (int round = 0; round < rounds; ++round) {
        fma_per_s = std::max(fma_per_s, single ? study::bench_p2p<float>(1).fma_per_s
                                               : study::bench_p2p<double>(1).fma_per_s);
        const std::clock_t before = std::clock();
        made->run(fields);
        const double processor_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        best_s = std::min(best_s, threads == 1 ? processor_s : made->times().total_s);
    }
    result.times = made->times();
    const double pairs = static_cast<double>(near::shape_of(structure, sums).pairs);
    const double lanes = forces::simd_float_lanes() / (single ? 1 : 2);
    result.pairs_per_s = pairs / best_s;
    result.slots = fma_per_s * best_s * lanes / pairs;
    return result;
}

/// Instructions a vector of pairs: of potential, gradient, both; float, mixed, double.
constexpr int floors[3][3] = {{13, 16, 19}, {19, 22, 25}, {15, 19, 24}};

std::string share_of(const near::Sums& sums, double slots) {
    if (std::string(forces::simd_name()).find("AVX3") != 0)
        return "-";
    const int floor = floors[static_cast<size_t>(sums.precision)][sums.outputs - 1];
    return core::format("%.0f %%", 100 * floor / slots);
}

} // namespace

int main(int count, char** word) {
    const auto number = [&](int k, double other) { return count > k ? std::atof(word[k]) : other; };
    const int64_t points = static_cast<int64_t>(number(1, 20000));
    const int rounds = static_cast<int>(number(3, 3)), threads = static_cast<int>(number(4, 1));
    near::Sums sums;
    sums.outputs = std::clamp(static_cast<int32_t>(number(2, 3)), 1, 3);
    std::vector<double> densities;
    for (int k = 5; k < count; ++k)
        densities.push_back(std::atof(word[k]));
    if (densities.empty())
        densities = {64, 8, 2};
    std::printf(
        "%s, %d threads, outputs %d\n density layout                   precision   pairs/s  slots  share  "
        "collection_s charges_s\n",
        forces::simd_name(), threads, sums.outputs);
    for (const double density : densities) {
        const Grid grid(points, density);
        for (int l = 0; l < near::layouts; ++l)
            for (const near::Precision precision :
                 {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
                const near::Layout layout = static_cast<near::Layout>(l);
                sums.precision = precision;
                if (near::bytes_of(layout, near::shape_of(grid.structure(), sums)) > 1e9)
                    continue;
                const Measured m = precision == near::Precision::fp32
                                       ? measure<float>(grid, layout, sums, rounds, threads)
                                       : measure<double>(grid, layout, sums, rounds, threads);
                std::printf("%8.1f %-24s %-9s %9.3g %6.1f %6s  %12.5f %9.5f\n", density,
                            std::string(name(layout)).c_str(), std::string(name(precision)).c_str(),
                            m.pairs_per_s, m.slots, share_of(sums, m.slots).c_str(), m.times.collection_s,
                            m.times.charges_s);
            }
    }
    return 0;
}
