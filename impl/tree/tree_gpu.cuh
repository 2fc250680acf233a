// SPDX-License-Identifier: BSD-3-Clause
// The tree on the device: the same nodes, order and boxes, bit for bit, as tree::Tree on the host.
//
// Sizes that depend on the data (nodes, levels) live on the device in `counts`; arrays are sized by capacity.
// The host learns them from DeviceStatus after the computation. Invariants otherwise as in tree.hpp.
#pragma once

#include "backend/queue_gpu.cuh"
#include "tree/tree.hpp"

#include <cstdint>

namespace graft::tree {

/// What DeviceStatus::bad_array says when the tree stops with bad_value: a particle outside the given root
/// cube (first_bad names the first), or coordinates that span more than 1e150.
inline constexpr int64_t bad_root = 100, bad_span = 101;

/// Levels that level_offset has room for.
inline constexpr int max_device_levels = 96;

struct DeviceTreeCounts {
    int32_t nodes, leaves, levels, pad;
    double root_lower[3], root_edge;

    /// Whether a point is in the root cube.
    GRAFT_HD bool in_root(double x, double y, double z, int dimension) const {
        const double point[3] = {x, y, z};
        bool inside = true;
        for (int a = 0; a < dimension; ++a) {
            const double offset = point[a] - root_lower[a];
            inside &= offset >= 0 && offset <= root_edge;
        }
        return inside;
    }
};

struct DeviceTree {
    explicit DeviceTree(backend::DeviceMemory& memory)
        : counts(memory, "tree counts"), nodes(memory, "tree nodes"), boxes(memory, "tree boxes"),
          edges(memory, "tree cell edges"), keys(memory, "tree keys"), level_offset(memory, "tree levels"),
          order(memory, "tree order"), x(memory, "sorted x"), y(memory, "sorted y"), z(memory, "sorted z"),
          charge(memory, "sorted charges"), softening(memory, "sorted softening") {}

    TreeOptions options;
    int64_t n = 0; // particles
    backend::DeviceBuffer<DeviceTreeCounts> counts;
    backend::DeviceBuffer<Node> nodes; // size() is the capacity that kernels respect
    backend::DeviceBuffer<geometry::Box> boxes;
    backend::DeviceBuffer<double> edges;
    backend::DeviceBuffer<uint64_t> keys;
    backend::DeviceBuffer<int32_t> level_offset; // max_device_levels + 1
    backend::DeviceBuffer<int32_t> order;        // tree position -> host index
    backend::DeviceBuffer<double> x, y, z, charge;
    backend::DeviceBuffer<double> softening; // empty: one length for all

    int32_t node_capacity() const { return static_cast<int32_t>(nodes.size()); }

    /// Room for so many nodes; contents undefined.
    void resize_nodes(int64_t capacity);
    void resize_particles(int64_t count, bool with_charge, bool with_softening);

    /// Copies a host tree (tests; trees that only the host builds) and waits. And back: fills `host`, waits.
    void upload(backend::Queue& queue, const Tree& host);
    void download(backend::Queue& queue, Tree& host) const;
};

/// Particles in host order on the device, contiguous and checked; as ParticleView. z may be null, charge and
/// softening too.
struct DeviceParticleView {
    int64_t n = 0;
    const double *x = nullptr, *y = nullptr, *z = nullptr, *charge = nullptr, *softening = nullptr;
};

/// How the octree is made; all give the same tree.
enum class DeviceBuild : int32_t {
    fused = 0,    // all levels at once from neighbouring keys, no loop over levels
    levels = 1,   // a launch per level; this and two_phase can only guess nodes_needed
    two_phase = 2 // thuering2023: a top tree, then its subtrees in parallel
};

/// Of DeviceBuild::two_phase (thuering2023, section 5.1.3): levels of the top tree (1 to 9), threads of the
/// one block that makes it (his figure 5.4) and of the block of each subtree (5.5); threads: one of
/// block_sizes. Any choice gives the same tree.
struct TwoPhase {
    static constexpr int block_sizes[] = {32, 64, 128, 256, 512, 640, 1024};
    int top_depth = 5;
    int top_threads = 1024, subtree_threads = 128;
    cudaEvent_t* marks =
        nullptr; // three, recorded before the top, behind it, and behind the subtrees; may be null
};

class DeviceTreeBuilder {
  public:
    explicit DeviceTreeBuilder(backend::DeviceMemory& memory);
    ~DeviceTreeBuilder();

    /// Enqueues the build of `tree` (octree; options.has_root for a given cube). No waiting, no allocation
    /// when sizes have been seen. tree.nodes keeps its capacity (set from n and leaf if it has none); a tree
    /// that needs more sets status nodes_needed and stops with too_small. Cells too deep for 63-bit keys stop
    /// with deep_cell. Throws Error(unsupported) for n >= 2^31 and type orb.
    void build(backend::Queue& queue, const TreeOptions& options, const DeviceParticleView& particles,
               DeviceTree& tree, DeviceBuild kind = DeviceBuild::fused, const TwoPhase& two_phase = {});

    struct Work; // the builder's own

  private:
    Work* work_;
};

} // namespace graft::tree
