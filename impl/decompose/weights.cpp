// SPDX-License-Identifier: BSD-3-Clause
// Weights as integers, see weights.hpp.
#include "decompose/weights.hpp"

#include <vector>

namespace graft::decompose {
namespace {

constexpr int lane_bits = 42, lanes = 3;
constexpr uint64_t lane_mask = (uint64_t{1} << lane_bits) - 1;
constexpr int64_t sum_block = 1 << 15;

} // namespace

void allreduce_wide(comm::Communicator& comm, Wide* values, int64_t count) {
    if (comm.alone() || count == 0)
        return;
    std::vector<uint64_t> buffer(static_cast<size_t>(lanes * count));
    for (int64_t i = 0; i < count; ++i)
        for (int lane = 0; lane < lanes; ++lane)
            buffer[static_cast<size_t>(lanes * i + lane)] =
                static_cast<uint64_t>(values[i] >> (lane * lane_bits)) & lane_mask;
    comm.allreduce(buffer.data(), lanes * count, comm::Operation::sum);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = 0;
        for (int lane = 0; lane < lanes; ++lane)
            values[i] += static_cast<Wide>(buffer[static_cast<size_t>(lanes * i + lane)])
                         << (lane * lane_bits);
    }
}

Wide sum_wide(const backend::Executor& executor, int64_t n, const WideTerm& term) {
    std::vector<Wide> partial(static_cast<size_t>((n + sum_block - 1) / sum_block), 0);
    executor.for_blocks(n, sum_block, [&](int64_t begin, int64_t end, int) {
        partial[static_cast<size_t>(begin / sum_block)] = term(begin, end);
    });
    Wide sum = 0;
    for (const Wide part : partial)
        sum += part;
    return sum;
}

WeightRule::Sums WeightRule::Sums::of(const backend::Executor& executor, const double* cost, int64_t n,
                                      double max_cost) {
    Sums sums;
    sums.count = static_cast<Wide>(n);
    if (cost == nullptr || !(max_cost > 0))
        return sums;
    double scale1, scale2;
    WeightScale::set_scale(WeightScale::cost_exponent(max_cost), scale1, scale2);
    sums.cost = sum_wide(executor, n, [&](int64_t begin, int64_t end) {
        Wide sum = 0;
        for (int64_t i = begin; i < end; ++i)
            sum += static_cast<uint64_t>(cost[i] * scale1 * scale2);
        return sum;
    });
    return sums;
}

WeightRule::WeightRule(const double* cost, double max_cost, const Sums& sums, double mix)
    : cost_(cost), scale_(max_cost, sums.count, sums.cost, mix) {}

} // namespace graft::decompose
