// SPDX-License-Identifier: BSD-3-Clause
// See loads.hpp.
#include "balance/loads.hpp"

#include "backend/reduce.hpp"
#include "balance/owner_table.hpp"
#include "balance/peers.hpp"

#include <cmath>
#include <limits>

namespace graft::balance {

using decompose::Points;

namespace {

constexpr int64_t lanes = 4; // so that loops over one array become vector loops

/// Four running values of body(lane value, i), combined in a fixed order.
template <typename Body, typename Combine>
double fold(int64_t begin, int64_t end, double start, Body&& body, Combine&& combine) {
    double lane[lanes] = {start, start, start, start};
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes)
        for (int64_t l = 0; l < lanes; ++l)
            lane[l] = body(lane[l], i + l);
    for (; i < end; ++i)
        lane[0] = body(lane[0], i);
    return combine(combine(lane[0], lane[1]), combine(lane[2], lane[3]));
}

double larger(double a, double b) {
    return a < b ? b : a;
}

double largest_in(const double* values, int64_t begin, int64_t end, double sign) {
    return fold(
        begin, end, -std::numeric_limits<double>::infinity(),
        [=](double most, int64_t i) { return larger(most, sign * values[i]); }, larger);
}

Load load_of(const Points& points, const Scale& scale, int64_t begin, int64_t end) {
    Load load;
    load.items = end - begin;
    load.work = fold(
        begin, end, 0.0, [&](double sum, int64_t i) { return sum + scale.work_of(points, i); },
        [](double a, double b) { return a + b; });
    const double* axes[3] = {points.x, points.y, points.z};
    for (int a = 0; a < 3; ++a) {
        load.box.upper[a] = axes[a] != nullptr ? largest_in(axes[a], begin, end, 1) : 0;
        load.box.lower[a] = axes[a] != nullptr ? -largest_in(axes[a], begin, end, -1) : 0;
    }
    return load;
}

/// A load being summed item by item: pairs of values, so that it takes vector instructions.
struct LoadSum {
    double work = 0;
    int64_t items = 0;
    double most[6] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL}; // x, -x, y ...

    void include(double x, double y, double z, double own_work) {
        const double value[6] = {x, -x, y, -y, z, -z};
        for (int k = 0; k < 6; ++k)
            most[k] = larger(most[k], value[k]);
        work += own_work;
        ++items;
    }
    void add(const Load& other) {
        for (int a = 0; a < 3; ++a) {
            most[2 * a] = larger(most[2 * a], other.box.upper[a]);
            most[2 * a + 1] = larger(most[2 * a + 1], -other.box.lower[a]);
        }
        work += other.work;
        items += other.items;
    }
    void add(const LoadSum& other) {
        for (int k = 0; k < 6; ++k)
            most[k] = larger(most[k], other.most[k]);
        work += other.work;
        items += other.items;
    }
    Load load() const {
        Load load;
        load.work = work;
        load.items = items;
        for (int a = 0; a < 3; ++a) {
            load.box.upper[a] = most[2 * a];
            load.box.lower[a] = -most[2 * a + 1];
        }
        return load;
    }
};

[[noreturn]] void fail_cost(const Points& points, int64_t begin, int64_t end) {
    int64_t i = begin;
    while (i + 1 < end && points.cost[i] >= 0 && std::isfinite(points.cost[i]))
        ++i;
    core::fail(core::Status::value, "cost of item %lld is %g; expected a finite value, 0 or more",
               static_cast<long long>(i), points.cost[i]);
}

/// Largest cost of a block; infinite when one is not a cost.
double largest_of(const double* cost, int64_t begin, int64_t end) {
    const double least = fold(
        begin, end, 0.0, [=](double low, int64_t i) { return cost[i] >= low ? low : -HUGE_VAL; },
        [](double a, double b) { return a < b ? a : b; });
    return least < 0 ? HUGE_VAL : largest_in(cost, begin, end, 1);
}

} // namespace

Scale::Scale(double largest, double mix, int ranks, int dimension)
    : mix_(mix), ranks_(ranks), dimension_(dimension) {
    int exponent = 0;
    std::frexp(largest > 0 ? largest : 1, &exponent);
    first_ = std::ldexp(1.0, -exponent / 2);
    second_ = std::ldexp(1.0, -exponent - -exponent / 2);
}

void Scale::set_sums(double work, int64_t items) {
    work_ = work;
    items_ = items;
    per_work_ = work > 0 ? mix_ / work : 0;
    per_item_ = items > 0 ? (work > 0 ? 1 - mix_ : 1) / static_cast<double>(items) : 0;
}

double largest_cost(const backend::Executor& executor, const Points& points, core::Buffer<double>& scratch) {
    if (points.cost == nullptr)
        return points.n > 0 ? 1 : 0;
    const double largest = backend::reduce(
        executor, points.n, 0.0,
        [&](int64_t begin, int64_t end) { return largest_of(points.cost, begin, end); }, larger, scratch);
    if (!std::isfinite(largest))
        fail_cost(points, 0, points.n);
    return largest;
}

Load local_load(const backend::Executor& executor, const Points& points, const Scale& scale,
                core::Buffer<Load>& scratch) {
    return backend::reduce(
        executor, points.n, Load{},
        [&](int64_t begin, int64_t end) { return load_of(points, scale, begin, end); },
        [](Load a, const Load& b) {
            a.add(b);
            return a;
        },
        scratch);
}

double heaviest_item(const backend::Executor& executor, const Points& points, const Scale& scale,
                     core::Buffer<double>& scratch) {
    const double most = backend::reduce(
        executor, points.n, 0.0,
        [&](int64_t begin, int64_t end) {
            return fold(
                begin, end, 0.0,
                [&](double most, int64_t i) { return larger(most, scale.work_of(points, i)); }, larger);
        },
        larger, scratch);
    return points.n > 0 ? scale.weight(most, 1) : 0;
}

Load future_load(comm::Communicator& comm, const backend::Executor& executor, const Points& points,
                 const Scale& scale, const int32_t* owner, core::Buffer<Load>& scratch) {
    Shares to(executor.memory), from(executor.memory);
    core::Buffer<Load> loads(executor.memory, "loads by owner");
    comm.together([&] {
        OwnerTable<LoadSum> table;
        sum_by_owner(
            executor, owner, points.n, table,
            [&](LoadSum& sum, int64_t i) {
                sum.include(points.x[i], points.y[i], points.z != nullptr ? points.z[i] : 0.0,
                            scale.work_of(points, i));
            },
            [&](LoadSum& sum, int64_t begin, int64_t end) { sum.add(load_of(points, scale, begin, end)); });
        table.for_each([&](int32_t rank, const LoadSum& sum) {
            to.rank.push_back(rank);
            to.count.push_back(1);
            loads.push_back(sum.load());
        });
    });
    exchange_records(comm, to, loads.data(), from, scratch);
    Load sum;
    for (const Load& load : scratch)
        sum.add(load);
    return sum;
}

} // namespace graft::balance
