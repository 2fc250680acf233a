// SPDX-License-Identifier: BSD-3-Clause
// Every collective entry of the ABI, broken on one rank at every place in turn: at each call of the
// communicator before and after it has completed, and at each allocation. All ranks return the same status,
// nobody hangs, and outputs are written everywhere or nowhere.
#include "faulty_comm.hpp"
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string>

using namespace graft;
using namespace graft::test;

namespace {

constexpr int size = 3;
constexpr size_t n = 40; // particles a rank

/// One rank's arguments for every entry; outputs are -1 until they are written.
struct Host {
    explicit Host(int rank)
        : bodies(share_of(plummer(size * n), rank, size)), field(n, -1), call(bodies, field), id(n),
          cost(n, 1.0), owner(n, -1), order(n, -1), offset(size + 1, -1), box(6 * size, -1), to(n) {
        for (size_t i = 0; i < n; ++i) {
            id[i] = static_cast<int64_t>(i) + static_cast<int64_t>(n) * rank;
            to[i] = static_cast<int32_t>(i % size); // known in advance: every rank gets some of each
        }
        if (rank == 0)
            cost.assign(n, 5.0);
        call.particles.id = &views[0];
        call.particles.cost = &views[1];
        decomposition.struct_size = sizeof decomposition;
        decomposition.owner = &views[2];
        decomposition.permutation = &views[3];
        decomposition.part_offset = &views[4];
        decomposition.boxes = &views[5];
        balancing.struct_size = sizeof balancing;
        balancing.owner = &views[2];
        objects.struct_size = sizeof objects;
        objects.n = n;
        for (int a = 0; a < 3; ++a)
            objects.position[a] = &call.arrays[a];
        objects.load = &views[1];
        objects.owner = &views[2];
        field.energy = -1;
        field.virial.fill(-1);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// How many of the outputs hold something else than -1.
    size_t written() const {
        size_t count = field.energy != -1;
        const auto add = [&](const auto& values) {
            for (const auto& value : values)
                count += value != -1 ? 1 : 0;
        };
        add(field.ax), add(field.potential), add(field.virial);
        add(owner), add(order), add(offset), add(box), add(moved);
        return count + (n_after != -1 ? 1 : 0);
    }

    Bodies bodies;
    Field field;
    Call call;
    std::vector<int64_t> id;
    std::vector<double> cost;
    std::vector<int32_t> owner, order;
    std::vector<int64_t> offset;
    std::vector<double> box;
    std::vector<int32_t> to;
    int64_t n_after = -1;
    std::vector<int64_t> moved = std::vector<int64_t>(2 * size * n, -1);
    graft_array views[6] = {array_of(id.data(), GRAFT_I64, n),
                            array_of(cost),
                            array_of(owner),
                            array_of(order),
                            array_of(offset.data(), GRAFT_I64, size + 1),
                            array_of(box.data(), GRAFT_F64, size, 6)};
    graft_decomposition decomposition{};
    graft_balancing balancing{};
    graft_objects objects{};
};

/// An entry, with what must have happened before it (not broken in the sweep over allocations).
struct Entry {
    const char* name;
    int32_t (*prepare)(graft_context*, Host&);
    int32_t (*run)(graft_context*, Host&);
    capi::Options (*options)();
};

int32_t nothing(graft_context*, Host&) {
    return GRAFT_OK;
}
int32_t compute(graft_context* context, Host& host) {
    return capi::compute(context, &host.call.particles, &host.call.results);
}
int32_t field_at(graft_context* context, Host& host) {
    graft_results results = host.call.results;
    results.virial = results.energy = nullptr;
    return capi::field_at(context, &host.call.particles, &host.call.particles, &results);
}
int32_t decompose(graft_context* context, Host& host) {
    return capi::decompose(context, &host.call.particles, &host.decomposition);
}
int32_t decompose_only(graft_context* context, Host& host) {
    graft_decomposition none{};
    none.struct_size = sizeof none;
    return capi::decompose(context, &host.call.particles, &none);
}
int32_t owner_of(graft_context* context, Host& host) {
    return capi::owner_of(context, &host.call.particles, &host.views[2]);
}
int32_t balance(graft_context* context, Host& host) {
    return capi::balance(context, &host.call.particles, &host.balancing);
}
int32_t balance_objects(graft_context* context, Host& host) {
    return capi::balance_objects(context, &host.objects);
}
int32_t migrate_plan(graft_context* context, Host& host) {
    const graft_array to = array_of(host.to);
    return capi::migrate_plan(context, &to, &host.n_after);
}
int32_t migrate_plan_only(graft_context* context, Host& host) {
    const graft_array to = array_of(host.to);
    int64_t n_after = 0;
    return capi::migrate_plan(context, &to, &n_after);
}
int32_t migrate(graft_context* context, Host& host) {
    double n_after = 0;
    if (const int32_t status = capi::query(context, "migrate.count_after", &n_after))
        return status;
    const auto count = static_cast<int64_t>(n_after);
    const graft_array to = array_of(host.moved.data(), GRAFT_I64, count);
    const graft_array *from[1] = {&host.views[0]}, *into[1] = {&to};
    return capi::migrate(context, 1, from, into);
}

capi::Options with(settings::Method method, settings::TreeScope scope, settings::Exchange exchange) {
    capi::Options o = options(method);
    o.engine.tree_scope = scope;
    o.engine.exchange = exchange;
    o.asked.leaf = o.asked.group = 8;
    return o;
}
capi::Options tree() {
    return with(settings::Method::tree, settings::TreeScope::local, settings::Exchange::push);
}
capi::Options global_tree() {
    return with(settings::Method::tree, settings::TreeScope::global, settings::Exchange::push);
}
capi::Options fetching_tree() {
    return with(settings::Method::tree, settings::TreeScope::local, settings::Exchange::fetch);
}
capi::Options direct() {
    return with(settings::Method::direct, settings::TreeScope::local, settings::Exchange::push);
}
capi::Options strategy(decompose::Strategy chosen, decompose::Shape shape) {
    capi::Options o = options(settings::Method::tree);
    o.balance.decompose.strategy = chosen;
    o.balance.decompose.shape = shape;
    o.balance.decompose.threshold_a = 8;
    o.balance.cost = balance::CostSource::given;
    o.balance.fuzzy = 1;
    return o;
}
capi::Options level() {
    return strategy(decompose::Strategy::level, decompose::Shape::orb);
}
capi::Options halving() {
    return strategy(decompose::Strategy::halving, decompose::Shape::orb);
}
capi::Options central() {
    return strategy(decompose::Strategy::central, decompose::Shape::orb);
}
capi::Options prefix() {
    return strategy(decompose::Strategy::level, decompose::Shape::prefix);
}
capi::Options central_balance() {
    capi::Options o = level();
    o.balance.fuzzy = 0; // swaps across the cuts of an ORB
    o.balance.kind = balance::Kind::prefix_central;
    return o;
}

const Entry entries[] = {
    {"compute, tree", nothing, compute, tree},
    {"compute, global tree", nothing, compute, global_tree},
    {"compute, fetching tree", nothing, compute, fetching_tree},
    {"compute, direct", nothing, compute, direct},
    {"field_at", nothing, field_at, tree},
    {"decompose, level", nothing, decompose, level},
    {"decompose, halving", nothing, decompose, halving},
    {"decompose, central", nothing, decompose, central},
    {"decompose, prefix", nothing, decompose, prefix},
    {"owner_of, level", decompose_only, owner_of, level},
    {"owner_of, halving", decompose_only, owner_of, halving},
    {"balance", nothing, balance, level},
    {"balance, prefix central", nothing, balance, central_balance},
    {"balance_objects", nothing, balance_objects, level},
    {"migrate_plan", nothing, migrate_plan, level},
    {"migrate", migrate_plan_only, migrate, level},
};

/// What one rank has seen of one call.
struct Seen {
    int32_t status = -1;
    size_t written = 0;
    int32_t next_status = -1; // of another collective call afterwards
    std::string error;
};

struct Outcome {
    std::vector<Seen> seen = std::vector<Seen>(size);
    double elapsed_s = 0;
};

/// Refuses call number `refuse` from its creation on.
struct Refusal {
    std::atomic<int64_t> calls{0}, refuse{-1};
    graft_allocator c() {
        graft_allocator a{};
        a.struct_size = sizeof a;
        a.user = this;
        a.allocate = [](void* user, int64_t bytes, int64_t alignment) -> void* {
            auto& me = *static_cast<Refusal*>(user);
            if (me.calls.fetch_add(1) == me.refuse)
                return nullptr;
            return std::aligned_alloc(static_cast<size_t>(alignment),
                                      (static_cast<size_t>(bytes) + 63) / 64 * 64);
        };
        a.release = [](void*, void* pointer, int64_t) { std::free(pointer); };
        return a;
    }
};

class Faults : public testing::TestWithParam<Entry> {
  protected:
    /// A rank of one run. `next`: whether all ranks then try a small call, to see what became of the context.
    void rank_of(graft_comm_v1* table, Outcome& run, Refusal* refusal, bool next) {
        const Entry& entry = GetParam();
        Seen& seen = run.seen[static_cast<size_t>(table->rank)];
        const graft_allocator allocator = refusal != nullptr ? refusal->c() : graft_allocator{};
        Context context(entry.options(), refusal != nullptr ? &allocator : nullptr);
        Host host(table->rank);
        seen.status = context.status;
        if (seen.status == GRAFT_OK)
            seen.status = capi::context_set_communicator(context, table);
        if (seen.status == GRAFT_OK)
            seen.status = entry.prepare(context, host);
        if (seen.status == GRAFT_OK)
            seen.status = entry.run(context, host);
        seen.error = seen.status == GRAFT_OK ? "" : capi::last_error();
        seen.written = host.written();
        if (refusal != nullptr)
            refusal->refuse = -1;
        if (next)
            seen.next_status = migrate_plan_only(context, host);
    }

