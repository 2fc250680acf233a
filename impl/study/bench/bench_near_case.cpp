// SPDX-License-Identifier: BSD-3-Clause
// Even points in a grid of boxes, see bench_near.hpp.
#include "study/bench/bench_near.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graft::study {

namespace {

/// splitmix64: even numbers in [0, 1), the same on every machine.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
    double next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }

  private:
    uint64_t state_;
};

struct Grid {
    int64_t side = 1;
    int dimension = 3;
    std::vector<int32_t> rank; // of a cell (row by row) in Morton order

    int64_t cells() const { return dimension == 2 ? side * side : side * side * side; }
    int64_t cell_of(int64_t x, int64_t y, int64_t z) const { return (z * side + y) * side + x; }
};

int64_t side_of(const BenchGrid& grid) {
    if (grid.height > 0)
        return int64_t{1} << (grid.height - 1);
    const double boxes = std::max(1.0, static_cast<double>(grid.points) / grid.density);
    const double side = grid.dimension == 2 ? std::sqrt(boxes) : std::cbrt(boxes);
    return std::max<int64_t>(1, std::llround(side));
}

uint64_t interleave(const uint64_t (&cell)[3], int dimension) {
    uint64_t code = 0;
    for (int bit = 0; bit < 21; ++bit)
        for (int axis = 0; axis < dimension; ++axis)
            code |= ((cell[axis] >> bit) & 1u) << (bit * dimension + axis);
    return code;
}

void rank_cells(Grid& grid) {
    const auto count = static_cast<size_t>(grid.cells());
    std::vector<std::pair<uint64_t, int32_t>> order(count);
    const auto side = static_cast<size_t>(grid.side);
    for (size_t cell = 0; cell < count; ++cell)
        order[cell] = {interleave({cell % side, cell / side % side, cell / (side * side)}, grid.dimension),
                       static_cast<int32_t>(cell)};
    std::sort(order.begin(), order.end());
    grid.rank.resize(count);
    for (size_t k = 0; k < count; ++k)
        grid.rank[static_cast<size_t>(order[k].second)] = static_cast<int32_t>(k);
}

/// The box and those that touch it, ascending.
void list_neighbours(const Grid& grid, BenchCase& one) {
    const int64_t side = grid.side, deep = grid.dimension == 3 ? side : 1;
    std::vector<int64_t> cell_of_rank(grid.rank.size());
    for (size_t cell = 0; cell < grid.rank.size(); ++cell)
        cell_of_rank[static_cast<size_t>(grid.rank[cell])] = static_cast<int64_t>(cell);
    one.neighbour_offset.assign(1, 0);
    one.neighbour.reserve(grid.rank.size() * (grid.dimension == 2 ? 9 : 27));
    for (const int64_t cell : cell_of_rank) {
        const int64_t x = cell % side, y = cell / side % side, z = cell / (side * side);
        const auto begin = static_cast<std::ptrdiff_t>(one.neighbour.size());
        for (int64_t c = std::max<int64_t>(z - 1, 0); c <= std::min(z + 1, deep - 1); ++c)
            for (int64_t b = std::max<int64_t>(y - 1, 0); b <= std::min(y + 1, side - 1); ++b)
                for (int64_t a = std::max<int64_t>(x - 1, 0); a <= std::min(x + 1, side - 1); ++a)
                    one.neighbour.push_back(grid.rank[static_cast<size_t>(grid.cell_of(a, b, c))]);
        std::sort(one.neighbour.begin() + begin, one.neighbour.end());
        one.neighbour_offset.push_back(static_cast<int64_t>(one.neighbour.size()));
    }
}

void fill_points(const BenchGrid& grid, BenchCase& one) {
    Random random(grid.seed);
    for (int64_t i = 0; i < grid.points; ++i) {
        one.x.push_back(random.next());
        one.y.push_back(random.next());
        if (grid.dimension == 3)
            one.z.push_back(random.next());
    }
    for (int64_t i = 0; i < grid.points * grid.components; ++i)
        one.charge.push_back(0.5 + random.next());
}

/// Counts points into boxes: offset and index.
void sort_points(const Grid& grid, BenchCase& one) {
    const auto n = static_cast<size_t>(one.points());
    const auto along = [&](double v) {
        return std::min(static_cast<int64_t>(v * static_cast<double>(grid.side)), grid.side - 1);
    };
    std::vector<int32_t> box(n);
    one.offset.assign(grid.rank.size() + 1, 0);
    for (size_t i = 0; i < n; ++i) {
        const int64_t z = grid.dimension == 3 ? along(one.z[i]) : 0;
        box[i] = grid.rank[static_cast<size_t>(grid.cell_of(along(one.x[i]), along(one.y[i]), z))];
        ++one.offset[static_cast<size_t>(box[i]) + 1];
    }
    std::partial_sum(one.offset.begin(), one.offset.end(), one.offset.begin());
    std::vector<int64_t> next(one.offset.begin(), one.offset.end() - 1);
    one.index.resize(n);
    for (size_t i = 0; i < n; ++i)
        one.index[static_cast<size_t>(next[static_cast<size_t>(box[i])]++)] = static_cast<int64_t>(i);
}

/// Brings the points into the order of the boxes, after which no index is needed.
void apply_order(BenchCase& one) {
    for (std::vector<double>* values : {&one.x, &one.y, &one.z}) {
        if (values->empty())
            continue;
        std::vector<double> sorted(values->size());
        for (size_t s = 0; s < sorted.size(); ++s)
            sorted[s] = (*values)[static_cast<size_t>(one.index[s])];
        values->swap(sorted);
    }
    one.index.clear();
}

} // namespace

near::Structure BenchCase::structure() const {
    near::Structure s;
    s.target_offset = s.source_offset = offset;
    s.neighbour_offset = neighbour_offset;
    s.neighbour = neighbour;
    s.target_index = s.source_index = index;
    s.same = true;
    return s;
}

BenchCase make_case(const BenchGrid& wanted) {
    Grid grid{side_of(wanted), wanted.dimension, {}};
    if (std::pow(static_cast<double>(grid.side), wanted.dimension) > 2147483647.0)
        core::fail(core::Status::argument,
                   "bench p2p: %lld boxes along each of %d axes are more than 2^31 - 1; raise the density",
                   static_cast<long long>(grid.side), wanted.dimension);
    BenchCase one;
    one.dimension = wanted.dimension;
    rank_cells(grid);
    list_neighbours(grid, one);
    fill_points(wanted, one);
    sort_points(grid, one);
    if (wanted.sorted)
        apply_order(one);
    return one;
}

} // namespace graft::study
