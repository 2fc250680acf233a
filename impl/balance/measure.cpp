// SPDX-License-Identifier: BSD-3-Clause
// Measures of how even and how compact the ranks' shares are: a few allreduces of O(1) data.
#include "balance/loads.hpp"

#include <cmath>

namespace graft::balance {

namespace {

constexpr int samples = 64; // ranks whose boxes all ranks see

double volume(const geometry::Box& box, int dimension) {
    const double area = box.edge(0) * box.edge(1);
    return dimension == 2 ? area : area * box.edge(2);
}

/// Surface over that of a cube of the same volume (perimeter over that of a square); 0 without volume.
double surface_ratio(const geometry::Box& box, int dimension) {
    if (box.empty() || !(volume(box, dimension) > 0))
        return 0;
    const double x = box.edge(0), y = box.edge(1), z = box.edge(2);
    if (dimension == 2)
        return (x + y) / (2 * std::sqrt(x * y));
    // edges over the edge of the cube, one by one: their products stay in range
    const double edge = std::cbrt(x) * std::cbrt(y) * std::cbrt(z);
    return ((x / edge) * (y / edge) + (y / edge) * (z / edge) + (z / edge) * (x / edge)) / 3;
}

/// The tight box with a margin of the mean spacing of its items on every side.
geometry::Box widened(const Load& load, int dimension) {
    geometry::Box box = load.box;
    if (box.empty())
        return box;
    const double spacing = std::pow(static_cast<double>(load.items), -1.0 / dimension);
    for (int a = 0; a < dimension; ++a) {
        const double margin = spacing * load.box.edge(a);
        box.lower[a] -= margin;
        box.upper[a] += margin;
    }
    return box;
}

bool meet(const geometry::Box& a, const geometry::Box& b) {
    for (int axis = 0; axis < 3; ++axis)
        if (!(a.lower[axis] <= b.upper[axis] && b.lower[axis] <= a.upper[axis]))
            return false;
    return true;
}

/// Mean over sampled ranks of how many others meet them; all ranks are sampled when there are few.
double mean_neighbours(comm::Communicator& comm, const Load& load, int dimension) {
    const int64_t size = comm.size(), seen = std::min<int64_t>(size, samples);
    const geometry::Box own = widened(load, dimension);
    double boxes[samples][6];
    const auto sampled_rank = [&](int64_t s) { return s * size / seen; };
    for (int64_t s = 0; s < seen; ++s)
        for (int a = 0; a < 3; ++a) {
            const bool mine = sampled_rank(s) == comm.rank();
            boxes[s][a] = mine ? -own.lower[a] : -std::numeric_limits<double>::infinity();
            boxes[s][3 + a] = mine ? own.upper[a] : -std::numeric_limits<double>::infinity();
        }
    comm.allreduce(&boxes[0][0], 6 * seen, comm::Operation::max);
    int64_t meetings = 0;
    for (int64_t s = 0; s < seen; ++s) {
        geometry::Box box;
        for (int a = 0; a < 3; ++a) {
            box.lower[a] = -boxes[s][a];
            box.upper[a] = boxes[s][3 + a];
        }
        meetings += sampled_rank(s) != comm.rank() && meet(own, box) ? 1 : 0;
    }
    return static_cast<double>(comm.sum(meetings)) / static_cast<double>(seen);
}

double over_mean(double largest, double sum, int ranks) {
    return sum > 0 ? largest * ranks / sum : 1;
}

} // namespace

Measures measure(comm::Communicator& comm, const Load& load, const Scale& scale, bool shapes) {
    Measures measures;
    const double weight = scale.weight(load);
    double most[3] = {load.work, static_cast<double>(load.items), weight};
    comm.allreduce(most, 3, comm::Operation::max);
    measures.imbalance_work = over_mean(most[0], scale.work(), scale.ranks());
    measures.imbalance_count = over_mean(most[1], static_cast<double>(scale.items()), scale.ranks());
    measures.imbalance_weight = scale.items() > 0 ? most[2] * scale.ranks() : 1;
    measures.work_max = scale.work_in_units_of_cost(most[0]);
    measures.work_mean = scale.work_in_units_of_cost(scale.work() / scale.ranks());
    if (!shapes)
        return measures;
    const double ratio = surface_ratio(load.box, scale.dimension());
    double sums[2] = {ratio, ratio > 0 ? 1.0 : 0.0};
    comm.allreduce(sums, 2, comm::Operation::sum);
    measures.surface = sums[1] > 0 ? sums[0] / sums[1] : 1;
    measures.neighbours = mean_neighbours(comm, load, scale.dimension());
    return measures;
}

} // namespace graft::balance
