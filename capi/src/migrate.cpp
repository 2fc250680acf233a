// SPDX-License-Identifier: BSD-3-Clause
// migrate_plan, migrate and migrate_back: the host's fields to their new owners, and back.
#include "context.hpp"
#include "entries.hpp"

#include "particles/import_arrays.hpp"

#include <vector>

namespace graft::capi {

using core::fail;
using core::Status;
using particles::ArrayView;

namespace {

constexpr int32_t most_fields = 4096;

/// The owners as the engine wants them. Throws Error(value) for one that is no rank.
void import_owner(const backend::Executor& executor, const ArrayView& view, int size,
                  core::Buffer<int32_t>& out) {
    out.resize(view.n);
    int32_t* owner = out.data();
    executor.for_each(view.n, [&](int64_t i) {
        const int64_t value = particles::integer_at(view, i);
        if (value < 0 || value >= size)
            fail(Status::value, "owner: item %lld (counted from 0) is %lld; expected a rank, 0 to %d",
                 static_cast<long long>(i), static_cast<long long>(value), size - 1);
        owner[i] = static_cast<int32_t>(value);
    });
}

std::vector<ArrayView> read_fields(const graft_array* const* given, const char* name, int32_t count,
                                   int64_t n, bool written) {
    if (given == nullptr && count > 0)
        fail(Status::argument, "%s is NULL; expected %d pointers to arrays", name, count);
    std::vector<ArrayView> fields;
    for (int32_t f = 0; f < count; ++f) {
        const std::string field_name = core::format("%s[%d]", name, f);
        if (given[f] == nullptr)
            fail(Status::argument, "%s is NULL; expected an array", field_name.c_str());
        fields.push_back(written ? read_written(given[f], field_name.c_str(), 0, Elements::any, n)
                                 : read_array(given[f], field_name.c_str(), 0, Elements::any, n));
    }
    return fields;
}

void note(graft_context& context, const balance::Migration& m) noexcept {
    context.figures.note("migrate", [&] {
        return Figures::Content{{{"count_before", static_cast<double>(m.count_before())},
                                 {"count_after", static_cast<double>(m.count_after())},
                                 {"items_moved", static_cast<double>(m.items_moved())},
                                 {"bytes_moved", static_cast<double>(m.bytes_moved())}}};
    });
}

/// Both directions; `from_n` and `to_n` are what the plan says.
int32_t move(graft_context* context, int32_t count, const graft_array* const* from,
             const graft_array* const* to, bool back) noexcept {
    return collective(context, back ? "migrate_back" : "migrate", [&](comm::Communicator& ranks) {
        const backend::Executor executor = executor_of(*context);
        DomainState& state = *context->domains;
        const int64_t before = state.migration.count_before(), after = state.migration.count_after();
        std::vector<ArrayView> sources, targets;
        ranks.together([&] {
            if (!state.has_plan)
                fail(Status::call_order, "there is no plan on this context yet; call migrate_plan first");
            if (count < 0 || count > most_fields)
                fail(Status::argument, "count is %d; expected 0 to %d fields", count, most_fields);
            sources = read_fields(from, "from", count, back ? after : before, false);
            targets = read_fields(to, "to", count, back ? before : after, true);
        });
        const double start_s = ranks.time_s();
        if (back)
            state.migration.back(ranks, executor, count, sources.data(), targets.data());
        else
            state.migration.forward(ranks, executor, count, sources.data(), targets.data());
        state.balancer.note_migration(ranks.time_s() - start_s, state.migration.bytes_moved());
        note(*context, state.migration);
    });
}

} // namespace

int32_t migrate_plan(graft_context* context, const graft_array* owner, int64_t* n_after) noexcept {
    return collective(context, "migrate_plan", [&](comm::Communicator& ranks) {
        const backend::Executor executor = executor_of(*context);
        DomainState& state = *context->domains;
        ranks.together([&] {
            require(owner != nullptr, "owner", "an array of n ranks");
            require(n_after != nullptr, "n_after", "where to put the number of items afterwards");
            import_owner(executor, read_owner(owner, "owner", -1), ranks.size(), state.owner);
        });
        state.has_plan = false;
        state.migration.plan(ranks, executor, state.owner.data(), state.owner.size());
        ranks.conclude();
        state.has_plan = true;
        *n_after = state.migration.count_after();
        note(*context, state.migration);
    });
}

int32_t migrate(graft_context* context, int32_t count, const graft_array* const* from,
                const graft_array* const* to) noexcept {
    return move(context, count, from, to, false);
}

int32_t migrate_back(graft_context* context, int32_t count, const graft_array* const* from,
                     const graft_array* const* to) noexcept {
    return move(context, count, from, to, true);
}

} // namespace graft::capi
