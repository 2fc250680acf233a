// SPDX-License-Identifier: BSD-3-Clause
// Every near-field layout on the device against a plain nested loop.
#include "layout_scene.cuh"

#include "near/mutual.hpp"
#include "near/structure_parts.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace graft::test {

namespace {

using near::Kernel;
using near::Layout;
using near::Precision;

constexpr Kernel kernels_of_all[] = {Kernel::laplace, Kernel::logarithm, Kernel::yukawa, Kernel::helmholtz,
                                     Kernel::table};
constexpr Precision precisions[] = {Precision::fp32, Precision::mixed, Precision::fp64};
constexpr Layout with_copies[] = {
    Layout::indexed,          Layout::replicated,        Layout::replicated_interleaved,
    Layout::replicated_group, Layout::replicated_packed, Layout::replicated_group_padded};

/// (1 - r/b)^2 exp(-r) on knots from 0 to b, which ends inside the neighbourhoods, smoothly: whether a pair
/// is just inside does not matter.
struct TestTable {
    std::vector<double> value, derivative;
    TestTable() {
        const double end = 2.34;
        for (int k = 0; k < 40; ++k) {
            const double r = 0.06 * k, v = 1 - r / end;
            value.push_back(v * v * std::exp(-r));
            derivative.push_back(-(v * v + 2 * v / end) * std::exp(-r));
        }
    }
};
const TestTable& test_table() {
    static const TestTable table;
    return table;
}

near::Sums sums_of(Kernel kernel, Precision precision, int dimension, int components, int outputs) {
    near::Sums s;
    s.kernel.kernel = kernel, s.kernel.factor = -1.5;
    s.kernel.wave_number = kernel == Kernel::helmholtz || kernel == Kernel::yukawa ? 1.7 : 0;
    if (kernel == Kernel::table)
        s.kernel.table = {0, 0.06, test_table().value, test_table().derivative};
    s.dimension = dimension, s.outputs = outputs, s.precision = precision;
    s.components = kernel == Kernel::helmholtz ? (components + 1) / 2 * 2 : components;
    return s;
}

class NearLayouts : public DeviceTest {
  protected:
    /// Runs one layout and returns its results; tells chunks and allocations of a second life.
    template <typename T>
    std::vector<T> results(Layout layout, const LayoutScene& scene, const near::Sums& sums,
                           const near::DeviceLayoutOptions& options, int32_t* chunks = nullptr) {
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<T> arrays(scene, sums, *queue);
        const auto made = near::make_device_layout<T>(layout, on_device, sums, options, *queue);
        arrays.run(*made, options.collect_on_host);
        const std::vector<T> first = arrays.results();
        const int64_t allocations = memory->allocations(), waits = queue->waits();
        arrays.run(*made, options.collect_on_host);
        EXPECT_EQ(memory->allocations(), allocations) << "the second execution allocates";
        EXPECT_EQ(queue->waits(), waits);
        const std::vector<T> second = arrays.results();
        EXPECT_TRUE(first.empty() || std::memcmp(first.data(), second.data(), first.size() * sizeof(T)) == 0)
            << "other bits in the second execution";
        if (chunks != nullptr)
            *chunks = made->chunks();
        return second;
    }
    double error(Layout layout, const LayoutScene& scene, const near::Sums& sums, const NearReference& right,
                 const near::DeviceLayoutOptions& options = {}) {
        if (sums.precision == Precision::fp32)
            return worst_error(results<float>(layout, scene, sums, options), right, sums, 0x1p-23);
        return worst_error(results<double>(layout, scene, sums, options), right, sums,
                           sums.precision == Precision::mixed ? 0x1p-23 : 0x1p-52);
    }
    /// 1/r in fp32 by tiles, plain and softened.
    void expect_tiled(const LayoutScene& scene, int dimension, int outputs,
                      const near::DeviceLayoutOptions& options = {}) {
        near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, dimension, 1, outputs);
        for (const double softening : {0.0, 0.1}) {
            sums.kernel.softening = softening;
            EXPECT_LE(error(Layout::tiled, scene, sums, near_reference(scene, sums), options), 4)
                << dimension << "-D, " << scene.target.n() << " targets, outputs " << outputs
                << ", softening " << softening;
        }
    }
    /// All layouts, each within the bound; prints the worst.
    void all_layouts(const LayoutScene& scene, const near::Sums& sums, const std::string& what) {
        const NearReference right = near_reference(scene, sums);
        for (int k = 0; k < near::layouts; ++k) {
            const auto layout = static_cast<Layout>(k);
            const double e = error(layout, scene, sums, right);
            EXPECT_LE(e, 4) << what << ", " << near::name(layout) << ", " << near::name(sums.kernel.kernel)
                            << ", " << near::name(sums.precision) << ", " << sums.dimension << "-D, "
                            << sums.components << " components, outputs " << sums.outputs;
            double& worst = worst_[std::string(near::name(layout))];
            worst = std::max(worst, e);
        }
    }
    void TearDown() override {
        for (const auto& [name, e] : worst_)
            std::printf("  worst of %-24s %.3f of sqrt(n) eps sum|qK|\n", name.c_str(), e);
        DeviceTest::TearDown();
    }
    std::map<std::string, double> worst_;
};

