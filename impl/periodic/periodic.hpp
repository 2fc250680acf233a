// SPDX-License-Identifier: BSD-3-Clause
// A periodic box in one computation: the splitting of its lattice sum, the images that groups of targets
// meet, and the smooth part, summed over wave vectors.
//
// Ewald's sum with a conducting boundary: pairs less erf(alpha r)/r up to the cut-off, met by targets moved
// by lattice vectors (forces/p2p/screen.hpp: the pair at distance zero loses its erf, which is the self term),
// and by the tree's cells, screened alike, where that is cheaper (ewald_splitting.hpp); waves (periodic/ewald_waves.hpp)
// of the structure factors of all ranks' sources; a net charge Q has a uniform background, which takes away
// what the pairs do on average, up to the cut-off (plummer_waves.hpp). What waves beyond the last would do to a charge's own
// energy is known and added. Plummer's softening is exact where there is one length for all:
// s^2 = r^2 + eps^2 stands for r^2 in both parts (periodic/ewald_waves.hpp). Of lengths per particle the mean
// square eps^2 does; what a pair's own differs from it ends at the cut-off. Virial: minus the derivative of
// the energy by the strain. Of the pairs it is sum x (x) f + 1/2 sum over images of shift (x) force from that
// image.
//
// A slab (no images along one axis) is a lattice with a vacuum along it, less what the vacuum leaves (Yeh &
// Berkowitz 1999; Ballenegger, Arnold & Cerda 2009, J. Chem. Phys. 131, 094107, for a net charge): layers act
// on each other by -2 pi |z| / A, in the lattice by 2 pi / A (-|z| + z^2 / L + L / 6); the difference is
// added. What is left are the waves across the vacuum, exp(-g gap) of the slab's own field, g the smallest
// wave along it: the gap is chosen so that this is the accuracy.
//
// A wire (images along one axis) is a lattice with a square of vacuum around it, less what its images across
// the vacuum and the background do to it, which is a sum in two dimensions (wire_images.hpp).
//
// Or (ewald.method: replicas) there is no splitting: near images act as they are, through the tree, and all
// the others and the background by moments of the whole box (replica_field.hpp).
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "core/log.hpp"
#include "forces/frame.hpp"
#include "forces/p2p/p2p.hpp"
#include "periodic/ewald_waves.hpp"
#include "forces/p2p/screen.hpp"
#include "periodic/ewald_splitting.hpp"
#include "periodic/mesh/wave_mesh.hpp"
#include "periodic/replicas/replica_field.hpp"
#include "particles/problem.hpp"
#include "settings/settings.hpp"
#include "periodic/wire_images.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace graft::periodic {

/// Adds half of shift (x) force, symmetrised.
inline void add_image_virial(const geometry::Vec3& s, const double* f, double (&sum)[6]) {
    sum[0] += 0.5 * s.x * f[0];
    sum[1] += 0.5 * s.y * f[1];
    sum[2] += 0.5 * s.z * f[2];
    sum[3] += 0.25 * (s.x * f[1] + s.y * f[0]);
    sum[4] += 0.25 * (s.x * f[2] + s.z * f[0]);
    sum[5] += 0.25 * (s.y * f[2] + s.z * f[1]);
}

class PeriodicSum {
  public:
    explicit PeriodicSum(core::Memory& memory);

    /// The lattice of the settings' box.
    static geometry::Lattice lattice_of(const settings::Settings& settings);
    /// Of the sum of a slab whose particles are in lower ... upper along the open axis: with the vacuum that
    /// the accuracy wants, which is slab_gap() at least: longer than `length`, the longest of the softening,
    /// since what acts across it is taken off as Newtonian.
    static geometry::Lattice slab_lattice(const settings::Settings& settings, double lower, double upper,
                                          double length);
    static double slab_gap(const settings::Settings& settings, double length);
    /// Edges that differ by orders of magnitude, a slab with a stray, or a softening length of many edges
    /// (`longest`) would be a sum without end: throws Error(argument).
    static void check_size(const settings::Settings& settings, const geometry::Lattice& lattice,
                           const EwaldSplit& split, double longest);
    /// Throws Error(unsupported) where a mesh is asked for and not had; where_not: not NULL, it was not allowed there.
    static void check_mesh(const settings::Settings& settings, const EwaldSplit& split, const char* where_not);
    /// That of the sum: a slab has a vacuum that separates its images.
    const geometry::Lattice& lattice() const { return lattice_; }

    /// Of forces, that the splitting aims at.
    static double accuracy_of(const settings::Settings& settings);
    /// The splitting to look for; `longest`: the largest softening length that ends at the cut-off (0: none).
    /// What hardware and method make of the costs is the caller's to fill in. split_ewald() then does not
    /// depend on the charges, unless all are 0.
    static EwaldInput problem_of(const settings::Settings& settings, const geometry::Lattice& lattice,
                                 int64_t particles, double square_sum, double longest);

