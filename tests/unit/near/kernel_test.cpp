// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the near field against what is known of them: limits, derivatives, zero distance, names.
#include "core/error.hpp"
#include "near_case.hpp"

#include <gtest/gtest.h>

using namespace graft;
using namespace near_case;
using near::Kernel;
using near::Layout;
using near::Precision;

namespace {

struct Found {
    std::array<std::vector<double>, 2> potential;
    std::array<std::array<std::vector<double>, 3>, 2> gradient;
};
Found by_layout(const Case& c, const near::Sums& asked, Layout layout) {
    core::Memory memory;
    const near::Structure structure = c.structure();
    const auto made = near::make_layout<double>(layout, structure, asked, {}, memory);
    near::Charges<double> charges;
    near::Fields<double> fields;
    Found found;
    for (int32_t p = 0; p < asked.components; ++p) {
        charges.component[p] = c.charge[p].data();
        found.potential[p].resize(c.target[0].size());
        fields.potential[p] = found.potential[p].data();
        for (int axis = 0; axis < 3; ++axis) {
            found.gradient[p][axis].resize(c.target[0].size());
            fields.gradient[p][axis] = found.gradient[p][axis].data();
        }
    }
    made->set_points({c.target[0].data(), c.target[1].data(), c.target[2].data()},
                     {c.source[0].data(), c.source[1].data(), c.source[2].data()});
    made->set_charges(charges);
    made->run(fields);
    return found;
}
constexpr Layout both_kinds[] = {Layout::replicated, Layout::tiled}; // scalar loops, vector loops

TEST(NearKernel, GradientIsTheDerivativeOfThePotential) {
    for (const Layout layout : both_kinds)
        for (const Kernel kernel :
             {Kernel::laplace, Kernel::logarithm, Kernel::yukawa, Kernel::helmholtz, Kernel::table}) {
            Case c = make_case({.boxes = 8, .most = 6, .same = false}, 2, false, 11);
            near::Sums asked;
            asked.kernel = {kernel, 2, kernel == Kernel::laplace ? 0.2 : 0, 1.3, {}};
            if (kernel == Kernel::table)
                asked.kernel.table = make_table(c, 0, 4, 60);
            asked.components = 2;
            asked.outputs = near::potential | near::gradient;
            const Found here = by_layout(c, asked, layout);
            constexpr double step = 1e-5;
            for (int axis = 0; axis < 3; ++axis) {
                Case moved = c;
                for (double& x : moved.target[axis])
                    x += step;
                const Found up = by_layout(moved, asked, layout);
                for (double& x : moved.target[axis])
                    x -= 2 * step;
                const Found down = by_layout(moved, asked, layout);
                for (size_t i = 1; i < c.target[0].size(); ++i) { // the first is on a source
                    const double numeric = (up.potential[1][i] - down.potential[1][i]) / (2 * step);
                    const double scale =
                        1 + std::abs(here.gradient[1][axis][i]) + std::abs(here.potential[1][i]);
                    if (scale < 300) { // a source so near that the step is not small
                        EXPECT_NEAR(here.gradient[1][axis][i], numeric, 1e-5 * scale)
                            << name(layout) << " " << name(kernel) << " target " << i << " axis " << axis;
                    }
                }
            }
        }
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double most = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        most = std::max(most, std::abs(a[i] - b[i]));
        size = std::max(size, std::abs(a[i]));
    }
    return most / size;
}

TEST(NearKernel, WithoutWaveNumberAllAreLaplace) {
    for (const Layout layout : both_kinds) {
        const Case c = make_case({}, 2, false, 12);
        near::Sums asked;
        asked.components = 2, asked.outputs = 3;
        const Found laplace = by_layout(c, asked, layout);
        for (const Kernel kernel : {Kernel::yukawa, Kernel::helmholtz}) {
            asked.kernel.kernel = kernel;
            const Found other = by_layout(c, asked, layout);
            for (int p = 0; p < 2; ++p) {
                EXPECT_LT(largest_difference(laplace.potential[p], other.potential[p]), 1e-14)
                    << name(kernel);
                EXPECT_LT(largest_difference(laplace.gradient[p][2], other.gradient[p][2]), 1e-14)
                    << name(kernel);
            }
        }
    }
}

TEST(NearKernel, TableOfTheReciprocalIsCloseToLaplace) {
    for (const Layout layout : both_kinds) {
        Case c = make_case({.boxes = 6, .most = 4}, 1, false, 13);
        near::Sums asked;
        asked.outputs = 3;
        const Found laplace = by_layout(c, asked, layout);
        asked.kernel.kernel = Kernel::table;
        constexpr int knots = 20000; // from 0.01 to 20: closer pairs are not in this case
        const double step = 20.0 / knots;
        for (int k = 0; k < knots; ++k) {
            const double r = 0.01 + k * step;
            c.knot_value.push_back(1 / r);
            c.knot_derivative.push_back(-1 / (r * r));
        }
        asked.kernel.table = {0.01, step, c.knot_value, c.knot_derivative};
        const Found table = by_layout(c, asked, layout);
        EXPECT_LT(largest_difference(laplace.potential[0], table.potential[0]), 1e-6);
        EXPECT_LT(largest_difference(laplace.gradient[0][0], table.gradient[0][0]), 1e-4);
    }
}

TEST(NearKernel, ZeroDistance) {
    Case c =
        make_case({.boxes = 1, .most = 2, .neighbours = 0, .coincident = true, .in_first = 2}, 2, false, 14);
    c.charge = {{3, 5}, {7, 11}};
    for (const Layout layout : both_kinds) {
        near::Sums asked;
        asked.components = 2, asked.outputs = 3;
        EXPECT_EQ(by_layout(c, asked, layout).potential[0], (std::vector<double>{0, 0}));
        asked.kernel.softening = 0.5; // K(0) = 2, and a point does not meet itself
        const Found softened = by_layout(c, asked, layout);
        EXPECT_NEAR(softened.potential[0][0], 10, 1e-13);
        EXPECT_NEAR(softened.potential[1][1], 14, 1e-13);
        EXPECT_EQ(softened.gradient[0][0], (std::vector<double>{0, 0}));
        Case apart = c; // the same places as separate sets: all pairs count
        apart.same = false;
        EXPECT_NEAR(by_layout(apart, asked, layout).potential[0][0], 16, 1e-13);
        asked.kernel = {Kernel::table, 1, 0, 0, make_table(c, 0, 2, 10)};
        EXPECT_NEAR(by_layout(c, asked, layout).potential[0][0], 5, 1e-14);
    }
}

TEST(NearKernel, NamesAndRefusals) {
    for (int l = 0; l < near::layouts; ++l)
        EXPECT_EQ(near::layout_named(near::name(static_cast<Layout>(l))), static_cast<Layout>(l));
    try {
        near::layout_named("tield");
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), core::Status::argument);
        EXPECT_NE(std::string(error.what()).find("replicated_group"), std::string::npos);
    }
    core::Memory memory;
    const Case c = make_case({}, 1, false, 15);
    const near::Structure structure = c.structure();
    near::Sums asked;
    asked.precision = Precision::fp32;
    EXPECT_THROW(near::make_layout<double>(Layout::tiled, structure, asked, {}, memory), core::Error);
    asked.precision = Precision::fp64, asked.kernel.kernel = Kernel::helmholtz;
    EXPECT_THROW(near::make_layout<double>(Layout::tiled, structure, asked, {}, memory), core::Error);
    asked.components = near::most_components + 2;
    EXPECT_THROW(near::make_layout<double>(Layout::tiled, structure, asked, {}, memory), core::Error);
}

} // namespace
