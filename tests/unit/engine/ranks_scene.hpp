// SPDX-License-Identifier: BSD-3-Clause
// Clouds of particles, ways to spread them over ranks, and a computation by in-process ranks whose results
// come back in the order of the cloud.
#pragma once

#include "particle_cloud.hpp"
#include "ranks_in_turns.hpp"

#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace graft::engine::testing {

using test::add;
using test::Cloud;
using test::make_cloud;

/// Uniform in the unit cube.
inline Cloud make_cube(int64_t n, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double x = uniform(random), y = uniform(random), z = uniform(random);
        add(cloud, x, y, z, 1);
    }
    return cloud;
}

/// Rank of each particle.
using Owners = std::vector<int>;

/// Equal counts by x: slabs.
inline Owners slabs(const Cloud& cloud, int ranks) {
    std::vector<int64_t> order(cloud.x.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return cloud.x[static_cast<size_t>(a)] < cloud.x[static_cast<size_t>(b)];
    });
    Owners owners(order.size());
    for (size_t i = 0; i < order.size(); ++i)
        owners[static_cast<size_t>(order[i])] =
            static_cast<int>(static_cast<int64_t>(i) * ranks / cloud.size());
    return owners;
}

/// Cells by recursive bisection along the longest side.
inline Owners bisection(const Cloud& cloud, int ranks) {
    Owners owners(cloud.x.size());
    std::vector<int64_t> order(cloud.x.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<int64_t>(i);
    const std::vector<double>* axes[3] = {&cloud.x, &cloud.y, &cloud.z};
    const std::function<void(int64_t, int64_t, int, int)> cut = [&](int64_t begin, int64_t end, int first,
                                                                    int count) {
        if (count == 1) {
            for (int64_t i = begin; i < end; ++i)
                owners[static_cast<size_t>(order[static_cast<size_t>(i)])] = first;
            return;
        }
        geometry::Box box;
        for (int64_t i = begin; i < end; ++i) {
            const auto k = static_cast<size_t>(order[static_cast<size_t>(i)]);
            box.include(cloud.x[k], cloud.y[k], cloud.z[k]);
        }
        const std::vector<double>& axis = *axes[box.empty() ? 0 : box.longest_axis()];
        const int64_t middle = begin + (end - begin) * (count / 2) / count;
        std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end,
                         [&](int64_t a, int64_t b) {
                             return axis[static_cast<size_t>(a)] < axis[static_cast<size_t>(b)];
                         });
        cut(begin, middle, first, count / 2);
        cut(middle, end, first + count / 2, count - count / 2);
    };
    cut(0, cloud.size(), 0, ranks);
    return owners;
}

inline Owners scattered(const Cloud& cloud, int ranks, unsigned seed = 3) {
    std::mt19937_64 random(seed);
    Owners owners;
    for (int64_t i = 0; i < cloud.size(); ++i)
        owners.push_back(static_cast<int>(random() % static_cast<unsigned>(ranks)));
    return owners;
}

inline Owners all_on(const Cloud& cloud, int rank) {
    return Owners(cloud.x.size(), rank);
}

struct Results {
    std::vector<double> ax, ay, az, potential;
    double energy = 0, virial[6] = {};
    std::vector<Report> reports;       // per rank
    std::vector<double> work;          // in the order of the cloud
    std::vector<double> energies;      // per rank
    std::vector<std::string> warnings; // of all ranks; and what else is said to Choice::log
};

struct Choice {
    bool softening = false;        // per particle
    std::vector<char> active;      // of the cloud; empty: all
    bool as_list = false;          // the active ones by a list, last first
    const Cloud* points = nullptr; // field_at these instead
    Owners point_owners;
    int threads = 1;
    bool virial = true; // wanted, too
    bool potential = true; // and the energy
    core::LogLevel log = core::LogLevel::warning;
    int calls = 1;      // computations by the same solvers; the results are the last one's
    std::vector<settings::Backend> backends; // of the ranks; empty: the settings'
};

inline particles::ArrayView view(std::vector<double>& values) {
    static double nothing = 0;
    return {reinterpret_cast<char*>(values.empty() ? &nothing : values.data()),
            particles::ElementType::f64,
            1,
            static_cast<int64_t>(values.size()),
            8,
            8};
}

