// SPDX-License-Identifier: BSD-3-Clause
// See calibrate_near.hpp. Kernels first, dense, from the first-level cache: seconds of a vector's lane and of
// a plain loop's pair; on a GPU, of a pair where there are enough, and of one thread's step. Then each layout
// on structures that differ in what its terms count: small ones for what a call takes, sparse ones for boxes,
// dense ones for pairs, large ones for the lines of the memory.
#include "study/calibrate/calibrate_near.hpp"

#include "backend/executor.hpp"
#include "core/median.hpp"
#include "study/bench/bench_near.hpp"
#include "study/calibrate/near_fit.hpp"

#include <algorithm>
#include <span>

namespace graft::study {

using near::Kernel;
using near::Precision;

namespace {

/// 2-D in fp32 and 3-D in fp64 share a GPU's numbers of layouts, but those of kernels, with 3-D in fp32 and
/// 2-D in fp64. They are measured at fewer sizes, less often, and count less: counting alike costs the others
/// 0.02 of median error.
constexpr double aside_weight = 0.3;
constexpr int aside_repetitions = 2;
constexpr double dense_density = 100;
constexpr int32_t all_outputs[] = {1, 3};
constexpr double large_bytes = 2e8; // of a layout on the largest structure

/// A structure that is measured.
struct Size {
    double points, density; // a box
    int repetitions;
    bool all = true; // GPU: in 2-D, fp32 and 3-D, fp64, too
};

/// Where it is measured, and how large.
struct Bench {
    near::NearWay way;
    int32_t device = 0;
    double dense_points = 1200;
    double chain_points = 0;      // GPU: of a few boxes, whose longest thread is what a kernel takes
    std::vector<Size> sizes[2];   // in two and three dimensions
    std::vector<Size> once_sizes; // GPU: in three dimensions, where tiled sums pairs of boxes once
    double most_bytes = 1.2e8;    // of a layout that is measured
    double most_chain = 1e300;    // pairs of one thread of indexed: more are left out
    double large_points = 600000; // CPU: of one more structure, whose points leave the caches

