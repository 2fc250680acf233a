// SPDX-License-Identifier: BSD-3-Clause
// Forces over ranks behind a C table; an error in any step leaves the engine ready for another computation.
#include "backend/guard_gpu.cuh"
#include "engine/gpu/engine_gpu.cuh"
#include "engine/gpu/force_table_gpu.hpp"
#include "engine/ranks/ranks_engine_gpu.cuh"

namespace graft::engine {

namespace {

using backend::DeviceError;

template <typename Body>
int32_t step(void* engine, DeviceError* error, Body&& body) noexcept {
    return backend::guarded_device(error, [&] {
        const ForceAt force(engine);
        try {
            body(*force);
        } catch (...) {
            force->stop();
            throw;
        }
    });
}

int32_t begin(void* engine, const settings::Settings* settings, const ParticleInput* particles,
              const ParticleInput* points, const Outputs* outputs, void* stream, const RankWish* wish,
              RankFacts* facts, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) {
        force.begin_over_ranks(*settings, *particles, points, *outputs, stream, *wish, *facts);
    });
}

int32_t build(void* engine, const RankFrame* frame, essential::RankShape* shape, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().build(*frame, *shape); });
}

int32_t cover_targets(void* engine, lists::Group* groups, int64_t most, int64_t* count, DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { *count = force.ranks().cover_targets(groups, most); });
}

int32_t cover_particles(void* engine, lists::Group* groups, int64_t most, int64_t* count,
                        DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { *count = force.ranks().cover_particles(groups, most); });
}

int32_t keep_off(void* engine, const geometry::Box* boxes, int64_t count, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().keep_off(boxes, count); });
}

int32_t pack(void* engine, essential::RankContent content, int32_t rank, const lists::Target* boxes,
             int32_t count, bool on_device, essential::RankHeader* header, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) {
        force.ranks().pack(content, rank, boxes, count, on_device, *header);
    });
}

int32_t packed(void* engine, int32_t rank, bool on_device, const void** message, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { *message = force.ranks().packed(rank, on_device); });
}

int32_t receive(void* engine, int64_t bytes, bool on_device, void** room, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { *room = force.ranks().receive(bytes, on_device); });
}

int32_t take(void* engine, essential::RankContent content, bool on_device, const RankArrival* arrivals,
             int32_t count, DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { force.ranks().take(content, on_device, arrivals, count); });
}

int32_t scale_targets(void* engine, bool use_last, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().scale_targets(use_last); });
}

int32_t evaluate_own(void* engine, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().evaluate_own(); });
}

int32_t evaluate_all(void* engine, RankOutcome* outcome, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().evaluate_all(*outcome); });
}

int32_t take_off(void* engine, const double* net_force, double* totals, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().take_off(net_force, totals); });
}

int32_t write(void* engine, const double* totals, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().write(totals); });
}

int32_t box_measure(void* engine, const RankFrame* frame, BoxFacts* facts, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().box_measure(*frame, *facts); });
}

int32_t box_plan(void* engine, const BoxFrame* frame, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { force.ranks().box_plan(*frame); });
}

int32_t box_structure(void* engine, double** sums, int64_t* size, DeviceError* error) {
    return step(engine, error, [&](DeviceForce& force) { *sums = force.ranks().box_structure(*size); });
}

int32_t box_pack(void* engine, int32_t rank, const double* corners, bool on_device, int64_t* count,
                 DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { *count = force.ranks().box_pack(rank, corners, on_device); });
}

int32_t box_take(void* engine, bool on_device, const int64_t* counts, int32_t arrivals, DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { force.ranks().box_take(on_device, counts, arrivals); });
}

int32_t box_evaluate(void* engine, bool tells_waves, RankOutcome* outcome, DeviceError* error) {
    return step(engine, error,
                [&](DeviceForce& force) { force.ranks().box_evaluate(tells_waves, *outcome); });
}

} // namespace

const DeviceRanksTable* device_ranks_table() {
    static const DeviceRanksTable table = {
        begin,       build,    cover_targets, cover_particles, keep_off,     pack,     packed,
        receive,     take,     scale_targets, evaluate_own,    evaluate_all, take_off, write,
        box_measure, box_plan, box_structure, box_pack,        box_take,     box_evaluate};
    return &table;
}

} // namespace graft::engine
