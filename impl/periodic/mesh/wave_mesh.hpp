// SPDX-License-Identifier: BSD-3-Clause
// The smooth part of a lattice sum on a mesh: B-splines and fast Fourier transforms in place of a sum for each wave vector.
//
// The charges are spread over the mesh, transformed, multiplied by an influence function, transformed back, and read at the
// targets with the splines' derivatives (smooth particle-mesh Ewald, Essmann et al. 1995). The influence function is the one
// that makes the error of the forces least (Hockney & Eastwood 1988, ch. 8; Ballenegger, Cerda & Holm 2012, J. Chem. Theory
// Comput. 8, 936, eq. 27). With U(k) the splines' transform, k_n all vectors that the mesh cannot tell from k, and w the
// weight of waves (ewald_waves.hpp):
//     G(k) = w(k) k^2 U(k)^2 / (sum U(k_n)^2 sum k_n^2 U(k_n)^2).
// Sums over k_n are products of sums along the axes, in tilted boxes, too.
//
// A particle is drawn towards the points of the mesh by what it has spread itself: the first two terms of that (Ballenegger et
// al., eq. 46) are taken off, and its own potential, which this influence function makes too small, is put right.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "periodic/ewald_waves.hpp"
#include "periodic/mesh/mesh_axis.hpp"
#include "periodic/mesh/mesh_choice.hpp"
#include "periodic/mesh/mesh_kernels.hpp"

namespace graft::periodic {

/// T: float or double, of mesh and transforms. Equal bits for equal input for any number of threads.
template <typename T>
class WaveMesh {
  public:
    explicit WaveMesh(core::Memory& memory);

    /// Tables for these waves (which need have no vectors), unless they are there; everything is multiplied by `scale`.
    /// Throws Error(memory). Cost: some hundred operations a point of the mesh.
    void prepare(const backend::Executor& executor, const Waves& waves, const MeshChoice& choice, double scale);

    /// The charges at these fractions, on the mesh. Memory: 36 bytes a particle.
    void spread(const backend::Executor& executor, const Fractions& particles, const double* charge);
    /// Collective. Sums up what the ranks have spread; of one rank there is nothing to do. Memory: 8 bytes a point. Throws
    /// Error(memory, communication) on all ranks.
    void sum_over(comm::Communicator& comm);

    /// Charges become potentials. `energy`, if any: one half of sum q phi and its strain derivative, without `scale`;
    /// square_sum: sum q^2 of all charges that are spread.
    void convolve(const backend::Executor& executor, double square_sum, WaveEnergy* energy);

    /// Potential (may be NULL) and its derivatives by f1, f2, f3 at up to most_read places, added. charge (or NULL): of those
    /// that spread() has seen, what they did to themselves being taken off.
    void read(const Fractions& places, const double* charge, double* potential, double* d1, double* d2, double* d3) const;
    static constexpr int64_t most_read = 256;

  private:
    static constexpr int self_terms = mesh_self_terms, energy_size = 7, self_size = 3 * self_terms + energy_size;
    /// What Plummer's softening makes of weights and slopes, by |k|: hundreds of operations each, and a mesh has many.
    struct Softened {
        double step = 0;                    // of |k|; 0: no softening
        std::vector<double> factor, slope;  // the slope times k^2
        double at(const std::vector<double>& values, double square) const;
    };
    void fill_softened(const backend::Executor& executor);
    double weight(double square) const;
    double slope(double square) const;
    void fill_influence(const backend::Executor& executor);
    void fill_self(const backend::Executor& executor);
    void add_own(int64_t i, int64_t j, double* sum) const;
    double copies_of(int64_t k) const;
    void sort_places(const backend::Executor& executor, const Fractions& particles, const double* charge);
    void add_energy(int64_t j, int64_t k, const T* squares, double* sum) const;

    Waves waves_; // their lattice and weights; no vectors
    MeshChoice choice_;
    MeshShape shape_;
    Spline<T> spline_;
    FourierPlan plan_[3];
    double scale_ = 0;
    std::vector<MeshAxisSums> axis_[3];
    Softened softened_;
    double self_[3][self_terms] = {}; // what a unit charge does to itself along each axis: amplitudes of 1 and 2 turns a spacing
    WaveEnergy own_;                  // what it lacks of its own energy
    core::Buffer<T> mesh_, real_, imaginary_, influence_, scratch_, squares_;
    struct Sorted { // particles by tile, in units of the spacing
        explicit Sorted(core::Memory& memory);
        core::Buffer<double> u1, u2, u3, charge;
    };
    Sorted sorted_;
    core::Buffer<double> sums_, shared_;
    core::Buffer<int32_t> tile_counts_, tile_begin_; // a row of counts for each chunk of particles
    int64_t tiles_[3] = {0, 0, 0};
};

extern template class WaveMesh<float>;
extern template class WaveMesh<double>;

} // namespace graft::periodic
