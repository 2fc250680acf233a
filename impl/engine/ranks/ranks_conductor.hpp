// SPDX-License-Identifier: BSD-3-Clause
// Forces over ranks of which some or all have a GPU: who speaks with whom, and when. The steps of tree_ranks.cpp
// (push), with the work of each behind DeviceRanksTable: a GPU's or CpuRanks. A GPU sums over its own tree while
// messages travel, a CPU before.
//
// Invariant: what may fail on one rank runs inside together(), so all ranks throw the same error; between the
// start and the end of messages nothing throws.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "engine/ranks/rank_force_table.hpp"
#include "essential/target_domain.hpp"

#include <vector>

namespace graft::engine {

class RanksConductor {
  public:
    explicit RanksConductor(core::Memory& memory);

    struct Job {
        const DeviceRanksTable& table;
        void* engine;
        const settings::Settings& settings;
        const ParticleInput& particles;
        const ParticleInput* points;
        const Outputs& outputs;
        void* stream;
        RankWish wish;
    };
    /// What it took on this rank.
    struct Times {
        double exchange_s = 0; // talking and waiting, without the own sums that hide it
    };
    /// Collective: everything up to the results, which write() brings out after the ranks have concluded.
    /// Throws core::Error, the same on all ranks.
    RankOutcome evaluate(comm::Communicator& comm, const Job& job);
    void write(const Job& job, const RankOutcome& outcome);
    const Times& times() const { return times_; }

  private:
    /// In the precision of the settings; totals of all ranks; needs_double: how many do.
    RankOutcome evaluate_once(comm::Communicator& comm, const Job& job, const RankFrame& frame);
    // ranks_box.cpp
    RankOutcome evaluate_box(comm::Communicator& comm, const Job& job, const RankFrame& frame);
    bool begin_box(comm::Communicator& comm, const Job& job, const RankFrame& frame);
    void exchange_box(comm::Communicator& comm, const Job& job);
    std::vector<double> box_corners_; // of all ranks' targets, six each

    RankOutcome evaluate_tree(comm::Communicator& comm, const Job& job, const RankFrame& frame);
    RankFrame agree_on_charges(comm::Communicator& comm, const Job& job);
    void begin(comm::Communicator& comm, const Job& job, RankFrame frame);
    void find_pieces(comm::Communicator& comm, const Job& job);
    void meet_ranks(comm::Communicator& comm, const Job& job);
    void cover_targets(const Job& job);
    void pack(comm::Communicator& comm, const Job& job, essential::RankContent content);
    void start(comm::Communicator& comm, const Job& job, essential::RankContent content);
    void finish(comm::Communicator& comm, const Job& job, essential::RankContent content);

    struct Parcel { // to one rank
        int to;
        essential::RankHeader header;
        const void* data;
    };
    essential::Domains domains_, regions_;
    core::Buffer<lists::Group> groups_; // runs of the own targets, or of nodes
    RankFacts facts_{};
    essential::RankShape shape_{};
    std::vector<Parcel> parcels_;
    std::vector<RankArrival> arrivals_;
    std::vector<int> senders_;
    core::Buffer<char> headers_;
    std::vector<comm::Request> requests_;
    void* room_ = nullptr;
    Times times_;
};

} // namespace graft::engine
