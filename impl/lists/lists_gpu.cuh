// SPDX-License-Identifier: BSD-3-Clause
// Targets, acceptance criterion and interaction lists on the device: the same lists as lists.hpp on the host
// (the order inside a list may differ; it is the same every run).
//
// Groups are counted on the device; arrays are sized by capacity. Lists may be built batch by batch: batch b
// of B takes groups [G b / B, G (b + 1) / B) of the G there are.
#pragma once

#include "backend/queue_gpu.cuh"
#include "lists/criterion.hpp"
#include "lists/lists.hpp"
#include "lists/targets.hpp"
#include "moments/moments_gpu.cuh"
#include "tree/tree_gpu.cuh"

namespace graft::lists {

/// What a walk reads of a node: three 128-bit words, each kind in an array of its own, so that eight children
/// in a row are 128 B of each. `link` says where the walk goes on: 0 where it never does (a leaf, or small
/// enough for direct_count).
struct alignas(16) DeviceMacXY {
    double x, y;
};
struct alignas(16) DeviceMacZA {
    double z, a;
};
struct alignas(16) DeviceMacLink {
    double b;
    uint32_t link, unused;
};
/// Node k stands at entry k + mac_shift: the root's children, and those of all nodes behind full ones, then
/// begin at a multiple of eight.
inline constexpr int64_t mac_shift = 7;

/// Children [first, first + count) of a node, 1 <= count <= 8, in 32 bits; never 0 as node 0 is nobody's
/// child.
__host__ __device__ constexpr uint32_t pack_link(int32_t first, int32_t count) {
    return static_cast<uint32_t>(first) << 3 | static_cast<uint32_t>(count - 1);
}
/// Nodes that a link can name.
inline constexpr int64_t most_linked_nodes = int64_t{1} << 29;

struct DeviceCriterion {
    explicit DeviceCriterion(backend::DeviceMemory& memory)
        : xy(memory, "MAC x, y"), za(memory, "MAC z, a"), links(memory, "MAC b, links"),
          softening(memory, "MAC softening") {}
    CriterionOptions options; // of these, the walk reads compact_softening and softening_length
    int32_t root = 0;         // where the walk begins
    int levels = 0;           // no node is further below the root; 0: the device's tree counts say
    double skin = 0;          // lists stay valid while no particle has moved by more than skin / 2
    backend::DeviceBuffer<DeviceMacXY> xy; // node capacity + mac_shift, these three
    backend::DeviceBuffer<DeviceMacZA> za;
    backend::DeviceBuffer<DeviceMacLink> links;
    backend::DeviceBuffer<double> softening; // node capacity; empty: one length for all
    /// Copies a host criterion and waits. Throws Error(unsupported) for more than most_linked_nodes.
    void upload(backend::Queue& queue, const Criterion& host, int64_t node_capacity);
    void resize_nodes(int64_t capacity, bool with_softening);
};

/// Fills the criterion of all nodes; `reach` (error MAC, else null) as NodeProperties::reach. Enqueued. The
/// same bits as the host's. Throws Error(argument) for theta < 0 or NaN, Error(unsupported) for a node
/// capacity above most_linked_nodes. criterion.skin > 0: see skin_gpu.cuh.
void fill_criterion(backend::Queue& queue, const tree::DeviceTree& tree,
                    const moments::DeviceMoments& moments, const CriterionOptions& options,
                    const double* reach, DeviceCriterion& criterion);

/// Targets of one computation, as TargetSet.
struct DeviceTargets {
    explicit DeviceTargets(backend::DeviceMemory& memory)
        : groups(memory, "target groups"), group_count(memory, "group count"), own_x(memory, "target x"),
          own_y(memory, "target y"), own_z(memory, "target z"), own_softening(memory, "target softening"),
          own_origin(memory, "target origin"), own_place(memory, "target places") {}
    int64_t n = 0;                              // targets
    int group_size = 64;                        // most targets in a group
    bool keeps_factors = false;                 // the same groups again: their factors of the error MAC stay
    backend::DeviceBuffer<Group> groups;        // size() is the capacity
    backend::DeviceBuffer<int32_t> group_count; // 1, on the device
    // Target order; the tree's own arrays when all its particles are targets.
    const double *x = nullptr, *y = nullptr, *z = nullptr;
    const double* softening = nullptr; // null: one length for all
    const int32_t* origin = nullptr;   // target -> host index or number of the point
    backend::DeviceBuffer<double> own_x, own_y, own_z, own_softening;
    backend::DeviceBuffer<int32_t> own_origin, own_place;

