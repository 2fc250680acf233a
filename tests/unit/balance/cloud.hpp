// SPDX-License-Identifier: BSD-3-Clause
// Test support: objects of several kinds on a rank, and a plain ORB by sorting that shares no code with the
// library.
#pragma once

#include "balance/balance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace graft::test {

struct Cloud {
    std::vector<double> x, y, z, cost;
    std::vector<int64_t> id;

    void add(double px, double py, double pz, double c, int64_t i) {
        x.push_back(px), y.push_back(py), z.push_back(pz), cost.push_back(c), id.push_back(i);
    }
    void add(const Cloud& other, size_t i) {
        add(other.x[i], other.y[i], other.z[i], other.cost[i], other.id[i]);
    }
    size_t size() const { return x.size(); }
    decompose::Points points() const {
        return {static_cast<int64_t>(size()), x.data(), y.data(), z.data(), cost.data(), id.data()};
    }
    /// The part of this cloud that lies on one rank when owners[i] is i's rank.
    Cloud share(const std::vector<int32_t>& owners, int rank) const {
        Cloud result;
        for (size_t i = 0; i < size(); ++i)
            if (owners[i] == rank)
                result.add(*this, i);
        return result;
    }
};

/// Uniform cube; costs are 1 with probability 1 - heavy, else `factor`, times a random number in [0.5, 1.5).
inline Cloud uniform_cloud(int64_t n, double heavy, double factor, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double x = unit(random), y = unit(random), z = unit(random);
        const double base = unit(random) < heavy ? factor : 1.0;
        cloud.add(x, y, z, base * (0.5 + unit(random)), i);
    }
    return cloud;
}

/// Part of every object: sort along the longest side, cut where the sum of costs comes closest to the share.
inline void plain_orb(const Cloud& cloud, std::vector<int32_t> items, int32_t first, int32_t parts,
                      std::vector<int32_t>& owner) {
    if (parts == 1) {
        for (const int32_t i : items)
            owner[static_cast<size_t>(i)] = first;
        return;
    }
    const std::vector<double>* axes[3] = {&cloud.x, &cloud.y, &cloud.z};
    int axis = 0;
    double longest = -1;
    for (int a = 0; a < 3; ++a) {
        double low = 1e300, high = -1e300;
        for (const int32_t i : items) {
            low = std::min(low, (*axes[a])[static_cast<size_t>(i)]);
            high = std::max(high, (*axes[a])[static_cast<size_t>(i)]);
        }
        if (high - low > longest)
            longest = high - low, axis = a;
    }
    std::sort(items.begin(), items.end(), [&](int32_t a, int32_t b) {
        return (*axes[axis])[static_cast<size_t>(a)] < (*axes[axis])[static_cast<size_t>(b)];
    });
    double total = 0, sum = 0;
    for (const int32_t i : items)
        total += cloud.cost[static_cast<size_t>(i)];
    const int32_t left_parts = parts - parts / 2;
    const double wanted = total * left_parts / parts;
    size_t cut = 0;
    while (cut < items.size() &&
           std::abs(sum + cloud.cost[static_cast<size_t>(items[cut])] - wanted) <= std::abs(sum - wanted))
        sum += cloud.cost[static_cast<size_t>(items[cut++])];
    const auto middle = items.begin() + static_cast<std::ptrdiff_t>(cut);
    plain_orb(cloud, {items.begin(), middle}, first, left_parts, owner);
    plain_orb(cloud, {middle, items.end()}, first + left_parts, parts - left_parts, owner);
}

inline std::vector<int32_t> plain_orb(const Cloud& cloud, int32_t parts) {
    std::vector<int32_t> items(cloud.size()), owner(cloud.size());
    std::iota(items.begin(), items.end(), 0);
    plain_orb(cloud, items, 0, parts, owner);
    return owner;
}

inline std::vector<int32_t> random_owners(size_t n, int size, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int32_t> result(n);
    for (int32_t& owner : result)
        owner = static_cast<int32_t>(random() % static_cast<unsigned>(size));
    return result;
}

/// Largest sum of costs of a rank over the mean.
inline double max_over_mean(const Cloud& cloud, const std::vector<int32_t>& owner, int size) {
    std::vector<double> sums(static_cast<size_t>(size));
    for (size_t i = 0; i < cloud.size(); ++i)
        sums[static_cast<size_t>(owner[i])] += cloud.cost[i];
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    return total > 0 ? *std::max_element(sums.begin(), sums.end()) * size / total : 1;
}

} // namespace graft::test
