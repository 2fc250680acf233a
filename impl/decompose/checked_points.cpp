// SPDX-License-Identifier: BSD-3-Clause
// Checks and first sums over ranks, see checked_points.hpp.
#include "decompose/checked_points.hpp"

#include "core/error.hpp"
#include "decompose/ordering.hpp"
#include "decompose/points/point_records.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace graft::decompose {

using core::fail;
using core::Status;

namespace {

constexpr int64_t check_block = 1 << 16;
constexpr double infinity = std::numeric_limits<double>::infinity();

void check_options(const Options& options) {
    if (options.parts < 1)
        fail(Status::argument, "decompose: parts is %d; expected at least 1", options.parts);
    if (options.dimension != 2 && options.dimension != 3)
        fail(Status::argument, "decompose: dimension is %d; expected 2 or 3", options.dimension);
    if (!(options.tolerance >= 0) || std::isinf(options.tolerance))
        fail(Status::argument, "decompose: tolerance is %g; expected a number >= 0", options.tolerance);
    if (!(options.mix >= 0 && options.mix <= 1))
        fail(Status::argument, "decompose: mix is %g; expected 0 (number of points) ... 1 (cost)",
             options.mix);
    if (options.cap < 0)
        fail(Status::argument, "decompose: cap is %lld; expected the most points of a part, or 0 for no cap",
             static_cast<long long>(options.cap));
    if (options.bins < 0 || options.threshold_a < 0 || options.threshold_b < 0)
        fail(Status::argument, "decompose: bins %d, threshold_a %lld, threshold_b %lld; expected >= 0",
             options.bins, static_cast<long long>(options.threshold_a),
             static_cast<long long>(options.threshold_b));
}

void check_arrays(const Options& options, const Points& points) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (points.n < 0 || points.n > most)
        fail(Status::argument, "decompose: %lld points on this rank; expected 0 ... %lld",
             static_cast<long long>(points.n), static_cast<long long>(most));
    const bool z_missing = options.dimension == 3 && points.z == nullptr;
    if (points.n > 0 && (points.x == nullptr || points.y == nullptr || z_missing))
        fail(Status::argument, "decompose: coordinate %s is NULL; expected %lld values",
             points.x == nullptr   ? "x"
             : points.y == nullptr ? "y"
                                   : "z",
             static_cast<long long>(points.n));
}

/// Of one array: smallest and largest value.
struct Range {
    double least = infinity, most = -infinity;
    bool finite = true;
    void read(const double* values, int64_t begin, int64_t end) {
        finite = widen_bounds(values + begin, end - begin, least, most) && finite;
    }
    void include(const Range& other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
        finite = finite && other.finite;
    }
};

[[noreturn]] void refuse(const char* name, const double* values, int64_t n, bool negative) {
    int64_t i = 0;
    while (i < n - 1 && std::isfinite(values[i]) && !(negative && values[i] < 0))
        ++i;
    fail(Status::value, "decompose: %s[%lld] is %g; expected a finite number%s", name,
         static_cast<long long>(i), values[i], negative ? " >= 0" : "");
}

struct PointRanges {
    Range axis[3], cost;
};

PointRanges read_points(const backend::Executor& executor, const Points& points, int dimension) {
    const double* arrays[4] = {points.x, points.y, dimension == 3 ? points.z : nullptr, points.cost};
    std::vector<PointRanges> partial(static_cast<size_t>((points.n + check_block - 1) / check_block));
    executor.for_blocks(points.n, check_block, [&](int64_t begin, int64_t end, int) {
        PointRanges& local = partial[static_cast<size_t>(begin / check_block)];
        for (int a = 0; a < 4; ++a)
            if (arrays[a] != nullptr)
                (a < 3 ? local.axis[a] : local.cost).read(arrays[a], begin, end);
    });
    PointRanges all;
    for (const PointRanges& local : partial) {
        all.cost.include(local.cost);
        for (int a = 0; a < 3; ++a)
            all.axis[a].include(local.axis[a]);
    }
    static const char* const names[4] = {"x", "y", "z", "cost"};
    for (int a = 0; a < 4; ++a) {
        const Range& range = a < 3 ? all.axis[a] : all.cost;
        if (!range.finite || (a == 3 && range.least < 0))
            refuse(names[a], arrays[a], points.n, a == 3);
    }
    if (points.n > 0 && arrays[2] == nullptr)
        all.axis[2].least = all.axis[2].most = 0;
    return all;
}

/// A number below 2^50 that tells most different options apart.
double fingerprint(const Options& o) {
    uint64_t hash = 14695981039346656037U;
    const auto add = [&](double value) {
        hash = (hash ^ std::bit_cast<uint64_t>(value)) * 1099511628211U;
        hash ^= hash >> 29;
    };
    for (const double value :
         {static_cast<double>(o.shape), static_cast<double>(o.strategy), static_cast<double>(o.finder),
          static_cast<double>(o.curve), static_cast<double>(o.dimension), static_cast<double>(o.parts),
          o.tolerance, o.mix, static_cast<double>(o.cap), static_cast<double>(o.threshold_a),
          static_cast<double>(o.threshold_b), static_cast<double>(o.bins)})
        add(value);
    return static_cast<double>(hash >> 14);
}

