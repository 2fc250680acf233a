// What one engine keeps of a computation over ranks: DeviceForce::Ranks, and the kernels' launchers.
#pragma once

#include "engine/gpu/engine_gpu.cuh"
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

struct DeviceForce::Ranks {
    explicit Ranks(backend::DeviceMemory& memory)
        : memory(memory), corners(memory, "corners"), boxes(memory, "boxes of another rank"),
          regions(memory, "regions of other ranks"), cover(memory, "runs of groups"),
          host_cover(memory, "runs of groups"), opened(memory, "opened nodes"), sent(memory, "sent nodes"),
          number(memory, "numbers of sent nodes"), wanted(memory, "particles to send"),
          particle(memory, "places of particles to send"), arrived(memory, "nodes from other ranks"),
          host_arrived(memory, "nodes from other ranks"), supers(memory, "nodes above other ranks' trees"),
          host_supers(memory, "nodes above other ranks' trees"), tree(memory), moments(memory),
          criterion(memory), coarse(memory, "masses of other ranks"),
          host_nodes(memory, "nodes of one level"), host_boxes(memory, "boxes of one level"),
          known(memory, "what is known of the tree"), corner_partial(memory, "corners"),
          structure(memory, "structure factors of all ranks"), flags(memory, "particles near another rank"),
          host_structure(memory, "structure factors of all ranks"), box_facts(memory, "facts of a box") {
        for (cudaEvent_t& event : sums)
            GRAFT_CUDA(cudaEventCreate(&event));
    }
    ~Ranks() {
        for (cudaEvent_t event : sums)
            (void)cudaEventDestroy(event);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    /// A message to one rank, on the device and in page-locked memory.
    struct Parcel {
        explicit Parcel(backend::DeviceMemory& memory)
            : device(memory, "nodes for another rank"), host(memory, "nodes for another rank") {
            GRAFT_CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
        }
        ~Parcel() { (void)cudaEventDestroy(done); }
        Parcel(const Parcel&) = delete;
        Parcel& operator=(const Parcel&) = delete;
        backend::DeviceBuffer<char> device;
        backend::PinnedBuffer<char> host;
        cudaEvent_t done = nullptr; // device filled
        int64_t bytes = 0;
    };
    Parcel& parcel(int32_t rank) {
        while (parcels.size() <= static_cast<size_t>(rank))
            parcels.emplace_back();
        auto& wanted_one = parcels[static_cast<size_t>(rank)];
        if (!wanted_one)
            wanted_one = std::make_unique<Parcel>(memory);
        return *wanted_one;
    }

    backend::DeviceMemory& memory;
    RankFrame frame{};
    essential::RankShape shape{};
    int64_t groups = 0; // of the own targets
    backend::DeviceStatus built{};
    backend::DeviceBuffer<double> corners;
    backend::DeviceBuffer<lists::Target> boxes;
    backend::DeviceBuffer<geometry::Box> regions;
    backend::DeviceBuffer<lists::Group> cover;
    backend::PinnedBuffer<lists::Group> host_cover;
    backend::DeviceBuffer<uint64_t> opened;
    backend::DeviceBuffer<int32_t> sent, number, wanted, particle;
    std::vector<std::unique_ptr<Parcel>> parcels;
    backend::DeviceBuffer<char> arrived;
    backend::PinnedBuffer<char> host_arrived;
    // The other ranks' nodes as one tree.
    backend::DeviceBuffer<essential::SuperNode> supers;
    backend::PinnedBuffer<essential::SuperNode> host_supers;
    tree::DeviceTree tree;
    moments::DeviceMoments moments;
    lists::DeviceCriterion criterion;
    backend::DeviceBuffer<lists::CoarseNode> coarse;
    int64_t nodes = 0, particles = 0, coarse_nodes = 0;
    backend::PinnedBuffer<tree::Node> host_nodes;
    backend::PinnedBuffer<geometry::Box> host_boxes;
    backend::PinnedBuffer<KnownTree> known;
    // A periodic box: own particles and those near the own targets.
    backend::DeviceBuffer<double> corner_partial, structure;
    backend::DeviceBuffer<uint8_t> flags;
    backend::PinnedBuffer<double> host_structure;
    backend::PinnedBuffer<periodic::PeriodicFacts> box_facts;
    std::vector<backend::DeviceBuffer<double>> box_columns;
    backend::DeviceBuffer<double>& box_column(size_t c) {
        while (box_columns.size() <= c)
            box_columns.emplace_back(memory, "particles near the own targets");
        return box_columns[c];
    }
    forces::DeviceSources box_targets{};
    bool box_virial = false;
    double box_net = 0, box_magnitude = 0; // of all ranks' charges, host units
    cudaEvent_t sums[4] = {};              // around the sums over the own tree, and over the forest
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
void put_nodes(backend::Queue& queue, const essential::OwnNodes& own, const essential::RankShape& shape, const essential::Extraction& from,
               int32_t nodes, const essential::RankSections& to);
void take_nodes(backend::Queue& queue, const essential::RankSections& from, const essential::RankShape& shape,
                const essential::RankHeader& header, const essential::RankPlace& place, const essential::RemoteNodes& to);
void put_supers(backend::Queue& queue, const essential::SuperNode* supers, int32_t count, const essential::RankShape& shape,
                const essential::RemoteNodes& to);
/// What the evaluation reads of node 0 and of the tree.
void close_forest(backend::Queue& queue, int32_t nodes, int32_t levels, double charge, double magnitude,
                  tree::DeviceTreeCounts* counts, double* values, double* magnitudes);

} // namespace graft::engine
