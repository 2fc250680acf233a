// SPDX-License-Identifier: BSD-3-Clause
// A force computation up to its lists, on the host and copied to the device, with the sums that the device
// must give: the CPU kernels' in double over the same lists, and what rounding in float may cost.
#pragma once

#include "backend/executor.hpp"
#include "forces/m2p/cell_rows.hpp"
#include "forces/evaluate_gpu.cuh"
#include "forces/p2p/gather.hpp"
#include "forces/m2l/m2l.hpp"
#include "forces/m2p/m2p.hpp"
#include "forces/p2p/p2p.hpp"
#include "lists/far_cells.hpp"
#include "lists/lists.hpp"
#include "moments/expansion.hpp"
#include "tree/build.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace graft::test {

struct Particles {
    std::vector<double> x, y, z, charge, softening; // softening empty: one for all
    int64_t n() const { return static_cast<int64_t>(x.size()); }
    void add(double px, double py, double pz, double q) {
        x.push_back(px), y.push_back(py), z.push_back(pz), charge.push_back(q);
    }
};

/// Plummer's sphere of total charge 1 (mixed: charges of both signs).
inline Particles plummer_sphere(int64_t n, bool mixed = false, uint64_t seed = 42) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Particles p;
    for (int64_t i = 0; i < n; ++i) {
        const double r = 1 / std::sqrt(std::pow(uniform(random) * 0.999, -2.0 / 3) - 1);
        const double c = 2 * uniform(random) - 1, phi = 2 * M_PI * uniform(random), s = std::sqrt(1 - c * c);
        const double q = (0.5 + uniform(random)) / static_cast<double>(n);
        p.add(r * s * std::cos(phi), r * s * std::sin(phi), r * c, mixed && i % 3 == 0 ? -q : q);
    }
    return p;
}
inline void give_softening(Particles& p, double length) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (int64_t i = 0; i < p.n(); ++i)
        p.softening.push_back(length * uniform(random));
}

struct SceneOptions {
    int leaf = 16, group = 32, order = 2, dimension = 3;
    forces::Softening softening = forces::Softening::none;
    double length = 0, theta = 0.7;
    int64_t direct_count = 3;
    const Particles* points = nullptr; // field at points
    int64_t active_step = 0;           // > 0: every so many particles are targets
    double local_error = 0; // > 0: far cells are a polynomial of the group, this error allowed a cell
};

/// Sums in target order.
struct Sums {
    std::vector<double> ax, ay, az, potential;
    explicit Sums(int64_t n)
        : ax(static_cast<size_t>(n)), ay(ax.size()), az(ax.size()), potential(ax.size()) {}
};

/// Largest errors over `factor` times their bounds. Potentials have what their own charge adds in the scale.
struct WorstErrors {
    double force = 0, potential = 0;
};
inline WorstErrors worst_errors(const Sums& found, const Sums& expected, const Sums& bounds, bool potential,
                                double factor) {
    WorstErrors worst;
    const auto keep = [](double& most, double error, double bound) {
        const double ratio = error == 0 ? 0 : error / bound;
        most = ratio <= most ? most : ratio; // NaN is kept
    };
    for (size_t i = 0; i < expected.ax.size(); ++i) {
        keep(worst.force,
             std::hypot(found.ax[i] - expected.ax[i], found.ay[i] - expected.ay[i],
                        found.az[i] - expected.az[i]),
             factor * bounds.ax[i]);
        if (potential)
            keep(worst.potential, std::abs(found.potential[i] - expected.potential[i]),
                 factor * (bounds.potential[i] + 1e-6 * std::abs(expected.potential[i])));
    }
    return worst;
}

struct Scene {
    core::Memory memory;
    backend::Executor executor{memory, backend::resolve_threads(0)};
    SceneOptions options;
    tree::Tree tree{memory};
    tree::TreeBuilder builder{memory};
    moments::Moments moments{memory};
    core::Buffer<float> single{memory};
    core::Buffer<double> full{memory};
    lists::TargetSet targets{memory};
    lists::Criterion criterion{memory};
    lists::InteractionLists lists{memory};
    lists::ListBuilder list_builder{memory};