TEST_F(NearLayouts, EveryKernelPrecisionDimension) {
    Cases cases(7);
    struct Form {
        int components, outputs;
        bool same, shuffled;
    };
    constexpr Form forms[] = {{1, 3, true, false},  {2, 3, false, true}, {5, 3, true, true},
                              {1, 1, false, false}, {3, 1, true, false}, {1, 2, true, true}};
    int turn = 0;
    for (const Kernel kernel : kernels_of_all)
        for (const int dimension : {3, 2})
            for (const Precision precision : precisions) {
                for (const int f : {0, 1 + turn++ % 5}) {
                    if (cases.skip())
                        continue;
                    const Form& form = forms[f];
                    LayoutSceneOptions o;
                    o.dimension = dimension, o.side = dimension == 3 ? 4 : 8, o.components = 6;
                    o.same = form.same, o.shuffled = form.shuffled, o.seed = static_cast<uint64_t>(turn);
                    all_layouts(make_layout_scene(o),
                                sums_of(kernel, precision, dimension, form.components, form.outputs),
                                form.same ? "same" : "separate");
                }
            }
}

/// Boxes that take a block of threads each, one or several: every number of targets a lane, pieces of a box,
/// several chunks of sources, what is wanted of the sums.
TEST_F(NearLayouts, ManyTargetsABox) {
    Cases cases(5);
    for (const int dimension : {3, 2})
        for (const int64_t n : {13, 25, 67, 700, 1100, 3000})
            for (const int outputs : {1, 2, 3}) {
                if (cases.skip())
                    continue;
                LayoutSceneOptions o;
                o.dimension = dimension, o.side = n == 3000 ? 4 : (n == 700 ? 2 : 1);
                o.targets = n, o.sources = n + 50, o.same = n % 2 == 1, o.shuffled = n == 67;
                o.spread = n == 3000 ? 2 : 1, o.seed = static_cast<uint64_t>(n);
                const LayoutScene scene = make_layout_scene(o);
                expect_tiled(scene, dimension, outputs);
            }
}

