// SPDX-License-Identifier: BSD-3-Clause
// The cold sphere of the collapse study: a uniform sphere of radius 1 and mass 1 (G = 1) at rest, and the
// tree forces of one process that move it. Free fall takes 1.11.
#pragma once

#include "engine/solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace graft::study {

struct Bodies {
    std::vector<double> x[3], v[3], a[3];
    int64_t size() const { return static_cast<int64_t>(x[0].size()); }
};

inline Bodies cold_sphere(int64_t n) {
    std::mt19937_64 random(20221);
    std::uniform_real_distribution<double> unit(-1, 1);
    Bodies bodies;
    while (bodies.size() < n) {
        const double p[3] = {unit(random), unit(random), unit(random)};
        if (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] > 1)
            continue;
        for (int c = 0; c < 3; ++c)
            bodies.x[c].push_back(p[c]), bodies.v[c].push_back(0), bodies.a[c].push_back(0);
    }
    return bodies;
}

template <typename T>
particles::ArrayView view(std::vector<T>& values, particles::ElementType type = particles::ElementType::f64) {
    return {reinterpret_cast<char*>(values.data()), type,      1,
            static_cast<int64_t>(values.size()),    sizeof(T), sizeof(T)};
}

inline settings::Settings force_settings(int64_t n) {
    settings::Settings settings;
    settings.softening = settings::Softening::plummer;
    settings.softening_length = 0.5 / std::cbrt(static_cast<double>(n));
    settings.threads = 1;
    return settings;
}

/// All bodies in one process.
class Gravity {
  public:
    explicit Gravity(int64_t n) : solver_(force_settings(n), memory_), work_(static_cast<size_t>(n)) {}
    void compute(Bodies& bodies) {
        engine::ParticleInput input;
        engine::Outputs outputs;
        input.n = bodies.size();
        input.charge_all = 1.0 / static_cast<double>(bodies.size());
        for (int c = 0; c < 3; ++c)
            input.position[c] = view(bodies.x[c]), outputs.acceleration[c] = view(bodies.a[c]);
        solver_.compute(input, outputs);
        solver_.work_of_particles(work_.data());
        const auto& time = solver_.report().time_s;
        rate_ = std::max(rate_, std::accumulate(work_.begin(), work_.end(), 0.0) / time.total);
    }
    /// Pair interactions a second of one thread, the best so far; tree and lists included.
    double rate() const { return rate_; }

  private:
    core::Memory memory_;
    engine::Solver solver_;
    std::vector<double> work_;
    double rate_ = 0;
};

inline void kick_and_drift(Bodies& bodies, double step) {
    for (int c = 0; c < 3; ++c)
        for (size_t i = 0; i < bodies.x[c].size(); ++i) {
            bodies.v[c][i] += step * bodies.a[c][i];
            bodies.x[c][i] += step * bodies.v[c][i];
        }
}

/// Rank of each body when their number is halved along an axis, level by level: x only (slabs), or x, y, z.
inline void bisect(const Bodies& bodies, std::vector<int32_t>& items, size_t begin, size_t end, int first,
                   int parts, bool slabs, int level, std::vector<int32_t>& owner) {
    if (parts == 1) {
        for (size_t k = begin; k < end; ++k)
            owner[static_cast<size_t>(items[k])] = first;
        return;
    }
    const std::vector<double>& x = bodies.x[slabs ? 0 : level % 3];
    const int left = parts / 2;
    const size_t middle = begin + (end - begin) * static_cast<size_t>(left) / static_cast<size_t>(parts);
    const auto at = [&](size_t k) { return items.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(begin), at(middle), at(end), [&](int32_t a, int32_t b) {
        return x[static_cast<size_t>(a)] < x[static_cast<size_t>(b)];
    });
    bisect(bodies, items, begin, middle, first, left, slabs, level + 1, owner);
    bisect(bodies, items, middle, end, first + left, parts - left, slabs, level + 1, owner);
}

inline std::vector<int32_t> start_owners(const Bodies& bodies, int ranks, bool slabs) {
    std::vector<int32_t> items(static_cast<size_t>(bodies.size())), owner(items.size());
    std::iota(items.begin(), items.end(), 0);
    bisect(bodies, items, 0, items.size(), 0, ranks, slabs, 0, owner);
    return owner;
}

} // namespace graft::study
