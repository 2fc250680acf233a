// SPDX-License-Identifier: BSD-3-Clause
// Every layout against the plain nested loop: layout x kernel x precision x dimension x components x outputs
// x shapes, on every SIMD target.
//
// Bound for each target and component: 4 sqrt(n) eps sum |q_j| S_j, n the sources met, S the kernel (for the
// gradient its derivative along the axis), in kernels whose value depends on r through a phase, an exponent
// or a logarithm times 1 + (what a relative error of r makes of it).
#include "core/error.hpp"
#include "near/near_pair.hpp"
#include "forces/simd.hpp"
#include "near_case.hpp"

#include <gtest/gtest.h>

#include <limits>

using namespace graft;
using namespace near_case;
using near::Kernel;
using near::Layout;
using near::Precision;

namespace {

constexpr double untouched = -12345;

template <typename T>
struct Arrays { // the caller's
    std::array<std::vector<T>, 3> target, source;
    std::vector<std::vector<T>> charge, potential;
    std::vector<std::array<std::vector<T>, 3>> gradient;

    Arrays(const Case& c, const near::Sums& asked) {
        for (int axis = 0; axis < 3; ++axis) {
            target[axis].assign(c.target[axis].begin(), c.target[axis].end());
            source[axis].assign(c.source[axis].begin(), c.source[axis].end());
        }
        for (const auto& q : c.charge)
            charge.emplace_back(q.begin(), q.end());
        const size_t n = c.target[0].size();
        potential.assign(asked.components, std::vector<T>(n, T(untouched)));
        gradient.resize(asked.components);
        for (auto& one : gradient)
            one.fill(std::vector<T>(n, T(untouched)));
    }
    near::Coordinates<T> places(const std::array<std::vector<T>, 3>& p, int32_t dimension) const {
        return {p[0].data(), p[1].data(), dimension == 3 ? p[2].data() : nullptr};
    }
    near::Charges<T> charges() const {
        near::Charges<T> q;
        for (size_t c = 0; c < charge.size(); ++c)
            q.component[c] = charge[c].data();
        return q;
    }
    near::Fields<T> fields(int32_t outputs) {
        near::Fields<T> f;
        for (size_t c = 0; c < potential.size(); ++c) {
            f.potential[c] = outputs & near::potential ? potential[c].data() : nullptr;
            for (int axis = 0; axis < 3; ++axis)
                f.gradient[c][axis] = outputs & near::gradient ? gradient[c][axis].data() : nullptr;
        }
        return f;
    }
    T found(int64_t i, int32_t c, int k) const {
        return k == 0 ? potential[c][static_cast<size_t>(i)] : gradient[c][k - 1][static_cast<size_t>(i)];
    }
};

template <typename T>
Arrays<T> by_layout(const Case& c, const near::Sums& asked, Layout layout, int32_t threads = 1,
                    int64_t most_bytes = 0, int32_t* chunks = nullptr) {
    core::Memory memory;
    const near::Structure structure = c.structure();
    Arrays<T> arrays(c, asked);
    const auto made = near::make_layout<T>(layout, structure, asked, {most_bytes, threads}, memory);
    made->set_points(arrays.places(arrays.target, asked.dimension),
                     arrays.places(arrays.source, asked.dimension));
    made->set_charges(arrays.charges());
    const int64_t before = memory.allocations();
    made->run(arrays.fields(asked.outputs));
    EXPECT_EQ(memory.allocations(), before);
    if (chunks != nullptr)
        *chunks = made->chunks();
    if (most_bytes == 0) {
        EXPECT_EQ(static_cast<double>(made->bytes()),
                  near::bytes_of(layout, near::shape_of(structure, asked), threads))
            << name(layout);
    } else {
        EXPECT_LE(made->bytes(), most_bytes) << name(layout);
    }
    return arrays;
}

double epsilon_of(Precision precision) {
    return precision == Precision::fp64 ? std::numeric_limits<double>::epsilon()
                                        : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// The worst error in units of the bound; asserts nothing.
template <typename T>
double worst(const Arrays<T>& arrays, Sums& expected, const near::Sums& asked) {
    double most = 0;
    const double eps = epsilon_of(asked.precision);
    for (size_t i = 0; i < expected.sources.size(); ++i)
        for (int32_t c = 0; c < asked.components; ++c)
            for (int k = 0; k <= asked.dimension; ++k) {
                if (!(asked.outputs & (k == 0 ? near::potential : near::gradient)))
                    continue;
                const int64_t point = static_cast<int64_t>(i);
                const double found = arrays.found(point, c, k);
                const double error = static_cast<double>(std::abs(found - expected.at(point, c)[k]));
                const double bound = 4 * std::sqrt(static_cast<double>(expected.sources[i])) * eps *
                                     static_cast<double>(expected.size_at(point, c)[k]);
                most = std::max(most, std::isnan(found) ? 1e300
                                      : bound > 0       ? error / bound
                                      : error > 0       ? 1e300
                                                        : 0);
            }
    return most;
}

double worst_of(const Case& c, const near::Sums& asked, Layout layout, Sums& expected) {
    return asked.precision == Precision::fp32 ? worst(by_layout<float>(c, asked, layout), expected, asked)
                                              : worst(by_layout<double>(c, asked, layout), expected, asked);
}

std::vector<near::KernelOptions> all_kernels() {
    std::vector<near::KernelOptions> all(7);
    all[1].softening = 0.3;
    all[2].kernel = Kernel::logarithm;
    all[3].kernel = Kernel::yukawa, all[3].wave_number = 0.7;
    all[4].kernel = Kernel::helmholtz, all[4].wave_number = 2.5;
    all[5].kernel = Kernel::table;
    all[6].kernel = Kernel::table, all[6].table.begin = 0.05;
    for (auto& kernel : all)
        kernel.factor = -1.5;
    return all;
}

struct Tested {
    Layout layout;
    Precision precision;
};
class NearLayout : public testing::TestWithParam<Tested> {
  protected:
    void expect_all(const Shape& shape, unsigned seed, std::vector<int32_t> component_counts) {
        const bool single = GetParam().precision == Precision::fp32;
        for (near::KernelOptions kernel : all_kernels())
            for (const int32_t dimension : {2, 3})
                for (int32_t components : component_counts) {
                    components += kernel.kernel == Kernel::helmholtz ? components % 2 : 0;
                    Case c = make_case(shape, components, single, seed++);
                    if (kernel.kernel == Kernel::table)
                        kernel.table = make_table(c, kernel.table.begin, 2.5, 40);
                    near::Sums asked{kernel, dimension, components, near::potential | near::gradient,
                                     GetParam().precision};
                    Sums expected = nested_loop(c, asked);
                    for (const int32_t outputs : {1, 2, 3}) {
                        asked.outputs = outputs;
                        ASSERT_LE(worst_of(c, asked, GetParam().layout, expected), 1)
                            << name(kernel.kernel) << " softening " << kernel.softening << " table from "
                            << kernel.table.begin << ", dimension " << dimension << ", components "
                            << components << ", outputs " << outputs << ", seed " << seed - 1;
                    }
                }
    }
};

TEST_P(NearLayout, RandomBoxes) {
    expect_all({}, 1, {1, 2, 3, 7});
}
TEST_P(NearLayout, SeparateTargets) {
    expect_all({.same = false}, 100, {1, 4});
}
TEST_P(NearLayout, IndexArrays) {
    expect_all({.indexed = true}, 200, {2});
    expect_all({.same = false, .indexed = true}, 300, {1});
}
TEST_P(NearLayout, FewPoints) {
    expect_all({.boxes = 1, .most = 0}, 400, {1});
    expect_all({.boxes = 1, .most = 1, .neighbours = 0, .in_first = 1}, 410, {1});
    expect_all({.boxes = 2, .most = 1, .neighbours = 1, .in_first = 1}, 420, {2});
    expect_all({.boxes = 0, .neighbours = 0}, 430, {1});
}
TEST_P(NearLayout, AllCoincident) {
    expect_all({.coincident = true}, 500, {1, 2});
}
TEST_P(NearLayout, FarFromTheOrigin) {
    expect_all({.offset = 3e5}, 600, {1});
}
TEST_P(NearLayout, OneFullBox) {
    const bool single = GetParam().precision == Precision::fp32;
    for (const near::KernelOptions& kernel : all_kernels()) {
        if (kernel.kernel == Kernel::table)
            continue;
        const Case c = make_case({.boxes = 3, .most = 5, .neighbours = 2, .in_first = 1500}, 2, single, 700);
        const near::Sums asked{kernel, 3, 2, 3, GetParam().precision};
        Sums expected = nested_loop(c, asked);
        ASSERT_LE(worst_of(c, asked, GetParam().layout, expected), 1) << name(kernel.kernel);
    }
}

TEST_P(NearLayout, ANeighbourLeftOutIsSeen) {
    const Case c = make_case({}, 1, GetParam().precision == Precision::fp32, 2);
    const near::Sums asked{{}, 3, 1, 1, GetParam().precision};
    const near::Structure s = c.structure();
    int seen = 0;
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t k = s.neighbour_offset[b]; k < s.neighbour_offset[b + 1]; ++k) {
            const int64_t sources = s.source_offset[s.neighbour[k] + 1] - s.source_offset[s.neighbour[k]];
            if (s.target_offset[b + 1] == s.target_offset[b] || sources < 2)
                continue;
            Sums expected = nested_loop(c, asked, k);
            EXPECT_GT(worst_of(c, asked, GetParam().layout, expected), 100) << "box " << b << ", entry " << k;
            ++seen;
        }
    EXPECT_GT(seen, 10);
}

TEST_P(NearLayout, ThreadsAndChunksChangeNoBit) {
    const Layout layout = GetParam().layout;
    const auto check = [&]<typename T>(T) {
        const Case c = make_case({.boxes = 40, .most = 20}, 3, true, 3);
        near::Sums asked{{}, 3, 3, 3, GetParam().precision};
        const near::Structure structure = c.structure();
        const near::Shape shape = near::shape_of(structure, asked);
        const auto one = by_layout<T>(c, asked, layout, 1), three = by_layout<T>(c, asked, layout, 3);
        EXPECT_EQ(one.potential, three.potential);
        EXPECT_EQ(one.gradient, three.gradient);
        const double least = near::least_bytes_of(layout, shape), all = near::bytes_of(layout, shape);
        EXPECT_LE(least, all);
        EXPECT_THROW(by_layout<T>(c, asked, layout, 1, 100), core::Error);
        for (const double part : {0.0, 0.3}) {
            int32_t chunks = 0;
            const int64_t most = static_cast<int64_t>(least + part * (all - least));
            const auto chunked =
                by_layout<T>(c, asked, layout, 2,
                             most + static_cast<int64_t>(near::bytes_of(layout, shape, 2) - all), &chunks);
            EXPECT_GT(chunks, 1);
            EXPECT_EQ(one.potential, chunked.potential);
            EXPECT_EQ(one.gradient, chunked.gradient);
        }
    };
    if (GetParam().precision == Precision::fp32)
        check(0.0F);
    else
        check(0.0);
}

/// One record a target, or a box, with and without padding: the same words, so the same bits; padding is as
/// much as the fullest neighbourhood has more than the others.
TEST(NearLayouts, PaddingChangesBytesAndNoBit) {
    constexpr Layout pairs[][2] = {{Layout::replicated, Layout::replicated_packed},
                                   {Layout::replicated_group_padded, Layout::replicated_group}};
    for (const Precision precision : {Precision::mixed, Precision::fp64})
        for (const int32_t components : {1, 3})
            for (const auto& [padded, packed] : pairs) {
                const Case c = make_case({.boxes = 40, .most = 20, .in_first = 90}, components, false, 5);
                const near::Sums asked{{}, 3, components, 3, precision};
                const near::Shape shape = near::shape_of(c.structure(), asked);
                const auto with = by_layout<double>(c, asked, padded),
                           without = by_layout<double>(c, asked, packed);
                EXPECT_EQ(with.potential, without.potential) << name(padded);
                EXPECT_EQ(with.gradient, without.gradient) << name(padded);
                EXPECT_GT(near::bytes_of(padded, shape), 1.5 * near::bytes_of(packed, shape)) << name(padded);
            }
}

TEST_P(NearLayout, NewChargesAndNewPlaces) {
    if (GetParam().precision == Precision::fp32)
        return;
    core::Memory memory;
    const Case first = make_case({}, 1, false, 4);
    Case second = first;
    for (auto& axis : second.target)
        for (double& x : axis)
            x = 3 * x + 1;
    second.source = second.target;
    for (double& q : second.charge[0])
        q = 2 * q * q;
    const near::Sums asked{{}, 3, 1, 3, GetParam().precision};
    const near::Structure structure = first.structure();
    const auto made = near::make_layout<double>(GetParam().layout, structure, asked, {}, memory);
    for (const Case* c : std::vector<const Case*>{&first, &second, &first}) {
        Arrays<double> arrays(*c, asked);
        const int64_t before = memory.allocations();
        made->set_points(arrays.places(arrays.target, 3), {});
        made->set_charges(arrays.charges());
        made->run(arrays.fields(3));
        EXPECT_EQ(memory.allocations(), before); // all is held from the start
        Sums expected = nested_loop(*c, asked);
        EXPECT_LE(worst(arrays, expected, asked), 1);
    }
}

TEST_P(NearLayout, OtherInstructionSets) {
    for (const std::string& set : forces::simd_names()) {
        ASSERT_TRUE(forces::set_simd_limit(set));
        SCOPED_TRACE(set);
        expect_all({.boxes = 20, .most = 12}, 800, {1, 4});
        expect_all({.coincident = true}, 900, {1});
    }
    forces::set_simd_limit("");
}

std::vector<Tested> all_tested() {
    std::vector<Tested> all;
    for (int l = 0; l < near::layouts; ++l)
        for (const Precision p : {Precision::fp32, Precision::mixed, Precision::fp64})
            all.push_back({static_cast<Layout>(l), p});
    return all;
}
INSTANTIATE_TEST_SUITE_P(All, NearLayout, testing::ValuesIn(all_tested()), [](const auto& info) {
    return std::string(name(info.param.layout)) + "_" + std::string(name(info.param.precision));
});

} // namespace
