// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes: time against the number of particles, all pairs within the cut-off (theta 0) and with the
// tree's cells.
//
//     periodic_study uniform|clusters ORDER PRECISION ACCURACY N...
//
//     periodic_study errors uniform|clusters PRECISION N...
//
// PRECISION: fp32, mixed or fp64; ACCURACY: mac.accuracy. Both ways have ewald.accuracy 1e-5 and one thread;
// times are of the processor (the second call of two), which others on the machine change little. The error
// is the rms difference of the two fields over their rms: that of the cells and of both splittings. `errors`:
// time, rms and 99 % error (of the rms force) of all pairs, cells and replicas at several accuracies, at 400
// particles against all pairs in fp64 to 1e-9.
#include "array_view.hpp"
#include "periodic/periodic.hpp"
#include "engine/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <random>
#include <vector>

using namespace graft;
using support::view;

namespace {

struct Cloud {
    std::vector<double> x, y, z, m;
    void add(double a, double b, double c) {
        x.push_back(a - std::floor(a)), y.push_back(b - std::floor(b)), z.push_back(c - std::floor(c)),
            m.push_back(1);
    }
};

/// Uniform in the unit cube; or a tenth of that, and the rest in 20 Plummer spheres of radius 0.003 to 0.023.
Cloud make_cloud(bool clusters, int64_t n) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform;
    std::normal_distribution<double> normal;
    std::vector<std::array<double, 4>> spheres;
    for (int k = 0; k < 20; ++k)
        spheres.push_back(
            {uniform(random), uniform(random), uniform(random), 0.003 + 0.02 * uniform(random)});
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        if (!clusters || i % 10 == 0) {
            const double a = uniform(random), b = uniform(random);
            cloud.add(a, b, uniform(random));
            continue;
        }
        const std::array<double, 4>& sphere = spheres[random() % 20];
        const double a = normal(random), b = normal(random), c = normal(random);
        const double r = sphere[3] / std::sqrt(std::pow(0.001 + 0.98 * uniform(random), -2.0 / 3) - 1);
        const double f = r / std::sqrt(a * a + b * b + c * c);
        cloud.add(sphere[0] + f * a, sphere[1] + f * b, sphere[2] + f * c);
    }
    return cloud;
}

struct Run {
    std::vector<double> field[3];
    double time_s = 0;
    engine::Report report;
};

