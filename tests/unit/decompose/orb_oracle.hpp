// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the ORB tests: every cell sorted in full, cut where the written rule says, nothing shared
// with the code under test but the left-filled tree, which has a test of its own.
#pragma once

#include "decompose/decompose.hpp"
#include "decompose/orb/left_filled.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace oracle {

struct Set {
    std::vector<double> x, y, z, cost; // z, cost, id may be empty
    std::vector<int64_t> id;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
    double at(int axis, int64_t i) const {
        const std::vector<double>& v = axis == 0 ? x : axis == 1 ? y : z;
        return v.empty() ? 0.0 : v[static_cast<size_t>(i)] + 0.0;
    }
};

__extension__ typedef __int128 Sum;

/// Costs are integers here, so that their sums are exact.
struct Tree {
    const Set& set;
    int dimension;
    int64_t parts, cap;
    std::vector<int64_t> weight;
    std::vector<int32_t> owner;

    Tree(const Set& points, int dim, int64_t d, int64_t most = 0)
        : set(points), dimension(dim), parts(d), cap(most), owner(points.x.size(), 0) {
        double total = 0;
        for (const double c : points.cost)
            total += c;
        for (int64_t i = 0; i < points.size(); ++i)
            weight.push_back(total > 0 ? static_cast<int64_t>(points.cost[static_cast<size_t>(i)]) : 1);
        std::vector<int64_t> all(static_cast<size_t>(points.size()));
        std::iota(all.begin(), all.end(), 0);
        double low[3] = {}, high[3] = {};
        for (int a = 0; a < 3 && !all.empty(); ++a) {
            low[a] = high[a] = points.at(a, 0);
            for (const int64_t i : all) {
                low[a] = std::min(low[a], points.at(a, i));
                high[a] = std::max(high[a], points.at(a, i));
            }
        }
        cut(1, all, d, low, high);
    }

    void cut(int64_t cell, std::span<int64_t> items, int64_t d, const double* low, const double* high) {
        if (d == 1) {
            for (const int64_t i : items)
                owner[static_cast<size_t>(i)] =
                    static_cast<int32_t>(graft::decompose::leaf_of_cell(cell, parts));
            return;
        }
        int axis = 0;
        for (int a = 1; a < dimension; ++a)
            if (0.5 * high[a] - 0.5 * low[a] > 0.5 * high[axis] - 0.5 * low[axis])
                axis = a;
        const auto id = [&](int64_t i) { return set.id.empty() ? i : set.id[static_cast<size_t>(i)]; };
        std::sort(items.begin(), items.end(), [&](int64_t a, int64_t b) {
            return set.at(axis, a) != set.at(axis, b) ? set.at(axis, a) < set.at(axis, b) : id(a) < id(b);
        });
        const int64_t left = graft::decompose::leaves_left(d), n = static_cast<int64_t>(items.size());
        const int64_t k = best(items, d, left);
        double middle = 0.5 * low[axis] + 0.5 * high[axis];
        if (n > 0)
            middle = place(items, k, crossing(items, d, left), axis);
        double left_high[3], right_low[3];
        std::copy_n(high, 3, left_high);
        std::copy_n(low, 3, right_low);
        left_high[axis] = right_low[axis] = std::clamp(middle, low[axis], high[axis]);
        cut(2 * cell, items.first(static_cast<size_t>(k)), left, low, left_high);
        cut(2 * cell + 1, items.subspan(static_cast<size_t>(k)), d - left, right_low, high);
    }

    /// Number of points that go left.
    int64_t best(std::span<const int64_t> items, int64_t d, int64_t left) const {
        const int64_t n = static_cast<int64_t>(items.size()), right = d - left;
        if (n == 0)
            return 0;
        std::vector<Sum> sum(1, 0);
        for (const int64_t i : items)
            sum.push_back(sum.back() + weight[static_cast<size_t>(i)]);
        if (sum.back() == 0)
            for (int64_t k = 0; k <= n; ++k)
                sum[static_cast<size_t>(k)] = k;
        const auto allowed = [&](int64_t k) {
            const bool filled = n >= d ? k >= left && n - k >= right : k <= left && n - k <= right;
            return filled && (cap == 0 || (k <= cap * left && n - k <= cap * right));
        };
        // The last k whose weight does not exceed the wanted one, or the next; within what is allowed.
        int64_t below = 0;
        while (below < n && sum[static_cast<size_t>(below + 1)] * d <= sum.back() * left)
            ++below;
        const auto error = [&](int64_t k) {
            const auto e = sum[static_cast<size_t>(k)] * d - sum.back() * left;
            return e < 0 ? -e : e;
        };
        int64_t k = below < n && error(below + 1) < error(below) ? below + 1 : below;
        int64_t least = 0, most = n;
        while (!allowed(least))
            ++least;
        while (!allowed(most))
            --most;
        return std::clamp(k, least, most);
    }

    /// The first point whose inclusion takes the left past the wanted weight, or past the most points
    /// allowed.
    int64_t crossing(std::span<const int64_t> items, int64_t d, int64_t left) const {
        const int64_t n = static_cast<int64_t>(items.size()), right = d - left;
        Sum total = 0, sum = 0;
        for (const int64_t i : items)
            total += weight[static_cast<size_t>(i)];
        const bool counts = total == 0;
        int64_t least = n >= d ? left : std::max<int64_t>(0, n - right);
        int64_t most = n >= d ? n - right : std::min(n, left);
        if (cap > 0) {
            least = std::max(least, n - cap * right);
            most = std::min(most, cap * left);
        }
        for (int64_t k = 1; k <= n; ++k) {
            sum += counts ? 1 : weight[static_cast<size_t>(items[static_cast<size_t>(k - 1)])];
            if (k > most || (k > least && sum * d > (counts ? Sum{n} : total) * left))
                return k - 1;
        }
        return n;
    }

    /// Coordinate of the cut: that of the crossing point, or a step behind it when it and all points at its
    /// coordinate go left.
    double place(std::span<const int64_t> items, int64_t k, int64_t crossing, int axis) const {
        const auto at = [&](int64_t i) { return set.at(axis, items[static_cast<size_t>(i)]); };
        const double x = at(crossing);
        const bool last = crossing + 1 == static_cast<int64_t>(items.size()) || at(crossing + 1) != x;
        return k > crossing && last ? std::nextafter(x, std::numeric_limits<double>::infinity()) : x;
    }
};

} // namespace oracle