/// Large boxes of even and clustered points, of which some stand a thousandth of a box's side apart or on
/// each other, in one box or across a face.
TEST_F(NearLayouts, ManyClosePairs) {
    Cases cases(5);
    for (const int64_t mean : {30, 60, 100})
        for (const double spread : {1.0, 1.5})
            for (const double offset : {0.0, 512.0})
                for (const int outputs : {1, 2, 3}) {
                    if (cases.skip())
                        continue;
                    LayoutSceneOptions o;
                    o.targets = 64 * mean, o.spread = spread, o.offset = offset;
                    o.seed = static_cast<uint64_t>(mean), o.shuffled = outputs == 2;
                    LayoutScene scene = make_layout_scene(o);
                    if (!o.shuffled)
                        for (size_t s = 1; s < scene.target.at[0].size(); s += 7) {
                            double& x = scene.target.at[0][s];
                            x = static_cast<float>(scene.target.at[0][s - 1] + (s % 3 == 0 ? 0 : 1e-3));
                            for (int axis = 1; axis < 3; ++axis)
                                scene.target.at[axis][s] = scene.target.at[axis][s - 1];
                        }
                    near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, outputs);
                    for (const double softening : {0.0, 0.02, 5.0}) {
                        sums.kernel.softening = softening;
                        const double e = error(Layout::tiled, scene, sums, near_reference(scene, sums));
                        EXPECT_LE(e, 4) << mean << " a box, spread " << spread << ", offset " << offset
                                        << ", outputs " << outputs << ", softening " << softening;
                        double& worst = worst_["tiled, close pairs"];
                        worst = std::max(worst, e);
                    }
                }
}

TEST_F(NearLayouts, OddSizes) {
    Cases cases(7);
    for (const int64_t n : {0, 1, 2, 33, 700})
        for (const int side : {1, 2, 8})
            for (const bool same : {true, false}) {
                if (cases.skip())
                    continue;
                LayoutSceneOptions o;
                o.targets = n, o.sources = n == 33 ? 0 : n + 1, o.side = side, o.same = same;
                const LayoutScene scene = make_layout_scene(o);
                all_layouts(scene, sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3),
                            "n " + std::to_string(n));
                all_layouts(scene, sums_of(Kernel::laplace, Precision::fp64, 3, 1, 3),
                            "n " + std::to_string(n));
            }
}

TEST_F(NearLayouts, ClusteredAndFarFromTheOrigin) {
    Cases cases(5);
    for (const double spread : {2.0, 3.0})
        for (const double offset : {0.0, 4096.0}) {
            LayoutSceneOptions o;
            o.targets = test_size(1500, 500), o.spread = spread, o.offset = offset, o.shuffled = true;
            const LayoutScene scene = make_layout_scene(o);
            for (const Precision precision : precisions) {
                if (cases.skip())
                    continue;
                all_layouts(scene, sums_of(Kernel::laplace, precision, 3, 1, 3), "clustered");
            }
        }
}

TEST_F(NearLayouts, CoincidentPoints) {
    Cases cases(19);
    for (const bool same : {true, false})
        for (const double softening : {0.0, 0.25}) {
            LayoutSceneOptions o;
            o.targets = 300, o.sources = 300, o.side = 2, o.same = same;
            LayoutScene scene = make_layout_scene(o);
            for (NearPoints* p :
                 {&scene.target, &scene.source}) // twins: every point of a box but one stands on another
                for (auto& axis : p->at)
                    for (size_t b = 0; b + 1 < p->offset.size(); ++b)
                        for (int64_t s = p->offset[b] + 1; s < p->offset[b + 1]; ++s)
                            if (s % 3 != 0)
                                axis[static_cast<size_t>(s)] = axis[static_cast<size_t>(s) - 1];
            if (!same)
                for (int axis = 0; axis < 3; ++axis)
                    for (size_t b = 0; b + 1 < scene.source.offset.size(); ++b)
                        if (scene.source.offset[b] < scene.source.offset[b + 1] &&
                            scene.target.offset[b] < scene.target.offset[b + 1])
                            scene.source.at[axis][static_cast<size_t>(scene.source.offset[b])] =
                                scene.target.at[axis][static_cast<size_t>(scene.target.offset[b])];
            for (const Kernel kernel : kernels_of_all)
                for (const Precision precision : precisions) {
                    if (cases.skip())
                        continue;
                    near::Sums sums = sums_of(kernel, precision, 3, 2, 3);
                    scene.charge[1] = scene.charge[0];
                    sums.kernel.softening = kernel == Kernel::laplace ? softening : 0;
                    all_layouts(scene, sums, softening > 0 ? "softened twins" : "twins");
                }
        }
}

