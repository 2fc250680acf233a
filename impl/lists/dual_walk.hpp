// SPDX-License-Identifier: BSD-3-Clause
// The walk of a cell of targets over the source nodes that the cells above it left to it.
//
// Far nodes go into the cell's polynomial, which the cells below inherit. What is left goes to the cells below: nodes
// that are no larger than the cell, and those that are accepted but not far. Larger ones are opened. A group decides on
// all that is left, as if it had walked from the root: each node is one that the criterion accepts for the group, or
// whose particles meet it one by one. Source: Dehnen 2002 (J. Comput. Phys. 179, 27), section 2.2, with lists per cell
// in place of a stack of pairs.
//
// Far: the first terms that a polynomial of degree N about the centre of targets of radius r leaves out are, of a node
// of sum |q| = m and root mean square radius e at distance d, about m ((r + e) / d)^N / d^2. A share of the error that
// the node may have is what they may be, and target and source must not meet: d > touch (r + radius).
//
// Accepted, not far: a cell of low order meets the targets one by one (M2P). One of harmonic order costs more than its
// children in the polynomial, or than the particles of a leaf: it is opened where it has children and is larger than the
// cell of targets, and its particles are taken where they are here.
#pragma once

#include "backend/executor.hpp"
#include "lists/criterion.hpp"
#include "lists/walk.hpp"
#include "moments/moments.hpp"

#include <span>

namespace graft::lists {

/// Children of an opened node that a cell has to decide on, or leaves to the cells below it.
struct Undecided {
    int32_t first;          // child
    uint8_t mask, terminal; // bit c: child c is undecided; is never opened
    uint16_t image;         // of a periodic box: which the targets stand in; entries of one image stand together
};

/// The root.
inline Undecided all_of(const WalkInput& input, uint16_t image = 0) {
    return {input.root, 1, static_cast<uint8_t>(input.root_terminal ? 1 : 0), image};
}
/// One of several.
inline Undecided root_at(const WalkInput& input, int32_t node, uint16_t image = 0) {
    return {node, 1, static_cast<uint8_t>(input.links[node].child_count == 0 ? 1 : 0), image};
}

/// The entries of one image that `from` begins with.
inline std::span<const Undecided> first_image(std::span<const Undecided> from) {
    size_t count = 0;
    while (count < from.size() && from[count].image == from[0].image)
        ++count;
    return from.first(count);
}

/// Targets in an image of their box.
inline Target moved(Target target, const geometry::Vec3& shift) {
    for (int a = 0; a < 3; ++a) {
        target.box.lower[a] += shift[a];
        target.box.upper[a] += shift[a];
    }
    return target;
}

/// What the far test reads of the nodes, beside their centres.
struct FarNodes {
    explicit FarNodes(core::Memory& memory)
        : magnitude(memory, "node |charges|"), extent(memory, "node extents"), radius(memory, "node radii") {}
    /// extent: root mean square distance of the charge from the centre. Of nodes from other ranks it and the radius
    /// are those that the error criterion, with this theta, was made of.
    void fill(const backend::Executor& executor, const moments::Moments& moments, const Criterion& criterion,
              double theta, int64_t nodes);
    core::Buffer<double> magnitude, extent, radius; // with Criterion::padding
    int32_t own = 0; // nodes whose particles are all here: set by whoever knows
};

/// The share: with it median and 99th percentile of the error are those of polynomials for groups alone
/// (far_cells.hpp), on Plummer spheres, cubes and discs.
constexpr double cell_far_share(int order) {
    constexpr double factors[] = {0.005, 0.08, 0.07, 0.05, 0.05, 0.35, 0.7};
    return order <= 6 ? factors[order] : 1;
}

/// The far side of one cell.
struct CellFarLimit {
    CellFarLimit(const Target& target, int order, int degree);
    double centre[3];
    double radius;  // of the targets' box
    double allowed; // error of a node's polynomial
    int degree;     // N
    bool opens_near; // accepted nodes that are not far
};

/// Room that a walk needs, in entries.
int64_t dual_walk_stack(int levels);

/// Appends to `far` the nodes that are far from the whole cell, to `left` what the cells below have to decide on. All of
/// `from` is of one image, which target and limit stand in.
void walk_cell(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit& limit,
               std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left);

/// Appends a group's lists. limit NULL: no node is far.
void walk_group(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit* limit,
                std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
                core::Buffer<int32_t>& near, core::Buffer<int32_t>& leaves);

} // namespace graft::lists
