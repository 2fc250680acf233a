// SPDX-License-Identifier: BSD-3-Clause
// See ewald_splitting.hpp.
#include "periodic/ewald_splitting.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double worth_it = 0.75; // pairs are exact: cells must be cheaper by more than the model's error
constexpr double pairs_alone = 2;  // times the error that they may leave beside cells, which make one of their own
constexpr double least_product = 0.5, largest_product = 8.5; // alpha * cutoff: what Screen can be made for

double density(const EwaldInput& p) {
    return static_cast<double>(p.particles) / p.lattice.volume();
}

/// alpha * cutoff such that the pairs beyond leave `error` (of a force), and the inverse.
double product_for(const EwaldInput& p, double cutoff, double error) {
    const double size =
        2 * p.square_sum / std::sqrt(static_cast<double>(p.particles) * cutoff * p.lattice.volume());
    return std::clamp(std::sqrt(std::log(std::max(size / error, 1.001))), least_product, largest_product);
}

/// |k| beyond which waves leave `error`: the equation's right side falls with it.
double wave_for(const EwaldInput& p, double alpha, double error) {
    const double edge = std::cbrt(p.lattice.volume()), n = static_cast<double>(p.particles);
    double low = 0.1, high = 2 * largest_product * alpha * edge / pi + 4; // K = |k| L / 2 pi
    for (int step = 0; step < 24; ++step) {
        const double k = 0.5 * (low + high), exponent = pi * k / (alpha * edge);
        const double left =
            2 * p.square_sum * alpha / edge * std::sqrt(1 / (pi * k * n)) * std::exp(-exponent * exponent);
        (left > error ? low : high) = k;
    }
    return 2 * pi * high / edge;
}

/// Pairs that one target meets.
double pairs_of(const EwaldInput& p, double cutoff) {
    const double n = static_cast<double>(p.particles);
    if (p.all_pairs) {
        double images = 1;
        for (int a = 0; a < 3; ++a)
            images *= 1 + 2 * cutoff / p.lattice.width(a);
        return images * n;
    }
    const double reach = cutoff + 0.6 * std::cbrt(std::min(p.group, n) / density(p)) +
                         0.4 * std::cbrt(std::min(p.leaf, n) / density(p)); // boxes that touch are met whole
    return 4 * pi / 3 * reach * reach * reach * density(p) * p.crowding.at(reach);
}

double sphere(double radius) {
    return 4 * pi / 3 * radius * radius * radius;
}

/// Distance, in units of the particles' mean distance, from which a cell with this edge is accepted: its
/// error S / d^(p+3), S = sum |q| r^(p+1) as in error_reach.hpp, of a cube of equal charges.
double accepted_from(const CellModel& cells, double edge) {
    const double radius = 0.78 * edge; // of some ten particles in a cube
    const double least = radius / cells.opening;
    if (cells.error == 0)
        return least;
    const double spread = edge * edge * edge * 0.25 * edge * edge;
    const double sum = cells.order == 0 ? std::sqrt(edge * edge * edge * spread)
                                        : spread * std::pow(radius, cells.order - 1);
    return std::max(least, std::pow(sum / cells.error, 1.0 / (cells.order + 3)));
}

/// Work per target with the tree's cells of which the smallest have this edge (in units of the particles'
/// mean distance): pairs with those that are too near, then each size of cells in its shell.
double cell_work(const EwaldInput& p, double cutoff, double edge) {
    const double end = cutoff * std::cbrt(density(p)), n = static_cast<double>(p.particles);
    const double group = 0.6 * std::cbrt(std::min(p.cells.group, n)); // as in pairs_of
    double from = std::min(end, accepted_from(p.cells, edge));
    double work = p.pair_cost * sphere(from + group + 0.5 * edge);
    for (; from < end; edge *= 2) {
        const double to = std::min(end, accepted_from(p.cells, 2 * edge));
        if (to > from)
            work += p.cells.cost * (sphere(to + group + 0.4 * edge) - sphere(from + group + 0.4 * edge)) /
                    (edge * edge * edge);
        from = std::max(from, to);
    }
    return work;
}

