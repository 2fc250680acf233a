// SPDX-License-Identifier: BSD-3-Clause
// Points in boxes and what their near field is, for tests of near layouts on the device: a plain nested loop
// in double that shares no code with the library's kernels.
#pragma once

#include "device_fixture.cuh"

#include "near/layouts/layout_gpu.cuh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace graft::test {


/// One side of a near field: points in boxes.
struct NearPoints {
    std::vector<double> at[3];
    std::vector<int64_t> offset, index;
    int64_t n() const { return static_cast<int64_t>(at[0].size()); }
};

struct LayoutScene {
    int dimension = 3, side = 4;
    bool same = true;
    NearPoints target, source;
    std::vector<int64_t> neighbour_offset;
    std::vector<int32_t> neighbour;
    std::vector<double> charge[near::most_components];

    near::Structure structure() const {
        near::Structure s;
        const NearPoints& from = same ? target : source;
        s.target_offset = target.offset, s.source_offset = from.offset;
        s.neighbour_offset = neighbour_offset, s.neighbour = neighbour;
        s.target_index = target.index, s.source_index = from.index, s.same = same;
        return s;
    }
    const NearPoints& sources() const { return same ? target : source; }
};

/// Bits of k spread: Morton order of boxes in a grid whose side is a power of two.
inline int64_t morton_box(const int (&cell)[3], int dimension) {
    int64_t code = 0;
    for (int bit = 0; bit < 10; ++bit)
        for (int axis = 0; axis < dimension; ++axis)
            code |= static_cast<int64_t>((cell[axis] >> bit) & 1) << (bit * dimension + axis);
    return code;
}

/// n points, uniform in the grid (spread 1) or drawn towards a corner (spread > 1), at `offset` from the
/// origin.
inline NearPoints make_near_points(int64_t n, int dimension, int side, double spread, double offset,
                                   bool shuffled, uint64_t seed) {
    std::mt19937_64 random(seed);
    NearPoints p;
    int64_t boxes = 1;
    for (int axis = 0; axis < dimension; ++axis)
        boxes *= side;
    std::vector<int64_t> box(static_cast<size_t>(n));
    std::vector<double> place[3];
    for (auto& axis : place)
        axis.assign(static_cast<size_t>(n), 0.0);
    for (size_t i = 0; i < box.size(); ++i) {
        int cell[3] = {};
        for (int axis = 0; axis < dimension; ++axis) {
            const double u = std::pow(static_cast<double>(random() >> 11) * 0x1p-53,
                                      spread);                      // [0, 1): the same everywhere
            place[axis][i] = static_cast<float>(offset + u * side); // exact in float, too
            cell[axis] = std::min(side - 1, static_cast<int>(u * side));
        }
        box[i] = morton_box(cell, dimension);
    }
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return box[static_cast<size_t>(a)] < box[static_cast<size_t>(b)];
    });
    p.offset.assign(static_cast<size_t>(boxes) + 1, 0);
    for (const int64_t b : box)
        ++p.offset[static_cast<size_t>(b) + 1];
    for (size_t b = 0; b < static_cast<size_t>(boxes); ++b)
        p.offset[b + 1] += p.offset[b];
    for (auto& axis : p.at)
        axis.resize(static_cast<size_t>(n));
    for (size_t s = 0; s < order.size(); ++s)
        for (int axis = 0; axis < 3; ++axis)
            p.at[axis][shuffled ? static_cast<size_t>(order[s]) : s] =
                place[axis][static_cast<size_t>(order[s])];
    if (shuffled)
        p.index = order;
    return p;
}