/// Every rank's part of the cloud by its own solver; the results gathered in the order of the cloud (of the
/// points).
inline Results compute_over(int ranks, const Cloud& cloud, const Owners& owners, const settings::Settings& settings,
                            const Choice& choice = {}) {
    Results results;
    const Cloud& wanted = choice.points != nullptr ? *choice.points : cloud;
    for (std::vector<double>* values :
         {&results.ax, &results.ay, &results.az, &results.potential, &results.work})
        values->assign(wanted.x.size(), 0);
    results.reports.resize(static_cast<size_t>(ranks));
    results.energies.resize(static_cast<size_t>(ranks));
    test::run_ranks(ranks, [&](comm::Communicator& comm) {
        const auto part = [&](const Cloud& of, const Owners& by, std::vector<size_t>& index) {
            Cloud own;
            for (size_t i = 0; i < of.x.size(); ++i)
                if (by[i] == comm.rank()) {
                    index.push_back(i);
                    own.x.push_back(of.x[i]), own.y.push_back(of.y[i]), own.z.push_back(of.z[i]);
                    own.q.push_back(of.q[i]), own.softening.push_back(of.softening[i]);
                }
            return own;
        };
        std::vector<size_t> index, point_index;
        Cloud own = part(cloud, owners, index), points;
        core::Memory memory;
        Solver solver(settings, memory);
        solver.change_settings().threads = choice.threads;
        if (!choice.backends.empty())
            solver.change_settings().backend = choice.backends[static_cast<size_t>(comm.rank())];
        solver.log().level = choice.log;
        solver.log().user = &results;
        solver.log().callback = [](void* user, int32_t, const char* text) {
            static std::mutex mutex;
            const std::lock_guard<std::mutex> lock(mutex);
            static_cast<Results*>(user)->warnings.emplace_back(text);
        };
        solver.set_communicator(&comm);
        ParticleInput input, at;
        input.n = own.size();
        input.position[0] = view(own.x), input.position[1] = view(own.y), input.position[2] = view(own.z);
        input.charge = view(own.q);
        if (choice.softening)
            input.softening = view(own.softening);
        std::vector<double> active;
        std::vector<int32_t> marks;
        if (!choice.active.empty()) {
            for (size_t k = 0; k < index.size(); ++k)
                if (!choice.as_list)
                    marks.push_back(choice.active[index[k]]);
                else if (choice.active[index[k]])
                    marks.push_back(static_cast<int32_t>(k));
            std::reverse(marks.begin(), choice.as_list ? marks.end() : marks.begin());
            static int32_t nothing = 0;
            (choice.as_list ? input.has_target : input.has_active) = true;
            (choice.as_list ? input.target : input.active) = particles::ArrayView{
                reinterpret_cast<char*>(marks.empty() ? &nothing : marks.data()),
                particles::ElementType::i32,
                1,
                static_cast<int64_t>(marks.size()),
                4,
                4};
        }
        if (choice.points != nullptr) {
            points = part(*choice.points, choice.point_owners, point_index);
            at.n = points.size();
            at.position[0] = view(points.x), at.position[1] = view(points.y), at.position[2] = view(points.z);
        }
        const std::vector<size_t>& to = choice.points != nullptr ? point_index : index;
        std::vector<double> out[4], energy(1), virial(6);
        for (std::vector<double>& values : out)
            values.assign(to.size(), 0);
        Outputs outputs;
        for (int a = 0; a < 3; ++a)
            outputs.acceleration[a] = view(out[a]);
        if (choice.potential)
            outputs.potential = view(out[3]);
        if (choice.points == nullptr) {
            if (choice.potential)
                outputs.energy = view(energy);
            if (choice.virial)
                outputs.virial = view(virial);
            outputs.virial.components = 6, outputs.virial.n = 1, outputs.virial.item_stride = 48;
        }
        for (int call = 0; call < choice.calls; ++call)
            choice.points != nullptr ? solver.field_at(input, at, outputs) : solver.compute(input, outputs);
        for (size_t k = 0; k < to.size(); ++k) {
            results.ax[to[k]] = out[0][k], results.ay[to[k]] = out[1][k], results.az[to[k]] = out[2][k];
            results.potential[to[k]] = out[3][k];
        }
        results.reports[static_cast<size_t>(comm.rank())] = solver.report();
        results.energies[static_cast<size_t>(comm.rank())] = energy[0];
        if (comm.rank() == comm.size() - 1) { // the same on every rank, which other tests compare
            results.energy = energy[0];
            std::copy(virial.begin(), virial.end(), results.virial);
        }
    });
    return results;
}

/// The forces' sum over the sum of their sizes.
inline double net_force(const Cloud& cloud, const Results& r) {
    long double sum[3] = {}, sizes = 0;
    for (size_t i = 0; i < r.ax.size(); ++i) {
        const long double q = cloud.q[i], f[3] = {q * r.ax[i], q * r.ay[i], q * r.az[i]};
        for (int a = 0; a < 3; ++a)
            sum[a] += f[a];
        sizes += std::hypot(std::hypot(f[0], f[1]), f[2]);
    }
    return static_cast<double>(std::hypot(std::hypot(sum[0], sum[1]), sum[2]) / sizes);
}

inline double size_of(const Results& r, size_t i) {
    return std::sqrt(r.ax[i] * r.ax[i] + r.ay[i] * r.ay[i] + r.az[i] * r.az[i]);
}

/// |a - b| / |b| per target.
inline std::vector<double> errors(const Results& a, const Results& b) {
    std::vector<double> list;
    for (size_t i = 0; i < a.ax.size(); ++i) {
        const double x = a.ax[i] - b.ax[i], y = a.ay[i] - b.ay[i], z = a.az[i] - b.az[i];
        const double size = size_of(b, i);
        list.push_back(std::sqrt(x * x + y * y + z * z) / (size > 0 ? size : 1));
    }
    return list;
}

inline double percentile(std::vector<double> values, double share) {
    const auto at = static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<size_t>(at)];
}

inline double largest(const std::vector<double>& values) {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

} // namespace graft::engine::testing