/// Leaves for cells: the size of an octree's cells in a uniform box; the same everywhere where it is crowded.
struct Leaves {
    double edge = 0;
    int most = 32;
};

std::vector<Leaves> possible_leaves(const EwaldInput& p) {
    constexpr double fewest = 3, most = 64;
    const double given = p.cells.leaf, spacing = 1 / std::cbrt(density(p));
    std::vector<Leaves> list;
    const bool crowded = p.crowding.largest > 0 && p.crowding.at(0.1 * p.crowding.largest) > 4;
    double edge = std::max({p.lattice.edge[0], p.lattice.edge[1], p.lattice.edge[2]}) / spacing;
    while (!crowded && edge * edge * edge > fewest) {
        const double count = edge * edge * edge, spread = 3 * std::sqrt(count);
        const bool direct = count < p.cells.direct; // only those around them are summed as cells
        if (given > 0 && count <= given) {          // such cells are leaves
            list.push_back({direct ? 2 * edge : edge, static_cast<int>(given)});
            break;
        }
        if (given == 0 && count <= most)
            list.push_back({direct ? 2 * edge : edge, static_cast<int>(count + spread)});
        edge /= 2;
    }
    if (list.empty())
        list.push_back({std::cbrt(0.4 * (given > 0 ? given : 32)), given > 0 ? static_cast<int>(given) : 32});
    return list;
}

double waves_of(const EwaldInput& p, double largest) {
    const double radius = largest / (2 * pi);
    return sphere(radius) / 2 * p.lattice.volume();
}

/// Work per particle of the smooth part on the cheapest mesh; negative: none is fine enough.
double mesh_work(const EwaldInput& p, double error, EwaldSplit& split) {
    const auto n = static_cast<double>(p.particles);
    const double size = p.square_sum / std::sqrt(n) * std::sqrt(split.alpha / p.lattice.volume());
    double least = -1;
    for (int k = 0; k < 3; ++k) {
        const MeshChoice mesh = choose_mesh(p.lattice, split.alpha, 4 + 2 * k, error / size);
        const double work = p.mesh.particle[k] + p.mesh.point * static_cast<double>(mesh.points()) / n;
        const int64_t edge = std::max({mesh.count[0], mesh.count[1], mesh.count[2]});
        if (mesh.order == 0 || edge > p.mesh.most_points || (least >= 0 && work >= least))
            continue;
        least = work;
        split.mesh = mesh;
    }
    return least;
}

} // namespace

double field_of_neighbours(double square_sum, int64_t particles, double volume) {
    const double count = static_cast<double>(std::max<int64_t>(particles, 1));
    const double by_distance = std::cbrt(static_cast<double>(particles) / volume); // its square is in range in any unit
    return std::sqrt(square_sum / count) * by_distance * by_distance;
}

double typical_field(const EwaldInput& p) {
    return field_of_neighbours(p.square_sum, p.particles, p.lattice.volume());
}

double Crowding::at(double radius) const {
    if (largest == 0)
        return 1;
    const double place = 2 * std::log2(largest / std::max(radius, 1e-30 * largest));
    const auto k =
        static_cast<size_t>(std::clamp(std::ceil(place), 0.0, static_cast<double>(factor.size() - 1)));
    return factor[k];
}