/// Same and adjacent boxes of the grid.
inline void add_grid_neighbours(LayoutScene& scene) {
    const int side = scene.side, dimension = scene.dimension;
    const auto boxes = scene.target.offset.size() - 1;
    std::vector<std::array<int, 3>> cell(boxes);
    for (int z = 0; z < (dimension == 3 ? side : 1); ++z)
        for (int y = 0; y < side; ++y)
            for (int x = 0; x < side; ++x)
                cell[static_cast<size_t>(morton_box({x, y, z}, dimension))] = {x, y, z};
    scene.neighbour_offset.assign(1, 0);
    scene.neighbour.reserve(boxes * (dimension == 3 ? 27 : 9));
    for (const auto& c : cell) {
        const auto first = static_cast<std::ptrdiff_t>(scene.neighbour.size());
        for (int dz = dimension == 3 ? -1 : 0; dz <= (dimension == 3 ? 1 : 0); ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const int o[3] = {c[0] + dx, c[1] + dy, c[2] + dz};
                    bool inside = true;
                    for (int axis = 0; axis < 3; ++axis)
                        inside = inside && o[axis] >= 0 && o[axis] < (axis < dimension ? side : 1);
                    if (inside)
                        scene.neighbour.push_back(static_cast<int32_t>(morton_box(o, dimension)));
                }
        std::sort(scene.neighbour.begin() + first, scene.neighbour.end());
        scene.neighbour_offset.push_back(static_cast<int64_t>(scene.neighbour.size()));
    }
}

struct LayoutSceneOptions {
    int64_t targets = 700, sources = 650;
    int dimension = 3, side = 4, components = 1;
    bool same = true, shuffled = false;
    double spread = 1, offset = 0;
    uint64_t seed = 1;
};

inline LayoutScene make_layout_scene(const LayoutSceneOptions& o) {
    LayoutScene scene;
    scene.dimension = o.dimension, scene.side = o.side, scene.same = o.same;
    scene.target = make_near_points(o.targets, o.dimension, o.side, o.spread, o.offset, o.shuffled, o.seed);
    if (!o.same)
        scene.source =
            make_near_points(o.sources, o.dimension, o.side, o.spread, o.offset, o.shuffled, o.seed + 1);
    add_grid_neighbours(scene);
    std::mt19937_64 random(o.seed + 2);
    for (int c = 0; c < o.components; ++c) {
        scene.charge[c].resize(static_cast<size_t>(scene.sources().n()));
        for (double& q : scene.charge[c])
            q = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    }
    return scene;
}

/// Values of one target: potential and gradient of each component, and the sums of magnitudes.
struct NearReference {
    std::vector<double> potential[near::most_components], gradient[near::most_components][3];
    std::vector<double> potential_size[near::most_components], gradient_size[near::most_components];
    std::vector<double> sources; // of each target's neighbourhood
};

/// K(r) and -K'(r)/r, real and imaginary.
struct NearPair {
    double value[2] = {}, slope[2] = {};
};
inline NearPair near_pair(const near::KernelOptions& k, double r2) {
    NearPair p;
    const double r = std::sqrt(r2), s = std::sqrt(r2 + k.softening * k.softening), w = k.wave_number;
    switch (k.kernel) {
    case near::Kernel::laplace:
        if (s > 0)
            p.value[0] = 1 / s, p.slope[0] = 1 / (s * s * s);
        break;
    case near::Kernel::logarithm:
        if (r > 0)
            p.value[0] = -std::log(r), p.slope[0] = 1 / r2;
        break;
    case near::Kernel::yukawa:
        if (r > 0)
            p.value[0] = std::exp(-w * r) / r, p.slope[0] = p.value[0] * (1 + w * r) / r2;
        break;
    case near::Kernel::helmholtz:
        if (r > 0) { // -(i k r - 1) e^{ikr} / r^3
            p.value[0] = std::cos(w * r) / r, p.value[1] = std::sin(w * r) / r;
            p.slope[0] = (p.value[0] + w * r * p.value[1]) / r2;
            p.slope[1] = (p.value[1] - w * r * p.value[0]) / r2;
        }
        break;
    default: {
        const auto& t = k.table;
        const auto last = static_cast<int64_t>(t.value.size()) - 1;
        const double x = (r - t.begin) / t.step;
        if (x >= static_cast<double>(last))
            break;
        const auto i = static_cast<size_t>(std::max(x, 0.0));
        const double u = x - static_cast<double>(i), v = 1 - u, h = t.step;
        p.value[0] = v * v * (1 + 2 * u) * t.value[i] + u * u * (3 - 2 * u) * t.value[i + 1] +
                     u * v * v * h * t.derivative[i] - u * u * v * h * t.derivative[i + 1];
        const double derivative = 6 * u * v * (t.value[i + 1] - t.value[i]) / h +
                                  v * (1 - 3 * u) * t.derivative[i] + u * (3 * u - 2) * t.derivative[i + 1];
        p.slope[0] = r > 0 ? -derivative / r : 0;
    }
    }
    return p;
}