    /// Collective. Splits the sum for all ranks' particles; charges are scaled already. Says in the log what
    /// it chose, when that changes from one computation's round to the next one's. Throws Error(memory, communication)
    /// on all ranks.
    void prepare(const backend::Executor& executor, comm::Communicator& comm, const settings::Settings& settings,
                 const particles::Problem& problem, int64_t all_particles, const core::Log& log, int round);
    static constexpr int most_rounds = 3; // of one computation: small_fields.cpp

    /// Whether pairs and cells keep only what the splitting leaves of them.
    bool screened() const { return !replicas_; }
    /// Infinity where nothing ends.
    double cutoff() const { return split_.cutoff; }
    double alpha() const { return split_.alpha; }
    /// What the tree makes of these settings: theta 0 where cells are not used; leaves and groups that suit
    /// them.
    settings::Settings tree_settings(const settings::Settings& settings) const;
    /// What the pairs of a frame with this scale keep.
    forces::Screening screening(double scale) const {
        return replicas_ ? forces::Screening()
                         : forces::Screening{&screen_, split_.cutoff * scale, waves_.softening() * scale};
    }
    /// The frame of targets in `box` (forces/frame.hpp): the cut-off must be a number in it, whatever the
    /// unit of length; where nothing is at another place it is the length.
    template <typename T>
    forces::Frame frame(const geometry::Box& box, double nearest, double reach) const {
        return replicas_ ? forces::make_frame<T>(box, nearest, reach)
                         : forces::make_frame<T>(box, nearest > 0 ? nearest : split_.cutoff,
                                                  std::max(reach, split_.cutoff));
    }
    /// Size of the field at which the error MAC measures errors, for `count` targets with this sum of squared charges in
    /// a box with this longest edge: that of neighbours in the whole box, or of closer ones here.
    double typical_field(int64_t count, double square_sum, double edge) const;

    /// What the sum that these settings were prepared for may make a force wrong by, over the typical field.
    double error_of(const settings::Settings& settings) const;
    /// Collective. How small the field of all ranks' targets is beside that of charges at random places, where 1 is
    /// returned: small_fields.cpp. items: of the field -> particle, or NULL where they are the same.
    double size_of(comm::Communicator& comm, const particles::Problem& problem, const int32_t* items,
                   const particles::RawField& field) const;
    /// Whether forces of this size are as exact as mac.accuracy asks, from a sum that was taken with `settings`.
    bool serves(const settings::Settings& settings, double accuracy, double size) const;
    /// Whether a smaller mac.accuracy changes the sum.
    bool may_be_finer(const settings::Settings& settings) const;
    /// Whether it is a sum that mac.accuracy steers.
    bool is_accurate_by(const settings::Settings& settings) const;

    /// Whether (nearly) all charges are of one sign.
    bool one_sign() const { return one_sign_; }
    /// Replicas: the field of all but the near images, and of the background.
    geometry::Vec3 distant_field(const geometry::Vec3& at) const { return far_.field_at(at); }

    /// Lattice vectors that bring some point of a target box within the cut-off of a box of sources (all
    /// ranks' where none is given); 0 0 0 first, in fixed order. Replicas: all near ones.
    void images(const geometry::Box& targets, std::vector<geometry::Vec3>& shifts) const {
        images(targets, sources_, shifts);
    }
    void images(const geometry::Box& targets, const geometry::Box& sources,
                std::vector<geometry::Vec3>& shifts) const;

    /// Collective. Adds the smooth part and the background to the field of the targets; `origin` as
    /// Solver::origin_. virial: of all ranks, the same on each. Same bits for any number of threads.
    void add_waves(const backend::Executor& executor, comm::Communicator& comm, const settings::Settings& settings,
                   const particles::Problem& problem, const int32_t* origin, bool with_potential, particles::RawField& field,
                   double (&virial)[6]);

    /// What makes a slab of the lattice sum, which must be complete for the targets: the wave k = 0 along the
    /// open axis, of the slab's charges in place of its images'. Adds to the virial, too. Nothing for other
    /// boxes.
    void add_slab(const particles::Problem& problem, bool with_potential, const int32_t* origin, particles::RawField& field,
                  double (&virial)[6]) const;

    /// Collective. Of a wire, whose field is complete: replaces what the strain across it says by the sum of
    /// place and force, which is the same, since nothing has images across. raw: of all ranks, as Solver's
    /// totals. Nothing for other boxes.
    void finish_virial(comm::Communicator& comm, const particles::Problem& problem, const int32_t* origin,
                       const particles::RawField& field, double (&virial)[7]) const;

