// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical clustering with a power-law two-point function: Soneira & Peebles 1978, AJ 83, 845.
//
// A sphere of radius R holds two spheres of radius R/lambda at random places inside it; with two children the
// number of points within r of a point grows as r^D, D = ln 2 / ln lambda, so xi ~ r^(D-3) between the
// smallest and the largest sphere. Particle i takes the branch given by the bits of i, lowest first: the tree
// fills evenly for every n.
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "snapshot/metadata.hpp"

#include <cmath>

namespace graft::cli {

namespace {

struct Point {
    double x, y, z;
};

// Uniform in a sphere; named by the path that leads to it, so that all particles below agree on it.
Point inside_sphere(double radius, Random random) {
    Point p;
    random.direction(radius * std::cbrt(random.uniform()), p.x, p.y, p.z);
    return p;
}

double wrap(double value, double edge) {
    const double wrapped = value - edge * std::floor(value / edge);
    return wrapped < edge ? wrapped : 0.0;
}

// The place of particle `index`: the sum of the steps from the top-level sphere down its branch.
Point leaf_position(const ClusteredOptions& o, std::size_t index, int depth, double lambda) {
    const std::size_t cluster = index % o.clusters;
    const std::size_t branch_bits = index / o.clusters;
    Random random(o.seed, 5, cluster);
    Point p{random.uniform(0.0, o.edge), random.uniform(0.0, o.edge), random.uniform(0.0, o.edge)};
    double radius = o.cluster_radius * o.edge;
    for (int level = 1; level <= depth; ++level) {
        const double child_radius = radius / lambda;
        const std::uint64_t path = branch_bits & ((std::uint64_t{1} << level) - 1);
        const std::uint64_t stream = 100 + static_cast<std::uint64_t>(level) + 1000 * cluster;
        const Point step = inside_sphere(radius - child_radius, Random(o.seed, stream, path));
        p.x += step.x;
        p.y += step.y;
        p.z += step.z;
        radius = child_radius;
    }
    return p;
}

int depth_for(const ClusteredOptions& o) {
    int depth = 1;
    while (depth < 50 && (o.clusters << depth) < o.n) {
        ++depth;
    }
    return depth;
}

} // namespace

Snapshot make_clustered(const ClusteredOptions& o) {
    require_option(o.mass >= 0.0, "clustered", "mass", "0 or more", o.mass);
    require_option(o.edge > 0.0, "clustered", "edge", "a positive length", o.edge);
    require_option(o.slope >= 0.5 && o.slope <= 2.5, "clustered", "slope", "0.5 to 2.5", o.slope);
    require_option(o.clusters >= 1 && o.clusters <= 1000000, "clustered", "clusters", "1 to 1000000",
                   static_cast<double>(o.clusters));
    require_option(o.cluster_radius > 0.0 && o.cluster_radius <= 0.5, "clustered", "cluster-radius",
                   "above 0, at most 0.5", o.cluster_radius);
    const double lambda = std::exp2(1.0 / (3.0 - o.slope));
    const int depth = depth_for(o);
    Snapshot s;
    s.resize(o.n);
    for (std::size_t i = 0; i < o.n; ++i) {
        const Point p = leaf_position(o, i, depth, lambda);
        s.x[i] = wrap(p.x, o.edge);
        s.y[i] = wrap(p.y, o.edge);
        s.z[i] = wrap(p.z, o.edge);
        s.mass[i] = o.mass / static_cast<double>(o.n);
    }
    s.box_size = o.edge;
    const double smallest = o.cluster_radius * o.edge * std::pow(lambda, -depth);
    s.suggested_softening = smallest;
    s.suggested_time_step = o.mass > 0.0 ? 0.01 * std::sqrt(o.edge * o.edge * o.edge / o.mass) : 0.0;
    s.attributes = {{"model", "clustered"},
                    {"seed", std::to_string(o.seed)},
                    {"slope", number_text(o.slope)},
                    {"clusters", std::to_string(o.clusters)},
                    {"levels", std::to_string(depth)},
                    {"smallest_sphere", number_text(smallest)}};
    return s;
}

} // namespace graft::cli