TEST_F(NearLayouts, MissingNeighbourIsSeen) {
    LayoutScene scene = make_layout_scene({});
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp64, 3, 1, 1);
    const NearReference right = near_reference(scene, sums);
    scene.neighbour.erase(scene.neighbour.begin() + 200);
    for (int64_t& at : scene.neighbour_offset)
        at -= at > 200;
    for (int k = 0; k < near::layouts; ++k)
        EXPECT_GT(error(static_cast<Layout>(k), scene, sums, right), 1e3);
}

TEST_F(NearLayouts, ChunksAndHostCollectionHaveTheSameBits) {
    Cases cases(7);
    LayoutSceneOptions o;
    o.targets = 3000, o.sources = 2800, o.side = 8, o.shuffled = true, o.components = 3;
    for (const bool same : {true, false})
        for (const int components : {1, 3})
            for (const Layout layout : with_copies) {
                if (cases.skip())
                    continue;
                o.same = same;
                const LayoutScene scene = make_layout_scene(o);
                const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, components, 3);
                const std::vector<float> whole = results<float>(layout, scene, sums, {});
                const bool groups = near::name(layout).starts_with("replicated_group");
                const int64_t some = layout == Layout::indexed ? 250000 : (groups ? 400000 : 900000);
                if (layout == Layout::replicated_packed || layout == Layout::replicated_group_padded) {
                    const std::vector<float> other = results<float>(
                        groups ? Layout::replicated_group : Layout::replicated, scene, sums, {});
                    EXPECT_EQ(std::memcmp(whole.data(), other.data(), whole.size() * sizeof(float)), 0)
                        << near::name(layout) << " has other bits than with or without padding";
                }
                for (const bool host : {false, true})
                    for (const int64_t most : {int64_t{0}, some}) {
                        near::DeviceLayoutOptions options;
                        options.collect_on_host = host, options.most_bytes = most, options.host_threads = 2;
                        int32_t chunks = 0;
                        const std::vector<float> got = results<float>(layout, scene, sums, options, &chunks);
                        EXPECT_EQ(chunks > 1, most > 0) << near::name(layout) << ' ' << chunks;
                        EXPECT_EQ(std::memcmp(whole.data(), got.data(), whole.size() * sizeof(float)), 0)
                            << near::name(layout) << ", host " << host << ", bytes " << most;
                    }
            }
}

const near::DeviceLayoutOptions once = [] {
    near::DeviceLayoutOptions options;
    options.pairs_once = 1;
    return options;
}();

/// Pairs of boxes summed once: every number of targets a lane, boxes of several units, empty ones, several
/// chunks of sources, streams that do not fill a warp.
TEST_F(NearLayouts, PairsOfBoxesOnce) {
    Cases cases(5);
    for (const int dimension : {3, 2})
        for (const int64_t n : {13, 120, 700, 1100, 3000, 4200})
            for (const int outputs : {1, 2, 3}) {
                if (cases.skip())
                    continue;
                LayoutSceneOptions o;
                o.dimension = dimension, o.side = n >= 3000 ? 4 : (n == 1100 ? 1 : 2);
                o.targets = n, o.shuffled = n % 200 == 0, o.spread = n == 3000 ? 2.5 : 1;
                o.seed = static_cast<uint64_t>(n), o.offset = n == 4200 ? 512 : 0;
                const LayoutScene scene = make_layout_scene(o);
                expect_tiled(scene, dimension, outputs, once);
            }
}

/// Points at one place in different boxes, boxes that do not name themselves, boxes without a list.
TEST_F(NearLayouts, PairsOfBoxesOnceWherePointsMeet) {
    LayoutSceneOptions o;
    o.targets = 2500;
    LayoutScene scene = make_layout_scene(o);
    for (const size_t other : {1, 5, 63})
        for (auto& axis : scene.target.at)
            std::copy_n(axis.begin() + scene.target.offset[3], 5, axis.begin() + scene.target.offset[other]);
    const auto list = std::exchange(scene.neighbour, {});
    const auto offset = std::exchange(scene.neighbour_offset, {0});
    for (size_t b = 0; b < 64; ++b) {
        for (auto e = static_cast<size_t>(offset[b]); e < static_cast<size_t>(offset[b + 1]); ++e)
            if (b % 9 != 4 && !(b % 7 == 3 && list[e] == static_cast<int32_t>(b)))
                scene.neighbour.push_back(list[e]);
        scene.neighbour_offset.push_back(static_cast<int64_t>(scene.neighbour.size()));
    }
    ASSERT_TRUE(near::has_mutual_lists(scene.structure()));
    expect_tiled(scene, 3, 3, once);
}

