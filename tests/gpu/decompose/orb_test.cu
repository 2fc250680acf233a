// Device ORB against the CPU's level strategy: the same cells to the last bit, the same order of points.
#include "decompose/device_orb.cuh"
#include "decompose/device_orb.hpp"

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "device_fixture.cuh"

#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace graft::test {
namespace {

using decompose::Cell;

struct PointSet {
    std::vector<double> x[3], cost;
    std::vector<int64_t> id;
    int64_t size() const { return static_cast<int64_t>(x[0].size()); }
};

enum Kind { uniform, plummer, clustered, lattice, coincident, one_axis, far_away, disc };

PointSet make(Kind kind, int64_t n, uint64_t seed = 1) {
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
    void both(const PointSet& set, const decompose::DeviceOrbOptions& options, const std::string& name) {
        compare<float>(set, options, name);
        compare<double>(set, options, name);
    }
    int64_t missed = 0;
};

decompose::DeviceOrbOptions parts(int32_t d) {
    decompose::DeviceOrbOptions options;
    options.parts = d;
    return options;
}

TEST_F(OrbTest, FewPointsAndAnyNumberOfParts) {
    for (const int64_t n : {0, 1, 2, 3, 17, 1000})
        for (const int32_t d : {1, 2, 3, 5, 7, 64, 1000, 4096})
            both(make(uniform, n), parts(d), "uniform");
}

TEST_F(OrbTest, EveryShapeOfSet) {
    for (const Kind kind : {uniform, plummer, clustered, lattice, coincident, one_axis, far_away, disc})
        for (const int32_t d : {2, 7, 100})
            both(make(kind, 20011), parts(d), "kind " + std::to_string(kind));
}

TEST_F(OrbTest, TwoDimensions) {
    auto options = parts(37);
    options.dimension = 2;
    both(make(plummer, 5003), options, "2-D");
}

TEST_F(OrbTest, WeightsMixAndCap) {
    for (const Kind kind : {plummer, lattice, coincident}) {
        PointSet set = make(kind, 9001);
        std::mt19937_64 random(7);
        std::lognormal_distribution<double> spread(0, 2);
        for (int64_t i = 0; i < set.size(); ++i)
            set.cost.push_back(i % 5 == 0 ? 0.0 : spread(random));
        for (const double mix : {0.0, 0.3, 1.0}) {
            auto options = parts(61);
            options.mix = mix;
            both(set, options, "weights");
            options.cap = 200;
            both(set, options, "weights, cap");
        }
        for (double& c : set.cost)
            c = 0;
        set.cost[17] = 1e300;
        both(set, parts(33), "one heavy point");
        set.cost[17] = 0;
        both(set, parts(33), "no cost at all");
    }
}

TEST_F(OrbTest, IdsDecideTies) {
    PointSet set = make(lattice, 12007);
    for (int64_t i = 0; i < set.size(); ++i)
        set.id.push_back((i * 7919) % 12007 * 1000003 - 5000000000);
    both(set, parts(129), "ids");
    set = make(coincident, 3001);
    for (int64_t i = 0; i < set.size(); ++i)
        set.id.push_back(-i);
    both(set, parts(13), "ids, one place");
}

TEST_F(OrbTest, NarrowBracketsMissAndAreMadeGood) {
    auto options = parts(64);
    options.bracket_sigmas = 0.01;
    options.samples_per_cell = 64;
    for (const Kind kind : {uniform, clustered, lattice})
        both(make(kind, 30011), options, "narrow brackets");
    EXPECT_GT(missed, 50);
    PointSet set = make(plummer, 30011);
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(1.0 + static_cast<double>(i % 7));
    both(set, options, "narrow brackets, weights");
}

TEST_F(OrbTest, RoundsOfAnyLength) {
    for (int levels = 1; levels <= 4; ++levels) {
        auto options = parts(300);
        options.levels_per_round = levels;
        both(make(plummer, 25013), options, "levels a round " + std::to_string(levels));
    }
}

TEST_F(OrbTest, MillionPoints) {
    for (const int32_t d : {5, 64, 1000, 4096})
        compare<float>(make(plummer, 1000003), parts(d), "million");
    compare<double>(make(clustered, 1000003), parts(4096), "million");
}

TEST_F(OrbTest, HostArraysThereAndBack) {
    PointSet set = make(plummer, 70001);
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(1 + 0.5 * static_cast<double>(i % 3)), set.id.push_back(3 * i - 1000);
    core::Memory host_memory;
    comm::Communicator comm;
    decompose::Options options;
    options.parts = 77, options.mix = 0.5;
    decompose::Points points;
    points.n = set.size(), points.x = set.x[0].data(), points.y = set.x[1].data(), points.z = set.x[2].data();
    points.cost = set.cost.data(), points.id = set.id.data();
    decompose::Result result(host_memory);
    decompose::Decomposer(host_memory)
        .run(comm, backend::Executor{host_memory, 2}, options, points, true, result);
    std::vector<int32_t> owner(set.x[0].size()), order(owner.size());
    std::vector<int64_t> offset(78);
    std::vector<Cell> cells(154);
    decompose::DeviceOrbCall call{points,        77,           3, 0.5, 0, owner.data(), order.data(),
                                  offset.data(), cells.data(), 0, 0};
    backend::DeviceError error;
    void* engine = nullptr;
    ASSERT_EQ(decompose::device_orb_table().create(0, &engine, &error), 0) << error.message;
    for (int run = 0; run < 2; ++run) {
        ASSERT_EQ(decompose::device_orb_table().solve(engine, &call, &error), 0) << error.message;
        check_cells(result.domains->cells(), cells);
        for (size_t i = 0; i < owner.size(); ++i) {
            ASSERT_EQ(owner[i], result.owner[static_cast<int64_t>(i)]);
            ASSERT_EQ(order[i], result.permutation[static_cast<int64_t>(i)]);
        }
    }
    set.x[1][77] = NAN;
    EXPECT_EQ(decompose::device_orb_table().solve(engine, &call, &error),
              static_cast<int32_t>(core::Status::value));
    decompose::device_orb_table().release(engine);
}

TEST_F(OrbTest, MeasurementsVerifyThemselves) {
    for (int variant = 0; variant < 5; ++variant)
        for (int axis = 0; axis < (variant == 0 ? 1 : 3); ++axis) {
            decompose::DeviceOrbBench request;
            request.n = 100003, request.leaves = 37, request.repeats = 1;
            request.variant = static_cast<decompose::OrbVariant>(variant);
            request.axis = static_cast<decompose::OrbAxis>(axis);
            request.temporaries = axis == 1 ? 1 : 3;
            request.partition = axis == 2 ? decompose::OrbPartition::cell : decompose::OrbPartition::level;
            std::vector<char> text(1 << 16);
            backend::DeviceError error;
            ASSERT_EQ(decompose::device_orb_table().bench(&request, text.data(), 1 << 16, &error), 0)
                << error.message;
            EXPECT_EQ(std::string(text.data()).find("\"verified\":false"), std::string::npos) << text.data();
            if (variant < 4) {
                EXPECT_NE(std::string(text.data()).find("\"verified\":true"), std::string::npos)
                    << text.data();
            }
        }
}

TEST_F(OrbTest, BadValueIsNamed) {
    std::vector<float> x(1000, 1.0f), y(1000, 2.0f), z(1000, 3.0f);
    y[321] = NAN, y[700] = INFINITY;
    std::vector<backend::DeviceBuffer<float>> columns;
    for (const auto* column : {&x, &y, &z})
        put(*column, columns.emplace_back(*memory, "x"));
    decompose::DeviceOrb orb(*queue);
    decompose::DeviceOrbPoints points;
    points.n = 1000;
    points.x = columns[0].data(), points.y = columns[1].data(), points.z = columns[2].data();
    queue->clear_status();
    orb.run(points, parts(16));
    EXPECT_EQ(status().stop, backend::bad_value);
    try {
        orb.check();
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find("y[321]"), std::string::npos) << error.what();
    }
}

TEST_F(OrbTest, SecondRunAllocatesNothingAndIsTheSame) {
    const PointSet set = make(uniform, 50021);
    std::vector<backend::DeviceBuffer<double>> columns;
    for (const auto& column : set.x)
        put(column, columns.emplace_back(*memory, "x"));
    decompose::DeviceOrb orb(*queue);
    decompose::DeviceOrbPoints points;
    points.n = set.size(), points.fp64 = true;
    points.x = columns[0].data(), points.y = columns[1].data(), points.z = columns[2].data();
    orb.run(points, parts(50));
    const auto first = get(orb.index(), set.size());
    const int64_t allocations = memory->allocations(), waits = queue->waits();
    orb.run(points, parts(50));
    EXPECT_EQ(memory->allocations(), allocations);
    EXPECT_EQ(queue->waits(), waits);
    EXPECT_EQ(get(orb.index(), set.size()), first);
}

} // namespace
} // namespace graft::test
