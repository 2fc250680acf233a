// How a lattice sum is split: alpha, the cut-off of the pairs and that of the wave vectors, for an accuracy.
//
// rms force errors of random charges after Kolafa & Perram 1992 (Mol. Sim. 9, 351): 2 Q / sqrt(N r_c V)
// exp(-alpha^2 r_c^2) of the pairs left out, 2 Q alpha / L sqrt(1 / (pi K N)) exp(-(pi K / alpha L)^2) of the
// waves, Q = sum q^2. Their sum may be `accuracy` times the typical force Q / N (N / V)^(2/3) of two
// neighbours. Of all cut-offs that do, the one is taken that a plain model of the work finds cheapest.
#pragma once

#include "geometry/lattice.hpp"

#include <cstdint>

namespace graft::pipeline {

struct EwaldProblem {
    geometry::Lattice lattice;
    int64_t particles = 0;
    double square_sum = 0; // of the charges
    double accuracy = 1e-6;
    double alpha = 0;        // 0: free
    double least_cutoff = 0; // of pairs: the largest softening length
    bool all_pairs = false;  // every image is met whole (method direct); else only what the cut-off needs
    double pair_cost = 5;    // of a pair, in units of a particle and a wave vector
    double leaf = 16;
    double group = 64; // tree: targets that share a list, the cut-off being met around all of them
};

struct EwaldSplit {
    double alpha = 1, cutoff = 1; // of pairs
    double largest_wave = 0;      // largest |k|
};

/// Cost: some thousand operations. No status: accuracies that cannot be had become the best there are.
EwaldSplit split_ewald(const EwaldProblem& problem);

/// The typical force of EwaldProblem per charge squared: Q / N (N / V)^(2/3), over sqrt(Q / N) it is that on
/// a charge of 1.
double typical_field(const EwaldProblem& problem);

} // namespace graft::pipeline