    bool cuda() const { return way.backend == near::NearBackend::cuda; }
    std::vector<BenchTimes> run(const std::vector<near::Layout>& names, const BenchCase& one,
                                      const near::Sums& sums, int repetitions) const {
        return cuda() ? study::bench_layouts_on_device(names, one, sums, way, device, repetitions)
                      : study::bench_layouts(names, one, sums, way, repetitions, true);
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

BenchCase case_of(double points, double density, int32_t dimension, int32_t components, bool sorted) {
    BenchGrid grid;
    grid.points = static_cast<int64_t>(points);
    grid.density = density;
    grid.dimension = dimension;
    grid.components = components;
    grid.sorted = sorted;
    return study::make_case(grid);
}

double median(const std::vector<near::Times>& times, double near::Times::*field) {
    std::vector<double> seconds;
    seconds.reserve(times.size());
    for (const near::Times& one : times)
        seconds.push_back(one.*field);
    return core::median(std::move(seconds));
}

double least(const std::vector<near::Times>& times, double near::Times::*field) {
    double best = 1e300;
    for (const near::Times& one : times)
        best = std::min(best, one.*field);
    return best;
}

/// Seconds of a plain loop's pair; on a GPU of a step of the longest thread.
double scalar_s_of(const Bench& bench, const BenchCase& dense, const BenchCase& chain,
                   const near::Sums& sums, int repetitions) {
    const BenchCase& one = bench.cuda() ? chain : dense;
    const near::Layout loop = bench.cuda() ? near::Layout::ranges : near::Layout::indexed;
    const auto times = bench.run({loop}, one, sums, repetitions);
    const near::Shape shape = near::shape_of(one.structure(), sums);
    return times[0].second.empty() ? 0
                                   : least(times[0].second, &near::Times::kernel_s) /
                                         static_cast<double>(bench.cuda() ? shape.most_sources : shape.pairs);
}

void measure_kernel(model::Machine& machine, const Bench& bench, const BenchCase& dense,
                    const BenchCase& chain, const near::Sums& sums, int repetitions) {
    const auto times = bench.run({near::Layout::tiled}, dense, sums, repetitions);
    if (times[0].second.empty())
        return;
    const near::Shape shape = near::shape_of(dense.structure(), sums);
    model::NearKernelCosts costs;
    costs.backend = static_cast<double>(bench.way.backend);
    costs.kernel = static_cast<double>(sums.kernel.kernel);
    costs.precision = static_cast<double>(sums.precision);
    costs.dimension = sums.dimension;
    costs.outputs = sums.outputs;
    costs.vector_s = least(times[0].second, &near::Times::kernel_s) / static_cast<double>(shape.pairs);
    costs.scalar_s = scalar_s_of(bench, dense, chain, sums, repetitions);
    if (costs.scalar_s > 0)
        study::put(machine.near, costs);
}

/// Those of so many dimensions.
void measure_kernels(model::Machine& machine, const Bench& bench, int32_t dimension,
                     std::span<const Precision> precisions, int repetitions) {
    for (const KernelCase& one : kernel_cases) {
        if (one.dimension != dimension)
            continue;
        const int32_t components = one.kernel == Kernel::helmholtz ? 2 : 1;
        const BenchCase dense =
            case_of(bench.dense_points, dense_density, one.dimension, components, true);
        const BenchCase chain =
            bench.cuda() ? case_of(bench.chain_points, dense_density, one.dimension, components, true)
                         : BenchCase{};
        for (const Precision precision : precisions)
            for (const int32_t outputs : all_outputs)
                measure_kernel(machine, bench, dense, chain,
                               sums_of(one.kernel, one.dimension, precision, outputs),
                               one.kernel == Kernel::laplace || !bench.cuda() ? repetitions : 1);
    }
}

/// Those that aside_weight is for.
bool aside(const Bench& bench, int32_t dimension, Precision precision) {
    return bench.cuda() && (dimension == 2) != (precision == Precision::fp64);
}

/// A GPU's execution beside its kernels and the transfers that the link's numbers predict: calls and waits,
/// too. `sample` has the times of its kernels.
double rest_s_of(const BenchTimes& times, const NearSample& sample, near::Layout layout,
                 const Bench& bench, const model::Machine& machine) {
    const double transfer_s =
        near::near_time(static_cast<near::NearLayout>(layout), sample.problem, bench.way, machine)
            .transfer_s;
    return std::max(1e-6, median(times.second, &near::Times::total_s) - sample.charges_s - sample.kernel_s -
                              transfer_s);
}

/// Of one thread its own time, of which the least is the loop's; a GPU's host has other things to do, too,
/// and what plans usually take is asked for.
double typical(const Bench& bench, const std::vector<double>& seconds) {
    if (bench.cuda() || seconds.empty())
        return core::median(seconds);
    return *std::min_element(seconds.begin(), seconds.end());
}
double typical(const Bench& bench, const std::vector<near::Times>& times, double near::Times::*field) {
    return bench.cuda() ? median(times, field) : least(times, field);
}

/// Those that are measured: on a GPU not what padding's bytes tell from the layout without it; with pairs
/// once tiled, and what its plan is compared with.
std::vector<near::Layout> layouts_of(const Bench& bench) {
    if (bench.way.pairs_once)
        return {near::Layout::ranges, near::Layout::tiled};
    std::vector<near::Layout> list;
    for (int k = 0; k < near::layouts; ++k)
        if (!bench.cuda() || near::near_measured_as(near::NearLayout{k}) == near::NearLayout{k})
            list.push_back(static_cast<near::Layout>(k));
    return list;
}

/// Of each form of a layout.
using Samples = std::vector<std::vector<NearSample>>;

/// Those of `layouts` that take less than `most_bytes`.
void add_samples(const model::Machine& machine, const Bench& bench, const BenchCase& one,
                 const near::Sums& sums, std::span<const near::Layout> layouts, int repetitions,
                 double most_bytes, Samples& samples) {
    const near::Shape shape = near::shape_of(one.structure(), sums);
    std::vector<near::Layout> names;
    for (const near::Layout layout : layouts)
        if (near::bytes_of(layout, shape, 1) < most_bytes &&
            (layout != near::Layout::indexed ||
             static_cast<double>(shape.most_targets * shape.most_sources) < bench.most_chain))
            names.push_back(layout);
    const auto times = bench.run(names, one, sums, repetitions);
    double plain_s = 0;
    for (size_t k = 0; k < names.size() && bench.cuda(); ++k)
        if (names[k] == near::Layout::ranges && !times[k].once_s.empty())
            plain_s = typical(bench, times[k].once_s);
    for (size_t k = 0; k < names.size(); ++k) {
        if (times[k].second.empty())
            continue;
        NearSample sample;
        sample.problem = near::problem_of(names[k], shape, bench.way);
        sample.weight = aside(bench, sums.dimension, sums.precision) ? aside_weight : 1;
        sample.collection_s = typical(bench, times[k].once_s);
        sample.again_s = typical(bench, times[k].again_s);
        sample.kernel_s = typical(bench, times[k].second, &near::Times::kernel_s);
        sample.charges_s = typical(bench, times[k].second, &near::Times::charges_s);
        sample.scatter_s = bench.cuda() ? rest_s_of(times[k], sample, names[k], bench, machine)
                                        : typical(bench, times[k].second, &near::Times::scatter_s);
        sample.plain_s = plain_s;
        const auto form = near::near_form(static_cast<near::NearLayout>(names[k]), bench.way);
        samples[static_cast<size_t>(form)].push_back(sample);
    }
}

/// Structures of these sizes; on a GPU's host by all threads.
std::vector<BenchCase> cases_of(const Bench& bench, int32_t dimension, const std::vector<Size>& sizes) {
    std::vector<BenchCase> cases(sizes.size());
    core::Memory memory;
    const backend::Executor executor{memory, bench.cuda() ? backend::resolve_threads(0) : 1};
    executor.for_each(
        static_cast<int64_t>(sizes.size()),
        [&](int64_t i) {
            const auto k = static_cast<size_t>(i);
            cases[k] = case_of(sizes[k].points, sizes[k].density, dimension, 1, false);
        },
        1);
    return cases;
}

/// One of the bench's structures.
void measure_size(const model::Machine& machine, const Bench& bench, int32_t dimension, Precision precision,
                  const Size& size, const BenchCase& one, Samples& samples) {
    const bool less = aside(bench, dimension, precision);
    if (less && !size.all)
        return;
    const Kernel kernel = dimension == 2 ? Kernel::logarithm : Kernel::laplace;
    add_samples(machine, bench, one, sums_of(kernel, dimension, precision, near::potential),
                layouts_of(bench), less ? std::min(size.repetitions, aside_repetitions) : size.repetitions,
                bench.most_bytes, samples);
}

/// One structure whose points leave the caches, without the layouts of a record a target. What it says of
/// ranges and tiles decides for all larger ones: more than once.
void measure_large(const model::Machine& machine, const Bench& bench, const near::Sums& sums,
                   Samples& samples) {
    constexpr near::Layout once[] = {near::Layout::indexed, near::Layout::replicated_group,
                                     near::Layout::replicated_group_padded},
                           often[] = {near::Layout::ranges, near::Layout::tiled, near::Layout::tiled_split};
    const BenchCase large = case_of(bench.large_points, 3, sums.dimension, 1, false);
    add_samples(machine, bench, large, sums, once, 1, large_bytes, samples);
    add_samples(machine, bench, large, sums, often, 2, large_bytes, samples);
}

void measure_layouts(const model::Machine& machine, const Bench& bench, int32_t dimension,
                     Precision precision, Samples& samples) {
    const std::vector<Size>& sizes = bench.sizes[dimension - 2];
    const std::vector<BenchCase> cases = cases_of(bench, dimension, sizes);
    for (size_t k = 0; k < cases.size(); ++k)
        measure_size(machine, bench, dimension, precision, sizes[k], cases[k], samples);
    if (dimension == 2)
        measure_large(machine, bench, sums_of(Kernel::logarithm, dimension, precision, near::potential),
                      samples);
}

void fit_layouts(model::Machine& machine, const Bench& bench, const Samples& samples) {
    NearSharedPhases common;
    const bool known = bench.cuda() && !samples[static_cast<size_t>(near::Layout::ranges)].empty();
    if (known)
        common = study::fit_near_common(samples, bench.way, machine);
    constexpr int32_t each[] = {2, 3}, both[] = {0};
    constexpr int once = static_cast<int>(near::NearLayout::tiled_once);
    for (int k = 0; k < near::near_forms; ++k)
        for (const int32_t dimension : bench.cuda() && k != once ? std::span<const int32_t>(each) : both)
            if (!samples[static_cast<size_t>(k)].empty())
                study::put(machine.near,
                           study::fit_near(static_cast<near::NearLayout>(k), samples[static_cast<size_t>(k)],
                                           bench.way, machine, known ? &common : nullptr, dimension));
}

Bench cpu_bench(int rounds) {
    constexpr double most_pairs = 2e6; // of a structure: up to 10 ms of a plain loop
    constexpr double once_pairs = 4e5; // more are measured once only
    Bench bench;
    for (const double neighbours : {9.0, 27.0})
        for (const double points : {600.0, 4000.0, 30000.0, 120000.0})
            for (const double density : {0.6, 2.5, 9.0, 36.0, 140.0}) {
                const double pairs = points * density * neighbours;
                if (pairs < most_pairs && points > 4 * density)
                    bench.sizes[neighbours > 9].push_back({points, density, pairs > once_pairs ? 1 : rounds});
            }
    // Records of tens of megabytes, of many sources and of few.
    bench.sizes[0].insert(bench.sizes[0].end(), {{12000, 10, 1}, {12000, 40, 1}});
    bench.sizes[1].insert(bench.sizes[1].end(), {{12000, 1.6, 1}, {12000, 10, 1}, {40000, 2.5, 1}});
    return bench;
}

} // namespace

std::vector<NearCpuShare> near_cpu_pieces() {
    std::vector<NearCpuShare> pieces;
    for (const bool in_double : {true, false})
        for (const int32_t dimension : {2, 3})
            pieces.push_back({dimension, in_double, {}, Samples(near::near_forms)});
    return pieces;
}

void measure_near_cpu(NearCpuShare& piece, const model::Machine& machine, int repetitions) {
    constexpr Precision wide[] = {Precision::mixed, Precision::fp64}, narrow[] = {Precision::fp32};
    const auto precisions = piece.in_double ? std::span<const Precision>(wide) : narrow;
    const int rounds = std::min(repetitions, 2);
    const Bench bench = cpu_bench(rounds);
    model::Machine own = machine;
    own.near.kernels = {};
    measure_kernels(own, bench, piece.dimension, precisions, rounds);
    for (const model::NearKernelCosts& one : own.near.kernels)
        if (one.dimension > 0)
            piece.kernels.push_back(one);
    measure_layouts(own, bench, piece.dimension, precisions.back(), piece.samples);
}

void fit_near_cpu(model::Machine& machine, const std::vector<NearCpuShare>& pieces) {
    for (const NearCpuShare& piece : pieces)
        for (const model::NearKernelCosts& one : piece.kernels)
            study::put(machine.near, one);
    for (const bool in_double : {true, false}) {
        Samples samples(near::near_forms);
        for (const NearCpuShare& piece : pieces)
            for (size_t k = 0; k < samples.size() && piece.in_double == in_double; ++k)
                samples[k].insert(samples[k].end(), piece.samples[k].begin(), piece.samples[k].end());
        fit_layouts(machine, Bench(), samples);
    }
}

namespace {

Bench gpu_bench(const model::Machine& machine, int32_t device) {
    constexpr double least_bytes = 4e8; // of a layout that is measured, where the library keeps little
    Bench bench;
    bench.way.backend = near::NearBackend::cuda;
    bench.device = device;
    bench.dense_points = 200000;
    bench.chain_points = 1000;
    bench.most_bytes = std::max(least_bytes, 0.9 * near::near_kept_bytes(machine));
    bench.most_chain = 5e4; // 5 to 20 ms of one thread
    // The smallest last, in both dimensions and precisions: in a process' first seconds their plans take 1.3
    // to 1.5 times what they take later, and would take so for one precision alone.
    for (std::vector<Size>& sizes : bench.sizes)
        sizes = {{1e6, 16, 2, false}, {7e5, 3, 2, false}, {2e5, 2, 2, false},  {1e5, 256, 3, false},
                 {1e5, 32, 3},        {1e5, 4, 3},        {1e5, 1, 3, false},  {1e4, 256, 3, false},
                 {1e4, 64, 3},        {1e4, 8, 3},        {1e4, 1, 3},         {1e3, 128, 5, false},
                 {1e3, 16, 5},        {1e3, 2, 5},        {1e3, 0.5, 5, false}};
    // Of other sizes than the others: the warps that end last, and how many run at once, are told apart.
    bench.once_sizes = {{6e5, 34, 5}, {5e5, 125, 5}, {3e5, 60, 5}, {1.4e5, 34, 5}};
    return bench;
}

/// tiled where pairs of boxes are summed once, beside ranges.
void measure_once(const model::Machine& machine, Bench bench, Samples& samples) {
    bench.way.pairs_once = true;
    const std::vector<BenchCase> cases = cases_of(bench, 3, bench.once_sizes);
    for (size_t k = 0; k < cases.size(); ++k)
        measure_size(machine, bench, 3, Precision::fp32, bench.once_sizes[k], cases[k], samples);
}

} // namespace

void calibrate_near_kernels(model::Machine& machine, int32_t device, int repetitions) {
    constexpr Precision precisions[] = {Precision::fp32, Precision::mixed, Precision::fp64};
    const Bench bench = gpu_bench(machine, device);
    for (const int32_t dimension : {2, 3})
        measure_kernels(machine, bench, dimension, precisions, std::min(repetitions, 2));
}

void calibrate_near_gpu(model::Machine& machine, int32_t device) {
    const Bench bench = gpu_bench(machine, device);
    Samples wide(near::near_forms), narrow(near::near_forms);
    const std::vector<BenchCase> cases[] = {cases_of(bench, 2, bench.sizes[0]),
                                                  cases_of(bench, 3, bench.sizes[1])};
    for (size_t k = 0; k < cases[0].size(); ++k)
        for (const int32_t dimension : {2, 3}) {
            const auto plane = static_cast<size_t>(dimension - 2);
            for (const Precision precision : {Precision::fp32, Precision::fp64})
                measure_size(machine, bench, dimension, precision, bench.sizes[plane][k], cases[plane][k],
                             precision == Precision::fp64 ? wide : narrow);
        }
    measure_once(machine, bench, narrow);
    fit_layouts(machine, bench, wide);
    fit_layouts(machine, bench, narrow);
}

} // namespace graft::study
