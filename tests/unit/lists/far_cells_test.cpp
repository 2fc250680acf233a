// SPDX-License-Identifier: BSD-3-Clause
// Which cells are far from a group: completeness, and the bound that far means.
#include "lists/far_cells.hpp"
#include "scene.hpp"

#include <algorithm>

namespace graft::lists::testing {
namespace {

/// factor of the error criterion for an error allowed of `error`, order 2.
Target target_of(double half, double error) {
    Target target;
    target.box.include(-half, -half, -half);
    target.box.include(half, half, half);
    target.factor = std::pow(error, -1.0 / 5);
    return target;
}

TEST(FarCells, PolynomialsErrorIsAShareOfWhatACellMayHave) {
    for (const int degree : {4, 5, 6})
        for (const double half : {1e-20, 1e-3, 1.0, 1e15}) {
            const double square = 3 * half * half, error = 1e-4 / square;
            const FarLimit limit = far_limit(target_of(half, error), 2, degree);
            int far = 0;
            for (double d = half; d < 1e4 * half; d *= 1.03) {
                const bool is = is_far(limit, 0.7, 0.6 * d, 0, -0.8 * d);
                const double first_left_out = 0.7 * std::pow(square / (d * d), 0.5 * degree) / (d * d);
                const double allowed = far_share(2) * error;
                far += is ? 1 : 0;
                if (std::abs(first_left_out - allowed) > 1e-9 * allowed &&
                    std::abs(square / (d * d) - 1 / far_least_ratio) > 1e-9) {
                    EXPECT_EQ(is, first_left_out < allowed && square / (d * d) < 1 / far_least_ratio)
                        << "d / half " << d / half << " degree " << degree;
                }
            }
            EXPECT_GT(far, 50);
        }
}

TEST(FarCells, NothingIsFarFromTargetsAtOnePlaceOrInTheirMidst) {
    const FarLimit point = far_limit(target_of(0, 1), 2, 5);
    EXPECT_FALSE(is_far(point, 1e-30, 100, 0, 0));
    EXPECT_FALSE(is_far(point, 1e-30, 0, 0, 0));
    EXPECT_FALSE(is_far(far_limit(target_of(1, 1e30), 2, 5), 1e-30, 0, 0, 0));
}

/// Every source counts 1: near cells, far cells and leaves of a group's lists hold each of the N exactly
/// once.
TEST(FarCells, UnitChargesAreCompleteAfterTheCut) {
    Scene scene(6000);
    scene.options.mac = Mac::box;
    scene.options.theta = 0.8;
    scene.fill();
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.walk();
    int64_t far_cells = 0, near_cells = 0;
    const Properties& p = scene.properties.front();
    for (int64_t g = 0; g < scene.lists.group_count(); ++g) {
        Target target = scene.targets.groups()[g].target;
        target.factor = std::pow(1e4, -1.0 / 5);
        const FarLimit limit = far_limit(target, 2, 5);
        int32_t* const begin = scene.lists.nodes.data() + scene.lists.node_offset[g];
        int32_t* const end = scene.lists.nodes.data() + scene.lists.node_offset[g + 1];
        std::vector<int32_t> before(begin, end);
        const auto far = [&](int32_t k) {
            const auto n = static_cast<size_t>(k);
            return is_far(limit, static_cast<double>(scene.tree.nodes[k].count), p.cx[n], p.cy[n], p.cz[n]);
        };
        const int32_t* const middle = put_far_last(begin, end, far);
        EXPECT_TRUE(std::none_of(static_cast<const int32_t*>(begin), middle, far));
        EXPECT_TRUE(std::all_of(middle, static_cast<const int32_t*>(end), far));
        far_cells += end - middle, near_cells += middle - begin;
        int64_t sources = 0;
        for (const int32_t* k = begin; k != end; ++k)
            sources += scene.tree.nodes[*k].count;
        for (int64_t e = scene.lists.leaf_offset[g]; e < scene.lists.leaf_offset[g + 1]; ++e)
            sources += scene.tree.nodes[scene.lists.leaves[e]].count;
        ASSERT_EQ(sources, scene.points.size());
        std::vector<int32_t> after(begin, end);
        std::sort(before.begin(), before.end()), std::sort(after.begin(), after.end());
        EXPECT_EQ(before, after);
    }
    EXPECT_GT(far_cells, 1000);
    EXPECT_GT(near_cells, 1000);
}

} // namespace
} // namespace graft::lists::testing
