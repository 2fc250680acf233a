// SPDX-License-Identifier: BSD-3-Clause
// Forces over ranks of which some or all have a GPU, as their conductor sees one rank: part of the table of
// libgraft_cuda.so; on a CPU the steps of ranks_engine.hpp.
//
// Every function is local and may wait for its device; the core calls them in this order on all ranks, agrees
// after each, and carries the messages between (ranks_conductor.hpp). After write() a GPU's computation is ended
// by DeviceForceTable::end; a call that fails, or is not followed by the next, leaves the engine ready for
// another begin. Outputs are touched by write() and end() alone.
#pragma once

#include "backend/gpu_library.hpp"
#include "lists/targets.hpp"
#include "essential/gpu_message.hpp"
#include "settings/settings.hpp"
#include "engine/solver.hpp"

#include <cstdint>

namespace graft::engine {

/// What the ranks have agreed on before.
struct RankWish {
    bool with_potential, with_sums, per_particle;
};

/// What a rank knows of its own particles, host units.
struct RankFacts {
    int64_t n, targets;
    double magnitude;  // sum of |charge|
    double lightest;   // least |charge| that is not 0; 0: there is none
    double corners[6]; // of their box, (-lower, upper)
    double first[3];   // particle 0
    bool has_last;     // accelerations of the last computation
};

/// What all ranks have in common.
struct RankFrame {
    double scale;     // of charges
    double lightest;  // as in RankFacts
    double centre[3]; // that virials refer to
    int64_t all_particles;
    bool has_box; // where the settings give none: of all particles
    double lower[3], upper[3];
};

struct RankArrival {
    essential::RankHeader header;
    int64_t offset; // in the room that receive() gave
};

struct RankOutcome {
    double pairs, cells;
    double totals[7];         // of this rank's targets, as DeviceOutcome
    double net_force[6];      // so, as NetForce, where momentum is to be conserved
    double needs_double;      // 1: nothing but this is said, as single precision has no frames for these particles
    double scale;             // of charges, the same on all ranks
    int64_t nodes, particles; // that came from other ranks
    double own_s, remote_s;   // lists and sums, on the device
};

/// What a rank finds in a periodic box, and all ranks together: sums and largest values.
struct BoxFacts {
    /// |q|, |q| eps^2 (softening lengths a particle); q z, q z^2 of a slab, from the frame's centre; then q
    /// and |q| in host units.
    double sums[6];
    /// Softening length; -lower, upper along a slab's open axis; 1: wants the virial; 1: of some.
    double most[5];
    double targets[6]; // corners of the own targets (-lower, upper); -infinity: none
};
struct BoxFrame {
    BoxFacts facts; // of all ranks
    bool with_virial;
};

struct DeviceRanksTable {
    /// As DeviceForceTable::begin, up to the import.
    int32_t (*begin)(void* engine, const settings::Settings* settings, const ParticleInput* particles,
                     const ParticleInput* points, const Outputs* outputs, void* stream, const RankWish* wish,
                     RankFacts* facts, backend::DeviceError* error);
    /// Tree, moments, targets and criterion of the own particles.
    int32_t (*build)(void* engine, const RankFrame* frame, essential::RankShape* shape, backend::DeviceError* error);
    /// At most `most` runs of the target groups, in their order, each with the box of all, the largest factor
    /// and softening; or of nodes that cover the own particles.
    int32_t (*cover_targets)(void* engine, lists::Group* groups, int64_t most, int64_t* count,
                             backend::DeviceError* error);
    int32_t (*cover_particles)(void* engine, lists::Group* groups, int64_t most, int64_t* count,
                               backend::DeviceError* error);
    /// Where other ranks have particles (Forest::keep_off_pieces).
    int32_t (*keep_off)(void* engine, const geometry::Box* boxes, int64_t count, backend::DeviceError* error);
    /// Begins to pack what a rank with these (at most 64) boxes needs; header->nodes 0: nothing.
    int32_t (*pack)(void* engine, essential::RankContent content, int32_t rank, const lists::Target* boxes,
                    int32_t count, bool on_device, essential::RankHeader* header, backend::DeviceError* error);
    /// Waits for it; where it is (device memory if `on_device`), until the next pack for that rank.
    int32_t (*packed)(void* engine, int32_t rank, bool on_device, const void** message,
                      backend::DeviceError* error);
    /// Room for what comes from others, until the next receive.
    int32_t (*receive)(void* engine, int64_t bytes, bool on_device, void** room, backend::DeviceError* error);
    /// What has come there becomes the forest of the other ranks' nodes.
    int32_t (*take)(void* engine, essential::RankContent content, bool on_device, const RankArrival* arrivals,
                    int32_t count, backend::DeviceError* error);
    /// Factors of the force-error MAC, from the last accelerations or the masses taken.
    int32_t (*scale_targets)(void* engine, bool use_last, backend::DeviceError* error);
    /// Enqueues lists and sums over the own tree.
    int32_t (*evaluate_own)(void* engine, backend::DeviceError* error);
    /// Those over the forest, waits, and repeats both where a buffer was too small. Where a rank's outcome needs
    /// double, all begin again in double.
    int32_t (*evaluate_all)(void* engine, RankOutcome* outcome, backend::DeviceError* error);
    /// What all ranks' forces miss zero by, between evaluate_all or box_evaluate and write: off the field, and the totals again.
    int32_t (*take_off)(void* engine, const double* net_force, double* totals, backend::DeviceError* error);
    /// Enqueues the results; totals of all ranks.
    int32_t (*write)(void* engine, const double* totals, backend::DeviceError* error);

    // A periodic box, between begin and write, in place of the others but packed and receive. Where no rank
    // has a particle, box_measure and box_evaluate alone.
    /// Facts of the own particles and targets.
    int32_t (*box_measure)(void* engine, const RankFrame* frame, BoxFacts* facts,
                           backend::DeviceError* error);
    /// Splits the sum, alike on all ranks.
    int32_t (*box_plan)(void* engine, const BoxFrame* frame, backend::DeviceError* error);
    /// The own structure factors; the sum over all ranks is written in their place.
    int32_t (*box_structure)(void* engine, double** sums, int64_t* size, backend::DeviceError* error);
    /// Packs the particles whose images may come near targets with these corners: columns x y z q, with
    /// softening lengths those, too.
    int32_t (*box_pack)(void* engine, int32_t rank, const double* corners, bool on_device, int64_t* count,
                        backend::DeviceError* error);
    /// What has come, behind one another in the room that receive() gave.
    int32_t (*box_take)(void* engine, bool on_device, const int64_t* counts, int32_t arrivals,
                        backend::DeviceError* error);
    /// Pairs, waves and results. One rank tells the waves' share of the virial. Where a rank's outcome needs double, all
    /// begin again in double.
    int32_t (*box_evaluate)(void* engine, bool tells_waves, RankOutcome* outcome,
                            backend::DeviceError* error);
};

} // namespace graft::engine
