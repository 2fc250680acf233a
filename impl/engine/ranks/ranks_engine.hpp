// SPDX-License-Identifier: BSD-3-Clause
// A rank without a GPU beside ranks that have one: the steps of DeviceRanksTable on the CPU.
//
// RanksConductor conducts both kinds, and essential/gpu_message_exchange speaks the messages of GPUs. Steps are those of
// CpuEngine and TreeForce; where all ranks compute on CPUs they meet by tree_ranks.cpp instead. Open boxes, octrees, push.
#pragma once

#include "engine/engine_cpu.hpp"
#include "engine/ranks/ranks_request.hpp"
#include "engine/tree_state.hpp"
#include "essential/gpu_message_exchange.hpp"

namespace graft::engine {

class CpuRanks {
  public:
    CpuRanks(CpuEngine& engine, core::Memory& memory);

    /// Around compute_over_ranks: what the steps work with, which must live until end_request(); and what is
    /// told at the end.
    RankEngine begin_request(CpuComputation& c, const Placement& placement);
    void end_request();

    // The steps, as rank_force_table.hpp says.
    /// In double where a rank with a GPU has asked all for it, whatever the settings say.
    void begin(settings::Precision precision, const RankWish& wish, RankFacts& facts);
    void build(const RankFrame& frame, essential::RankShape& shape);
    int64_t cover_targets(lists::Group* groups, int64_t most);
    int64_t cover_particles(lists::Group* groups, int64_t most);
    void keep_off(const geometry::Box* boxes, int64_t count);
    void pack(essential::RankContent content, int32_t rank, const lists::Target* boxes, int32_t count,
              essential::RankHeader& header);
    const void* packed(int32_t rank) { return exchange_.packed(rank); }
    void* receive(int64_t bytes);
    void take(essential::RankContent content, const RankArrival* arrivals, int32_t count);
    void scale_targets(bool use_last);
    void evaluate_own();
    void evaluate_all(RankOutcome& outcome);
    void take_off(const double* net_force, double* totals);
    void write(const double* totals);

  private:
    TreeForce::State& tree() { return engine_.tree_force_->state(); }
    TreeForce::State::Job job() const;
    Totals check_own();
    essential::RankExchange::Frame exchange_frame();

    CpuEngine& engine_;
    RanksConductor conductor_;
    essential::RankExchange exchange_;
    core::Buffer<lists::Group> boxes_; // that the own particles are in
    // Of the computation that runs.
    CpuComputation* c_ = nullptr;
    const Placement* placement_ = nullptr;
    settings::Precision precision_ = settings::Precision::mixed;
    settings::Settings settings_; // with sizes, and a box where the ranks have agreed on one
    RankFrame frame_{};
    essential::RankShape shape_{};
    char* room_ = nullptr;
    double own_s_ = 0;
};

/// The steps as the conductor calls them; the engine is a CpuRanks.
const DeviceRanksTable& cpu_ranks_table();

} // namespace graft::engine
