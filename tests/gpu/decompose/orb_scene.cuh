// SPDX-License-Identifier: BSD-3-Clause
// Point sets, and device ORB against the CPU's level strategy on them.
#pragma once

#include "decompose/orb/gpu/orb_gpu.cuh"
#include "decompose/orb/orb_table.hpp"

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "device_fixture.cuh"

#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace graft::test {

using decompose::Cell;

struct PointSet {
    std::vector<double> x[3], cost;
    std::vector<int64_t> id;
    int64_t size() const { return static_cast<int64_t>(x[0].size()); }
};

enum Kind { uniform, plummer, clustered, lattice, coincident, one_axis, far_away, disc };

inline PointSet make(Kind kind, int64_t n, uint64_t seed = 1) {
    std::mt19937_64 random(seed + 977 * static_cast<uint64_t>(kind));
    std::uniform_real_distribution<double> flat(0, 1);
    std::normal_distribution<double> normal;
    PointSet set;
    for (int64_t i = 0; i < n; ++i) {
        double p[3] = {flat(random), flat(random), flat(random)};
        if (kind == plummer) {
            const double r = 1 / std::sqrt(std::pow(flat(random) * 0.999 + 1e-9, -2.0 / 3) - 1);
            const double v[3] = {normal(random), normal(random), normal(random)};
            const double size = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            for (int a = 0; a < 3; ++a)
                p[a] = r * v[a] / size;
        } else if (kind == clustered) {
            const double scale = std::pow(10.0, -8 * flat(random));
            for (double& a : p)
                a = 0.25 + scale * (a - 0.5);
        } else if (kind == lattice) {
            for (double& a : p)
                a = std::floor(8 * a);
        } else if (kind == coincident) {
            p[0] = -3, p[1] = 0, p[2] = 5;
        } else if (kind == one_axis) {
            p[0] = std::floor(4 * p[0]), p[1] = i % 2 == 0 ? 0.0 : -0.0, p[2] = 7;
        } else if (kind == far_away) {
            for (double& a : p)
                a = 1e6 + a;
        } else if (kind == disc) {
            p[2] = 1e-6 * normal(random);
        }
        for (int a = 0; a < 3; ++a)
            set.x[a].push_back(p[a]);
    }
    return set;
}

class OrbTest : public DeviceTest {
  protected:
    template <typename T>
    void compare(const PointSet& given, decompose::DeviceOrbOptions options, const std::string& name) {
        SCOPED_TRACE(name + " n=" + std::to_string(given.size()) + " d=" + std::to_string(options.parts) +
                     (sizeof(T) == 4 ? " fp32" : " fp64"));
        const int64_t n = given.size();
        std::vector<T> value[3];
        PointSet host = given; // in the precision of the device
        for (int a = 0; a < options.dimension; ++a)
            for (double& v : host.x[a]) {
                value[a].push_back(static_cast<T>(v));
                v = static_cast<double>(value[a].back());
            }
        core::Memory host_memory;
        const backend::Executor executor{host_memory, 2};
        comm::Communicator comm;
        decompose::Options wanted;
        wanted.parts = options.parts, wanted.dimension = options.dimension;
        wanted.mix = options.mix, wanted.cap = options.cap;
        decompose::Points points;
        points.n = n, points.x = host.x[0].data(), points.y = host.x[1].data();
        points.z = options.dimension == 3 ? host.x[2].data() : nullptr;
        points.cost = host.cost.empty() ? nullptr : host.cost.data();
        points.id = host.id.empty() ? nullptr : host.id.data();
        decompose::Result result(host_memory);
        decompose::Decomposer(host_memory).run(comm, executor, wanted, points, true, result);

        std::vector<backend::DeviceBuffer<T>> x;
        for (int a = 0; a < 3; ++a)
            put(value[a], x.emplace_back(*memory, "x"));
        backend::DeviceBuffer<double> cost(*memory, "cost");
        backend::DeviceBuffer<int64_t> id(*memory, "id");
        put(host.cost, cost), put(host.id, id);
        decompose::DeviceOrb orb(*queue);
        decompose::DeviceOrbPoints on_device;
        on_device.n = n, on_device.fp64 = sizeof(T) == 8;
        on_device.x = x[0].data(), on_device.y = x[1].data(), on_device.z = x[2].data();
        on_device.cost = host.cost.empty() ? nullptr : cost.data();
        on_device.id = host.id.empty() ? nullptr : id.data();
        queue->clear_status();
        orb.run(on_device, options);
        std::vector<Cell> cells;
        orb.fetch_cells(cells);
        ASSERT_EQ(status().stop, 0u);
        check_cells(result.domains->cells(), cells);
        const auto offset = get(orb.part_offset(), options.parts + 1);
        const auto index = get(orb.index(), n);
        for (int32_t p = 0; p <= options.parts; ++p)
            ASSERT_EQ(offset[p], result.part_offset[p]) << "part " << p;
        for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(static_cast<int64_t>(index[i]), result.permutation[i]) << "place " << i;
        for (int a = 0; a < options.dimension; ++a) {
            const auto moved = get(static_cast<const T*>(orb.column(a)), n);
            for (int64_t i = 0; i < n; ++i)
                ASSERT_EQ(moved[i], value[a][index[i]]) << "place " << i;
        }
        missed += orb.missed_brackets();
    }

    static void check_cells(const std::vector<Cell>& wanted, const std::vector<Cell>& found) {
        ASSERT_EQ(wanted.size(), found.size());
        for (size_t k = 1; k < wanted.size(); ++k) {
            const Cell &a = wanted[k], &b = found[k];
            ASSERT_EQ(a.axis, b.axis) << "cell " << k;
            ASSERT_EQ(a.cut, b.cut) << "cell " << k;
            ASSERT_EQ(a.tie, b.tie) << "cell " << k;
            ASSERT_EQ(a.parts, b.parts) << "cell " << k;
            ASSERT_EQ(a.first_part, b.first_part) << "cell " << k;
            for (int axis = 0; axis < 3; ++axis) {
                ASSERT_EQ(a.lower[axis], b.lower[axis]) << "cell " << k;
                ASSERT_EQ(a.upper[axis], b.upper[axis]) << "cell " << k;
            }
        }
    }
    /// In both precisions; small inputs: in turn.
    void both(const PointSet& set, const decompose::DeviceOrbOptions& options, const std::string& name) {
        ++turn_;
        if (!small_inputs() || turn_ % 2 == 1)
            compare<float>(set, options, name);
        if (!small_inputs() || turn_ % 2 == 0)
            compare<double>(set, options, name);
    }
    int64_t missed = 0;

  private:
    int turn_ = 0;
};

inline decompose::DeviceOrbOptions parts(int32_t d) {
    decompose::DeviceOrbOptions options;
    options.parts = d;
    return options;
}

} // namespace graft::test
