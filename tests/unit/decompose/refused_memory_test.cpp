// SPDX-License-Identifier: BSD-3-Clause
// Memory refused to one rank, at every allocation in turn: every strategy ends with one status on all ranks,
// nobody waits, and the communicator stays good.
#include "sets_on_ranks.hpp"

#include <atomic>
#include <cstdlib>

using namespace sets;

namespace {

/// Refuses allocation number `refused` (from 0); counts all.
struct Stingy {
    int64_t refused = -1, asked = 0;
    core::Allocator allocator() {
        return {this,
                [](void* user, int64_t bytes, int64_t alignment) -> void* {
                    Stingy& self = *static_cast<Stingy*>(user);
                    if (self.asked++ == self.refused)
                        return nullptr;
                    const int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
                    return std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded));
                },
                [](void*, void* pointer, int64_t) { std::free(pointer); }};
    }
};

/// Allocation `refused` of rank `poor` fails. Returns how many allocations that rank made.
int64_t sweep_once(const Options& options, const Borders& border, const oracle::Set& set, int poor,
                   int64_t refused) {
    const int ranks = static_cast<int>(border.size()) - 1;
    std::atomic<int64_t> asked{0};
    std::atomic<int> failed{0};
    comm::run_ranks(
        ranks,
        [&](comm::Communicator& comm) {
            Stingy stingy;
            if (comm.rank() == poor)
                stingy.refused = refused;
            {
                core::Memory memory(stingy.allocator());
                const backend::Executor executor{memory, 1};
                Decomposer decomposer(memory);
                Result result(memory);
                const auto r = static_cast<size_t>(comm.rank());
                try {
                    decomposer.run(comm, executor, options, share_of(set, border[r], border[r + 1]), false,
                                   result);
                } catch (const core::Error& error) {
                    EXPECT_EQ(error.status(), core::Status::memory) << error.what();
                    ++failed;
                }
                EXPECT_EQ(comm.sum(int64_t{1}), ranks); // still good
                if (comm.rank() == poor)
                    asked = stingy.asked;
            }
        },
        20);
    EXPECT_EQ(failed, refused >= 0 && refused < asked ? ranks : 0)
        << "allocation " << refused << " of rank " << poor;
    return asked;
}

/// lopsided: nearly all points end in one part, so that ranks have to ask for memory between the halvings.
void sweep(Options options, int ranks, bool lopsided = false) {
    oracle::Set set = make(Kind::clustered, 1500, 3, true);
    add_costs(set, 4, 1);
    for (size_t i = 0; lopsided && i < 1500; i += 150) {
        set.x[i] = 5 + static_cast<double>(i);
        set.cost[i] = 1e9;
    }
    options.parts = ranks;
    for (const Borders& border : {even(1500, ranks), all_on(1500, ranks, 1)})
        for (const int poor : {0, 1, ranks - 1}) {
            const int64_t all = sweep_once(options, border, set, poor, -1);
            EXPECT_TRUE(all > 0 || border[1] == 0); // a rank without points may need no memory
            for (int64_t refused = 0; refused < all; ++refused)
                sweep_once(options, border, set, poor, refused);
        }
}

} // namespace

TEST(RefusedMemory, Halving) {
    Options options;
    options.strategy = Strategy::halving;
    options.threshold_b = 16;
    for (const int64_t a : {0, 400}) {
        options.threshold_a = a;
        sweep(options, 5);
        sweep(options, 8, true);
    }
}

TEST(RefusedMemory, Central) {
    Options options;
    options.strategy = Strategy::central;
    sweep(options, 5);
}

TEST(RefusedMemory, Prefix) {
    Options options;
    options.shape = Shape::prefix;
    options.threshold_b = 16;
    for (const Strategy strategy : {Strategy::central, Strategy::halving, Strategy::level}) {
        options.strategy = strategy;
        sweep(options, 5);
    }
}
