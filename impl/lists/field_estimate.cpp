// SPDX-License-Identifier: BSD-3-Clause
// Coarse walk, one group at a time.
#include "lists/field_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::lists {

namespace {

constexpr int stack_size = 2048; // levels times seven siblings, for any depth of a tree in double coordinates

/// Where the field is asked for.
struct Probe {
    geometry::Vec3 at;
    double extent, softening;
    bool of_particle; // of one that does not feel itself

    double square(double x, double y, double z) const {
        return (x - at.x) * (x - at.x) + (y - at.y) * (y - at.y) + (z - at.z) * (z - at.z);
    }
};

struct Walker {
    const EstimateInput& input;
    const tree::Tree& tree = input.tree;

    /// Opens every node closer than its size; leaves and what the stack cannot hold count as they are.
    void add(const Probe& probe, EstimateSum& sum) const {
        const moments::Moments& moments = input.moments;
        int32_t stack[stack_size];
        int top = 0;
        stack[top++] = input.root;
        while (top > 0) {
            const int32_t node = stack[--top];
            const double edge = tree.boxes[node].longest_edge();
            const double x = moments.cx[node], y = moments.cy[node], z = moments.cz[node];
            const double r2 = probe.square(x, y, z);
            const tree::Node& n = tree.nodes[node];
            const bool around = probe.of_particle && tree.boxes[node].holds(probe.at.x, probe.at.y, probe.at.z);
            if (n.child_count > 0 && (around || coarse_opens(edge, r2)) && top + n.child_count <= stack_size) {
                for (int32_t k = 0; k < n.child_count; ++k)
                    stack[top++] = n.first_child + k;
                continue;
            }
            const int32_t leaf = around && n.child_count == 0 ? own_node(node) : -1;
            if (leaf >= 0)
                add_leaf(tree.nodes[leaf], edge, probe, sum);
            else
                add_one(moments.magnitude[node], edge, {x, y, z}, r2, estimated_softening(input.softening, moments, node),
                        probe, sum);
        }
    }

    /// The target of a group that dominates() it, with those at its place, which it does not feel either: its place in the
    /// tree; else -1.
    int64_t dominating(const Group& group) const {
        if (input.own == nullptr)
            return -1;
        double heaviest = -1, total = 0, there = 0;
        int64_t found = -1;
        for (int64_t k = group.first; k < group.first + group.count; ++k) {
            const int64_t i = place_of(k);
            total += std::abs(tree.charge[i]);
            if (std::abs(tree.charge[i]) > heaviest) {
                heaviest = std::abs(tree.charge[i]);
                found = i;
            }
        }
        for (int64_t k = group.first; k < group.first + group.count; ++k) {
            const int64_t i = place_of(k);
            if (tree.x[i] == tree.x[found] && tree.y[i] == tree.y[found] && tree.z[i] == tree.z[found])
                there += std::abs(tree.charge[i]);
        }
        return dominates(there, total) ? found : -1;
    }

  private:
    int64_t place_of(int64_t target) const { return input.own->place != nullptr ? input.own->place[target] : target; }

    /// The node whose particles a node has: of this rank's tree, itself; -1: those of another rank.
    int32_t own_node(int32_t node) const {
        const OwnParticles& own = *input.own;
        if (node < own.nodes)
            return node;
        return node - own.nodes < own.copies.size() ? own.copies[node - own.nodes] : -1;
    }

    /// One by one; what is at the place itself makes no field there.
    void add_leaf(const tree::Node& leaf, double edge, const Probe& probe, EstimateSum& sum) const {
        for (int64_t i = leaf.first; i < leaf.first + leaf.count; ++i)
            add_one(std::abs(tree.charge[i]), edge, {tree.x[i], tree.y[i], tree.z[i]},
                    probe.square(tree.x[i], tree.y[i], tree.z[i]), tree.softening.empty() ? 0 : tree.softening[i], probe, sum);
    }

    void add_one(double magnitude, double edge, const geometry::Vec3& from, double r2, double length, const Probe& probe,
                 EstimateSum& sum) const {
        coarse_add(magnitude, edge, probe.extent, from.x - probe.at.x, from.y - probe.at.y, from.z - probe.at.z, r2,
                   input.softening.square(r2, length, probe.softening), sum);
    }
};

double size_at(const EstimateInput& input, const Walker& walker, Probe probe) {
    EstimateSum sum;
    if (input.images == nullptr) {
        walker.add(probe, sum);
        return coarse_size(sum);
    }
    const geometry::Vec3 rest = input.beyond(probe.at), here = probe.at;
    for (const geometry::Vec3& image : *input.images) {
        probe.at = {here.x + image.x, here.y + image.y, here.z + image.z};
        walker.add(probe, sum);
    }
    return std::hypot(sum.x + rest.x, sum.y + rest.y, sum.z + rest.z);
}

} // namespace

void estimate_accelerations(const backend::Executor& executor, const EstimateInput& input, core::Buffer<double>& size) {
    const Walker walker{input};
    const tree::Tree& tree = input.tree;
    size.resize(input.groups.size());
    executor.for_each(
        size.size(),
        [&](int64_t g) {
            const Group& group = input.groups[g];
            const geometry::Box& box = group.target.box;
            const int64_t heavy = walker.dominating(group);
            size[g] = std::numeric_limits<double>::infinity();
            if (heavy < 0 || group.count > 1) {
                const geometry::Vec3 centre{box.centre(0), box.centre(1), box.centre(2)};
                size[g] = size_at(input, walker, {centre, box.longest_edge(), group.target.softening, false});
            }
            if (heavy >= 0) {
                const geometry::Vec3 at{tree.x[heavy], tree.y[heavy], tree.z[heavy]};
                const double length = tree.softening.empty() ? 0 : tree.softening[heavy];
                size[g] = std::min(size[g], size_at(input, walker, {at, 0, length, true}));
            }
        },
        64);
}

} // namespace graft::lists
