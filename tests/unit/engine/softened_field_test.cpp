// SPDX-License-Identifier: BSD-3-Clause
// mac.accuracy where softening is what limits the field: the estimate that errors are measured by is softened, too.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

class SoftenedField : public ::testing::TestWithParam<std::tuple<settings::Softening, bool, int>> {
  protected:
    /// Errors in the field, at least the typical one: that of a softened core is zero in its middle.
    static std::vector<double> errors_of(const Results& got, const Results& exact) {
        std::vector<double> found = errors(got, exact);
        double square = 0;
        for (size_t i = 0; i < found.size(); ++i)
            square += size_of(exact, i) * size_of(exact, i);
        const double typical = std::sqrt(square / static_cast<double>(found.size()));
        for (size_t i = 0; i < found.size(); ++i)
            found[i] *= std::min(size_of(exact, i) / typical, 1.0);
        return found;
    }

    static void check(const Cloud& cloud, double length, tree::TreeType type) {
        const auto [softening, per_particle, ranks] = GetParam();
        settings::Settings s;
        s.precision = settings::Precision::fp64, s.tree_type = type;
        s.softening = softening, s.softening_length = per_particle ? 0 : length;
        Choice choice;
        choice.softening = per_particle, choice.virial = choice.potential = false;
        s.method = settings::Method::direct;
        const Results exact = compute_over(1, cloud, all_on(cloud, 0), s, choice);
        s.method = settings::Method::tree;
        for (const double accuracy : {1e-3, 1e-5}) {
            SCOPED_TRACE(::testing::Message() << "length " << length << " accuracy " << accuracy);
            s.accuracy = accuracy;
            const Results got = compute_over(ranks, cloud, bisection(cloud, ranks), s, choice);
            const std::vector<double> found = errors_of(got, exact);
            EXPECT_LT(percentile(found, 0.99), 7 * accuracy);
            EXPECT_LT(largest(found), 12 * accuracy);
        }
    }
};

} // namespace

TEST_P(SoftenedField, InACusp) {
    for (const double length : {0.01, 0.1, 1.0})
        check(test::make_cusp(8000, length), length, tree::TreeType::octree);
}

/// Cells of an ORB tree span clumps.
TEST_P(SoftenedField, InClumps) {
    for (const double length : {460.0, 4.6e4, 4.6e6})
        check(test::make_clumps(4000, length), length, tree::TreeType::orb);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SoftenedField,
                         ::testing::Combine(::testing::Values(settings::Softening::plummer, settings::Softening::spline),
                                            ::testing::Bool(), ::testing::Values(1, 3)));

} // namespace graft::engine
