// See calibrate_near.hpp. Kernels first, dense, from the first-level cache: seconds of a vector's lane and of
// a plain loop's pair. Then each layout on structures that differ in what its terms count: small ones for
// what a call takes, sparse ones for boxes, dense ones for pairs, large ones for the lines of the memory.
#include "pipeline/calibrate_near.hpp"

#include "kernels/near/bench.hpp"
#include "model/near_calibrate.hpp"

#include <algorithm>
#include <span>

namespace graft::pipeline {

namespace near = kernels::near;
using near::Kernel;
using near::Precision;

namespace {

constexpr double dense_density = 100;
constexpr int32_t all_outputs[] = {1, 3};
constexpr double large_bytes = 2e8; // of a layout on the largest structure

/// Where it is measured, and how large.
struct Bench {
    model::NearWay way;
    int32_t device = 0;
    double dense_points = 1200;
    double points[4] = {600, 4000, 30000, 120000};
    double most_pairs = 2e6;      // of a structure: up to 10 ms of a plain loop
    double long_pairs = 4e5;      // more are measured once only
    double most_bytes = 1.2e8;    // of a layout that is measured
    double most_chain = 1e300;    // pairs of one thread of indexed: more are left out
    double large_points = 600000; // of one more structure, whose points leave the caches; 0: none