    Scene(const Particles& p, const SceneOptions& how) : options(how) {
        tree::TreeOptions to;
        to.leaf = how.leaf, to.dimension = how.dimension;
        tree::BuildTimes times;
        builder.build(executor, to, p.n(), p.x.data(), p.y.data(), p.z.data(), p.charge.data(),
                      p.softening.empty() ? nullptr : p.softening.data(), tree, times);
        moments::compute_moments(executor, tree, how.order, moments);
        const bool softened = how.softening == forces::Softening::plummer;
        moments::fill_expansion(executor, moments, softened, single);
        moments::fill_expansion(executor, moments, softened, full);
        choose_targets(p);
        for (lists::Group& group : targets.groups())
            if (how.local_error > 0)
                group.target.factor = std::pow(how.local_error, -1.0 / (how.order + 3));
        lists::CriterionOptions co;
        co.theta = how.theta, co.direct_count = how.direct_count;
        co.compact_softening = how.softening == forces::Softening::spline;
        co.softening_length = how.length;
        lists::NodeProperties np;
        np.cx = moments.cx.data(), np.cy = moments.cy.data(), np.cz = moments.cz.data();
        np.radius = moments.radius.data();
        np.softening = moments.softening.empty() ? nullptr : moments.softening.data();
        lists::fill_criterion(executor, tree, co, np, criterion);
        build_lists(0, targets.group_count());
    }
    void choose_targets(const Particles& p) {
        const Particles* at = options.points;
        if (at != nullptr) {
            targets.set_points(executor, options.dimension, at->n(), at->x.data(), at->y.data(), at->z.data(),
                               at->softening.empty() ? nullptr : at->softening.data(), options.group);
        } else if (options.active_step > 0) {
            std::vector<int32_t> active;
            for (int64_t i = 0; i < p.n(); i += options.active_step)
                active.push_back(static_cast<int32_t>(i));
            targets.set_particles(executor, tree, static_cast<int64_t>(active.size()), active.data(),
                                  options.group);
        } else {
            targets.set_all(executor, tree, options.group);
        }
    }
    void build_lists(int64_t begin, int64_t end) {
        list_builder.build(executor, tree, criterion, targets.groups().data() + begin, end - begin,
                           lists::WalkKind::two_pass, lists);
    }

    bool per_particle() const { return !tree.softening.empty(); }
    forces::PairVariant variant(bool potential) const {
        const bool softened = options.softening != forces::Softening::none;
        return {options.softening, softened && per_particle(), potential};
    }
    /// The one source of a leaf of more than `leaf` equal points, as Forest::find_heaps.
    bool is_heap(int32_t node) const {
        return !per_particle() && tree.is_leaf(node) && tree.nodes[node].count > options.leaf;
    }

    /// Which nodes are far from a group.
    auto far_from(const lists::Group& group) const {
        return [this,
                limit = lists::far_limit(group.target, options.order, forces::local_order(options.order)),
                none = options.local_error == 0 || group.count < lists::least_far_targets](int32_t k) {
            return !none &&
                   lists::is_far(limit, moments.magnitude[k], moments.cx[k], moments.cy[k], moments.cz[k]);
        };
    }
    /// The CPU kernels over these lists in T (T = double: the reference), caller's units.
    template <typename T>
    Sums evaluate(double& pairs, double& cells) const;
    /// What float may do to each target's force and potential: rounded places, q, and some operations.
    Sums float_bounds() const;
};

template <typename T>
Sums Scene::evaluate(double& pairs, double& cells) const {
    Sums sums(targets.count());
    core::Memory own;
    forces::SourceBuffer<T> sources(own);
    forces::TargetBuffer<T> block(own);
    forces::CellBuffer<T> cell_buffer(own);
    forces::M2lSources<T> far_buffer(own);
    const forces::PairVariant pair = variant(true);
    const bool plummer = options.softening == forces::Softening::plummer;
    const forces::CellVariant cell{options.order, plummer, plummer && per_particle(), true};
    const T* expansion;
    if constexpr (sizeof(T) == 4)
        expansion = single.data();
    else
        expansion = full.data();
    pairs = cells = 0;
    for (int64_t g = 0; g < targets.group_count(); ++g) {
        const lists::Group& group = targets.groups()[g];
        double nearest = 0;
        const auto look_at = [&](int32_t node) {
            const double length = tree.boxes[node].furthest(group.target.box.lower);
            nearest = length > 0 && (nearest == 0 || length < nearest) ? length : nearest;
        };
        std::for_each(&lists.leaves[lists.leaf_offset[g]], lists.leaves.data() + lists.leaf_offset[g + 1],
                      look_at);
        std::for_each(lists.nodes.data() + lists.node_offset[g],
                      lists.nodes.data() + lists.node_offset[g + 1], look_at);
        const forces::Frame frame =
            forces::make_frame<T>(group.target.box, nearest, tree.boxes[0].furthest(group.target.box.lower));
        block.fill({targets.x(), targets.y(), targets.z(), nullptr, targets.softening(), targets.count()},
                   group.first, group.count, frame, pair);
        sources.clear();
        for (int64_t e = lists.leaf_offset[g]; e < lists.leaf_offset[g + 1]; ++e) {
            const tree::Node& node = tree.nodes[lists.leaves[e]];
            if (!is_heap(lists.leaves[e])) {
                sources.append(forces::tree_particles(tree), node.first, node.count, frame, pair);
                continue;
            }
            double charge = 0;
            for (int64_t i = node.first; i < node.first + node.count; ++i)
                charge += tree.charge[i];
            const forces::ParticleArrays heap{
                &tree.x[node.first], &tree.y[node.first], &tree.z[node.first], &charge, nullptr, 1};
            sources.append(heap, 0, 1, frame, pair);
        }
        pairs += static_cast<double>(sources.particle_count() * group.count);
        forces::p2p(pair, options.length * frame.scale, sources.view(), block.view(), 0, block.sums());
        std::vector<int32_t> nodes(lists.nodes.data() + lists.node_offset[g],
                                   lists.nodes.data() + lists.node_offset[g + 1]);
        const auto all = static_cast<int64_t>(nodes.size());
        const int64_t near =
            lists::put_far_last(nodes.data(), nodes.data() + all, far_from(group)) - nodes.data();
        forces::LocalExpansion local;
        for (int a = 0; a < 3; ++a)
            local.centre[a] = (group.target.box.centre(a) - frame.centre[a]) * frame.scale;
        for (int64_t e = near; e < all; e += 128) {
            far_buffer.fill(moments, expansion, nodes.data() + e, std::min(int64_t{128}, all - e), frame,
                            cell);
            forces::m2l(cell, options.length * frame.scale, far_buffer, local);
        }
        if (near < all)
            forces::l2p(cell, local, block.view(), block.sums());
        for (int64_t e = 0; e < near; e += 128) {
            const int64_t count = std::min(int64_t{128}, near - e);
            cell_buffer.fill(moments, expansion, nodes.data() + e, count, frame, cell);
            forces::m2p(cell, options.length * frame.scale, cell_buffer.view(), block.view(), 0,
                         block.sums());
            cells += static_cast<double>(count * group.count);
        }
        for (int64_t k = 0; k < group.count; ++k) {
            const auto to = static_cast<size_t>(group.first + k);
            const forces::FieldSums s = block.sums();
            sums.ax[to] = s.ax[k] * frame.scale * frame.scale,
            sums.ay[to] = s.ay[k] * frame.scale * frame.scale;
            sums.az[to] = s.az[k] * frame.scale * frame.scale,
            sums.potential[to] = s.potential[k] * frame.scale;
        }
    }
    return sums;
}

