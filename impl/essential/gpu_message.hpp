// SPDX-License-Identifier: BSD-3-Clause
// Essential trees between ranks of which some or all have a GPU: the format, and the bodies of sender and receiver
// for one node each, made by both compilers. Loops over nodes: on a GPU engine/ranks/ranks_pack_gpu.cu, on a CPU
// gpu_message_exchange. Ranks that are all on CPUs speak by cpu_message.hpp, which has what fetching and the top tree need.
//
// Push, as essential_tree.hpp: of every node that a box of the other rank's domain refuses the children are sent, of
// every leaf so refused the particles (of a heap of equal points its one sum). The sender sends its root and
// all children of opened nodes; numbered in their order they stand in level order with the children of a node
// together, as in any tree. The receiver puts the trees of all senders below a root of its own, which no
// group accepts, and has one more tree, which the walk and the kernels of its own tree serve. The arithmetic
// of the test is that of the walks (lists/walk_gpu.cuh, lists/walk.cpp), and monotone in the target: what a
// box accepts, every group in it accepts. Compiled without fused multiply-adds.
#pragma once

#include "core/host_device.hpp"
#include "lists/targets.hpp"
#include "lists/estimate_step.hpp"
#include "tree/tree.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace graft::essential {

/// What a message tells of nodes: enough for the estimate of accelerations, or all.
enum class RankContent : int32_t { masses = 0, all = 1 };

/// Levels of a tree that travels: what a GPU's walk has a stack for (tree::max_device_levels).
inline constexpr int most_sent_levels = 96;

/// First and by itself: sizes of a message, and what the receiver's host must know of the tree in it.
struct RankHeader {
    int64_t nodes, particles;
    int32_t levels, unused;
    double charge, magnitude; // of the root: sums of q and |q|
    geometry::Box box;        // of the root
};

/// A node's children and particles, numbered within the message.
struct SentNode {
    int32_t first_child, child_count, first, count;
};

/// As lists::DeviceMacLink, which only nvcc reads.
struct RankLink {
    double b;
    uint32_t link, unused;
};

/// What every message of a computation has in common.
struct RankShape {
    RankContent content;
    bool lengths;         // particles have softening lengths of their own
    int32_t record_bytes; // an expansion
    int32_t terms;        // moments a node
};

/// A tree's nodes as the sender reads them.
struct OwnNodes {
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *xy, *za; // centre and `a` of the criterion, two numbers a node each
    const RankLink* links;
    const double* mac_softening; // or null
    double softening_length;
    bool compact;             // softening: no particle may be inside it
    const lists::EstimateNode* coarse; // masses only; the criterion is then their size
    const double *radius, *rho, *magnitude, *softening_square, *values;
    const char* records;
    int64_t heap; // leaves of more particles are heaps, one source each
    const double* particle[5];
};

/// What the sender knows of each node for one other rank; entry `nodes` of the last four closes their scans.
struct Extraction {
    uint64_t* opened;                           // bit t: box t opens it
    int32_t *sent, *number, *wanted, *particle; // 1: sent; sent before it; particles sent; those before them
};

/// The sections of a message behind each other, each at a multiple of 16 bytes.
struct RankSections {
    lists::EstimateNode* coarse;
    SentNode* nodes;
    geometry::Box* boxes;
    double *xy, *za, *b, *radius, *rho, *magnitude, *softening, *softening_square;
    char* records;
    double* particle[5];
    int64_t bytes; // of the whole message
};

GRAFT_HD inline int64_t round_up_16(int64_t bytes) {
    return (bytes + 15) / 16 * 16;
}

GRAFT_HD inline RankSections sections_of(char* message, const RankShape& shape, const RankHeader& header) {
    RankSections s{};
    int64_t at = 0;
    const auto take = [&](int64_t count, int64_t size) {
        char* const section = message + at;
        at += round_up_16(count * size);
        return section;
    };
    const auto take_doubles = [&](int64_t count) { return reinterpret_cast<double*>(take(count, 8)); };
    const int64_t n = header.nodes;
    if (shape.content == RankContent::masses) {
        s.coarse = reinterpret_cast<lists::EstimateNode*>(take(n, sizeof(lists::EstimateNode)));
        s.bytes = at;
        return s;
    }
    s.nodes = reinterpret_cast<SentNode*>(take(n, sizeof(SentNode)));
    s.boxes = reinterpret_cast<geometry::Box*>(take(n, sizeof(geometry::Box)));
    s.xy = take_doubles(2 * n);
    s.za = take_doubles(2 * n);
    s.b = take_doubles(n);
    s.radius = take_doubles(n);
    s.rho = take_doubles(n);
    s.magnitude = take_doubles(n);
    s.softening = take_doubles(shape.lengths ? n : 0);
    s.softening_square = take_doubles(shape.lengths ? n : 0);
    s.records = take(n, shape.record_bytes);
    for (int c = 0; c < 5; ++c)
        s.particle[c] = take_doubles(c < 4 || shape.lengths ? header.particles : 0);
    s.bytes = at;
    return s;
}

