// SPDX-License-Identifier: BSD-3-Clause
// What the files of the device's tree builder share; not for other rooms.
//
// The way of the data: build_sort_gpu.cu (root cube, keys, sort, gather) -> nodes by one of three constructions:
// octree_gpu.cu, with boxes beside it from build_boxes_gpu.cu, or top down by octree_levels_gpu.cu or
// two_phase_gpu.cu, with octree_top_down_gpu.cu.
#pragma once

#include "backend/side_stream_gpu.cuh"
#include "geometry/morton.hpp"
#include "tree/tree_gpu.cuh"

#include <cstdint>

namespace graft::tree {

namespace device {

struct TopDown; // octree_top_down_gpu.cuh

/// Extents below this count as zero, as detail::smallest_edge on the host.
inline constexpr double smallest_edge = 1e-290;

/// Most levels of an octree of keys: every level of nodes is at least one level of cells further down.
inline constexpr int most_levels = 32 + 1;

/// The key cells that may become nodes: those inside the range of keys, if there is one.
struct Cells {
    int32_t dimension, key_levels;
    bool ranged;
    uint64_t begin, end;

    explicit Cells(const TreeOptions& options)
        : dimension(options.dimension), key_levels(geometry::key_levels(options.dimension)),
          ranged(options.has_range), begin(options.key_begin), end(options.key_end) {}

    /// Level of the smallest cell with both keys; -1 if that is in no root.
    __device__ int level(uint64_t a, uint64_t b) const {
        const int common = geometry::common_level(a, b, dimension);
        return ranged && !geometry::cell_within(a, common, dimension, begin, end) ? -1 : common;
    }
    __device__ uint64_t first_key(uint64_t key, int level) const {
        return geometry::cell_begin(key, level, dimension);
    }
    __device__ uint64_t size(int level) const { return geometry::cell_keys(level, dimension); }
};

/// edge * 2^-level, exact.
__device__ inline double cell_edge(double root_edge, int level) {
    return root_edge * __hiloint2double((1023 - level) << 20, 0);
}

/// First index in [begin, end) whose value is >= bound; values ascend. Three looks at a time, as each waits
/// for the one before.
template <typename Index>
__device__ Index lower_bound(const uint64_t* values, Index begin, Index end, uint64_t bound) {
    while (begin < end) {
        const Index part = (end - begin) / 4;
        const int below = (values[begin + part] < bound) + (values[begin + 2 * part] < bound) +
                          (values[begin + 3 * part] < bound);
        if (part == 0) { // all three are the first
            if (below == 0)
                return begin;
            ++begin;
            continue;
        }
        end = below < 3 ? begin + (below + 1) * part : end;
        begin = below > 0 ? begin + below * part + 1 : begin;
    }
    return begin;
}

/// Inner node with the leaves [first, end) below it.
struct InnerNode {
    int32_t first, end, node, unused;
};

/// Position and charge, one sector of memory.
struct alignas(32) PackedParticle {
    double x, y, z, charge;
};
inline constexpr int64_t packed_limit = int64_t{1} << 27;

/// An array of boxes of 32, 1024 or 32768 consecutive leaves.
inline constexpr int chunk_leaves = 32;

} // namespace device

/// What the fused construction knows of leaves; an entry a leaf, but for node_of_slot.
struct LeafBuffers {
    explicit LeafBuffers(backend::DeviceMemory& memory)
        : mark(memory, "node marks"), cover(memory, "nodes over leaves"),
          base(memory, "first nodes of leaves"), first(memory, "cells of leaves"),
          end(memory, "ends of cells"), node_of_slot(memory, "nodes by start"),
          node(memory, "nodes of leaves"), inner_slot(memory, "places of inner nodes") {}

    backend::DeviceBuffer<int32_t> mark, cover, base, first, end, node_of_slot, node, inner_slot;
};

/// Its boxes.
struct BoxBuffers {
    explicit BoxBuffers(backend::DeviceMemory& memory)
        : leaves(memory, "leaf boxes"), inner(memory, "inner boxes"), chunks(memory, "chunk boxes") {}

    backend::DeviceBuffer<geometry::Box> leaves, inner; // in the order of leaves, of Work::inner
    backend::DeviceBuffer<geometry::Box> chunks;        // three levels, one after the other
};

/// Nodes in the order in which the construction in two phases makes them.
struct DraftBuffers {
    explicit DraftBuffers(backend::DeviceMemory& memory)
        : nodes(memory, "nodes in making"), keys(memory, "keys of nodes"),
          keys_sorted(memory, "keys of nodes"), index(memory, "order of nodes"),
          index_sorted(memory, "order of nodes"), place(memory, "places of nodes") {}

