// SPDX-License-Identifier: BSD-3-Clause
// A computation over ranks, on the GPU of one of them, and the kernels' launchers.
#pragma once

#include "engine/gpu/repair_gpu.cuh"
#include "engine/gpu/steps_gpu.cuh"
#include "engine/ranks/rank_force_table.hpp"

#include <memory>
#include <vector>

namespace graft::engine {

/// What the host reads of the own tree.
struct KnownTree {
    tree::DeviceTreeCounts counts;
    int32_t level_offset[tree::max_device_levels + 1];
    double charge, magnitude;
    geometry::Box box;
    double corners[6], first[3];
    int32_t sent, particles; // of the parcel that is being packed
};

/// The job of this rank, as all ranks have agreed on it.
DeviceJob job_over_ranks(DeviceJob&& own, const RankWish& wish);

/// What the own particles and targets are covered by, for other ranks.
struct RankCover {
    explicit RankCover(backend::DeviceMemory& memory)
        : regions(memory, "regions of other ranks"), groups(memory, "runs of groups"),
          host_groups(memory, "runs of groups"), nodes(memory, "nodes of one level"),
          boxes(memory, "boxes of one level") {}
    backend::DeviceBuffer<geometry::Box> regions; // where others have particles
    backend::DeviceBuffer<lists::Group> groups;
    backend::PinnedBuffer<lists::Group> host_groups;
    backend::PinnedBuffer<tree::Node> nodes;
    backend::PinnedBuffer<geometry::Box> boxes;
};

/// A message to one rank, on the device and in page-locked memory.
struct RankParcel {
    explicit RankParcel(backend::DeviceMemory& memory)
        : device(memory, "nodes for another rank"), host(memory, "nodes for another rank"), done(memory) {}
    backend::DeviceBuffer<char> device;
    backend::PinnedBuffer<char> host;
    backend::Event done; // device filled
    int64_t bytes = 0;
};

/// What goes to other ranks.
struct RankPacking {
    explicit RankPacking(backend::DeviceMemory& memory)
        : boxes(memory, "boxes of another rank"), opened(memory, "opened nodes"), sent(memory, "sent nodes"),
          number(memory, "numbers of sent nodes"), wanted(memory, "particles to send"),
          particle(memory, "places of particles to send"), flags(memory, "particles near another rank"),
          memory(memory) {}
    RankParcel& parcel(int32_t rank);

    backend::DeviceBuffer<lists::Target> boxes;
    backend::DeviceBuffer<uint64_t> opened;
    backend::DeviceBuffer<int32_t> sent, number, wanted, particle;
    backend::DeviceBuffer<uint8_t> flags; // a periodic box: particles
    std::vector<std::unique_ptr<RankParcel>> parcels;
    backend::DeviceMemory& memory;
};

/// What has come from other ranks, as one tree.
struct RankForest {
    explicit RankForest(backend::DeviceMemory& memory)
        : arrived(memory, "nodes from other ranks"), host_arrived(memory, "nodes from other ranks"),
          supers(memory, "nodes above other ranks' trees"),
          host_supers(memory, "nodes above other ranks' trees"), tree(memory), moments(memory),
          criterion(memory), coarse(memory, "masses of other ranks") {}
    backend::DeviceBuffer<char> arrived;
    backend::PinnedBuffer<char> host_arrived;
    backend::DeviceBuffer<essential::SuperNode> supers;
    backend::PinnedBuffer<essential::SuperNode> host_supers;
    tree::DeviceTree tree;
    moments::DeviceMoments moments;
    lists::DeviceCriterion criterion;
    backend::DeviceBuffer<lists::EstimateNode> coarse;
    int64_t nodes = 0, particles = 0, coarse_nodes = 0;
};

/// A periodic box: own particles and those near the own targets.
struct RankBox {
    explicit RankBox(backend::DeviceMemory& memory)
        : corner_partial(memory, "corners"), structure(memory, "structure factors of all ranks"),
          host_structure(memory, "structure factors of all ranks"), facts(memory, "facts of a box"),
          memory(memory) {}
    backend::DeviceBuffer<double>& column(size_t k);

    backend::DeviceBuffer<double> corner_partial, structure;
    backend::PinnedBuffer<double> host_structure;
    backend::PinnedBuffer<periodic::PeriodicFacts> facts;
    std::vector<backend::DeviceBuffer<double>> columns;
    forces::DeviceSources targets{};
    bool with_virial = false; // some rank wants it
    bool tells_waves = false; // this rank tells their share of the virial
    backend::DeviceMemory& memory;
};

/// Times of the sums over the own tree, and over the forest.
class RankClock {
  public:
    enum Mark { own, own_done, others, others_done };
    RankClock();
    ~RankClock();
    RankClock(const RankClock&) = delete;
    RankClock& operator=(const RankClock&) = delete;
    void record(backend::Queue& queue, Mark mark) {
        GRAFT_CUDA(cudaEventRecord(events_[mark], queue.stream()));
    }
    double between(Mark from, Mark to) const; // seconds

