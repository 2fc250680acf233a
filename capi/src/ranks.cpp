// SPDX-License-Identifier: BSD-3-Clause
// Communicators of contexts, in-process ranks for hosts with threads.
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

void require_same_call(graft_context& context, const char* entry, Flight flight) {
    const settings::Settings& s = context.solver.settings();
    double box[13] = {s.constant, s.has_box ? 1.0 : 0.0, s.periodic ? 2.0 + s.open_axis : 0.0,
                      s.periodic ? 2.0 + s.wire_axis : 0.0};
    int used = 4;
    for (int a = 0; s.has_box && a < s.dimension; ++a) { // + 0.0: minus zero is zero
        box[used++] = s.box_lower[a] + 0.0;
        box[used++] = s.box_upper[a] + 0.0;
    }
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
        if (flight == Flight::none)
            require_threads(context);
    });
}

int32_t context_set_communicator(graft_context* context, const graft_comm_v1* communicator) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_set_communicator");
        auto ranks = std::make_unique<comm::Communicator>(communicator);
        if (context->options.asked.deadline_s > 0)
            ranks->set_deadline(context->options.asked.deadline_s);
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