    backend::DeviceBuffer<Node> nodes;
    backend::DeviceBuffer<uint64_t> keys, keys_sorted;
    backend::DeviceBuffer<int32_t> index, index_sorted, place;
};

/// Working memory, kept between builds.
struct DeviceTreeBuilder::Work {
    explicit Work(backend::DeviceMemory& memory)
        : keys(memory, "unsorted keys"), index(memory, "unsorted order"), partial(memory, "block boxes"),
          frame(memory, "key frame"), flags(memory, "leaf flags"), leaves(memory),
          inner(memory, "inner nodes"), boxes(memory), block_sums(memory, "block sums"),
          tickets(memory, "tickets"), packed(memory, "packed particles"), bucket_parts(memory, "buckets"),
          roots(memory, "roots"), subtrees(memory, "subtrees"), draft(memory), beside(memory) {}

    backend::DeviceBuffer<uint64_t>
        keys; // before the sort; then the first keys of leaves; empty: see leaf_keys
    backend::DeviceBuffer<int32_t> index; // before the sort; then the first particles of leaves
    backend::DeviceBuffer<geometry::Box> partial;
    backend::DeviceBuffer<geometry::KeyFrame> frame;
    backend::DeviceBuffer<uint32_t> flags; // a bit a particle: starts a leaf
    LeafBuffers leaves;
    backend::DeviceBuffer<device::InnerNode> inner;
    BoxBuffers boxes;
    backend::DeviceBuffer<int32_t> block_sums;
    backend::DeviceBuffer<int32_t> tickets; // see Ticket; zero between builds
    backend::DeviceBuffer<device::PackedParticle> packed;
    backend::DeviceBuffer<char> bucket_parts; // where they begin, and how that was found
    // The other constructions'; empty unless they are used.
    backend::DeviceBuffer<int32_t> roots, subtrees;
    DraftBuffers draft;
    backend::SideStream beside; // for gather and boxes, while the queue makes nodes

    // What make_tree reads: the sorted keys; and what it writes the first keys of leaves to.
    const uint64_t* sorted_keys = nullptr;
    uint64_t* leaf_keys = nullptr;
    bool gathered = false; // the sort has gathered the particles, too

    /// Sizes that depend on n and the node capacity.
    void resize(backend::Queue& queue, int64_t n, int64_t capacity);
    /// Of these, what depends on the node capacity, and flags.
    void resize_nodes(backend::Queue& queue, int64_t n, int64_t capacity);

    void sort(backend::Queue& queue, const DeviceParticleView& particles, DeviceTree& tree);
    /// Its parts: root cube and frame; and, for as many particles as fit, keys, sort and gather in one.
    void make_root(backend::Queue& queue, const DeviceParticleView& particles, DeviceTree& tree);
    static bool fits_in_buckets(int64_t n);
    void sort_in_buckets(backend::Queue& queue, const DeviceParticleView& particles, DeviceTree& tree);
    /// The same with the keys in two arrays of n that are given, without packed particles. tree.order and
    /// index have n + 1 entries, and may change places.
    void sort_within(backend::Queue& queue, const DeviceParticleView& particles, uint64_t* keys_first,
                     uint64_t* keys_second, DeviceTree& tree);
    /// The gather, beside what the queue does next; after join_beside the queue has its results. Nothing
    /// where the sort has done it.
    void gather_beside(backend::Queue& queue, const DeviceParticleView& particles, DeviceTree& tree);
    void join_beside(backend::Queue& queue) { beside.join(queue.stream()); }

    /// The fused construction, and its boxes: of leaves and inner nodes as soon as they are known, then to
    /// their places in the tree.
    void make_tree(backend::Queue& queue, DeviceTree& tree);
    void bound_leaves_beside(backend::Queue& queue, DeviceTree& tree);
    void bound_inner_beside(backend::Queue& queue, DeviceTree& tree);
    void place_boxes(backend::Queue& queue, DeviceTree& tree);
    /// The other constructions, boxes included.
    void make_nodes_by_levels(backend::Queue& queue, DeviceTree& tree);
    void make_nodes_in_two_phases(backend::Queue& queue, DeviceTree& tree, const TwoPhase& how);
    void order_draft(backend::Queue& queue, const device::TopDown& build, DeviceTree& tree);
};

namespace device {
/// Counters in Work::tickets.
enum Ticket : int32_t {
    ticket_box = 0,
    outside_root = 1,
    inner_total = 2,
    listed = 3,
    nodes_ready = 4,
    ticket_chunks = 8
};
} // namespace device

} // namespace graft::tree
