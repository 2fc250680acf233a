// SPDX-License-Identifier: BSD-3-Clause
// A mesh code that balances patches instead of particles: centres and measured loads in, new owners out. One
// patch is heavier than a whole rank should be: Graft offers it for splitting.
#include <graft/graft.hpp>

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int ranks = 3, patches = 32; // a rank

struct Patches {
    std::vector<double> x, y, z, load, bytes;
    std::vector<int64_t> id;
    std::vector<int32_t> owner;
    void add(double centre_x, double centre_y, double work, int64_t number) {
        x.push_back(centre_x), y.push_back(centre_y), z.push_back(0.5);
        load.push_back(work), bytes.push_back(64 * 64 * 8), id.push_back(number), owner.push_back(-1);
    }
};

/// Rank r has an 8 x 4 block of a plane of patches; work piles up at the origin, most of all in patch 0.
Patches block_of(int rank) {
    Patches p;
    for (int k = 0; k < patches; ++k) {
        const double x = k % 8 + 0.5, y = 4 * rank + k / 8 + 0.5;
        const bool hot = rank == 0 && k == 0;
        p.add(x, y, hot ? 250 : 1 + 8 / (1 + x * x + y * y), patches * rank + k);
    }
    return p;
}

std::string run(const graft::Library& library, const graft::Communicator& comm, double& before,
                double& after) {
    graft::Context context(graft::Options(library).set("balance.method", "orb-distributed"));
    context.set_communicator(comm);
    Patches p = block_of(comm.rank());
    int64_t heavy = -1;
    int32_t pieces = 0;
    graft::Objects objects;
    objects.centres(p.x, p.y, p.z).loads(p.load).bytes(p.bytes).ids(p.id).owners(p.owner);
    objects.split([&](int64_t object, double load, double mean) {
        heavy = object;
        return pieces = static_cast<int32_t>(std::ceil(4 * load / mean));
    });
    context.balance_objects(objects);
    before = context.query("balance.before.imbalance_work");
    if (heavy >= 0) { // the pieces are objects of the next call
        const double x = p.x[static_cast<std::size_t>(heavy)], y = p.y[static_cast<std::size_t>(heavy)];
        p.load[static_cast<std::size_t>(heavy)] /= pieces;
        for (int k = 1; k < pieces; ++k)
            p.add(x + 0.4 * std::cos(k), y + 0.4 * std::sin(k), p.load[static_cast<std::size_t>(heavy)],
                  1000 + k);
    }
    graft::Objects again;
    again.centres(p.x, p.y, p.z).loads(p.load).bytes(p.bytes).ids(p.id).owners(p.owner);
    const std::string decision = context.balance_objects(again);
    after = context.query("balance.after.imbalance_work");
    return decision;
}

} // namespace

int main() try {
    const graft::Library library = graft::Library::load();
    const std::vector<graft::Communicator> comms = graft::Communicator::threads(library, ranks);
    std::vector<std::string> decision(ranks);
    std::vector<double> before(ranks), after(ranks);
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            try {
                decision[r] = run(library, comms[r], before[r], after[r]);
            } catch (const std::exception& error) {
                decision[r] = error.what();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    std::printf("%s: the busiest rank had %.2f times the mean work, and will have %.2f times\n",
                decision[0].c_str(), before[0], after[0]);
    return decision[0] == "taken" && decision[2] == "taken" && before[0] > 2 && after[0] < 1.25 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