inline NearReference near_reference(const LayoutScene& scene, const near::Sums& sums) {
    NearReference out;
    const auto n = static_cast<size_t>(scene.target.n());
    out.sources.assign(n, 0);
    for (int c = 0; c < sums.components; ++c) {
        out.potential[c].assign(n, 0), out.potential_size[c].assign(n, 0), out.gradient_size[c].assign(n, 0);
        for (auto& axis : out.gradient[c])
            axis.assign(n, 0);
    }
    const NearPoints &t = scene.target, &s = scene.sources();
    const bool waves = sums.kernel.kernel == near::Kernel::helmholtz;
    const auto point = [](const NearPoints& p, int64_t slot) {
        return static_cast<size_t>(p.index.empty() ? slot : p.index[static_cast<size_t>(slot)]);
    };
    for (size_t b = 0; b + 1 < t.offset.size(); ++b)
        for (int64_t ts = t.offset[b]; ts < t.offset[b + 1]; ++ts)
            for (int64_t e = scene.neighbour_offset[b]; e < scene.neighbour_offset[b + 1]; ++e) {
                const auto other = static_cast<size_t>(scene.neighbour[static_cast<size_t>(e)]);
                const size_t i = point(t, ts);
                for (int64_t ss = s.offset[other]; ss < s.offset[other + 1]; ++ss) {
                    const size_t j = point(s, ss);
                    out.sources[i] += 1;
                    if (scene.same && i == j)
                        continue;
                    double d[3] = {}, r2 = 0;
                    for (int axis = 0; axis < scene.dimension; ++axis)
                        d[axis] = s.at[axis][j] - t.at[axis][i], r2 += d[axis] * d[axis];
                    const NearPair k = near_pair(sums.kernel, r2);
                    for (int c = 0; c < sums.components; ++c) {
                        const double q = scene.charge[c][j], sign = c % 2 == 0 ? -1 : 1;
                        const double p = waves ? scene.charge[c ^ 1][j] : 0;
                        const double value = q * k.value[0] + sign * p * k.value[1],
                                     slope = q * k.slope[0] + sign * p * k.slope[1];
                        out.potential[c][i] += value;
                        out.potential_size[c][i] += std::hypot(q, p) * std::hypot(k.value[0], k.value[1]);
                        out.gradient_size[c][i] +=
                            std::hypot(q, p) * std::hypot(k.slope[0], k.slope[1]) * std::sqrt(r2);
                        for (int axis = 0; axis < scene.dimension; ++axis)
                            out.gradient[c][axis][i] += slope * d[axis];
                    }
                }
            }
    return out;
}