void check_agreement(const Problem& problem, bool options_differ, bool ids_differ) {
    const Options& options = problem.options;
    if (options_differ)
        fail(Status::argument, "decompose: the options differ between ranks; give all ranks the same");
    if (ids_differ)
        fail(Status::argument,
             "decompose: some ranks give ids and some do not; give them on all ranks or none");
    if (options.strategy == Strategy::halving && options.shape == Shape::orb &&
        options.parts != problem.comm.size())
        fail(Status::argument,
             "decompose: strategy halving makes one part a rank: expected parts = %d, found %d",
             problem.comm.size(), options.parts);
    if (options.cap > 0 && (problem.count + options.parts - 1) / options.parts > options.cap)
        fail(Status::argument,
             "decompose: a cap of %lld points a part cannot hold %lld points in %d parts; expected at least "
             "%lld",
             static_cast<long long>(options.cap), static_cast<long long>(problem.count), options.parts,
             static_cast<long long>((problem.count + options.parts - 1) / options.parts));
}

} // namespace

int64_t Problem::id_of(int64_t i) const {
    return points.id != nullptr ? points.id[i] : implied_id(comm.rank(), i);
}

Wide Problem::slack() const {
    return static_cast<Wide>(options.tolerance * (to_double(weight) / options.parts));
}

namespace {

/// Collective. Over all ranks.
Wide sum_of_weights(const Problem& problem) {
    Wide weight[2] = {0, 0}; // and whether a rank failed
    const std::exception_ptr error = caught([&] {
        weight[0] = sum_wide(problem.executor, problem.points.n, [&](int64_t begin, int64_t end) {
            Wide sum = 0;
            for (int64_t i = begin; i < end; ++i)
                sum += problem.weights(i);
            return sum;
        });
    });
    weight[1] = error ? 1 : 0;
    allreduce_wide(problem.comm, weight, 2);
    if (weight[1] > 0)
        problem.comm.agree(error);
    return weight[0];
}

} // namespace

Problem prepare(comm::Communicator& comm, const backend::Executor& executor, const Options& options,
                const Points& points, bool with_permutation) {
    Problem problem{comm, executor, options, points, with_permutation, 0, {}, {}, 0};
    PointRanges local;
    // What goes wrong on one rank is told along with the next reduction and agreed on only then: fewer
    // latencies.
    std::exception_ptr error = caught([&] {
        check_options(options);
        check_arrays(options, points);
        local = read_points(executor, points, options.dimension);
    });
    const double mark = fingerprint(options);
    // A rank without points has no say on whether there are ids and costs.
    const double ids = points.id != nullptr ? 1 : 0, none = points.n == 0 ? 1 : 0;
    double most[12] = {-local.axis[0].least,
                       -local.axis[1].least,
                       -local.axis[2].least,
                       local.axis[0].most,
                       local.axis[1].most,
                       local.axis[2].most,
                       local.cost.most,
                       mark,
                       -mark,
                       none ? 0 : ids,
                       none ? 0 : 1 - ids,
                       error ? 1.0 : 0.0};
    comm.allreduce(most, 12, comm::Operation::max);
    if (most[11] > 0)
        comm.agree(error);
    for (int a = 0; a < 3; ++a) { // no -0.0
        problem.box.lower[a] = -most[a] + 0.0;
        problem.box.upper[a] = most[3 + a] + 0.0;
    }
    const double max_cost = most[6];
    WeightRule::Sums sums;
    error = caught([&] { sums = WeightRule::Sums::of(executor, points.cost, points.n, max_cost); });
    Wide all[3] = {sums.count, sums.cost, error ? Wide{1} : Wide{0}};
    allreduce_wide(comm, all, 3);
    if (all[2] > 0)
        comm.agree(error);
    problem.count = static_cast<int64_t>(all[0]);
    error = caught([&] { check_agreement(problem, most[7] != -most[8], most[9] > 0 && most[10] > 0); });
    if (error) // on all ranks alike
        comm.agree(error);
    problem.weights = WeightRule(points.cost, max_cost, {all[0], all[1]}, options.mix);
    problem.weight = all[0];
    if (!problem.weights.unit())
        problem.weight = sum_of_weights(problem);
    return problem;
}

void sort_by_owner(const backend::Executor&, int32_t parts, Result& result) {
    const int64_t n = result.owner.size();
    result.part_offset.resize(int64_t{parts} + 1);
    result.permutation.resize(n);
    std::fill(result.part_offset.begin(), result.part_offset.end(), 0);
    for (int64_t i = 0; i < n; ++i)
        ++result.part_offset[result.owner[i] + 1];
    for (int64_t p = 0; p < parts; ++p)
        result.part_offset[p + 1] += result.part_offset[p];
    std::vector<int64_t> next(result.part_offset.begin(), result.part_offset.end() - 1);
    for (int64_t i = 0; i < n; ++i)
        result.permutation[next[static_cast<size_t>(result.owner[i])]++] = static_cast<int32_t>(i);
}

} // namespace graft::decompose