    const EwaldSplit& split() const { return split_; }
    int64_t wave_count() const { return waves_.vector_count(); }

  private:
    struct Totals { // of all ranks' particles
        double charge = 0, square = 0, longest = 0, softening_square = 0;
        double lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0}; // places of sources and targets along open axes
    };
    Totals find_totals(comm::Communicator& comm, const settings::Settings& settings, const particles::Problem& problem);
    static void find_extent(const particles::Problem& problem, int axis, const geometry::Box& sources, double& lower,
                            double& upper);
    /// The settings, split where replicas were Graft's own choice and are not had.
    settings::Settings taken(const settings::Settings& settings) const;
    void prepare_split(comm::Communicator& comm, const settings::Settings& settings, const particles::Problem& problem,
                       int64_t all_particles, const Totals& totals, const core::Log& log);
    void prepare_replicas(const backend::Executor& executor, comm::Communicator& comm,
                          const settings::Settings& settings, const particles::Problem& problem, int64_t all_particles,
                          const Totals& totals, const core::Log& log);
    void check_replicas(const settings::Settings& settings, const Totals& totals) const;
    void add_far_images(const backend::Executor& executor, comm::Communicator& comm, const particles::Problem& problem,
                        const int32_t* origin, bool with_potential, particles::RawField& field,
                        double (&virial)[6]);
    void widen(const settings::Settings& settings, const Totals& totals);
    void widen_wire(const settings::Settings& settings, const Totals& totals);
    void find_moments(comm::Communicator& comm, const settings::Settings& settings, const particles::Problem& problem);
    bool suits_replicas(comm::Communicator& comm, const settings::Settings& settings, const particles::Problem& problem,
                        int64_t all_particles);
    Crowding find_crowding(comm::Communicator& comm, const particles::Problem& problem, int64_t all_particles);
    int crowding_step(const Crowding& crowding, const double* at, const double* from) const;
    void say(const settings::Settings& settings, const particles::Problem& problem, const Totals& totals, const core::Log& log);
    struct Places { // fractions of points
        explicit Places(core::Memory& memory)
            : f1(memory, "fractions"), f2(memory, "fractions"), f3(memory, "fractions") {}
        core::Buffer<double> f1, f2, f3;
    };
    template <typename T>
    void sum_structure(const backend::Executor& executor, const particles::Problem& problem, core::Buffer<T>& scratch);
    template <typename T>
    void add_field(const backend::Executor& executor, const particles::Problem& problem, const int32_t* origin,
                   bool with_potential, core::Buffer<T>& scratch, core::Buffer<T>& weighted, particles::RawField& field);
    template <typename T>
    void add_mesh(const backend::Executor& executor, comm::Communicator& comm, const particles::Problem& problem,
                  const int32_t* origin, bool with_potential, WaveMesh<T>& mesh, particles::RawField& field, WaveEnergy* energy);
    /// Adds to the field what sum(places, items, ...) says of blocks of targets, in units of `scale`.
    template <class Sum>
    void add_smooth(const backend::Executor& executor, const particles::Problem& problem, const int32_t* origin,
                    bool with_potential, double scale, particles::RawField& field, const Sum& sum);
    double smooth_scale() const;
    double own_potential() const;
    void find_fractions(const backend::Executor& executor, int64_t count, const double* x, const double* y,
                        const double* z);

    struct Shape { // of a slab or a wire
        int open_axis = -1, wire_axis = -1;
        double middle[3] = {0, 0, 0}; // along its open axes
        double moments[2] = {0, 0};   // slab: of charge along the open axis, about its middle
        double wire_reach = 0;        // largest distance across the wire over the edge of its cell
    };

    geometry::Lattice lattice_;
    std::optional<EwaldInput> split_problem_; // that split_ answers: MD asks the same thousands of times
    EwaldSplit split_;
    forces::Screen screen_;
    Waves waves_;
    geometry::Box sources_; // of all ranks
    bool one_sign_ = false;
    double charge_ = 0, square_sum_ = 0, typical_field_ = 0;
    bool replicas_ = false;
    DistantImages far_;
    Shape shape_;
    WireImages wire_;
    core::Buffer<double> sample_; // places of some particles of all ranks, and how many each stands for
    Places places_;
    struct Meshes {
        explicit Meshes(core::Memory& memory) : single(memory), full(memory) {}
        WaveMesh<float> single;
        WaveMesh<double> full;
    };
    Meshes mesh_;
    core::Buffer<double> sums_; // structure factors, per chunk of particles; the first ends as the total
    core::Buffer<double> derivative_; // of the potential by the fractions, per thread
    core::Buffer<float> scratch_single_, weighted_single_;
    core::Buffer<double> scratch_full_, weighted_full_;
    size_t round_ = 0;
    std::array<std::string, most_rounds> said_;
};

} // namespace graft::periodic