/// The scene's arrays on the device (and host) in type T, and the results of a run.
template <typename T>
class NearArrays {
  public:
    NearArrays(const LayoutScene& scene, const near::Sums& sums, backend::Queue& queue)
        : sums_(sums), queue_(queue), targets_(scene.target.n()), in_(queue.memory(), "test: in"),
          out_(queue.memory(), "test: out") {
        const NearPoints& s = scene.sources();
        const auto put = [&](const std::vector<double>& v) { host_.insert(host_.end(), v.begin(), v.end()); };
        for (const NearPoints* p : {&scene.target, &s})
            for (int axis = 0; axis < 3; ++axis)
                put(p->at[axis]);
        sources_ = s.n();
        for (int c = 0; c < sums.components; ++c)
            put(scene.charge[c]);
        in_.resize(std::max<int64_t>(1, static_cast<int64_t>(host_.size())));
        if (!host_.empty())
            GRAFT_CUDA(cudaMemcpyAsync(in_.data(), host_.data(), host_.size() * sizeof(T),
                                       cudaMemcpyHostToDevice, queue.stream()));
        out_.resize(std::max<int64_t>(1, targets_ * sums.components * 4));
        queue.wait();
        clear();
    }
    void clear() {
        GRAFT_CUDA(cudaMemsetAsync(out_.data(), 0xff, static_cast<size_t>(out_.size()) * sizeof(T),
                                   queue_.stream()));
    }
    near::Coordinates<T> targets(bool host) const {
        const T* p = host ? host_.data() : in_.data();
        return {p, p + targets_, sums_.dimension == 3 ? p + 2 * targets_ : nullptr};
    }
    near::Coordinates<T> sources(bool host) const {
        const T* p = (host ? host_.data() : in_.data()) + 3 * targets_;
        return {p, p + sources_, sums_.dimension == 3 ? p + 2 * sources_ : nullptr};
    }
    near::Charges<T> charges(bool host) const {
        const T* p = (host ? host_.data() : in_.data()) + 3 * (targets_ + sources_);
        near::Charges<T> charges;
        for (int c = 0; c < sums_.components; ++c)
            charges.component[static_cast<size_t>(c)] = p + c * sources_;
        return charges;
    }
    near::Fields<T> fields() const {
        near::Fields<T> f;
        for (int c = 0; c < sums_.components; ++c) {
            T* const p = out_.data() + 4 * c * targets_;
            if (sums_.outputs & near::potential)
                f.potential[static_cast<size_t>(c)] = p;
            for (int axis = 0; (sums_.outputs & near::gradient) && axis < sums_.dimension; ++axis)
                f.gradient[static_cast<size_t>(c)][static_cast<size_t>(axis)] = p + (axis + 1) * targets_;
        }
        return f;
    }
    /// All results: component by component the potential and three gradients; what is not wanted stays NaN.
    std::vector<T> results() const {
        std::vector<T> to(static_cast<size_t>(targets_ * sums_.components * 4));
        if (!to.empty())
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), out_.data(), to.size() * sizeof(T), cudaMemcpyDeviceToHost,
                                       queue_.stream()));
        queue_.wait();
        return to;
    }
    /// A whole life of a layout.
    void run(near::DeviceLayout<T>& layout, bool host) {
        clear();
        layout.set_points(targets(host), sources(host));
        layout.set_charges(charges(host));
        layout.run(fields());
    }

  private:
    near::Sums sums_;
    backend::Queue& queue_;
    int64_t targets_, sources_ = 0;
    std::vector<T> host_;
    backend::DeviceBuffer<T> in_, out_;
};

/// Largest error of all results in units of sqrt(n) eps sum |q K|; NaN counts as infinite.
template <typename T>
double worst_error(const std::vector<T>& got, const NearReference& want, const near::Sums& sums, double eps) {
    const size_t n = want.sources.size();
    double worst = 0;
    for (int c = 0; c < sums.components; ++c)
        for (int part = 0; part <= sums.dimension; ++part) {
            if ((sums.outputs & (part == 0 ? near::potential : near::gradient)) == 0)
                continue;
            for (size_t i = 0; i < n; ++i) {
                const double value = static_cast<double>(got[static_cast<size_t>(c * 4 + part) * n + i]);
                const double right =
                    sums.kernel.factor * (part == 0 ? want.potential[c][i] : want.gradient[c][part - 1][i]);
                const double size = std::abs(sums.kernel.factor) *
                                    (part == 0 ? want.potential_size[c][i] : want.gradient_size[c][i]);
                const double error = std::abs(value - right);
                if (error == 0)
                    continue;
                const double unit = eps * std::sqrt(std::max(1.0, want.sources[i])) * size;
                worst = std::max(worst, std::isfinite(error) && unit > 0 ? error / unit : 1e30);
            }
        }
    return worst;
}

} // namespace graft::test
