// SPDX-License-Identifier: BSD-3-Clause
// A computation over ranks in the library that stands in for libgraft_cuda.so: the steps of a CPU rank, in an engine,
// memory and library of their own, behind the table that GPUs have.
#pragma once

#include "thread_ranks.hpp"
#include "engine/buffer_tuning.hpp"
#include "engine/gpu/force_table.hpp"
#include "engine/ranks/ranks_engine.hpp"
#include "engine/tree_tuning.hpp"
#include "settings/choices.hpp"

#include <optional>
#include <vector>

namespace fake {

using namespace graft;
using namespace graft::engine;

class Ranks {
  public:
    Ranks() : steps_(cpu_, memory_) {}
    ~Ranks() {
        for (graft_comm_v1* table : tables_)
            table->comm_free(table);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    CpuRanks* steps() { return &steps_; }
    bool in_double() const { return settings_.precision == settings::Precision::fp64; }
    /// As the host has them in begin, whose structs it may forget.
    void accept(const settings::Settings& settings, const ParticleInput& particles,
                const ParticleInput* points, const Outputs& outputs) {
        settings_ = settings::with_choices(settings, true);
        particles_ = particles, outputs_ = outputs;
        if (points != nullptr)
            points_ = *points;
        else
            points_.reset();
        request_.emplace(Request{particles_, points_ ? &*points_ : nullptr, outputs_});
        computation_.emplace(CpuComputation{environment_, settings_, *request_, executor_, comm_, report_});
        steps_.begin_request(*computation_, placement_);
    }
    void tell(DeviceReport& report) {
        steps_.end_request();
        report.pairs = report_.pairs, report.cells = report_.cells;
        report.tree.nodes = report_.nodes, report.tree.groups = report_.groups,
        report.targets = computation_->report.groups;
    }

  private:
    core::Memory memory_;
    // Nobody speaks over it; it says that the engine is not alone.
    std::vector<graft_comm_v1*> tables_ = comm::create_thread_ranks(2);
    comm::Communicator comm_{tables_[0]};
    settings::Settings settings_;
    core::Log log_;
    TreeTuning tuning_;
    BufferTuning buffers_;
    Report report_;
    Environment environment_{comm_, settings_, log_, tuning_, buffers_, report_};
    backend::Executor executor_{memory_, 1};
    Placement placement_;
    ParticleInput particles_;
    std::optional<ParticleInput> points_;
    Outputs outputs_;
    std::optional<Request> request_;
    std::optional<CpuComputation> computation_;
    CpuEngine cpu_{memory_};
    CpuRanks steps_;
};

/// A step of the CPU's table for the engine that Of finds in the library's.
template <auto Of, auto Step>
struct Forward;
template <auto Of, typename... Arguments, int32_t (*DeviceRanksTable::*Step)(void*, Arguments...)>
struct Forward<Of, Step> {
    static int32_t call(void* engine, Arguments... arguments) {
        return (cpu_ranks_table().*Step)(Of(engine), arguments...);
    }
};

template <auto Of>
DeviceRanksTable ranks_table(decltype(DeviceRanksTable::begin) begin) {
    using Table = DeviceRanksTable;
    DeviceRanksTable table{};
    table.begin = begin;
    table.build = Forward<Of, &Table::build>::call;
    table.cover_targets = Forward<Of, &Table::cover_targets>::call;
    table.cover_particles = Forward<Of, &Table::cover_particles>::call;
    table.keep_off = Forward<Of, &Table::keep_off>::call;
    table.pack = Forward<Of, &Table::pack>::call;
    table.packed = Forward<Of, &Table::packed>::call;
    table.receive = Forward<Of, &Table::receive>::call;
    table.take = Forward<Of, &Table::take>::call;
    table.scale_targets = Forward<Of, &Table::scale_targets>::call;
    table.evaluate_own = Forward<Of, &Table::evaluate_own>::call;
    table.evaluate_all = Forward<Of, &Table::evaluate_all>::call;
    table.take_off = Forward<Of, &Table::take_off>::call;
    table.write = Forward<Of, &Table::write>::call;
    return table;
}

} // namespace fake
