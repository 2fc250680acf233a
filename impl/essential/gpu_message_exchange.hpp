// SPDX-License-Identifier: BSD-3-Clause
// The messages of gpu_message.hpp on a CPU: packed from the own nodes of a Forest, and entered behind them.
//
// What a GPU sends a CPU reads, and the other way round: the bodies for one node are the GPU's. On a GPU:
// engine/ranks/ranks_pack_gpu.cu, engine/ranks/ranks_forest_gpu.cu.
#pragma once

#include "essential/forest.hpp"
#include "essential/gpu_message.hpp"

#include <map>
#include <vector>

namespace graft::essential {

class RankExchange {
  public:
    explicit RankExchange(core::Memory& memory);

    /// What stays the same over one computation. The forest's own nodes are complete before the first pack.
    struct Frame {
        const backend::Executor& executor;
        const settings::Settings& settings;
        Forest& forest;
        RankShape shape; // whatever its content
    };
    /// A message that has come.
    struct Arrival {
        RankHeader header;
        char* message;
    };

    /// Forgets what was packed and came in an earlier computation.
    void begin();
    /// What a rank with these (at most 64) boxes needs; header.nodes 0: nothing.
    RankHeader pack(const Frame& frame, RankContent content, int rank, const lists::Target* boxes, int count);
    /// The message, until the next pack for that rank.
    const char* packed(int rank) const { return parcels_.at(rank).data(); }
    /// Room for what comes, until the next receive.
    char* receive(int64_t bytes);

    /// The other ranks' nodes, behind the own ones: the walk then begins at the first of them. No message, or
    /// none with nodes: the forest stays. Throws Error(unsupported) for more nodes than a forest has room for.
    void take(const Frame& frame, const std::vector<Arrival>& arrivals);
    /// The same of masses, with the own nodes below the root, so that the estimate of accelerations sees all.
    void take_masses(const Frame& frame, const std::vector<Arrival>& arrivals);
    /// The forest without masses again.
    static void drop_masses(const Frame& frame);

    int64_t nodes() const { return nodes_; } // of other ranks, those above their roots too
    int64_t particles() const { return particles_; }

  private:
    void read_own(const Frame& frame, RankContent content);
    OwnNodes own_nodes(const Frame& frame, RankContent content) const;
    RemoteNodes remote_nodes(const Frame& frame);
    void take_particles(const Frame& frame, const RankSections& from, const RankHeader& header,
                        int64_t begin) const;
    void enter(const Frame& frame, const RemotePlan& plan);

    core::Memory& memory_;
    // Entries of the criterion as messages have them: of the own nodes while packing, then of the others'.
    core::Buffer<double> xy_, za_;
    core::Buffer<RankLink> links_;
    core::Buffer<lists::EstimateNode> coarse_;
    bool has_own_ = false; // those of the own nodes are there, for this content
    RankContent own_content_ = RankContent::all;
    core::Buffer<uint64_t> opened_;
    core::Buffer<int32_t> sent_, number_, wanted_, particle_;
    std::map<int, core::Buffer<char>> parcels_; // by rank
    core::Buffer<char> arrived_;
    int64_t nodes_ = 0, particles_ = 0;
};

} // namespace graft::essential