/// A part's own targets get the bits of the whole.
TEST_F(NearLayouts, PairsOfBoxesOnceInParts) {
    LayoutSceneOptions o;
    o.targets = 6000, o.shuffled = true, o.spread = 1.3;
    const LayoutScene scene = make_layout_scene(o);
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3);
    const std::vector<float> whole = results<float>(Layout::tiled, scene, sums, once);
    const size_t n = static_cast<size_t>(o.targets);
    for (const near::StructurePart& part : near::cut_structure(scene.structure(), 3)) {
        LayoutScene some;
        some.target.offset = part.target_offset, some.target.index = part.target_index;
        some.neighbour_offset = part.neighbour_offset, some.neighbour = part.neighbour;
        for (const int64_t point : part.target) {
            for (int axis = 0; axis < 3; ++axis)
                some.target.at[axis].push_back(scene.target.at[axis][static_cast<size_t>(point)]);
            some.charge[0].push_back(scene.charge[0][static_cast<size_t>(point)]);
        }
        const std::vector<float> got = results<float>(Layout::tiled, some, sums, once);
        for (size_t k = 0; k < static_cast<size_t>(part.own); ++k)
            for (size_t c = 0; c < 4; ++c)
                ASSERT_EQ(got[c * part.target.size() + k],
                          whole[c * n + static_cast<size_t>(part.target[k])]);
    }
}

/// Where nobody says so: dense boxes of many points with one charge, and then their bytes are known before.
TEST_F(NearLayouts, PairsOfBoxesOnceByThemselves) {
    LayoutSceneOptions o;
    o.side = 16, o.targets = int64_t{1} << 17;
    const LayoutScene scene = make_layout_scene(o);
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3);
    const near::Structure structure = scene.structure();
    const near::DeviceStructure on_device(structure, *queue);
    near::DeviceLayoutOptions options;
    const auto made = near::make_device_layout<float>(Layout::tiled, on_device, sums, options, *queue);
    const double known = near::device_bytes_of(Layout::tiled, structure, near::shape_of(structure, sums), {});
    EXPECT_NEAR(static_cast<double>(made->bytes()) / known, 1, 0.05);
    const std::vector<float> got = results<float>(Layout::tiled, scene, sums, options);
    options.pairs_once = 1;
    EXPECT_EQ(got, results<float>(Layout::tiled, scene, sums, options));
    options.pairs_once = -1;
    EXPECT_NE(got, results<float>(Layout::tiled, scene, sums, options));
    options.pairs_once = 0, options.most_bytes = int64_t{24} << 20; // too little for the sums beside
    EXPECT_NE(got, results<float>(Layout::tiled, scene, sums, options));
}

