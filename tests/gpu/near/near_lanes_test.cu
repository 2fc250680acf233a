// SPDX-License-Identifier: BSD-3-Clause
// Lanes of a warp that share the sources of a target (layout `ranges`): any number of them against a plain
// nested loop, and the same bits every time. By itself the layout takes many for the few targets of a test.
#include "layout_scene.cuh"

#include <cstring>

namespace graft::test {

namespace {

using near::Kernel;
using near::Precision;

class NearLanes : public DeviceTest {
  protected:
    /// Error over the bound's unit, sqrt(n) eps sum|qK|.
    template <typename T>
    double error(int32_t lanes, const LayoutScene& scene, const near::Sums& sums, const NearReference& right) {
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue, false);
        NearArrays<T> arrays(scene, sums, *queue);
        near::DeviceLayoutOptions options;
        options.source_lanes = lanes;
        const auto made = near::make_device_layout<T>(near::Layout::ranges, on_device, sums, options, *queue);
        arrays.run(*made, false);
        const std::vector<T> first = arrays.results();
        arrays.run(*made, false);
        const std::vector<T> second = arrays.results();
        EXPECT_TRUE(std::memcmp(first.data(), second.data(), first.size() * sizeof(T)) == 0)
            << "other bits in the second execution";
        return worst_error(second, right, sums, sums.precision == Precision::fp64 ? 0x1p-52 : 0x1p-23);
    }
};

/// Targets in number no multiple of a warp's, boxes with none, boxes whose neighbours have none.
TEST_F(NearLanes, ShareATarget) {
    Cases cases(5);
    for (const int dimension : {2, 3}) {
        LayoutSceneOptions o;
        o.targets = 397, o.dimension = dimension, o.side = 8, o.components = 3;
        o.same = dimension == 3;
        const LayoutScene scene = make_layout_scene(o);
        for (const Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64})
            for (const Kernel kernel :
                 {Kernel::laplace, Kernel::logarithm, Kernel::yukawa, Kernel::helmholtz}) {
                near::Sums sums;
                sums.kernel.kernel = kernel, sums.kernel.factor = -1.5, sums.kernel.wave_number = 1.7;
                sums.dimension = dimension, sums.outputs = 3, sums.precision = precision;
                sums.components = kernel == Kernel::helmholtz ? 2 : (dimension == 3 ? 3 : 1);
                const NearReference right = near_reference(scene, sums);
                for (int32_t lanes = 1; lanes <= 32; lanes *= 2)
                    if (!cases.skip())
                        EXPECT_LE(precision == Precision::fp32 ? error<float>(lanes, scene, sums, right)
                                                               : error<double>(lanes, scene, sums, right),
                                  4)
                            << lanes << " lanes, " << near::name(kernel) << ", " << near::name(precision)
                            << ", " << dimension << "-D";
            }
    }
}

} // namespace

} // namespace graft::test