inline Sums Scene::float_bounds() const {
    Sums sums(targets.count());
    constexpr double operations = 1.5e-6, place = 2.5e-7; // 12 and 2 roundings of half a unit, times two
    double least = options.softening == forces::Softening::none ? 0.0 : options.length;
    if (per_particle() && options.softening != forces::Softening::none)
        least = *std::min_element(tree.softening.begin(), tree.softening.end());
    for (int64_t g = 0; g < targets.group_count(); ++g) {
        const lists::Group& group = targets.groups()[g];
        const double size = std::max(group.target.box.longest_edge(), 1e-300);
        for (int64_t k = group.first; k < group.first + group.count; ++k) {
            double force = 0, potential = 0;
            const auto meet = [&](double x, double y, double z, double q, double away) {
                const double dx = x - targets.x()[k], dy = y - targets.y()[k], dz = z - targets.z()[k];
                const double r = std::sqrt(dx * dx + dy * dy + dz * dz);
                const double soft = 0.3 * least;
                if (!(r > 0)) { // no force; a potential if softened
                    potential += least > 0 ? 3 * std::abs(q) / least * operations : 0.0;
                    return;
                }
                const double d = std::max(r, soft), spread = away / d;
                force += std::abs(q) / (d * d) * (operations + place * (size + r) / d) * (1 + 3 * spread);
                potential += std::abs(q) / d * (operations + place * (size + r) / d) * (1 + 3 * spread);
            };
            for (int64_t e = lists.leaf_offset[g]; e < lists.leaf_offset[g + 1]; ++e) {
                const tree::Node& node = tree.nodes[lists.leaves[e]];
                for (int64_t i = node.first; i < node.first + node.count; ++i)
                    meet(tree.x[i], tree.y[i], tree.z[i], tree.charge[i], 0);
            }
            for (int64_t e = lists.node_offset[g]; e < lists.node_offset[g + 1]; ++e) {
                const int32_t node = lists.nodes[e];
                meet(moments.cx[node], moments.cy[node], moments.cz[node], moments.magnitude[node],
                     moments.radius[node]);
            }
            sums.ax[static_cast<size_t>(k)] = force, sums.potential[static_cast<size_t>(k)] = potential;
        }
    }
    return sums;
}

/// The scene on the device.
struct DeviceScene {
    tree::DeviceTree tree;
    moments::DeviceMoments moments;
    lists::DeviceTargets targets;
    lists::DeviceLists lists;

    explicit DeviceScene(backend::DeviceMemory& memory)
        : tree(memory), moments(memory), targets(memory), lists(memory) {}
    void upload(backend::Queue& queue, const Scene& scene) {
        tree.upload(queue, scene.tree);
        moments.upload(queue, scene.moments, tree.nodes.size());
        put(queue, scene.single, moments.single), put(queue, scene.full, moments.full);
        targets.upload(queue, scene.targets);
        if (scene.options.points == nullptr && scene.options.active_step == 0) { // the tree's own arrays
            targets.x = tree.x.data(), targets.y = tree.y.data(), targets.z = tree.z.data();
            targets.softening = scene.per_particle() ? tree.softening.data() : nullptr;
        }
        lists.upload(queue, scene.lists);
    }
    template <typename T>
    static void put(backend::Queue& queue, const core::Buffer<T>& from, backend::DeviceBuffer<T>& to) {
        to.resize(from.size());
        if (from.size() > 0)
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(from.size()) * sizeof(T),
                                       cudaMemcpyHostToDevice, queue.stream()));
        queue.wait();
    }
};

} // namespace graft::test
