// SPDX-License-Identifier: BSD-3-Clause
// When a node may stand for its particles: every multipole acceptance criterion (MAC) as two radii a node.
//
// A node with centre c is accepted for a target iff
//     dist(target box, c) > max(a * factor, b)   and, with compact softening,
//     dist(target box, node box) >= max(node softening, target softening).
// b is never less than the radius that bounds the node's particles about c, so an accepted expansion
// converges.
//     edge   b = edge / theta, edge of the key cell (k-d tree: longest edge of the tight box);
//            thuering2023 eq. 3.8
//     box    b = l / theta + s, l the longest edge of the tight box, s the distance of c from its centre;
//            gaburov2010, in Ryoanji's form
//     error  b = radius / min(theta, 0.85), and a from the caller: the distance at which the estimated error
//            of the node's field equals the unit that the target's factor is measured in
// theta = 0 accepts nothing. With a cut-off, nodes whose box is further than it from the target's box are
// dropped: they are neither accepted nor opened. Distances are computed without fused multiply-adds: the same
// lists on every machine.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "settings/settings.hpp"
#include "tree/tree.hpp"

#include <cstdint>
#include <limits>

namespace graft::lists {

using Mac = settings::MacType;

struct CriterionOptions {
    Mac mac = Mac::box;
    double theta = 0.6;             // >= 0
    int64_t direct_count = 0;       // nodes of at most so many particles always go to the leaf list
    bool compact_softening = false; // a spline: pairs closer than their softening are no point charges
    double softening_length = 0;    // when there is one for all
};

/// What the moments know of each node: node_count values each.
struct NodeProperties {
    const double* cx = nullptr;
    const double* cy = nullptr;
    const double* cz = nullptr;
    const double* radius = nullptr;    // no particle is further from c
    const double* reach = nullptr;     // `a` of the error MAC; may be null otherwise
    const double* softening = nullptr; // largest softening length in the node; null: one for all
};

/// Where the walk goes on below a node.
struct Link {
    int32_t first_child = 0;
    uint8_t child_count = 0;   // 0: never opened
    uint8_t terminal_mask = 0; // bit c: child c is never opened (a leaf, or small enough for direct_count)
    uint16_t unused = 0;
};

struct Criterion {
    explicit Criterion(core::Memory& memory)
        : cx(memory, "MAC centres x"), cy(memory, "MAC centres y"), cz(memory, "MAC centres z"),
          a(memory, "MAC radii"), b(memory, "MAC least radii"), softening(memory, "MAC softening"),
          links(memory, "walk links") {}

    static constexpr int64_t padding =
        8; // entries behind the last node, so that a vector of children may be loaded

    int64_t node_count = 0;
    int32_t root = 0; // where the walk begins
    int levels = 0;   // no node is further below the root
    bool root_terminal = false;
    bool compact_softening = false;
    double softening_length = 0;
    double cutoff = std::numeric_limits<double>::infinity(); // 0 <= distance of boxes; set by the caller
    core::Buffer<double> cx, cy, cz, a, b;                   // node_count + padding
    core::Buffer<double> softening;                          // node_count, or empty
    core::Buffer<Link> links;                                // node_count

    /// Room for so many nodes; those there keep their values.
    void resize_keep(int64_t nodes, bool with_softening);
};

/// Error(argument): theta < 0 or NaN.
void check_angle(const CriterionOptions& options);

/// Fills `criterion` for the tree. Throws Error(argument) for theta < 0 or NaN; Error(memory).
void fill_criterion(const backend::Executor& executor, const tree::Tree& tree,
                    const CriterionOptions& options, const NodeProperties& properties, Criterion& criterion);

/// Adds the nodes [begin, tree.node_count()); those before keep their numbers, root and levels stay. Errors
/// as above.
void extend_criterion(const backend::Executor& executor, const tree::Tree& tree, int64_t begin,
                      const CriterionOptions& options, const NodeProperties& properties,
                      Criterion& criterion);

} // namespace graft::lists