inline int64_t message_bytes(const RankShape& shape, const RankHeader& header) {
    alignas(16) static char nowhere[16];
    return sections_of(nowhere, shape, header).bytes;
}

/// Distance along an axis from a centre to an interval, 0 inside.
GRAFT_HD inline double gap_to(double lower, double upper, double centre) {
    const double below = lower - centre, above = centre - upper;
    return below > 0 ? below : (above > 0 ? above : 0.0);
}

GRAFT_HD inline bool near_softening(const OwnNodes& own, const lists::Target& target, int32_t node) {
    const geometry::Box& box = own.boxes[node];
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double gap = geometry::larger(geometry::larger(box.lower[axis] - target.box.upper[axis],
                                                             target.box.lower[axis] - box.upper[axis]),
                                            0.0);
        square += gap * gap;
    }
    const double length = own.mac_softening != nullptr
                              ? geometry::larger(own.mac_softening[node], target.softening)
                              : own.softening_length;
    return !(square >= length * length);
}

/// True where the target may not take the node as a whole.
GRAFT_HD inline bool refuses(const OwnNodes& own, const lists::Target& target, int32_t node) {
    double x, y, z, a, b;
    if (own.coarse != nullptr) {
        const lists::EstimateNode& coarse = own.coarse[node];
        x = coarse.x;
        y = coarse.y;
        z = coarse.z;
        a = 0;
        b = coarse.edge;
    } else {
        x = own.xy[2 * int64_t{node}];
        y = own.xy[2 * int64_t{node} + 1];
        z = own.za[2 * int64_t{node}];
        a = own.za[2 * int64_t{node} + 1];
        b = own.links[node].b;
    }
    const double dx = gap_to(target.box.lower[0], target.box.upper[0], x);
    const double dy = gap_to(target.box.lower[1], target.box.upper[1], y);
    const double dz = gap_to(target.box.lower[2], target.box.upper[2], z);
    const double square = dx * dx + dy * dy + dz * dz;
    const double reach = a * target.factor;
    const double radius = reach > b ? reach : b;
    if (!(square > radius * radius))
        return true;
    return own.coarse == nullptr && own.compact && near_softening(own, target, node);
}

GRAFT_HD inline bool is_heap(const OwnNodes& own, const tree::Node& node) {
    return node.child_count == 0 && node.count > own.heap;
}

/// One node of one level, whose parents' level is done: which of the `count` (at most 64) boxes open it,
/// whether it is sent, and how many of its particles.
GRAFT_HD inline void open_node(const OwnNodes& own, const lists::Target* boxes, int count, int32_t k,
                               const Extraction& to) {
    const tree::Node& node = own.nodes[k];
    const uint64_t all = count == 0 ? 0 : ~uint64_t{0} >> (64 - count);
    const uint64_t seen_by = node.parent < 0 ? all : to.opened[node.parent];
    uint64_t refused_by = 0;
    for (int t = 0; t < count && seen_by != 0; ++t)
        if ((seen_by >> t & 1) != 0 && refuses(own, boxes[t], k))
            refused_by |= uint64_t{1} << t;
    const bool terminal = own.coarse != nullptr ? node.child_count == 0 : own.links[k].link == 0;
    to.opened[k] = terminal ? 0 : refused_by;
    to.sent[k] = seen_by != 0 ? 1 : 0;
    const bool wanted = terminal && refused_by != 0 && own.coarse == nullptr;
    to.wanted[k] = wanted ? (is_heap(own, node) ? 1 : static_cast<int32_t>(node.count)) : 0;
}

/// The expansion of a node.
GRAFT_HD inline void copy_record(const char* from, int64_t node, const RankShape& shape, char* to, int64_t place) {
    const auto* record = reinterpret_cast<const float*>(from + node * shape.record_bytes);
    auto* const out = reinterpret_cast<float*>(to + place * shape.record_bytes);
    for (int i = 0; i < shape.record_bytes / 4; ++i)
        out[i] = record[i];
}

/// What stands the same at the sender, in a message and at the receiver.
template <class From, class To>
GRAFT_HD inline void copy_node(const From& from, int64_t node, const RankShape& shape, const To& to, int64_t place) {
    to.boxes[place] = from.boxes[node];
    for (int c = 0; c < 2; ++c) {
        to.xy[2 * place + c] = from.xy[2 * node + c];
        to.za[2 * place + c] = from.za[2 * node + c];
    }
    to.radius[place] = from.radius[node];
    to.rho[place] = from.rho[node];
    to.magnitude[place] = from.magnitude[node];
    if (shape.lengths)
        to.softening_square[place] = from.softening_square[node];
    copy_record(from.records, node, shape, to.records, place);
}

