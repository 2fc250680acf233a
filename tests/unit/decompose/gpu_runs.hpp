// SPDX-License-Identifier: BSD-3-Clause
// One partition of a set over in-process ranks, some of them on devices, and two of them compared to the bit.
#pragma once

#include "ranks_in_turns.hpp"
#include "sets_on_ranks.hpp"

namespace device_runs {

using namespace sets;

struct Outcome {
    std::vector<int32_t> owner, permutation;
    std::vector<Cell> cells;
    Statistics statistics;
};

/// device_of(rank): the option of that rank.
template <typename DeviceOf>
std::vector<Outcome> run(const oracle::Set& set, Options options, const Borders& border,
                         DeviceOf&& device_of) {
    const int ranks = static_cast<int>(border.size()) - 1;
    std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
    graft::test::run_ranks(ranks, [&](comm::Communicator& comm) {
        core::Memory memory;
        const backend::Executor executor{memory, 1 + comm.rank() % 2};
        Decomposer decomposer(memory);
        Result result(memory);
        const auto r = static_cast<size_t>(comm.rank());
        Options own = options;
        own.device = device_of(comm.rank());
        own.device_least = 0;
        decomposer.run(comm, executor, own, share_of(set, border[r], border[r + 1]), true, result);
        Outcome& out = outcomes[r];
        out.owner.assign(result.owner.begin(), result.owner.end());
        out.permutation.assign(result.permutation.begin(), result.permutation.end());
        out.cells = result.domains->cells();
        out.statistics = result.statistics;
    });
    return outcomes;
}

inline void expect_same(const std::vector<Outcome>& a, const std::vector<Outcome>& b,
                        const std::string& name) {
    for (size_t r = 0; r < a.size(); ++r) {
        EXPECT_EQ(a[r].owner, b[r].owner) << name << " rank " << r;
        EXPECT_EQ(a[r].permutation, b[r].permutation) << name << " rank " << r;
        EXPECT_EQ(a[r].statistics.collectives, b[r].statistics.collectives) << name;
        EXPECT_EQ(a[r].statistics.imbalance_weight, b[r].statistics.imbalance_weight) << name;
        ASSERT_EQ(a[r].cells.size(), b[r].cells.size()) << name;
        for (size_t k = 1; k < a[r].cells.size(); ++k) {
            EXPECT_EQ(a[r].cells[k].cut, b[r].cells[k].cut) << name << " cell " << k;
            EXPECT_EQ(a[r].cells[k].tie, b[r].cells[k].tie) << name << " cell " << k;
            EXPECT_EQ(a[r].cells[k].axis, b[r].cells[k].axis) << name << " cell " << k;
        }
    }
}

inline int32_t no_rank(int) {
    return no_device;
}
inline int32_t every_rank(int) {
    return device_by_rank;
}

} // namespace device_runs
