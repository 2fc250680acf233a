// SPDX-License-Identifier: BSD-3-Clause
// The collectives' message patterns, one round after the other.
#include "study/simulate/simulated_cost.hpp"

#include <algorithm>
#include <numeric>

namespace graft::study {

namespace {

constexpr int64_t broadcast_short = 12288;
constexpr int32_t broadcast_few = 8;
constexpr int64_t allreduce_short = 2048;
constexpr int64_t allgather_short = 81920, allgather_long = 524288;

bool is_power_of_two(int32_t n) {
    return (n & (n - 1)) == 0;
}

int32_t power_of_two_below(int32_t n) { // the largest that is not above n
    int32_t power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

void one_way(Ensemble& ranks, int32_t from, int32_t to, int64_t bytes) {
    const double done = ranks.clock[from] + ranks.network.time_s(ranks.member[from], ranks.member[to], bytes);
    ranks.clock[from] = done;
    ranks.clock[to] = std::max(ranks.clock[to], done);
    ++ranks.messages;
    ranks.bytes += bytes;
}

/// One round: rank i sends bytes(i) to to(i), for all i at once; `to` is a permutation of the ranks.
template <typename To, typename Bytes>
void round_of_sends(Ensemble& ranks, std::vector<double>& next, const To& to, const Bytes& bytes) {
    next.assign(ranks.clock.size(), 0.0);
    for (int32_t i = 0; i < ranks.size(); ++i) {
        const int32_t j = to(i);
        const int64_t size = bytes(i);
        const double done = ranks.clock[i] + ranks.network.time_s(ranks.member[i], ranks.member[j], size);
        next[i] = std::max(next[i], done);
        next[j] = std::max(next[j], done);
        ranks.bytes += size;
    }
    ranks.messages += ranks.size();
    ranks.clock.swap(next);
}

void exchange(Ensemble& ranks, int32_t a, int32_t b, int64_t bytes_a, int64_t bytes_b) {
    const int32_t member_a = ranks.member[a], member_b = ranks.member[b];
    ranks.clock[a] = ranks.clock[b] =
        std::max(ranks.clock[a] + ranks.network.time_s(member_a, member_b, bytes_a),
                 ranks.clock[b] + ranks.network.time_s(member_a, member_b, bytes_b));
    ranks.messages += 2;
    ranks.bytes += bytes_a + bytes_b;
}

/// Bytes in blocks [first, first + count) of a circle; total[i] = bytes before block i.
int64_t circular(const std::vector<int64_t>& total, int32_t first, int32_t count) {
    const auto blocks = static_cast<int32_t>(total.size()) - 1;
    const int32_t end = first + count;
    return end <= blocks ? total[end] - total[first] : total[blocks] - total[first] + total[end - blocks];
}

std::vector<int64_t> totals(const std::vector<int64_t>& block) {
    std::vector<int64_t> total(block.size() + 1, 0);
    std::partial_sum(block.begin(), block.end(), total.begin() + 1);
    return total;
}

void allgather_doubling(Ensemble& ranks, const std::vector<int64_t>& total) {
    for (int32_t mask = 1; mask < ranks.size(); mask *= 2)
        for (int32_t a = 0; a < ranks.size(); ++a)
            if ((a & mask) == 0) {
                const int32_t first_a = a & ~(mask - 1), first_b = first_a + mask;
                exchange(ranks, a, a + mask, total[first_a + mask] - total[first_a],
                         total[first_b + mask] - total[first_b]);
            }
}

void allgather_bruck(Ensemble& ranks, const std::vector<int64_t>& total) {
    const int32_t size = ranks.size();
    std::vector<double> next;
    for (int32_t held = 1; held < size; held *= 2)
        round_of_sends(
            ranks, next, [&](int32_t i) { return (i - held + size) % size; },
            [&](int32_t i) { return circular(total, i, std::min(held, size - held)); });
}

void allgather_ring(Ensemble& ranks, const std::vector<int64_t>& block) {
    const int32_t size = ranks.size();
    const int64_t largest = *std::max_element(block.begin(), block.end());
    double step_s = 0;
    for (int32_t i = 0; i < size; ++i)
        step_s =
            std::max(step_s, ranks.network.time_s(ranks.member[i], ranks.member[(i + 1) % size], largest));
    const double done = *std::max_element(ranks.clock.begin(), ranks.clock.end()) + (size - 1) * step_s;
    std::fill(ranks.clock.begin(), ranks.clock.end(), done);
    ranks.messages += static_cast<int64_t>(size) * (size - 1);
    ranks.bytes += (size - 1) * std::accumulate(block.begin(), block.end(), int64_t{0});
}

void binomial_broadcast(Ensemble& ranks, int64_t bytes, int32_t root) {
    const int32_t size = ranks.size();
    int32_t mask = power_of_two_below(size);
    for (; mask > 0; mask /= 2)
        for (int32_t from = 0; from + mask < size; from += 2 * mask)
            one_way(ranks, (from + root) % size, (from + mask + root) % size, bytes);
}

void binomial_scatter(Ensemble& ranks, int64_t bytes, int32_t root) {
    const int32_t size = ranks.size();
    const int64_t block = (bytes + size - 1) / size;
    for (int32_t mask = power_of_two_below(size); mask > 0; mask /= 2)
        for (int32_t from = 0; from + mask < size; from += 2 * mask) {
            const int32_t blocks = std::min(mask, size - from - mask);
            const int64_t left = std::max<int64_t>(0, bytes - (from + mask) * block);
            one_way(ranks, (from + root) % size, (from + mask + root) % size, std::min(left, blocks * block));
        }
}

/// Runs round(rank of) for the largest power of two of ranks; the others hand their numbers to a neighbour
/// before and get the result after.
template <typename Rounds>
void folded(Ensemble& ranks, int64_t bytes, const Rounds& rounds) {
    const int32_t power = power_of_two_below(ranks.size()), rest = ranks.size() - power;
    for (int32_t i = 0; i < rest; ++i)
        one_way(ranks, 2 * i, 2 * i + 1, bytes);
    rounds(power, [&](int32_t i) { return i < rest ? 2 * i + 1 : i + rest; });
    for (int32_t i = 0; i < rest; ++i)
        one_way(ranks, 2 * i + 1, 2 * i, bytes);
}

template <typename RankOf>
void exchange_all(Ensemble& ranks, int32_t power, int32_t mask, int64_t bytes, const RankOf& rank_of) {
    for (int32_t a = 0; a < power; ++a)
        if ((a & mask) == 0)
            exchange(ranks, rank_of(a), rank_of(a | mask), bytes, bytes);
}

} // namespace

void cost_barrier(Ensemble& ranks) {
    const int32_t size = ranks.size();
    std::vector<double> next;
    for (int64_t distance = 1; distance < size; distance *= 2)
        round_of_sends(
            ranks, next, [&](int32_t i) { return static_cast<int32_t>((i + distance) % size); },
            [](int32_t) { return int64_t{0}; });
}

void cost_broadcast(Ensemble& ranks, int64_t bytes, int32_t root) {
    if (bytes < broadcast_short || ranks.size() < broadcast_few)
        return binomial_broadcast(ranks, bytes, root);
    binomial_scatter(ranks, bytes, root);
    const int64_t block = (bytes + ranks.size() - 1) / ranks.size();
    cost_allgather(ranks, std::vector<int64_t>(ranks.member.size(), block));
}

void cost_allreduce(Ensemble& ranks, int64_t bytes, int64_t count) {
    const int32_t power = power_of_two_below(ranks.size());
    folded(ranks, bytes, [&](int32_t, const auto& rank_of) {
        if (bytes <= allreduce_short || count < power) {
            for (int32_t mask = 1; mask < power; mask *= 2)
                exchange_all(ranks, power, mask, bytes, rank_of);
            return;
        }
        int64_t part = bytes;
        for (int32_t mask = 1; mask < power; mask *= 2)
            exchange_all(ranks, power, mask, part = (part + 1) / 2, rank_of);
        for (int32_t mask = power / 2; mask > 0; mask /= 2, part *= 2)
            exchange_all(ranks, power, mask, part, rank_of);
    });
}

void cost_allgather(Ensemble& ranks, const std::vector<int64_t>& block) {
    if (ranks.size() == 1)
        return;
    const std::vector<int64_t> total = totals(block);
    if (is_power_of_two(ranks.size()) && total.back() < allgather_long)
        allgather_doubling(ranks, total);
    else if (total.back() < allgather_short)
        allgather_bruck(ranks, total);
    else
        allgather_ring(ranks, block);
}

void cost_scattered_sends(Ensemble& ranks, int32_t from, const int64_t* bytes_to,
                          std::vector<Arrival>& arrivals) {
    const int32_t size = ranks.size();
    for (int32_t distance = 1; distance < size; ++distance) {
        const int32_t to = (from + distance) % size;
        if (bytes_to[to] == 0)
            continue;
        const double transfer_s = ranks.network.time_s(ranks.member[from], ranks.member[to], bytes_to[to]);
        ranks.clock[from] += transfer_s;
        const double start_s = ranks.network.time_s(ranks.member[from], ranks.member[to], 0);
        arrivals.push_back({ranks.clock[from], transfer_s - start_s, to});
        ++ranks.messages;
        ranks.bytes += bytes_to[to];
    }
}

void cost_scattered_receives(Ensemble& ranks, std::vector<Arrival>& arrivals) {
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const Arrival& a, const Arrival& b) { return a.time_s < b.time_s; });
    std::vector<double> port(ranks.clock.size(), 0.0);
    for (const Arrival& arrival : arrivals)
        port[arrival.to] = std::max(arrival.time_s, port[arrival.to] + arrival.transfer_s);
    for (size_t i = 0; i < port.size(); ++i)
        ranks.clock[i] = std::max(ranks.clock[i], port[i]);
}

} // namespace graft::study