    std::vector<near::BenchTimes> run(const std::vector<near::Layout>& names, const near::BenchCase& one,
                                      const near::Sums& sums, int repetitions) const {
        return way.backend == model::NearBackend::cuda
                   ? near::bench_layouts_on_device(names, one, sums, way, device, repetitions)
                   : near::bench_layouts(names, one, sums, way, repetitions, true);
    }
};

struct KernelCase {
    Kernel kernel;
    int32_t dimension;
};
constexpr KernelCase kernel_cases[] = {
    {Kernel::laplace, 3}, {Kernel::logarithm, 2}, {Kernel::yukawa, 3}, {Kernel::helmholtz, 3}};

near::Sums sums_of(Kernel kernel, int32_t dimension, Precision precision, int32_t outputs) {
    near::Sums sums;
    sums.kernel.kernel = kernel;
    sums.kernel.wave_number = 1;
    sums.dimension = dimension;
    sums.components = kernel == Kernel::helmholtz ? 2 : 1;
    sums.precision = precision;
    sums.outputs = outputs;
    return sums;
}

near::BenchCase case_of(double points, double density, int32_t dimension, int32_t components, bool sorted) {
    near::BenchGrid grid;
    grid.points = static_cast<int64_t>(points);
    grid.density = density;
    grid.dimension = dimension;
    grid.components = components;
    grid.sorted = sorted;
    return near::make_case(grid);
}

double least(const std::vector<near::Times>& times, double near::Times::*field) {
    double best = 1e300;
    for (const near::Times& one : times)
        best = std::min(best, one.*field);
    return best;
}

void measure_kernel(model::Machine& machine, const Bench& bench, const near::BenchCase& dense,
                    const near::Sums& sums, int repetitions) {
    const bool cuda = bench.way.backend == model::NearBackend::cuda; // no plain loop there
    const std::vector<near::Layout> both = {near::Layout::tiled, near::Layout::indexed};
    const auto times =
        bench.run(cuda ? std::vector<near::Layout>{near::Layout::tiled} : both, dense, sums, repetitions);
    if (times.front().second.empty() || times.back().second.empty())
        return;
    const near::Shape shape = near::shape_of(dense.structure(), sums);
    const double slots = static_cast<double>(shape.pairs);
    model::NearKernelCosts costs;
    costs.backend = static_cast<double>(bench.way.backend);
    costs.kernel = static_cast<double>(sums.kernel.kernel);
    costs.precision = static_cast<double>(sums.precision);
    costs.dimension = sums.dimension, costs.outputs = sums.outputs;
    costs.vector_s = least(times[0].second, &near::Times::kernel_s) / slots;
    if (!cuda)
        costs.scalar_s = least(times[1].second, &near::Times::kernel_s) / static_cast<double>(shape.pairs);
    model::put(machine.near, costs);
}

/// Those of so many dimensions.
void measure_kernels(model::Machine& machine, const Bench& bench, int32_t dimension,
                     std::span<const Precision> precisions, int repetitions) {
    for (const KernelCase& one : kernel_cases) {
        if (one.dimension != dimension)
            continue;
        const int32_t components = one.kernel == Kernel::helmholtz ? 2 : 1;
        const near::BenchCase dense =
            case_of(bench.dense_points, dense_density, one.dimension, components, true);
        for (const Precision precision : precisions)
            for (const int32_t outputs : all_outputs)
                measure_kernel(machine, bench, dense, sums_of(one.kernel, one.dimension, precision, outputs),
                               one.kernel == Kernel::laplace ? repetitions : std::min(repetitions, 2));
    }
}

/// Structures with as many pairs as may be measured.
std::vector<near::BenchCase> structures(const Bench& bench, int32_t dimension) {
    std::vector<near::BenchCase> list;
    const double neighbours = dimension == 2 ? 9 : 27;
    for (const double points : bench.points)
        for (const double density : {0.6, 2.5, 9.0, 36.0, 140.0})
            if (points * density * neighbours < bench.most_pairs && points > 4 * density)
                list.push_back(case_of(points, density, dimension, 1, false));
    return list;
}

/// A GPU's execution beside its kernel and the transfers that the link's numbers predict: calls and waits,
/// too.
double charges_s_of(const near::BenchTimes& times, const model::NearSample& sample, near::Layout layout,
                    const Bench& bench, const model::Machine& machine) {
    if (bench.way.backend == model::NearBackend::cpu)
        return least(times.second, &near::Times::charges_s);
    const double transfer_s =
        model::near_time(static_cast<model::NearLayout>(layout), sample.problem, bench.way, machine)
            .transfer_s;
    return std::max(1e-6, least(times.second, &near::Times::total_s) - sample.kernel_s - transfer_s);
}

double least(const std::vector<double>& seconds) {
    return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

/// Of each layout.
using Samples = std::vector<std::vector<model::NearSample>>;

void add_samples(const model::Machine& machine, const Bench& bench, const near::BenchCase& one,
                 const near::Sums& sums, int repetitions, double most_bytes, Samples& samples) {
    const near::Shape shape = near::shape_of(one.structure(), sums);
    std::vector<near::Layout> names;
    for (int k = 0; k < near::layouts; ++k)
        if (near::bytes_of(static_cast<near::Layout>(k), shape, 1) < most_bytes &&
            (static_cast<near::Layout>(k) != near::Layout::indexed ||
             static_cast<double>(shape.most_targets * shape.most_sources) < bench.most_chain))
            names.push_back(static_cast<near::Layout>(k));
    const bool once = static_cast<double>(shape.pairs) > bench.long_pairs;
    const auto times = bench.run(names, one, sums, once ? 1 : repetitions);
    double plain_s = 0;
    for (size_t k = 0; k < names.size() && bench.way.backend == model::NearBackend::cuda; ++k)
        if (names[k] == near::Layout::ranges && !times[k].once_s.empty())
            plain_s = least(times[k].once_s);
    for (size_t k = 0; k < names.size(); ++k) {
        if (times[k].second.empty())
            continue;
        model::NearSample sample;
        sample.problem = near::problem_of(names[k], shape, 1);
        sample.collection_s = least(times[k].once_s);
        sample.again_s = least(times[k].again_s);
        sample.kernel_s = least(times[k].second, &near::Times::kernel_s);
        sample.charges_s = charges_s_of(times[k], sample, names[k], bench, machine);
        sample.scatter_s = least(times[k].second, &near::Times::scatter_s);
        sample.plain_s = plain_s;
        samples[static_cast<size_t>(names[k])].push_back(sample);
    }
}

void measure_layouts(const model::Machine& machine, const Bench& bench, int32_t dimension,
                     Precision precision, int repetitions, Samples& samples) {
    const Kernel kernel = dimension == 2 ? Kernel::logarithm : Kernel::laplace;
    for (const near::BenchCase& one : structures(bench, dimension))
        add_samples(machine, bench, one, sums_of(kernel, dimension, precision, near::potential), repetitions,
                    bench.most_bytes, samples);
    if (dimension == 2 && bench.large_points > 0) // without the layouts of a record a target
        add_samples(machine, bench, case_of(bench.large_points, 3, dimension, 1, false),
                    sums_of(kernel, dimension, precision, near::potential), 1, large_bytes, samples);
}

void fit_layouts(model::Machine& machine, const Bench& bench, const Samples& samples) {
    const auto fit = [&](model::NearLayout layout, const model::NearPhase* plain) {
        const auto& measured = samples[static_cast<size_t>(layout)];
        return model::fit_near(layout, measured, bench.way, machine, plain);
    };
    model::NearPhase plain;
    const bool cuda = bench.way.backend == model::NearBackend::cuda;
    const bool known = cuda && !samples[static_cast<size_t>(near::Layout::ranges)].empty();
    if (known)
        plain = fit(model::NearLayout::ranges, nullptr).collection;
    for (int k = 0; k < near::layouts; ++k)
        if (!samples[static_cast<size_t>(k)].empty())
            model::put(machine.near, fit(static_cast<model::NearLayout>(k), known ? &plain : nullptr));
}

} // namespace

std::vector<NearCpuPiece> near_cpu_pieces() {
    std::vector<NearCpuPiece> pieces;
    for (const bool in_double : {true, false})
        for (const int32_t dimension : {2, 3})
            pieces.push_back({dimension, in_double, {}, Samples(near::layouts)});
    return pieces;
}

void measure_near_cpu(NearCpuPiece& piece, const model::Machine& machine, int repetitions) {
    constexpr Precision wide[] = {Precision::mixed, Precision::fp64}, narrow[] = {Precision::fp32};
    const Bench bench;
    const auto precisions = piece.in_double ? std::span<const Precision>(wide) : narrow;
    const int rounds = std::min(repetitions, 2);
    model::Machine own = machine;
    own.near.kernels = {};
    measure_kernels(own, bench, piece.dimension, precisions, rounds);
    for (const model::NearKernelCosts& one : own.near.kernels)
        if (one.dimension > 0)
            piece.kernels.push_back(one);
    measure_layouts(own, bench, piece.dimension, precisions.back(), rounds, piece.samples);
}

void fit_near_cpu(model::Machine& machine, const std::vector<NearCpuPiece>& pieces) {
    for (const NearCpuPiece& piece : pieces)
        for (const model::NearKernelCosts& one : piece.kernels)
            model::put(machine.near, one);
    for (const bool in_double : {true, false}) {
        Samples samples(near::layouts);
        for (const NearCpuPiece& piece : pieces)
            for (size_t k = 0; k < samples.size() && piece.in_double == in_double; ++k)
                samples[k].insert(samples[k].end(), piece.samples[k].begin(), piece.samples[k].end());
        fit_layouts(machine, Bench(), samples);
    }
}

void calibrate_near_gpu(model::Machine& machine, int32_t device, int repetitions) {
    Bench bench;
    bench.way.backend = model::NearBackend::cuda;
    bench.device = device;
    bench.dense_points = 100000;
    std::copy_n(std::initializer_list<double>{2000, 20000, 60000, 200000}.begin(), 4, bench.points);
    bench.most_pairs = 1e8, bench.long_pairs = 3e7, bench.most_bytes = 5e8, bench.large_points = 0;
    bench.most_chain = 5e4; // 5 to 20 ms of one thread
    constexpr Precision precisions[] = {Precision::fp32, Precision::mixed, Precision::fp64};
    const int rounds = std::min(repetitions, 2);
    for (const int32_t dimension : {2, 3})
        measure_kernels(machine, bench, dimension, precisions, rounds);
    for (const Precision precision : {Precision::fp64, Precision::fp32}) {
        Samples samples(near::layouts);
        for (const int32_t dimension : {2, 3})
            measure_layouts(machine, bench, dimension, precision, rounds, samples);
        fit_layouts(machine, bench, samples);
    }
}

} // namespace graft::pipeline