namespace {

struct Found {
    EwaldSplit split;
    double cost = -1; // < 0: nothing
};

/// What an error of 1 is of a sum whose two parts are as wrong as each other.
double unit_of(const EwaldInput& p) {
    const double mean = p.square_sum / static_cast<double>(std::max<int64_t>(p.particles, 1));
    return typical_field(p) * std::sqrt(mean) / std::sqrt(2.0);
}

/// Of what is not the host's. As the host's cut-off is no part of it, a net charge's background is that of all pairs.
Found waves_alone(const EwaldInput& p, double error, bool mesh) {
    EwaldSplit split;
    split.alpha = p.alpha > 0 ? p.alpha : product_for(p, p.host_cutoff, error) / p.host_cutoff;
    split.cutoff = largest_product / split.alpha;
    split.largest_wave = wave_for(p, split.alpha, error);
    split.accuracy = error / unit_of(p);
    const double cost = mesh ? mesh_work(p, error, split) : waves_of(p, split.largest_wave);
    return {split, cost};
}

/// The cheapest cut-off: of all pairs, or (leaves) of the tree's cells.
Found cheapest(const EwaldInput& p, double width, double error, bool mesh, const std::vector<Leaves>* leaves) {
    constexpr int steps = 80;
    if (p.pairs_elsewhere)
        return waves_alone(p, error, mesh);
    const double shortest = mesh ? std::min(width / 40, 2 / std::cbrt(density(p))) : width / 40, longest = 2.5 * width;
    Found best;
    for (int step = 0; step <= steps; ++step) {
        EwaldSplit split;
        split.cutoff =
            std::max(p.least_cutoff, shortest * std::pow(longest / shortest, static_cast<double>(step) / steps));
        const double product = product_for(p, split.cutoff, error);
        split.alpha = p.alpha > 0 ? p.alpha : product / split.cutoff;
        if (p.alpha > 0 && p.alpha * split.cutoff < product && step < steps)
            continue;
        split.largest_wave = wave_for(p, split.alpha, error);
        double work = p.pair_cost * pairs_of(p, split.cutoff);
        const double most = worth_it * work;
        for (size_t k = 0; leaves != nullptr && k < leaves->size(); ++k)
            if (const double one = cell_work(p, split.cutoff, (*leaves)[k].edge);
                one < std::min(work, most)) {
                work = one;
                split.cells = true;
                split.leaf = (*leaves)[k].most;
            }
        const double smooth = mesh ? mesh_work(p, error, split) : waves_of(p, split.largest_wave), cost = work + smooth;
        if (smooth >= 0 && (split.cells || leaves == nullptr) && (best.cost < 0 || cost < best.cost))
            best = {split, cost};
        if (p.alpha > 0)
            break; // a longer cut-off only costs more
    }
    best.split.accuracy = error / unit_of(p);
    return best;
}

} // namespace

EwaldSplit split_ewald(const EwaldInput& p) {
    if (p.pairs_elsewhere && !(p.square_sum > 0)) { // how it is split does not hang on the charges
        EwaldInput any = p;
        any.square_sum = static_cast<double>(any.particles = std::max<int64_t>(p.particles, 1));
        return split_ewald(any);
    }
    const double unit = unit_of(p);
    const double width = std::min({p.lattice.width(0), p.lattice.width(1), p.lattice.width(2)});
    if (p.particles == 0 || !(unit > 0)) // no charge: any splitting will do
        return {2 / width, 0.5 * width, 0, {}};
    const double error = std::max(p.accuracy, 1e-15) * unit, rough = std::max(p.accuracy, p.cells.accuracy) * unit;
    const std::vector<Leaves> leaves = p.cells.allowed ? possible_leaves(p) : std::vector<Leaves>();
    Found best = cheapest(p, width, error, false, nullptr);
    const auto try_another = [&](double of, bool mesh, bool cells) {
        const Found found = cheapest(p, width, of, mesh, cells ? &leaves : nullptr);
        const bool better = found.cost >= 0 && (best.cost < 0 || found.cost < best.cost);
        if (better)
            best = found;
        return better;
    };
    if (p.mesh.only)
        best.cost = -1;
    else if (p.cells.allowed && try_another(error, false, true)) // as exact a splitting: cells must gain by themselves
        try_another(rough, false, true);
    if (p.mesh.allowed) {
        try_another(p.cells.allowed ? std::max(error, pairs_alone * p.cells.accuracy * unit) : error, true, false);
        if (p.cells.allowed)
            try_another(rough, true, true);
    }
    return best.split;
}

} // namespace graft::periodic