    /// Copies host targets, which the arrays then all belong to, and waits.
    void upload(backend::Queue& queue, const TargetSet& host);
};

class DeviceTargetMaker {
  public:
    explicit DeviceTargetMaker(backend::DeviceMemory& memory);
    ~DeviceTargetMaker();
    /// Enqueued; capacities as in DeviceTreeBuilder::build, status groups_needed. N_group >= 1.
    void set_all(backend::Queue& queue, const tree::DeviceTree& tree, int group_size, DeviceTargets& targets);
    /// The particles with active[host index] != 0; `count`, how many, is known to the caller.
    void set_active(backend::Queue& queue, const tree::DeviceTree& tree, const uint8_t* active, int64_t count,
                    int group_size, DeviceTargets& targets);
    /// Points on the device; z and softening may be null.
    void set_points(backend::Queue& queue, int dimension, int64_t count, const double* x, const double* y,
                    const double* z, const double* softening, int group_size, DeviceTargets& targets);

  private:
    struct Work;
    Work* work_;
};

enum class DeviceWalk : int32_t {
    thread_per_group = 0, // gaburov2010: two passes, a thread a group, two 128-bit words a cell
    warp_per_group = 1,   // a warp a group, 32 nodes tested at once, frontier in shared memory
    super_group = 2       // groups of groups share the upper part of the walk
};

/// Far cells of super groups, which all their groups share and no group's list has: each super group becomes
/// one polynomial (forces/m2l/m2l_gpu.cuh). Super group s of the batch has the count[s] cells that end its
/// `room` entries from nodes[s * room] on.
struct DeviceSharedFar {
    int32_t log_width = -1; // 2^log_width groups a super group; negative: there are none
    int32_t room = 0;
    const int32_t *count = nullptr, *nodes = nullptr;

    __host__ __device__ bool any() const { return log_width >= 0; }
    /// Super group of the batch's group g; `first`: the batch's first group.
    __host__ __device__ int64_t super_of(int64_t first, int64_t g) const {
        return ((first + g) >> log_width) - (first >> log_width);
    }
};
/// Fewest groups that share far cells; a power of two.
inline constexpr int least_sharing_groups = 8;

struct DeviceFarLists;

/// What decides which cells super groups share as far ones; and, if asked for, where groups' lists go that
/// are split at once.
struct DeviceFarChoice {
    const double* magnitude;       // of nodes
    const int32_t* one_sign;       // on the device; 0: no cell is shared
    int order, degree;             // of cells and polynomials
    DeviceFarLists* split = nullptr; // far_cells_gpu.cuh; its nodes are there
};

struct DeviceLists {
    explicit DeviceLists(backend::DeviceMemory& memory)
        : node_offset(memory, "node list offsets"), leaf_offset(memory, "leaf list offsets"),
          nodes(memory, "node lists"), leaves(memory, "leaf lists") {}
    int batch = 0, batches = 1;
    bool split = false; // the node lists are where DeviceFarChoice said, near and far entries apart
    DeviceSharedFar shared;
    // Offsets of the groups of this batch, entry 0 for its first group (group capacity + 1).
    backend::DeviceBuffer<int64_t> node_offset, leaf_offset;
    backend::DeviceBuffer<int32_t> nodes, leaves; // size() is the capacity
    /// Copies host lists (one batch) and waits; and the other way for so many groups of this batch.
    void upload(backend::Queue& queue, const InteractionLists& host);
    void download(backend::Queue& queue, int64_t groups, InteractionLists& host) const;
};

/// First group of batch b of B.
__host__ __device__ inline int64_t batch_begin(int64_t groups, int batch, int batches) {
    return groups * batch / batches;
}

/// What the walks may be tuned by: the lists are the same, but for the order inside them.
struct DeviceWalkTuning {
    int32_t patience = 0;    // steps of a warp after which its block helps; 0: by the number of targets
    int32_t super_width = 8; // groups of a super group, at most 32
};

class DeviceListBuilder {
  public:
    DeviceWalkTuning tuning;
    explicit DeviceListBuilder(backend::DeviceMemory& memory);
    ~DeviceListBuilder();
    /// Enqueues walk, scan, and what puts the entries into their lists. Entries beyond the lists' capacity:
    /// status *_entries_needed, stop too_small. The list of a group, order included, does not depend on how
    /// many batches there are. `far`, with super groups of a power of two >= least_sharing_groups: what they
    /// share as far goes to lists.shared, which stays until the next build. far->split, and a walk by warps:
    /// lists.split.
    void build(backend::Queue& queue, const tree::DeviceTree& tree, const DeviceCriterion& criterion,
               const DeviceTargets& targets, DeviceWalk kind, int batch, int batches, DeviceLists& lists,
               const DeviceFarChoice* far = nullptr);
    /// Working memory that a batch takes for each of its groups, and giving it back.
    int64_t bytes_a_group(DeviceWalk kind) const;
    void release_room();

  private:
    struct Work;
    Work* work_;
};

} // namespace graft::lists
