// SPDX-License-Identifier: BSD-3-Clause
// Rates of the near-field layouts over points a box: times by events, median of 5, useful pairs (a point with
// itself included). Prints a table; what it asserts is only that all layouts agree.
#include "layout_scene.cuh"

#include <cstdio>
#include <string>

namespace graft::test {

namespace {

using near::Layout;

struct Case {
    int dimension, side;
    double density;
};

/// Fast: a million points by a sort of boxes only.
LayoutScene scene_of(const Case& c) {
    LayoutSceneOptions o;
    o.dimension = c.dimension, o.side = c.side;
    o.targets = static_cast<int64_t>(c.density * std::pow(c.side, c.dimension));
    return make_layout_scene(o);
}

double pairs_of(const LayoutScene& scene) {
    double pairs = 0;
    for (size_t b = 0; b + 1 < scene.target.offset.size(); ++b) {
        double m = 0;
        for (int64_t e = scene.neighbour_offset[b]; e < scene.neighbour_offset[b + 1]; ++e) {
            const auto other = static_cast<size_t>(scene.neighbour[static_cast<size_t>(e)]);
            m += static_cast<double>(scene.target.offset[other + 1] - scene.target.offset[other]);
        }
        pairs += m * static_cast<double>(scene.target.offset[b + 1] - scene.target.offset[b]);
    }
    return pairs;
}

class NearRates : public DeviceTest {
  protected:
    struct Rate {
        near::Times times;
        double kernel_s = 0, bytes = 0;
        int32_t chunks = 1;
    };
    template <typename T>
    Rate rate(Layout layout, const near::DeviceStructure& structure, const near::Sums& sums,
              NearArrays<T>& arrays, const near::DeviceLayoutOptions& options, int repeats = 5) {
        const auto made = near::make_device_layout<T>(layout, structure, sums, options, *queue);
        const bool host = options.collect_on_host;
        std::vector<double> total_s;
        Rate r;
        for (int k = 0; k < repeats; ++k) {
            arrays.run(*made, host);
            queue->wait();
            r.times = made->times();
            total_s.push_back(made->chunks() > 1 ? r.times.total_s : r.times.kernel_s);
        }
        std::sort(total_s.begin(), total_s.end());
        r.kernel_s = total_s[total_s.size() / 2];
        r.bytes = static_cast<double>(made->bytes()), r.chunks = made->chunks();
        return r;
    }
    void print(const Case& c, int64_t n, double pairs, const std::string& what, const Rate& r) {
        std::printf("%d-D %7.2f %8lld %-34s kernel %9.4f ms  %8.3f Gpairs/s  collect %8.3f charges %8.3f "
                    "transfer %8.3f ms"
                    "  %8.1f MB  chunks %d\n",
                    c.dimension, c.density, static_cast<long long>(n), what.c_str(), 1e3 * r.kernel_s,
                    1e-9 * pairs / r.kernel_s, 1e3 * r.times.collection_s, 1e3 * r.times.charges_s,
                    1e3 * r.times.transfer_s, 1e-6 * r.bytes, r.chunks);
        std::fflush(stdout);
    }
    template <typename T>
    void layouts(const Case& c, const near::Sums& sums, const std::vector<Layout>& which) {
        const LayoutScene scene = scene_of(c);
        const double pairs = pairs_of(scene);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<T> arrays(scene, sums, *queue);
        for (const Layout layout : which) {
            near::DeviceLayoutOptions options;
            options.most_bytes = int64_t{24} << 30;
            print(c, scene.target.n(), pairs,
                  std::string(near::name(sums.precision)) + ' ' +
                      std::string(near::name(sums.kernel.kernel)) + ' ' + std::string(near::name(layout)) +
                      (sums.outputs == 3   ? ""
                       : sums.outputs == 2 ? ", gradient"
                                           : ", potential"),
                  rate(layout, on_device, sums, arrays, options));
        }
    }
    static near::Sums sums_of(near::Kernel kernel, near::Precision precision, int dimension) {
        near::Sums s;
        s.kernel.kernel = kernel, s.precision = precision, s.dimension = dimension, s.outputs = 3;
        s.kernel.wave_number = 1;
        s.components = kernel == near::Kernel::helmholtz ? 2 : 1;
        return s;
    }
};

const std::vector<Layout> all = {Layout::indexed,
                                 Layout::ranges,
                                 Layout::replicated,
                                 Layout::replicated_interleaved,
                                 Layout::replicated_group,
                                 Layout::tiled,
                                 Layout::tiled_split,
                                 Layout::replicated_packed,
                                 Layout::replicated_group_padded};
const std::vector<Layout> quick = {Layout::ranges, Layout::replicated_group, Layout::tiled,
                                   Layout::tiled_split};

TEST_F(NearRates, Densities3d) {
    const near::Sums sums = sums_of(near::Kernel::laplace, near::Precision::fp32, 3);
    for (const Case& c : {Case{3, 128, 0.5}, Case{3, 64, 1}, Case{3, 64, 2}, Case{3, 64, 4}, Case{3, 32, 16}})
        layouts<float>(c, sums, all);
    layouts<float>({3, 64, 8}, sums, quick);
    layouts<float>({3, 32, 32}, sums, quick);
    layouts<float>({3, 32, 64}, sums, quick);
    layouts<float>({3, 16, 128}, sums, quick);
    layouts<float>({3, 16, 256}, sums, quick);
}

/// Pairs of boxes summed once or for each side, over the density.
TEST_F(NearRates, PairsOfBoxesOnce) {
    near::Sums sums = sums_of(near::Kernel::laplace, near::Precision::fp32, 3);
    for (const Case& c : {Case{3, 32, 64}, Case{3, 32, 32}, Case{3, 32, 24}, Case{3, 32, 16}, Case{3, 32, 8},
                          Case{3, 16, 128}, Case{3, 16, 64}, Case{3, 16, 32}}) {
        const LayoutScene scene = scene_of(c);
        const double pairs = pairs_of(scene);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        for (const int outputs : {3, 2, 1}) {
            sums.outputs = outputs;
            NearArrays<float> arrays(scene, sums, *queue);
            for (const int once : {-1, 1}) {
                near::DeviceLayoutOptions options;
                options.pairs_once = once;
                print(c, scene.target.n(), pairs,
                      "outputs " + std::to_string(outputs) + (once > 0 ? ", once" : ", each side"),
                      rate(Layout::tiled, on_device, sums, arrays, options));
            }
        }
    }
}

/// Blocks of threads for all boxes with few targets, or each for itself, and what is chosen.
TEST_F(NearRates, SmallBoxes) {
    const near::Sums sums = sums_of(near::Kernel::laplace, near::Precision::fp32, 3);
    for (const Case& c : {Case{3, 64, 4}, Case{3, 64, 6}, Case{3, 64, 7}, Case{3, 64, 8}, Case{3, 32, 12}}) {
        const LayoutScene scene = scene_of(c);
        const double pairs = pairs_of(scene);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<float> arrays(scene, sums, *queue);
        for (const int blocks : {0, 1, 2}) {
            near::DeviceLayoutOptions options;
            options.small_blocks = blocks;
            print(c, scene.target.n(), pairs, "small blocks " + std::to_string(blocks),
                  rate(Layout::tiled, on_device, sums, arrays, options));
        }
    }
}

/// Potential, gradient, and both: the share of the limit over the density.
TEST_F(NearRates, Outputs) {
    near::Sums sums = sums_of(near::Kernel::laplace, near::Precision::fp32, 3);
    for (const Case& c :
         {Case{3, 32, 64}, Case{3, 32, 32}, Case{3, 32, 16}, Case{3, 64, 8}, Case{3, 64, 4}, Case{3, 64, 2}})
        for (const int outputs : {3, 2, 1}) {
            sums.outputs = outputs;
            layouts<float>(c, sums, {Layout::ranges, Layout::replicated_group, Layout::tiled});
        }
}

TEST_F(NearRates, Densities2d) {
    for (const Case& c : {Case{2, 512, 3.75}, Case{2, 256, 15}, Case{2, 128, 64}})
        layouts<double>(c, sums_of(near::Kernel::logarithm, near::Precision::fp64, 2), all);
    for (const Case& c : {Case{2, 512, 3.75}, Case{2, 256, 15}, Case{2, 128, 64}})
        layouts<float>(c, sums_of(near::Kernel::logarithm, near::Precision::fp32, 2), quick);
}

TEST_F(NearRates, KernelsAndPrecisions) {
    using near::Kernel;
    const Case c{3, 16, 64};
    for (const Kernel kernel : {Kernel::laplace, Kernel::yukawa, Kernel::helmholtz}) {
        layouts<float>(c, sums_of(kernel, near::Precision::fp32, 3), {Layout::tiled});
        layouts<double>(c, sums_of(kernel, near::Precision::mixed, 3), {Layout::tiled});
        layouts<double>(c, sums_of(kernel, near::Precision::fp64, 3), {Layout::tiled});
    }
}

/// Enough boxes that the last wave hardly counts.
TEST_F(NearRates, TiledPrecisions) {
    using near::Precision;
    for (const Case& c : {Case{3, 32, 64}, Case{3, 32, 32}, Case{3, 64, 16}}) {
        layouts<float>(c, sums_of(near::Kernel::laplace, Precision::fp32, 3), {Layout::tiled});
        layouts<double>(c, sums_of(near::Kernel::laplace, Precision::mixed, 3), {Layout::tiled});
        layouts<double>(c, sums_of(near::Kernel::laplace, Precision::fp64, 3), {Layout::tiled});
    }
}

TEST_F(NearRates, ShapesOfTiles) {
    const near::Sums sums = sums_of(near::Kernel::laplace, near::Precision::fp32, 3);
    for (const Case& c : {Case{3, 32, 64}, Case{3, 32, 32}, Case{3, 32, 16}, Case{3, 32, 8}, Case{3, 64, 4},
                          Case{3, 64, 2}}) {
        const LayoutScene scene = scene_of(c);
        const double pairs = pairs_of(scene);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<float> arrays(scene, sums, *queue);
        struct Shape {
            int p, y, window, threads;
        };
        for (const Shape& s :
             {Shape{0, 0, 1 << 16, 128}, Shape{0, 0, 4096, 128}, Shape{0, 0, 1 << 16, 32},
              Shape{0, 0, 1 << 16, 64}, Shape{32, 1, 1 << 16, 128}, Shape{16, 2, 1 << 16, 128},
              Shape{8, 4, 1 << 16, 128}, Shape{4, 8, 1 << 16, 128}, Shape{2, 16, 1 << 16, 128},
              Shape{1, 32, 1 << 16, 128}, Shape{1, 8, 1 << 16, 128}, Shape{1, 4, 1 << 16, 128},
              Shape{1, 2, 1 << 16, 128}, Shape{2, 4, 1 << 16, 128}, Shape{2, 2, 1 << 16, 128}}) {
            near::DeviceLayoutOptions options;
            options.target_lanes = s.p, options.source_lanes = s.y, options.window = s.window,
            options.threads = s.threads;
            const std::string what = "P " + std::to_string(s.p) + " Y " + std::to_string(s.y) + " window " +
                                     std::to_string(s.window) + " threads " + std::to_string(s.threads);
            print(c, scene.target.n(), pairs, what, rate(Layout::tiled, on_device, sums, arrays, options, 3));
        }
    }
}

/// The paper's way: collection by the host, pieces on their way while others are summed.
TEST_F(NearRates, CollectionByTheHost) {
    const near::Sums sums = sums_of(near::Kernel::logarithm, near::Precision::fp64, 2);
    for (const Case& c : {Case{2, 512, 2}, Case{2, 256, 15}}) {
        const LayoutScene scene = scene_of(c);
        const double pairs = pairs_of(scene);
        const near::Structure structure = scene.structure();
        const near::DeviceStructure on_device(structure, *queue);
        NearArrays<double> arrays(scene, sums, *queue);
        for (const Layout layout : {Layout::indexed, Layout::replicated, Layout::replicated_interleaved})
            for (const int64_t most : {int64_t{0}, int64_t{128} << 20}) {
                near::DeviceLayoutOptions options;
                options.collect_on_host = true, options.most_bytes = most;
                print(c, scene.target.n(), pairs, "host: " + std::string(near::name(layout)),
                      rate(layout, on_device, sums, arrays, options, 3));
            }
    }
}

} // namespace

} // namespace graft::test
