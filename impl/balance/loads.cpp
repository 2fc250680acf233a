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

void include(Load& load, const Points& points, const Scale& scale, int64_t i) {
    load.work += scale.relative(points, i);
    ++load.items;
    load.box.include(points.x[i], points.y[i], points.z != nullptr ? points.z[i] : 0.0);
}

[[noreturn]] void fail_cost(const Points& points, int64_t begin, int64_t end) {
    int64_t i = begin;
    while (i + 1 < end && points.cost[i] >= 0 && std::isfinite(points.cost[i]))
        ++i;
    core::fail(core::Status::value, "cost of item %lld is %g; expected a finite value, 0 or more",
               static_cast<long long>(i), points.cost[i]);
}

/// Largest cost of a block; infinite when one is not a cost.
double largest_of(const double* cost, int64_t begin, int64_t end) {
    double largest = 0;
    bool good = true;
    for (int64_t i = begin; i < end; ++i) {
        good &= cost[i] >= 0;
        largest = std::max(largest, cost[i]);
    }
    return good ? largest : std::numeric_limits<double>::infinity();
}

} // namespace

double largest_cost(const backend::Executor& executor, const Points& points, core::Buffer<double>& scratch) {
    if (points.cost == nullptr)
        return points.n > 0 ? 1 : 0;
    const double largest = backend::reduce(
        executor, points.n, 0.0,
        [&](int64_t begin, int64_t end) { return largest_of(points.cost, begin, end); },
        [](double a, double b) { return std::max(a, b); }, scratch);
    if (!std::isfinite(largest))
        fail_cost(points, 0, points.n);
    return largest;
}

Load local_load(const backend::Executor& executor, const Points& points, const Scale& scale,
                core::Buffer<Load>& scratch) {
    return backend::reduce(
        executor, points.n, Load{},
        [&](int64_t begin, int64_t end) {
            Load load;
            for (int64_t i = begin; i < end; ++i)
                include(load, points, scale, i);
            return load;
        },
        [](Load a, const Load& b) { return a.add(b), a; }, scratch);
}

Load future_load(comm::Communicator& comm, const backend::Executor& executor, const Points& points,
                 const Scale& scale, const int32_t* owner, core::Buffer<Load>& scratch) {
    Shares to(executor.memory), from(executor.memory);
    core::Buffer<Load> loads(executor.memory, "loads by owner");
    comm.together([&] {
        OwnerTable<Load> table;
        sum_by_owner(executor, owner, points.n, table,
                     [&](Load& load, int64_t i) { include(load, points, scale, i); });
        to.clear(), loads.clear();
        table.for_each([&](int32_t rank, const Load& load) {
            to.rank.push_back(rank);
            to.count.push_back(1);
            loads.push_back(load);
        });
    });
    exchange_records(comm, to, loads.data(), from, scratch);
    Load sum;
    for (const Load& load : scratch)
        sum.add(load);
    return sum;
}

} // namespace graft::balance
