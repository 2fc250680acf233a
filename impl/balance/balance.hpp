// SPDX-License-Identifier: BSD-3-Clause
// When to balance, how, and whether the result is worth taking.
//
// A balancing is tried only when the measured imbalance exceeds a tolerance and what it can save until the
// next one exceeds what the last one cost (decision.hpp). A partition that would be no better than the
// present owners, or save less than moving to it costs, is refused: the old owners stay and the report says
// so, unless the host forces it. Every rank reaches the same decision. Source: liu2022 chapter 2 (four
// strategies), its section 2.4 (fuzzy ORB, splitting of super-objects).
#pragma once

#include "decompose/decompose.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace graft::balance {

enum class Kind : int32_t { orb_central, orb_distributed, prefix_central, prefix_distributed };
/// Where the weight of an item comes from: the host's cost array, the last force evaluation's interactions or
/// time, or one each.
enum class CostSource : int32_t { count, given, interactions, time };

struct Settings {
#define BALANCE_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
    /// parts and shape are set by kind and communicator. strategy matters to the distributed kinds only: they
    /// take halving where it is asked for or more than level_ranks ranks are there, else level (whose
    /// O(parts) data are then bounded by a constant).
    decompose::Options decompose;
    bool shapes = true; // measure neighbours and surface, too
    /// Bytes a second between two ranks while all talk; 0: measured once, then by noted migrations.
    double bandwidth_bytes_per_s = 0;
};

/// Up to here a distributed ORB may keep the cells of all parts on every rank.
inline constexpr int32_t level_ranks = 1024;

enum class Decision : int32_t {
    balanced = 0,     // imbalance within tolerance, or as small as one object allows: nothing done
    not_worth_it = 1, // the gain until the next balancing is less than its cost
    kept_old = 2,     // the new partition would have been no better
    taken = 3,
};

struct Measures {
    double imbalance_work = 1, imbalance_count = 1; // max / mean over ranks
    double imbalance_weight = 1;                    // of the mix of both that is balanced
    double work_max = 0, work_mean = 0;
    /// Mean number of other ranks whose tight boxes, widened by their mean spacing of items, meet a rank's.
    /// Exact up to 64 ranks; above, from 64 ranks evenly picked.
    double neighbours = 0;
    /// Mean surface of the ranks' tight boxes over that of cubes of the same volume (squares in 2-D); boxes
    /// without volume are left out, 1 if all are.
    double surface = 1;
};

struct Report {
    Decision decision = Decision::balanced;
    std::string reason; // one line for the log, the same on all ranks
    Measures before, after;
    int64_t items_moved = 0; // over all ranks
    int64_t bytes_moved = 0; // over all ranks, by bytes_per_item or Objects::bytes
    double cost_s = 0;       // of this call, max over ranks
    double move_s = 0;       // expected of the migration
    double gain_s = 0;       // expected until the next balancing, migration not taken off
    double init_s = 0, strategy_s = 0;
    decompose::Statistics statistics; // of the partition, on this rank; untouched when none was made
    int64_t super_objects = 0;        // heavier than the mean load of a rank, over all ranks
    int64_t pieces = 0;               // what the host's callback made of them; 0: none was split
    double heaviest = 0;       // the heaviest object over the mean load of a rank: no partition is better
    int64_t swapped = 0;       // fuzzy ORB: super-objects moved across a cut
    int64_t swapped_small = 0; // and small ones for them
    double locality_lost = 0;  // mean distance of all of them from their new cell over its longest edge
};

/// Objects of any sort: points of particles, or centres of a host's patches.
struct Objects {
    decompose::Points points;      // cost = load
    const double* bytes = nullptr; // what an object weighs in a move; NULL: bytes_per_item each
};

/// Splits an object that is heavier than the mean load of a rank: called on the rank that owns it, answers
/// how many pieces there are now (1 = cannot be split). The host gives the pieces as new objects with its
/// next call; in this one the object is whole. May throw; must not communicate.
using SplitObject = std::function<int32_t(int64_t object, double load, double mean)>;

class Balancer {
  public:
    explicit Balancer(core::Memory& memory);
    ~Balancer();

    /// Collective. owner[i] = new rank of each local object (this rank where the old owners stay).
    /// step_s: seconds that the work measured by the loads took on the busiest rank, the largest value over
    /// ranks is used (0: unknown, then only the tolerance decides). bytes_per_item: what migration will move
    /// per item. Throws what Decomposer::run throws and Error(argument) for settings out of range. Besides
    /// the partition: O(local objects + ranks that exchange objects) time and data.
    void run(comm::Communicator& comm, const backend::Executor& executor, const Settings& settings,
             const Objects& objects, double bytes_per_item, double step_s, const SplitObject& split,
             core::Buffer<int32_t>& owner, Report& report);
    /// What a migration really took on this rank; the next run() estimates by the slowest rank's.
    void note_migration(double seconds, int64_t bytes);
    /// The domains of the last partition taken; null before. Objects swapped by fuzzy ORB lie outside theirs.
    std::shared_ptr<decompose::Decomposition> domains() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::balance
