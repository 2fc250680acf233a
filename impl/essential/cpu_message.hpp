// SPDX-License-Identifier: BSD-3-Clause
// The format of nodes and particles between ranks that are all on CPUs (of one program on one kind of machine: plain structs).
// Where some or all ranks have a GPU: gpu_message.hpp.
#pragma once

#include "geometry/box.hpp"

#include <cstdint>

namespace graft::essential {

enum class NodeKind : int32_t {
    complete = 0, // nothing more to ask for
    inner = 1,    // has children at home
    leaf = 2,     // has particles at home
};

/// A node on its way; its expansion stands in a section of its own.
struct PackedNode {
    double centre[3], a, b, rho; // rho 0: a point
    double magnitude;            // sum of |charge|
    double softening, softening_square;
    geometry::Box box;
    int32_t child_count, particle_count; // that come with it
    int32_t source;                      // its number at home
    NodeKind kind;                       // at home
};

/// A node for the estimate of accelerations.
struct PackedMass {
    double centre[3], magnitude, edge;
    double softening; // EstimateSoftening::of_node()
    int64_t child_count;
};

/// A node that the receiver knows already, and for which children or particles come.
struct PackedRoot {
    int32_t number, child_count, particle_count, unused;
};

/// Sections of a message: header, roots, nodes, expansions, particles (x..., y..., z..., charge...,
/// softening...); all multiples of 8 bytes. Nodes stand in the order in which their parents do, children
/// together.
struct MessageHeader {
    int64_t roots, nodes, particles;
};

/// Where the sections of a message begin.
struct Sections {
    PackedRoot* roots;
    char* nodes;
    char* records;
    double* particles;
};

inline Sections sections(char* message, const MessageHeader& header, int64_t node_bytes,
                         int64_t record_bytes) {
    Sections s;
    s.roots = reinterpret_cast<PackedRoot*>(message + sizeof(MessageHeader));
    s.nodes = reinterpret_cast<char*>(s.roots + header.roots);
    s.records = s.nodes + header.nodes * node_bytes;
    s.particles = reinterpret_cast<double*>(s.records + header.nodes * record_bytes);
    return s;
}

inline int64_t message_bytes(const MessageHeader& header, int64_t node_bytes, int64_t record_bytes,
                             int particle_columns) {
    return header.roots == 0 ? 0
                             : static_cast<int64_t>(sizeof(MessageHeader)) +
                                   header.roots * static_cast<int64_t>(sizeof(PackedRoot)) +
                                   header.nodes * (node_bytes + record_bytes) +
                                   header.particles * particle_columns * static_cast<int64_t>(sizeof(double));
}

} // namespace graft::essential