/// Kernels of some milliseconds a chunk (waves in double, up to 16 charges, a thread a target or a box)
/// beside copies of less than one: a chunk is on the device long before the sums of the one before are done,
/// unless somebody waits for them. The order of events tells, no clock: a busy host may lose a chunk or two
/// of it.
TEST_F(NearLayouts, ChunksOverlap) {
    if (small_inputs())
        GTEST_SKIP() << "a sanitizer runs one thing after the other";
    LayoutSceneOptions o;
    o.targets = 64 * 64, o.components = 16;
    const LayoutScene scene = make_layout_scene(o);
    for (const Layout layout : {Layout::indexed, Layout::replicated_group, Layout::replicated_group_padded}) {
        const bool indexed = layout == Layout::indexed;
        const near::Sums sums = sums_of(Kernel::helmholtz, Precision::fp64, 3, indexed ? 2 : 16, 3);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<double> arrays(scene, sums, *queue);
        near::DeviceLayoutOptions options;
        const int64_t whole =
            near::make_device_layout<double>(layout, on_device, sums, options, *queue)->bytes() -
            on_device.bytes();
        const near::Shape shape = near::shape_of(structure, sums);
        const int64_t entries =
            layout == Layout::replicated_group_padded ? shape.boxes * shape.most_sources : shape.gathered;
        const int64_t copies = (indexed ? 4 : 8 * (4 + 16)) * entries;
        options.collect_on_host = true, options.host_threads = 2;
        options.most_bytes = whole - copies + copies / 5; // two buffers of a tenth
        const auto made = near::make_device_layout<double>(layout, on_device, sums, options, *queue);
        arrays.run(*made, true);
        const int32_t ahead = made->chunks_ahead(), chunks = made->chunks();
        std::printf("  %-24s %d of %d chunks came while the one before was summed\n",
                    std::string(near::name(layout)).c_str(), ahead, chunks);
        EXPECT_GE(chunks, 6) << near::name(layout);
        EXPECT_GE(ahead, chunks / 2) << near::name(layout) << ", kernels of " << made->times().kernel_s
                                     << " s";
        EXPECT_LT(ahead, chunks);
    }
}

TEST_F(NearLayouts, ShapesOfTiles) {
    Cases cases(5);
    LayoutSceneOptions o;
    o.targets = test_size(5000, 1500);
    const LayoutScene scene = make_layout_scene(o);
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3);
    const NearReference right = near_reference(scene, sums);
    for (const int p : {0, 1, 4, 8, 32})
        for (const int y : {0, 1, 2, 32})
            if (p * y <= 32)
                for (const int threads : {32, 128}) {
                    if (cases.skip())
                        continue;
                    near::DeviceLayoutOptions options;
                    options.target_lanes = p, options.source_lanes = y, options.threads = threads,
                    options.window = 7;
                    EXPECT_LE(error(Layout::tiled, scene, sums, right, options), 4) << p << " x " << y;
                }
}

/// Whether or not the index leaves out points of the caller's arrays, which `indexed` holds all the same.
TEST_F(NearLayouts, BytesAreKnownBefore) {
    LayoutSceneOptions o;
    o.targets = 5000, o.side = 8, o.shuffled = true, o.same = true;
    LayoutScene scene = make_layout_scene(o);
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3);
    for (const int64_t left_out : {0, 100000}) {
        for (int64_t& point : scene.target.index)
            point += left_out;
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        const near::Shape shape = near::shape_of(structure, sums);
        for (const Layout layout :
             {Layout::indexed, Layout::ranges, Layout::replicated_group, Layout::replicated,
              Layout::replicated_packed, Layout::replicated_group_padded}) {
            const auto made = near::make_device_layout<float>(layout, on_device, sums, {}, *queue);
            const double expected = near::device_bytes_of(layout, structure, shape, {});
            EXPECT_NEAR(static_cast<double>(made->bytes()) / expected, 1, 0.01)
                << near::name(layout) << ", " << left_out << " points left out";
            if (layout == Layout::indexed) {
                EXPECT_GT(expected, 16.0 * static_cast<double>(left_out));
            }
        }
    }
}

TEST_F(NearLayouts, TooLittleMemoryIsRefused) {
    near::DeviceLayoutOptions options;
    options.most_bytes = 100;
    const LayoutScene scene = make_layout_scene({});
    const near::Structure structure = scene.structure();
    const near::DeviceStructure on_device(structure, *queue);
    const near::Sums sums = sums_of(Kernel::laplace, Precision::fp32, 3, 1, 3);
    for (int k = 0; k < near::layouts; ++k)
        EXPECT_THROW(
            (void)near::make_device_layout<float>(static_cast<Layout>(k), on_device, sums, options, *queue),
            core::Error)
            << near::name(static_cast<Layout>(k));
}

} // namespace

} // namespace graft::test