  private:
    cudaEvent_t events_[4] = {};
};

/// The steps of DeviceRanksTable on the engine's own.
class DeviceRanks {
  public:
    DeviceRanks(Steps& steps, Repair& repair);

    void import_particles(RankFacts& facts);
    void build(const RankFrame& frame, essential::RankShape& shape);
    int64_t cover_targets(lists::Group* groups, int64_t most);
    int64_t cover_particles(lists::Group* groups, int64_t most);
    void keep_off(const geometry::Box* boxes, int64_t count);
    void pack(essential::RankContent content, int32_t rank, const lists::Target* boxes, int32_t count,
              bool on_device, essential::RankHeader& header);
    const void* packed(int32_t rank, bool on_device);
    void scale_targets(bool use_last);
    void evaluate_own();
    void evaluate_all(RankOutcome& outcome);
    void take_off(const double* net_force, double* totals);
    void write(const double* totals);
    // ranks_forest_gpu.cu
    void* receive(int64_t bytes, bool on_device);
    void take(essential::RankContent content, bool on_device, const RankArrival* arrivals, int32_t count);
    // A periodic box, ranks_box_gpu.cu.
    void box_measure(const RankFrame& frame, BoxFacts& facts);
    void box_plan(const BoxFrame& frame);
    double* box_structure(int64_t& size);
    int64_t box_pack(int32_t rank, const double* corners, bool on_device);
    void box_take(bool on_device, const int64_t* counts, int32_t arrivals);
    void box_evaluate(bool tells_waves, RankOutcome& outcome);

    const RankForest& forest() const { return forest_; }

  private:
    void know_tree();
    void fill_criterion();
    void sum_over(const forces::DeviceEvaluation& how, const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                  const lists::DeviceCriterion& criterion);
    void sum_own();
    void sum_forest();
    void sum_up();
    DeviceTargetSources target_sources() const;
    void sum_results();
    void show_results();
    void take_sums(RankOutcome& outcome) const;
    [[noreturn]] void raise_bad_result();
    bool asks_for_double(uint64_t stop);
    periodic::PeriodicTask box_task();
    void put_box_virial();
    essential::OwnNodes own_nodes(essential::RankContent content) const;
    essential::RemoteNodes remote_nodes();
    void resize_forest(const essential::RemotePlan& plan);

    Steps& s_;
    Repair& repair_;
    RankFrame frame_{};
    essential::RankShape shape_{};
    int64_t groups_ = 0; // of the own targets
    backend::DeviceBuffer<double> corners_;
    backend::PinnedBuffer<KnownTree> known_;
    RankCover cover_;
    RankPacking packing_;
    RankForest forest_;
    RankBox box_;
    RankClock clock_;
};

// Enqueued, each.
/// corners[0 ... 6) = (-lower, upper) of the box of n > 0 points; partial: 6 values for 2,048 points each.
void find_corners(backend::Queue& queue, const double* x, const double* y, const double* z, int64_t n,
                  double* partial, double* corners);
/// charge = charge / old * scale, exactly; state->scale = scale.
void rescale_charges(backend::Queue& queue, double* charge, int64_t n, double scale,
                     particles::DeviceImportState* state);
/// `count` runs of the groups.
void cover_groups(backend::Queue& queue, const lists::Group* groups, int64_t group_count, int64_t count,
                  lists::Group* runs);
void keep_off_regions(backend::Queue& queue, const tree::DeviceTree& tree,
                      const moments::DeviceMoments& moments, bool error, const geometry::Box* regions,
                      int64_t count, const geometry::Box& all, lists::DeviceCriterion& criterion);
/// Nodes [begin, end), all of one level.
void open_level(backend::Queue& queue, const essential::OwnNodes& own, const lists::Target* boxes, int count,
                int32_t begin, int32_t end, const essential::Extraction& to);
void put_nodes(backend::Queue& queue, const essential::OwnNodes& own, const essential::RankShape& shape,
               const essential::Extraction& from, int32_t nodes, const essential::RankSections& to);
void take_nodes(backend::Queue& queue, const essential::RankSections& from, const essential::RankShape& shape,
                const essential::RankHeader& header, const essential::RankOffsets& place,
                const essential::RemoteNodes& to);
void put_supers(backend::Queue& queue, const essential::SuperNode* supers, int32_t count,
                const essential::RankShape& shape, const essential::RemoteNodes& to);
/// What the evaluation reads of node 0 and of the tree.
void close_forest(backend::Queue& queue, int32_t nodes, int32_t levels, double charge, double magnitude,
                  tree::DeviceTreeCounts* counts, double* values, double* magnitudes);

} // namespace graft::engine
