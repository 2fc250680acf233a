// SPDX-License-Identifier: BSD-3-Clause
// The entries that compute forces: in one call, in two halves, at points.
#include "context.hpp"
#include "entries.hpp"

namespace graft::capi {

namespace {

struct Request {
    engine::ParticleInput particles;
    engine::Outputs outputs;
};

Request read_request(graft_context& context, const graft_particles* particles, const graft_results* results) {
    const int dimension = context.solver.settings().dimension;
    const Places places = places_of(context, true);
    Request request;
    request.particles = read_sources(particles, dimension, "particles", places);
    request.outputs = read_results(results, request.particles.n, dimension, false, places);
    return request;
}

} // namespace

int32_t compute(graft_context* context, const graft_particles* particles,
                const graft_results* results) noexcept {
    return collective(context, "compute", [&](comm::Communicator& ranks) {
        Request request;
        ranks.together([&] { request = read_request(*context, particles, results); });
        context->solver.compute(request.particles, request.outputs);
    });
}

int32_t compute_begin(graft_context* context, const graft_particles* particles,
                      const graft_results* results) noexcept {
    return collective(context, "compute_begin", [&](comm::Communicator& ranks) {
        Request request;
        ranks.together([&] { request = read_request(*context, particles, results); });
        context->solver.begin_compute(request.particles, request.outputs, context->stream);
        context->in_flight = true;
    });
}

int32_t compute_end(graft_context* context) noexcept {
    return collective(
        context, "compute_end",
        [&](comm::Communicator&) {
            context->in_flight = false; // whatever comes of it
            context->solver.end_compute();
        },
        Flight::one);
}

int32_t compute_poll(graft_context* context, int32_t* done) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        if (done == nullptr)
            core::fail(core::Status::argument, "done is NULL; expected where to put 0 or 1");
        require_flight(*context, Flight::one, "compute_poll");
        *done = context->solver.poll() ? 1 : 0;
    });
}

int32_t compute_event(graft_context* context, void** event) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        if (event == nullptr)
            core::fail(core::Status::argument, "event is NULL; expected where to put the event");
        require_flight(*context, Flight::one, "compute_event");
        *event = context->solver.event();
    });
}

int32_t field_at(graft_context* context, const graft_particles* sources, const graft_particles* points,
                 const graft_results* results) noexcept {
    return collective(context, "field_at", [&](comm::Communicator& ranks) {
        const int dimension = context->solver.settings().dimension;
        const Places places = places_of(*context, true);
        engine::ParticleInput input, at;
        engine::Outputs outputs;
        ranks.together([&] {
            input = read_sources(sources, dimension, "sources", places);
            at = read_points(points, dimension, places);
            outputs = read_results(results, at.n, dimension, true, places);
        });
        context->solver.field_at(input, at, outputs);
    });
}

int32_t context_set_stream(graft_context* context, void* stream) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_set_stream");
        context->stream = stream;
        context->solver.set_stream(stream);
    });
}

} // namespace graft::capi
