// SPDX-License-Identifier: BSD-3-Clause
// A libgraft_cuda.so without a GPU: forces by this host's solver, times as the test makes them, so that what
// the host does with a GPU's sizes can be tested anywhere.
#include "force_gpu.hpp"

#include "backend/gpu_errors.hpp"
#include "engine/gpu/force_table.hpp"

#include "fake_table.hpp"
#include "ranks_gpu.hpp"

#include <memory>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using backend::DeviceError;

fake::Control control;

struct Engine {
    core::Memory memory;
    std::unique_ptr<Solver> solver;
    fake::Sizes sizes{};
    std::unique_ptr<fake::Ranks> ranks; // of a computation over ranks
};

CpuRanks* ranks_of(void* engine) {
    return static_cast<Engine*>(engine)->ranks->steps();
}

int32_t evaluate_all(void* engine, RankOutcome* outcome, DeviceError* error) {
    if (!control.needs_double || static_cast<Engine*>(engine)->ranks->in_double())
        return cpu_ranks_table().evaluate_all(ranks_of(engine), outcome, error);
    *outcome = {};
    outcome->needs_double = 1;
    return 0;
}

int32_t create(const DeviceOptions*, void** engine, DeviceError* error) {
    return backend::as_status(error, [&] { *engine = new Engine; });
}

void destroy(void* engine) {
    delete static_cast<Engine*>(engine);
}

int32_t begin(void* engine, const Settings* settings, const ParticleInput* particles,
              const ParticleInput* points, const Outputs* outputs, void*, DeviceError* error) {
    return backend::as_status(error, [&] {
        Engine& e = *static_cast<Engine*>(engine);
        Settings here = *settings;
        here.backend = Backend::cpu, here.threads = 1;
        if (!here.tuned)
            here.leaf = control.own.leaf, here.group = control.own.group;
        e.sizes = {here.leaf, here.group, here.device.block_x, here.device.block_y};
        control.used.push_back(e.sizes);
        control.buffers.push_back(here.device.buffer);
        e.solver = std::make_unique<Solver>(here, e.memory);
        points != nullptr ? e.solver->field_at(*particles, *points, *outputs)
                          : e.solver->compute(*particles, *outputs);
    });
}

int32_t begin_over_ranks(void* engine, const Settings* settings, const ParticleInput* particles,
                         const ParticleInput* points, const Outputs* outputs, void* stream, const RankWish* wish,
                         RankFacts* facts, DeviceError* error) {
    const int32_t status = backend::as_status(error, [&] {
        Engine& e = *static_cast<Engine*>(engine);
        if (!e.ranks)
            e.ranks = std::make_unique<fake::Ranks>();
        e.ranks->accept(*settings, *particles, points, *outputs);
    });
    return status != 0 ? status
                       : cpu_ranks_table().begin(ranks_of(engine), settings, particles, points, outputs, stream, wish,
                                                 facts, error);
}

int32_t end(void* engine, DeviceReport* report, DeviceError* error) {
    return backend::as_status(error, [&] {
        const Engine& e = *static_cast<Engine*>(engine);
        if (e.ranks) {
            *report = {};
            e.ranks->tell(*report);
            return;
        }
        const Report& done = e.solver->report();
        *report = {};
        report->pairs = done.pairs, report->cells = done.cells, report->far_cells = done.far_cells;
        report->tree.nodes = done.nodes, report->tree.leaves = done.leaves, report->tree.groups = done.groups;
        report->targets = done.targets;
        report->tree.leaf = e.sizes.leaf, report->tree.group = e.sizes.group;
        if (const int32_t buffer = control.buffers.back(); buffer > 0) {
            forces::FedReport& fed = report->fed;
            fed.buffer = buffer, fed.groups = done.groups;
            fed.leaf_entries = 10 * done.groups, fed.node_entries = 90 * done.groups;
            fed.launches = (fed.leaf_entries + fed.node_entries) / buffer + 2;
            fed.wall_s = control.feed_s != nullptr ? control.feed_s(buffer) : 1;
            fed.append_s = 0.5 * fed.wall_s, fed.call_s = 0.25 * fed.wall_s;
        }
        const int call = static_cast<int>(control.used.size());
        report->time_s.forces = control.forces_s != nullptr ? control.forces_s(e.sizes, call) : 1;
    });
}

int32_t device_info(int32_t, backend::DeviceInfo* info, DeviceError*) {
    *info = {};
    info->bytes_total = info->bytes_free = control.bytes_free;
    return 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) fake::Control* fake_control() {
    return &control;
}

extern "C" __attribute__((visibility("default"))) const backend::CudaTable* graft_cuda_get_table() {
    static DeviceRanksTable ranks = fake::ranks_table<ranks_of>(begin_over_ranks);
    ranks.evaluate_all = evaluate_all;
    static const DeviceForceTable force = {create, destroy, begin, end, nullptr, &ranks};
    static backend::CudaTable table = test::fake_table<1>();
    table.device_info = device_info;
    table.force = &force;
    control.table = &table;
    return &table;
}
