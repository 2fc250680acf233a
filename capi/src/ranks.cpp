// Communicators of contexts, in-process ranks for hosts with threads, and the options about ranks.
#include "ranks.hpp"

#include "comm/threads.hpp"
#include "context.hpp"
#include "entries.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace graft::capi {

using core::fail;
using core::Status;

namespace {

constexpr int32_t most_threads = 4096; // more threads than any machine runs at a time

} // namespace

void set_default_rank_options(graft_options_values& v) noexcept {
    const balance::Settings b;
    const decompose::Options& d = b.decompose;
    v.decompose_shape = static_cast<int32_t>(d.shape);
    v.decompose_strategy = static_cast<int32_t>(d.strategy);
    v.decompose_finder = static_cast<int32_t>(d.finder);
    v.decompose_curve = static_cast<int32_t>(d.curve);
    v.decompose_parts = 0;
    v.decompose_bins = d.bins;
    v.decompose_cap = static_cast<int32_t>(d.cap);
    v.decompose_threshold_a = static_cast<int32_t>(d.threshold_a);
    v.decompose_threshold_b = static_cast<int32_t>(d.threshold_b);
    v.decompose_tolerance = d.tolerance;
    v.decompose_mix = d.mix;
    v.balance_kind = static_cast<int32_t>(b.kind);
    v.balance_cost = static_cast<int32_t>(b.cost);
    v.balance_force = b.force ? 1 : 0;
    v.balance_fuzzy = b.fuzzy ? 1 : 0;
    v.balance_tolerance = b.tolerance;
    v.balance_steps = b.steps;
    v.balance_super = b.super;
    const settings::Settings s;
    v.tree_scope = static_cast<int32_t>(s.tree_scope);
    v.ranks_exchange = static_cast<int32_t>(s.exchange);
    v.comm_deadline_s = 0;
}

RankSettings read_rank_options(const graft_options_values& v) {
    RankSettings s;
    decompose::Options& d = s.balance.decompose;
    d.shape = static_cast<decompose::Shape>(v.decompose_shape);
    d.strategy = static_cast<decompose::Strategy>(v.decompose_strategy);
    d.finder = static_cast<decompose::CutFinder>(v.decompose_finder);
    d.curve = static_cast<decompose::Curve>(v.decompose_curve);
    d.dimension = v.dimension;
    d.parts = v.decompose_parts;
    d.bins = v.decompose_bins;
    d.cap = v.decompose_cap;
    d.threshold_a = v.decompose_threshold_a;
    d.threshold_b = v.decompose_threshold_b;
    d.tolerance = v.decompose_tolerance;
    d.mix = v.decompose_mix;
    s.balance.kind = static_cast<balance::Kind>(v.balance_kind);
    s.balance.cost = static_cast<balance::CostSource>(v.balance_cost);
    s.balance.force = v.balance_force != 0;
    s.balance.fuzzy = v.balance_fuzzy != 0;
    s.balance.tolerance = v.balance_tolerance;
    s.balance.steps = v.balance_steps;
    s.balance.super = v.balance_super;
    s.deadline_s = v.comm_deadline_s;
    return s;
}

uint64_t fingerprint(const void* data, size_t bytes, uint64_t seed) noexcept {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i)
        seed = (seed ^ byte[i]) * 1099511628211ull;
    return seed;
}

void require_same_call(graft_context& context, const char* entry, Flight flight) {
    const settings::Settings& s = context.solver.settings();
    double box[13] = {s.constant, s.has_box ? 1.0 : 0.0, s.periodic ? 2.0 + s.open_axis : 0.0,
                      s.periodic ? 2.0 + s.wire_axis : 0.0};
    int used = 4;
    for (int a = 0; s.has_box && a < s.dimension; ++a) // + 0.0: minus zero is zero
        box[used++] = s.box_lower[a] + 0.0, box[used++] = s.box_upper[a] + 0.0;
    for (int a = 0; s.periodic && a < s.dimension; ++a)
        box[used++] = s.box_tilt[a] + 0.0;
    const uint64_t options =
        fingerprint(box, static_cast<size_t>(used) * sizeof(double), context.options_fingerprint);
    const uint64_t call = fingerprint(entry, std::strlen(entry), options);
    uint64_t seen[4] = {options, ~options, call, ~call};
    context.ranks->allreduce(seen, 4, comm::Operation::max);
    context.ranks->together([&] {
        if (seen[0] != ~seen[1])
            fail(Status::argument, "the ranks have different options, boxes or units; expected the same on "
                                   "every rank (threads and log may differ)");
        if (seen[2] != ~seen[3])
            fail(Status::call_order,
                 "the ranks call different functions (%s here); expected the same one on every rank", entry);
        require_flight(context, flight, entry);
    });
}

int32_t context_set_communicator(graft_context* context, const graft_comm_v1* communicator) noexcept {
    return guard([&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_set_communicator");
        auto ranks = std::make_unique<comm::Communicator>(communicator);
        if (context->rank_settings.deadline_s > 0)
            ranks->set_deadline(context->rank_settings.deadline_s);
        auto domains = std::make_unique<DomainState>(context->memory);
        context->solver.set_communicator(ranks.get());
        context->ranks = std::move(ranks);
        context->domains = std::move(domains);
        context->figures.clear();
    });
}

int32_t comm_create_threads(int32_t size, graft_comm_v1** comms) noexcept {
    return guard([&] {
        if (comms == nullptr)
            fail(Status::argument, "comms is NULL; expected room for %d pointers", size);
        if (size < 1 || size > most_threads)
            fail(Status::argument, "size is %d; expected 1 to %d ranks", size, most_threads);
        const std::vector<graft_comm_v1*> tables = comm::create_thread_ranks(size);
        std::copy(tables.begin(), tables.end(), comms);
    });
}

} // namespace graft::capi
