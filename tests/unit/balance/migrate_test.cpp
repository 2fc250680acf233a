// SPDX-License-Identifier: BSD-3-Clause
// Migration: any layout, nothing lost or doubled, the way back bit for bit, failures that leave no trace.
#include "balance/migrate.hpp"
#include "study/simulate/simulated_ranks.hpp"

#include "ranks.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <random>

namespace graft::balance {
namespace {

using particles::ArrayView;
using particles::ElementType;
using test::on_ranks;
using test::Rank;

/// Bytes that item `id` has in component c of field f: any pattern, told apart for all.
uint64_t value_of(int64_t id, int field, int component) {
    uint64_t v =
        static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(field * 131 + component);
    v ^= v >> 29;
    return v * 0xbf58476d1ce4e5b9u;
}

/// An owner of n items' fields in one layout, filled with a guard value.
struct Fields {
    std::vector<std::vector<char>> storage;
    std::vector<ArrayView> views;
    static constexpr char guard = 0x5a;

    void add(ElementType type, int32_t components, int64_t n, int64_t item_stride, int64_t component_stride,
             int64_t offset = 0) {
        const int64_t bytes = offset + n * item_stride + components * component_stride + 64;
        storage.emplace_back(static_cast<size_t>(bytes), guard);
        views.push_back({storage.back().data() + offset, type, components, n, item_stride, component_stride});
    }
    void fill(const std::vector<int64_t>& ids) {
        for (size_t f = 0; f < views.size(); ++f)
            for (size_t i = 0; i < ids.size(); ++i)
                for (int32_t c = 0; c < views[f].components; ++c) {
                    const uint64_t v = value_of(ids[i], static_cast<int>(f), c);
                    std::memcpy(views[f].at(static_cast<int64_t>(i), c), &v,
                                static_cast<size_t>(particles::element_size(views[f].type)));
                }
    }
    /// Whether every element is what its item's id demands, with ids from an I64 field.
    void expect_values(const std::vector<int64_t>& ids) const {
        for (size_t f = 0; f < views.size(); ++f) {
            ASSERT_EQ(views[f].n, static_cast<int64_t>(ids.size()));
            for (size_t i = 0; i < ids.size(); ++i)
                for (int32_t c = 0; c < views[f].components; ++c) {
                    const uint64_t v = value_of(ids[i], static_cast<int>(f), c);
                    ASSERT_EQ(0, std::memcmp(views[f].at(static_cast<int64_t>(i), c), &v,
                                             static_cast<size_t>(particles::element_size(views[f].type))))
                        << "field " << f << " item " << i << " component " << c;
                }
        }
    }
    bool untouched() const {
        for (const auto& bytes : storage)
            for (const char byte : bytes)
                if (byte != guard)
                    return false;
        return true;
    }
};

/// Every layout a host may have; `kind` chooses how each field lies.
Fields all_layouts(int64_t n, int kind) {
    Fields fields;
    const int64_t soa = 8 * std::max<int64_t>(1, n);
    const bool aos = kind % 2 == 0;
    fields.add(ElementType::f64, 3, n, aos ? 24 : 8, aos ? 8 : soa);     // xyz
    fields.add(ElementType::f64, 4, n, 32, 8);                           // xyzh(4, n)
    fields.add(ElementType::f32, 3, n, aos ? 112 : 12, 4, aos ? 20 : 0); // in a 112-byte struct
    fields.add(ElementType::i64, 1, n, aos ? 112 : 8, 8, aos ? 48 : 0);  // ids there
    fields.add(ElementType::i32, 1, n, 4, 4);
    fields.add(ElementType::u64, 2, n, aos ? 16 : 8, aos ? 8 : soa);
    fields.add(ElementType::f32, 5, n, 24, 4); // padded to 24
    return fields;
}

std::vector<int64_t> ids_of(int rank, int64_t n) {
    std::vector<int64_t> ids(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
        ids[static_cast<size_t>(i)] = rank * int64_t{1000003} + i;
    return ids;
}

/// Owners of one rank's items in one of several patterns.
std::vector<int32_t> owners(int pattern, int rank, int size, int64_t n) {
    std::mt19937 random(static_cast<unsigned>(100 * pattern + rank));
    std::vector<int32_t> result(static_cast<size_t>(n));
    for (size_t i = 0; i < result.size(); ++i)
        switch (pattern) {
        case 0:
            result[i] = static_cast<int32_t>(random() % static_cast<unsigned>(size));
            break;
        case 1:
            result[i] = size - 1;
            break; // all to one
        case 2:
            result[i] = rank;
            break; // all stay
        case 3:
            result[i] = (rank + 1) % size;
            break; // all to the next
        case 4:
            result[i] = i < result.size() / 3 ? 0 : rank;
            break; // runs
        default:
            result[i] = static_cast<int32_t>(i) % size;
            break;
        }
    return result;
}

int64_t items_on(int rank, int pattern) {
    return rank % 3 == 1 ? 0 : 700 + 37 * rank + 10 * pattern; // some ranks have none
}

/// What must arrive on `rank`: from rank 0 on, each in its order.
std::vector<int64_t> expected_ids(int pattern, int rank, int size) {
    std::vector<int64_t> result;
    for (int from = 0; from < size; ++from) {
        const int64_t n = items_on(from, pattern);
        const std::vector<int64_t> ids = ids_of(from, n);
        const std::vector<int32_t> owner = owners(pattern, from, size, n);
        for (size_t i = 0; i < ids.size(); ++i)
            if (owner[i] == rank)
                result.push_back(ids[i]);
    }
    return result;
}

void move_there_and_back(Rank& rank, int pattern, int64_t send_bytes) {
    const int64_t n = items_on(rank.rank(), pattern);
    const std::vector<int64_t> ids = ids_of(rank.rank(), n);
    const std::vector<int32_t> owner = owners(pattern, rank.rank(), rank.size(), n);
    Fields before = all_layouts(n, rank.rank());
    before.fill(ids);
    Migration migration(rank.memory, send_bytes);
    migration.plan(rank.comm, rank.executor, owner.data(), n);
    const std::vector<int64_t> expected = expected_ids(pattern, rank.rank(), rank.size());
    ASSERT_EQ(migration.count_before(), n);
    ASSERT_EQ(migration.count_after(), static_cast<int64_t>(expected.size()));
    EXPECT_EQ(rank.comm.sum(migration.count_before()), rank.comm.sum(migration.count_after()));
    Fields after = all_layouts(migration.count_after(), rank.rank() + pattern);
    const int count = static_cast<int>(before.views.size());
    migration.forward(rank.comm, rank.executor, count, before.views.data(), after.views.data());
    after.expect_values(expected);
    int64_t leaving = 0;
    for (const int32_t to : owner)
        leaving += to != rank.rank() ? 1 : 0;
    EXPECT_EQ(migration.items_moved(), leaving);
    EXPECT_EQ(migration.bytes_moved(), leaving * (24 + 32 + 12 + 8 + 4 + 16 + 20));
    Fields undone = all_layouts(n, rank.rank());
    migration.back(rank.comm, rank.executor, count, after.views.data(), undone.views.data());
    undone.expect_values(ids);
    EXPECT_EQ(undone.storage, before.storage); // gaps between fields included: never written
}

TEST(Migration, AllLayoutsThereAndBack) {
    for (const int size : {1, 2, 3, 5, 8})
        for (int pattern = 0; pattern < 6; ++pattern)
            on_ranks(size, [&](Rank& rank) { move_there_and_back(rank, pattern, 16 << 20); });
}

TEST(Migration, SmallSendBuffersChangeNothing) {
    for (const int64_t bytes : {int64_t{1}, int64_t{1000}, int64_t{20000}})
        for (int pattern = 0; pattern < 4; ++pattern)
            on_ranks(4, [&](Rank& rank) { move_there_and_back(rank, pattern, bytes); });
}

TEST(Migration, NoItemsAtAllAndNoFields) {
    on_ranks(3, [](Rank& rank) {
        Migration migration(rank.memory);
        migration.plan(rank.comm, rank.executor, nullptr, 0);
        EXPECT_EQ(migration.count_after(), 0);
        ArrayView nothing;
        migration.forward(rank.comm, rank.executor, 1, &nothing, &nothing);
        migration.forward(rank.comm, rank.executor, 0, nullptr, nullptr);
        EXPECT_EQ(migration.bytes_moved(), 0);
    });
}

TEST(Migration, CallerFields) {
    on_ranks(4, [](Rank& rank) {
        const int64_t n = items_on(rank.rank(), 0);
        const std::vector<int32_t> owner = owners(0, rank.rank(), rank.size(), n);
        Migration migration(rank.memory);
        migration.plan(rank.comm, rank.executor, owner.data(), n);
        const std::vector<int64_t> expected = expected_ids(0, rank.rank(), rank.size());
        Fields fields = all_layouts(std::max(n, migration.count_after()), 0);
        for (ArrayView& view : fields.views)
            view.n = n;
        fields.fill(ids_of(rank.rank(), n));
        std::vector<ArrayView> after = fields.views;
        for (ArrayView& view : after)
            view.n = migration.count_after();
        const int count = static_cast<int>(after.size());
        migration.forward(rank.comm, rank.executor, count, fields.views.data(), after.data());
        fields.views = after;
        fields.expect_values(expected);
    });
}

TEST(Migration, ChecksumsOverRanks) {
    on_ranks(7, [](Rank& rank) {
        const int64_t n = 5000 * (rank.rank() % 3);
        std::mt19937 random(static_cast<unsigned>(rank.rank()));
        std::vector<int32_t> owner(static_cast<size_t>(n));
        for (int32_t& to : owner)
            to = static_cast<int32_t>(random() % 7);
        const std::vector<int64_t> ids = ids_of(rank.rank(), n);
        Migration migration(rank.memory);
        migration.plan(rank.comm, rank.executor, owner.data(), n);
        std::vector<int64_t> arrived(static_cast<size_t>(migration.count_after()));
        const ArrayView from{
            reinterpret_cast<char*>(const_cast<int64_t*>(ids.data())), ElementType::i64, 1, n, 8, 8};
        const ArrayView to{
            reinterpret_cast<char*>(arrived.data()), ElementType::i64, 1, migration.count_after(), 8, 8};
        migration.forward(rank.comm, rank.executor, 1, &from, &to);
        uint64_t sums[2][2] = {};
        for (const int64_t id : ids)
            sums[0][0] += static_cast<uint64_t>(id), sums[0][1] += value_of(id, 1, 1);
        for (const int64_t id : arrived)
            sums[1][0] += static_cast<uint64_t>(id), sums[1][1] += value_of(id, 1, 1);
        rank.comm.allreduce(&sums[0][0], 4, comm::Operation::sum);
        EXPECT_EQ(sums[0][0], sums[1][0]);
        EXPECT_EQ(sums[0][1], sums[1][1]);
    });
}

TEST(Migration, BadOwnerOnOneRankIsAnErrorOnAll) {
    for (const int32_t bad : {-1, 3, INT32_MAX, INT32_MIN})
        on_ranks(3, [&](Rank& rank) {
            std::vector<int32_t> owner(100, 0);
            if (rank.rank() == 1)
                owner[17] = owner[40] = bad;
            Migration migration(rank.memory);
            const auto [status, text] =
                test::error_of([&] { migration.plan(rank.comm, rank.executor, owner.data(), 100); });
            EXPECT_EQ(status, core::Status::value);
            EXPECT_NE(text.find("item 17"), std::string::npos) << text;
            EXPECT_NE(text.find(std::to_string(bad)), std::string::npos) << text;
            owner.assign(100, rank.rank()); // and the communicator is good
            migration.plan(rank.comm, rank.executor, owner.data(), 100);
            EXPECT_EQ(migration.count_after(), 100);
        });
}

TEST(Migration, RefusedAllocationOnOneRankLeavesOutputsUntouched) {
    std::atomic<int> completed = 0; // ranks are threads
    for (int64_t allowed = 0; allowed < 40 && completed == 0; ++allowed)
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            test::Refusing refusing{comm.rank() == 2 ? allowed : INT64_MAX};
            core::Memory memory(refusing.allocator());
            const backend::Executor executor{memory, 1};
            const std::vector<int32_t> owner = owners(0, comm.rank(), 3, 500);
            Fields before = all_layouts(500, 0), after;
            before.fill(ids_of(comm.rank(), 500));
            Migration migration(memory);
            const auto [status, text] = test::error_of([&] {
                migration.plan(comm, executor, owner.data(), 500);
                after = all_layouts(migration.count_after(), 0);
                migration.forward(comm, executor, 7, before.views.data(), after.views.data());
            });
            if (status == core::Status::ok) {
                completed += comm.rank() == 0 ? 1 : 0;
                EXPECT_GT(allowed, 4);
            } else {
                EXPECT_EQ(status, core::Status::memory) << text;
                EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
                EXPECT_TRUE(after.untouched());
            }
            EXPECT_EQ(comm.poison(), "");
        });
    EXPECT_EQ(completed, 1);
}

TEST(Migration, ViewsThatDoNotFitAreRefusedEverywhere) {
    on_ranks(2, [](Rank& rank) {
        const std::vector<int32_t> owner(10, 1 - rank.rank());
        Migration migration(rank.memory);
        std::vector<double> a(10), b(10, 7.0);
        const auto view = [](std::vector<double>& v, int64_t n, ElementType type = ElementType::f64) {
            return ArrayView{reinterpret_cast<char*>(v.data()), type, 1, n, 8, 8};
        };
        const auto forward = [&](ArrayView from, ArrayView to, int fields = 1) {
            return test::error_of([&] { migration.forward(rank.comm, rank.executor, fields, &from, &to); })
                .first;
        };
        EXPECT_EQ(forward(view(a, 10), view(b, 10)), core::Status::call_order);
        migration.plan(rank.comm, rank.executor, owner.data(), 10);
        const bool bad = rank.rank() == 1;
        EXPECT_EQ(forward(view(a, bad ? 9 : 10), view(b, 10)), core::Status::array);
        EXPECT_EQ(forward(view(a, 10), view(b, 10, bad ? ElementType::i64 : ElementType::f64)),
                  core::Status::array);
        const ElementType other = bad ? ElementType::u64 : ElementType::f64;
        EXPECT_EQ(forward(view(a, 10, other), view(b, 10, other)), core::Status::argument);
        EXPECT_EQ(forward(view(a, 10), view(b, 10), bad ? 0 : 1), core::Status::argument);
        EXPECT_EQ(b, std::vector<double>(10, 7.0));
        EXPECT_EQ(forward(view(a, 10), view(b, 10)), core::Status::ok);
        EXPECT_EQ(b, std::vector<double>(10, 0.0));
    });
}

/// Most bytes that a rank of `ranks` simulated ones holds when each sends some items to its two neighbours.
int64_t bytes_of_a_rank(int ranks) {
    study::SimulatorOptions options;
    options.ranks = ranks;
    options.gamma_s = 0;
    study::Simulator simulator(options);
    simulator.run([](comm::Communicator& comm, core::Memory& memory) {
        const backend::Executor executor{memory, 1};
        std::vector<int32_t> owner(96);
        std::vector<int64_t> id(96);
        for (int i = 0; i < 96; ++i) {
            owner[static_cast<size_t>(i)] = (comm.rank() + i % 3 + comm.size() - 1) % comm.size();
            id[static_cast<size_t>(i)] = 96 * comm.rank() + i;
        }
        Migration migration(memory);
        migration.plan(comm, executor, owner.data(), 96);
        std::vector<int64_t> arrived(static_cast<size_t>(migration.count_after()));
        const auto view = [](std::vector<int64_t>& v) {
            return ArrayView{
                reinterpret_cast<char*>(v.data()), ElementType::i64, 1, static_cast<int64_t>(v.size()), 8, 8};
        };
        const ArrayView from = view(id), to = view(arrived);
        migration.forward(comm, executor, 1, &from, &to);
        EXPECT_EQ(arrived.size(), 96u);
        int64_t sums[2] = {0, 0};
        for (const int64_t value : id)
            sums[0] += value;
        for (const int64_t value : arrived)
            sums[1] += value;
        comm.allreduce(sums, 2, comm::Operation::sum);
        EXPECT_EQ(sums[0], sums[1]);
    });
    return simulator.report().rank_bytes_peak;
}

TEST(Migration, NoRankHoldsMoreOnMoreRanks) {
    const int64_t few = bytes_of_a_rank(1200), many = bytes_of_a_rank(3600);
    EXPECT_GT(few, 0);
    EXPECT_EQ(few, many);
}

TEST(OwnerSorter, ManyRanksAsFew) {
    core::Memory memory;
    const backend::Executor executor{memory, 2};
    OwnerSorter sorter(memory);
    std::mt19937 random(1);
    for (const int32_t ranks : {1, 2, 1000, 1024, 1025, 100000}) {
        std::vector<int32_t> owner(70000);
        for (int32_t& to : owner)
            to = static_cast<int32_t>(random() % static_cast<unsigned>(ranks));
        core::Buffer<int32_t> order(memory);
        Shares shares(memory);
        sorter.sort(executor, owner.data(), static_cast<int64_t>(owner.size()), ranks, order, shares);
        std::map<int32_t, std::vector<int32_t>> expected;
        for (size_t i = 0; i < owner.size(); ++i)
            expected[owner[i]].push_back(static_cast<int32_t>(i));
        ASSERT_EQ(shares.size(), static_cast<int64_t>(expected.size()));
        int64_t k = 0, position = 0;
        for (const auto& [rank, items] : expected) {
            ASSERT_EQ(shares.rank[k], rank);
            ASSERT_EQ(shares.count[k++], static_cast<int64_t>(items.size()));
            for (const int32_t item : items)
                ASSERT_EQ(order[position++], item);
        }
    }
}

} // namespace
} // namespace graft::balance