/// targets: those of every so many particles; 0: all.
Run run(Cloud& cloud, settings::Settings settings, double theta, int64_t targets = 0) {
    settings.theta = theta;
    core::Memory memory;
    engine::Solver solver(settings, memory);
    engine::ParticleInput input;
    input.n = static_cast<int64_t>(cloud.x.size());
    input.position[0] = view(cloud.x), input.position[1] = view(cloud.y), input.position[2] = view(cloud.z);
    input.charge = view(cloud.m);
    std::vector<int32_t> chosen;
    for (int64_t k = 0; k < targets; ++k)
        chosen.push_back(static_cast<int32_t>(k * input.n / targets));
    input.has_target = targets > 0;
    input.target = {reinterpret_cast<char*>(chosen.data()), particles::ElementType::i32, 1, targets, 4, 4};
    Run result;
    engine::Outputs outputs;
    for (int a = 0; a < 3; ++a) {
        result.field[a].resize(cloud.x.size());
        outputs.acceleration[a] = view(result.field[a]);
    }
    for (int call = targets > 0 ? 1 : 0; call < 2; ++call) {
        const std::clock_t begin = std::clock();
        solver.compute(input, outputs);
        result.time_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    result.report = solver.report();
    return result;
}

double difference(const Run& a, const Run& b) {
    double error = 0, size = 0;
    for (int c = 0; c < 3; ++c)
        for (size_t i = 0; i < a.field[c].size(); ++i) {
            error += (a.field[c][i] - b.field[c][i]) * (a.field[c][i] - b.field[c][i]);
            size += b.field[c][i] * b.field[c][i];
        }
    return std::sqrt(error / size);
}

void measure(bool clusters, int64_t n, const settings::Settings& settings) {
    Cloud cloud = make_cloud(clusters, n);
    const Run pairs = run(cloud, settings, 0), cells = run(cloud, settings, 1);
    const auto per = [&](double count) { return count / static_cast<double>(n); };
    std::printf(
        "%-8s %9lld  all pairs %9.4f s, %6.0f pairs  |  now %9.4f s, %6.0f pairs, %5.0f cells  |  %5.2f  |  "
        "error %.1e\n",
        clusters ? "clusters" : "uniform", static_cast<long long>(n), pairs.time_s, per(pairs.report.pairs),
        cells.time_s, per(cells.report.pairs), per(cells.report.cells), pairs.time_s / cells.time_s,
        difference(cells, pairs));
    std::fflush(stdout);
}

/// One way of many: time, and errors at the targets.
void judge(const char* name, Cloud& cloud, const settings::Settings& settings, double theta, const Run& exact,
           int64_t targets) {
    const Run one = run(cloud, settings, theta);
    const auto n = static_cast<int64_t>(cloud.x.size());
    std::vector<double> errors;
    double error = 0, size = 0;
    for (int64_t k = 0; k < targets; ++k) {
        const auto i = static_cast<size_t>(k * n / targets);
        double square = 0;
        for (int c = 0; c < 3; ++c) {
            square += std::pow(one.field[c][i] - exact.field[c][i], 2);
            size += exact.field[c][i] * exact.field[c][i];
        }
        error += square, errors.push_back(std::sqrt(square));
    }
    std::sort(errors.begin(), errors.end());
    const double rms = std::sqrt(size / static_cast<double>(targets));
    const auto per = [&](double count) { return count / static_cast<double>(n); };
    std::printf("%9lld  %-8s order %d mac %.0e ewald %.0e  %9.4f s  rms %.1e  p99 %.1e  %6.0f pairs %6.0f "
                "cells %5.1f far\n",
                static_cast<long long>(n), name, settings.order, settings.accuracy, settings.ewald_accuracy,
                one.time_s, std::sqrt(error / size),
                errors[static_cast<size_t>(0.99 * static_cast<double>(targets))] / rms, per(one.report.pairs),
                per(one.report.cells), per(one.report.far_cells));
    std::fflush(stdout);
}

void judge_all(bool clusters, int64_t n, settings::Settings settings) {
    constexpr int64_t targets = 400;
    Cloud cloud = make_cloud(clusters, n);
    settings::Settings tight = settings;
    tight.precision = settings::Precision::fp64, tight.ewald_accuracy = 1e-9;
    const Run exact = run(cloud, tight, 0, targets);
    for (const double accuracy : {1e-3, 1e-4, 1e-5}) {
        settings.ewald_accuracy = accuracy;
        judge("pairs", cloud, settings, 0, exact, targets);
    }
    for (const int order : {3, 4})
        for (const double accuracy : {1e-2, 1e-3, 1e-4}) {
            settings.order = order, settings.accuracy = accuracy;
            if (n > 200000 && (order < 4 || accuracy < 1e-3))
                continue;
            settings.lattice_sum = settings::LatticeSum::split, settings.ewald_accuracy = 0; // chosen
            judge("cells", cloud, settings, 1, exact, targets);
            settings.lattice_sum = settings::LatticeSum::replicas;
            judge("replicas", cloud, settings, 1, exact, targets);
        }
}

} // namespace

int main(int argc, char** argv) try {
    const bool errors = argc > 1 && std::strcmp(argv[1], "errors") == 0;
    if (argc < (errors ? 5 : 6)) {
        std::fprintf(stderr, "periodic_study uniform|clusters ORDER fp32|mixed|fp64 ACCURACY N...\n"
                             "periodic_study errors uniform|clusters fp32|mixed|fp64 N...\n");
        return 2;
    }
    settings::Settings settings;
    settings.has_box = settings.periodic = true;
    for (double& edge : settings.box_upper)
        edge = 1;
    settings.precision = std::strcmp(argv[3], "fp64") == 0   ? settings::Precision::fp64
                         : std::strcmp(argv[3], "fp32") == 0 ? settings::Precision::fp32
                                                             : settings::Precision::mixed;
    settings.ewald_accuracy = 1e-5;
    settings.threads = 1, settings.tuned = false;
    for (int k = 4; errors && k < argc; ++k)
        judge_all(argv[2][0] == 'c', static_cast<int64_t>(std::atof(argv[k])), settings);
    if (errors)
        return 0;
    settings.order = std::atoi(argv[2]);
    settings.accuracy = std::atof(argv[4]);
    for (int k = 5; k < argc; ++k)
        measure(argv[1][0] == 'c', static_cast<int64_t>(std::atof(argv[k])), settings);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "periodic_study: %s\n", error.what());
    return 1;
}
