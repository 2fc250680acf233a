// SPDX-License-Identifier: BSD-3-Clause
// CpuRanks behind the table that GPUs have.
#include "engine/ranks/ranks_engine.hpp"

#include "backend/gpu_errors.hpp"

namespace graft::engine {

namespace {

using backend::DeviceError;

template <typename Body>
int32_t step(void* engine, DeviceError* error, Body&& body) noexcept {
    return backend::as_status(error, [&] { body(*static_cast<CpuRanks*>(engine)); });
}

int32_t begin(void* engine, const settings::Settings* settings, const ParticleInput*, const ParticleInput*,
              const Outputs*, void*, const RankWish* wish, RankFacts* facts, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.begin(settings->precision, *wish, *facts); });
}

int32_t build(void* engine, const RankFrame* frame, essential::RankShape* shape, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.build(*frame, *shape); });
}

int32_t cover_targets(void* engine, lists::Group* groups, int64_t most, int64_t* count, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { *count = ranks.cover_targets(groups, most); });
}

int32_t cover_particles(void* engine, lists::Group* groups, int64_t most, int64_t* count,
                        DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { *count = ranks.cover_particles(groups, most); });
}

int32_t keep_off(void* engine, const geometry::Box* boxes, int64_t count, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.keep_off(boxes, count); });
}

int32_t pack(void* engine, essential::RankContent content, int32_t rank, const lists::Target* boxes,
             int32_t count, bool, essential::RankHeader* header, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.pack(content, rank, boxes, count, *header); });
}

int32_t packed(void* engine, int32_t rank, bool, const void** message, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { *message = ranks.packed(rank); });
}

int32_t receive(void* engine, int64_t bytes, bool, void** room, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { *room = ranks.receive(bytes); });
}

int32_t take(void* engine, essential::RankContent content, bool, const RankArrival* arrivals, int32_t count,
             DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.take(content, arrivals, count); });
}

int32_t scale_targets(void* engine, bool use_last, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.scale_targets(use_last); });
}

int32_t evaluate_own(void* engine, DeviceError* error) {
    return step(engine, error, [](CpuRanks& ranks) { ranks.evaluate_own(); });
}

int32_t evaluate_all(void* engine, RankOutcome* outcome, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.evaluate_all(*outcome); });
}

int32_t take_off(void* engine, const double* net_force, double* totals, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.take_off(net_force, totals); });
}

int32_t write(void* engine, const double* totals, DeviceError* error) {
    return step(engine, error, [&](CpuRanks& ranks) { ranks.write(totals); });
}

} // namespace

/// A periodic box has no steps here: backend_choice refuses it before.
const DeviceRanksTable& cpu_ranks_table() {
    static const DeviceRanksTable table = {
        begin,   build,   cover_targets, cover_particles, keep_off,     pack,     packed,
        receive, take,    scale_targets, evaluate_own,    evaluate_all, take_off, write,
        nullptr, nullptr, nullptr,       nullptr,         nullptr,      nullptr};
    return table;
}

} // namespace graft::engine