/// Writes a sent node, all but its particles.
GRAFT_HD inline void put_node(const OwnNodes& own, const RankShape& shape, const Extraction& from, int32_t k,
                              const RankSections& to) {
    const int64_t place = from.number[k];
    const tree::Node& node = own.nodes[k];
    const bool opened = from.opened[k] != 0;
    const int32_t first_child = opened ? from.number[node.first_child] : 0;
    const int32_t child_count = opened ? node.child_count : 0;
    if (shape.content == RankContent::masses) {
        lists::EstimateNode coarse = own.coarse[k];
        coarse.first_child = first_child;
        coarse.child_count = child_count;
        to.coarse[place] = coarse;
        return;
    }
    to.nodes[place] = {first_child, child_count, from.wanted[k] > 0 ? from.particle[k] : 0, from.wanted[k]};
    copy_node(own, k, shape, to, place);
    to.b[place] = own.links[k].b;
    if (shape.lengths)
        to.softening[place] = own.mac_softening[k];
}

/// Writes particle number i of those that go with node k.
GRAFT_HD inline void put_particle(const OwnNodes& own, const RankShape& shape, const Extraction& from,
                                  int32_t k, int32_t i, const RankSections& to) {
    const tree::Node& node = own.nodes[k];
    const int64_t place = int64_t{from.particle[k]} + i, source = node.first + i;
    for (int c = 0; c < (shape.lengths ? 5 : 4); ++c)
        to.particle[c][place] = own.particle[c][source];
    if (is_heap(own, node))
        to.particle[3][place] = own.values[int64_t{k} * shape.terms];
}

/// Where a sender's nodes and particles stand at the receiver.
struct RankOffsets {
    int32_t root, rest; // its root, and the node behind it
    int64_t particle;

    GRAFT_HD int32_t of(int32_t node) const { return node == 0 ? root : rest + node - 1; }
};

/// The receiver's forest as it is written: criterion entries as OwnNodes has them.
struct RemoteNodes {
    tree::Node* nodes;
    geometry::Box* boxes;
    double *xy, *za;
    RankLink* links;
    double *mac_softening, *cx, *cy, *cz, *radius, *rho, *magnitude, *softening_square;
    char* records;
    lists::EstimateNode* coarse;
};

/// As lists::pack_link.
GRAFT_HD inline uint32_t remote_link(int32_t first_child, int32_t child_count) {
    return child_count == 0
               ? 0
               : static_cast<uint32_t>(first_child) << 3 | static_cast<uint32_t>(child_count - 1);
}

/// Node j of a message to its place.
GRAFT_HD inline void take_node(const RankSections& from, const RankShape& shape, const RankOffsets& place,
                               int32_t j, const RemoteNodes& to) {
    const int64_t k = place.of(j);
    if (shape.content == RankContent::masses) {
        lists::EstimateNode coarse = from.coarse[j];
        coarse.first_child = coarse.child_count > 0 ? place.of(coarse.first_child) : 0;
        to.coarse[k] = coarse;
        return;
    }
    const SentNode sent = from.nodes[j];
    const int32_t first_child = sent.child_count > 0 ? place.of(sent.first_child) : 0;
    to.nodes[k] = {first_child, sent.child_count, -1, 0, place.particle + sent.first, sent.count};
    copy_node(from, j, shape, to, k);
    to.links[k] = {from.b[j], remote_link(first_child, sent.child_count), 0};
    to.cx[k] = from.xy[2 * int64_t{j}];
    to.cy[k] = from.xy[2 * int64_t{j} + 1];
    to.cz[k] = from.za[2 * int64_t{j}];
    if (shape.lengths)
        to.mac_softening[k] = from.softening[j];
}

/// A node of the receiver's own, above the senders' roots: always opened.
struct SuperNode {
    int32_t first_child, child_count;
    geometry::Box box;
};

GRAFT_HD inline void put_super(const SuperNode& super, const RankShape& shape, int32_t k,
                               const RemoteNodes& to) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (shape.content == RankContent::masses) {
        to.coarse[k] = {0, 0, 0, 0, never, 0, super.first_child, super.child_count};
        return;
    }
    to.nodes[k] = {super.first_child, super.child_count, -1, 0, 0, 0};
    to.boxes[k] = super.box;
    for (int c = 0; c < 2; ++c)
        to.xy[2 * int64_t{k} + c] = to.za[2 * int64_t{k} + c] = 0;
    to.links[k] = {never, remote_link(super.first_child, super.child_count), 0};
    to.cx[k] = to.cy[k] = to.cz[k] = to.radius[k] = 0;
    to.rho[k] = 1;
    to.magnitude[k] = 0;
    if (shape.lengths)
        to.mac_softening[k] = to.softening_square[k] = 0;
    auto* const out = reinterpret_cast<float*>(to.records + int64_t{k} * shape.record_bytes);
    for (int i = 0; i < shape.record_bytes / 4; ++i)
        out[i] = 0;
}

/// How the trees of some senders stand together: the own nodes above them, then their roots, then the rest of
/// each.
struct RemotePlan {
    std::vector<SuperNode> supers;
    std::vector<RankOffsets> places; // per sender
    int64_t nodes = 0, particles = 0;
    int32_t levels = 0;
    double charge = 0, magnitude = 0; // of all
};

/// Host. arity: children of a node, 8 or in two dimensions 4. Throws Error(unsupported) for more nodes than
/// links can name or 2^31 particles. No senders: no nodes.
RemotePlan plan_remote(const std::vector<RankHeader>& headers, int arity);

} // namespace graft::essential
