// SPDX-License-Identifier: BSD-3-Clause
// Cartesian multipole moments of every node: P2M at the leaves, M2M upwards.
//
// Moment (a, b, c) of a node is sum q (x/rho)^a (y/rho)^b (z/rho)^c over its particles, positions relative to
// the node's centre, in units of the node's own power-of-two length rho >= radius: numbers of the size of the
// charge, whatever the host's units, that fit single precision. The centre is the centre of |q| (of mass, for
// gravity): the dipole then vanishes for charges of one sign and is kept for mixed ones. Above cartesian_order the
// moments are harmonic: sum q (-r/rho)^alpha / alpha! over the terms of harmonics.hpp, where r^alpha is reduced by z^2 =
// -(x^2 + y^2). Sums run in tree
// order, without fused multiply-adds, so that all numbers have the same bits for any number of threads.
// Source: gaburov2010 section 3.2.1 (properties of each cell), McMillan & Aarseth 1993; order 4 by the same
// rule.
#pragma once

#include "backend/executor.hpp"
#include "moments/moment_terms.hpp"
#include "tree/tree.hpp"

namespace graft::moments {

struct Moments {
    explicit Moments(core::Memory& memory)
        : cx(memory, "node centres x"), cy(memory, "node centres y"), cz(memory, "node centres z"),
          magnitude(memory, "node |charges|"), radius(memory, "node radii"), spread(memory, "node spreads"),
          rho(memory, "node lengths"), softening(memory, "node softening"),
          softening_square(memory, "node mean softening"), values(memory, "moments") {}

    int order = 0;
    core::Buffer<double> cx, cy, cz; // centre of |charge|; of the tight box when all charges are zero
    core::Buffer<double> magnitude;  // sum |q|
    core::Buffer<double> radius;     // no particle is further from the centre
    core::Buffer<double> spread;     // sum |q| d^2 about the centre, host length units
    core::Buffer<double> rho;        // power of two, > 0, >= radius (1 for a point)
    core::Buffer<double> softening;  // largest softening length in the node; empty when there is one for all
    core::Buffer<double> softening_square; // |q|-weighted mean of the squared lengths; empty as softening
    core::Buffer<double> values;           // node-major, stride() numbers a node

    int stride() const { return is_harmonic(order) ? harmonic_count(order) : term_count(order); }
    const double* of(int32_t node) const { return values.data() + static_cast<int64_t>(node) * stride(); }
};

/// Moments of all nodes up to `order` (0 to max_order). Cost: O(n * terms) + O(nodes * terms^2 / 4); allocates only on
/// growth.
void compute_moments(const backend::Executor& executor, const tree::Tree& tree, int order, Moments& moments);

/// Room for so many nodes; those there keep their values.
void resize_moments(Moments& moments, int64_t nodes, bool with_softening);

/// Frame and moments of one inner node (any of `tree`, whose box is known) from its children's, as
/// compute_moments does.
void combine_moments(const tree::Tree& tree, int32_t node, Moments& moments);

} // namespace graft::moments