    /// The same status on all ranks, outputs everywhere or nowhere.
    void expect_agreement(const Outcome& run, const std::string& where, const std::vector<size_t>& complete) {
        for (size_t r = 0; r < size; ++r) {
            EXPECT_EQ(run.seen[r].status, run.seen[0].status)
                << where << ": rank " << r << " says '" << run.seen[r].error << "', rank 0 '"
                << run.seen[0].error << "'";
            EXPECT_EQ(run.seen[r].written, run.seen[r].status == GRAFT_OK ? complete[r] : 0)
                << where << ": outputs of rank " << r << ", status " << run.seen[r].status;
        }
        EXPECT_LT(run.elapsed_s, 8) << where << ": waited for the deadline";
    }

    template <typename Body>
    static double seconds_of(Body&& body) {
        const auto start = std::chrono::steady_clock::now();
        body();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
};

TEST_P(Faults, EveryCallOfTheCommunicatorBreaksOnce) {
    Outcome run;
    std::vector<size_t> complete;
    int64_t broken = 0;
    const auto body = [&](graft_comm_v1* table) { rank_of(table, run, nullptr, false); };
    const FaultyRun clean = run_faulty(size, -1, 0, FaultTime::before, body);
    for (const Seen& seen : run.seen) {
        ASSERT_EQ(seen.status, GRAFT_OK) << seen.error;
        complete.push_back(seen.written);
        ASSERT_GT(seen.written, 0u);
    }
    const auto with_next = [&](graft_comm_v1* table) { rank_of(table, run, nullptr, true); };
    for (int rank = 0; rank < size; ++rank)
        for (int64_t at = 1; at <= clean.faults[static_cast<size_t>(rank)]->calls; ++at)
            for (const FaultTime time : {FaultTime::before, FaultTime::after}) {
                run = Outcome();
                run.elapsed_s = seconds_of([&] { run_faulty(size, rank, at, time, with_next); });
                const std::string where =
                    std::string(GetParam().name) + ", rank " + std::to_string(rank) + ", " +
                    (time == FaultTime::before ? "before " : "after ") +
                    clean.faults[static_cast<size_t>(rank)]->names[static_cast<size_t>(at - 1)] + " " +
                    std::to_string(at) + " of " +
                    std::to_string(clean.faults[static_cast<size_t>(rank)]->calls);
                expect_agreement(run, where, complete);
                for (const Seen& seen : run.seen) {
                    EXPECT_TRUE(seen.status == GRAFT_OK || seen.status == GRAFT_ERROR_COMMUNICATION)
                        << where << ": " << seen.status;
                    EXPECT_EQ(seen.next_status, GRAFT_ERROR_COMMUNICATION)
                        << where << ": the context is poisoned";
                }
                ++broken;
                if (HasFailure())
                    return;
            }
    RecordProperty("broken_calls", static_cast<int>(broken));
}

TEST_P(Faults, EveryAllocationOfOneRankIsRefusedOnce) {
    Outcome run;
    std::vector<size_t> complete;
    const FaultyRun clean = run_faulty(size, -1, 0, FaultTime::before,
                                       [&](graft_comm_v1* table) { rank_of(table, run, nullptr, false); });
    for (const Seen& seen : run.seen) {
        ASSERT_EQ(seen.status, GRAFT_OK) << seen.error;
        complete.push_back(seen.written);
    }
    for (int rank = 0; rank < size; ++rank) {
        bool succeeded = false;
        for (int64_t k = 0; !succeeded && k < 2000; ++k) {
            run = Outcome();
            Refusal refusals[size];
            refusals[rank].refuse = k;
            run.elapsed_s = seconds_of([&] {
                run_faulty(size, -1, 0, FaultTime::before,
                           [&](graft_comm_v1* table) { rank_of(table, run, &refusals[table->rank], true); });
            });
            const std::string where = std::string(GetParam().name) + ", allocation " + std::to_string(k) +
                                      " of rank " + std::to_string(rank);
            succeeded = run.seen[0].status == GRAFT_OK;
            expect_agreement(run, where, complete);
            for (const Seen& seen : run.seen) {
                EXPECT_TRUE(succeeded || seen.status == GRAFT_ERROR_MEMORY) << where << ": " << seen.error;
                EXPECT_EQ(seen.next_status, GRAFT_OK) << where << ": the context is as good as new";
            }
            if (HasFailure())
                return;
        }
        EXPECT_TRUE(succeeded);
    }
}

INSTANTIATE_TEST_SUITE_P(Entries, Faults, testing::ValuesIn(entries), [](const auto& info) {
    std::string name;
    for (const char* c = info.param.name; *c != '\0'; ++c)
        if (std::isalnum(static_cast<unsigned char>(*c)))
            name += *c;
    return name;
});

} // namespace
