// When to balance, how, and whether the result is worth taking.
//
// A balancing is done only when the measured imbalance exceeds a tolerance and what it will save until the
// next one exceeds what it costs (measured, or the last one's cost). A partition that would be worse than the
// present owners is refused: the old owners stay and the report says so, unless the host forces it. Source:
// liu2022 chapter 2 (four strategies), its section 2.4 (fuzzy ORB, splitting of super-objects).
#pragma once

#include "decompose/decompose.hpp"

#include <cstdint>
#include <functional>

namespace graft::balance {

enum class Kind : int32_t {
    orb_central = 0,
    orb_distributed = 1,
    prefix_central = 2,
    prefix_distributed = 3
};
/// Where the weight of an item comes from: the host's cost array, the last force evaluation's interactions or
/// time, or one each.
enum class CostSource : int32_t { count = 0, given = 1, interactions = 2, time = 3 };

struct Settings {
    Kind kind = Kind::orb_distributed;
    CostSource cost = CostSource::interactions;
    double tolerance = 1.05; // balance when max / mean of the weight exceeds this
    double steps = 50;       // force evaluations until the host asks again
    bool force = false;      // take the result whatever it is worth
    decompose::Options decompose;
    bool fuzzy = false; // swap a super-object at a cut for small ones
    double super = 2;   // a super-object weighs more than this many times the mean object
};

enum class Decision : int32_t {
    balanced = 0,     // imbalance within tolerance: nothing done
    not_worth_it = 1, // the gain until the next balancing is less than its cost
    kept_old = 2,     // the new partition would have been no better
    taken = 3,
};

struct Measures {
    double imbalance_work = 1, imbalance_count = 1; // max / mean over ranks
    double work_max = 0, work_mean = 0;
    double neighbours = 0; // mean number of ranks whose boxes touch a rank's box
    double surface = 0;    // mean surface of the ranks' tight boxes over that of cubes of the same volume
};

struct Report {
    Decision decision = Decision::balanced;
    Measures before, after;
    int64_t items_moved = 0; // over all ranks
    double cost_s = 0;       // of this call, max over ranks
    double gain_s = 0;       // expected until the next balancing
    double init_s = 0, strategy_s = 0;
    int64_t swapped = 0;      // fuzzy ORB: super-objects moved across a cut
    double locality_lost = 0; // mean distance of swapped objects from their cell over the cell's edge
};

/// Objects of any sort: points of particles, or centres of a host's patches.
struct Objects {
    decompose::Points points;      // cost = load
    const double* bytes = nullptr; // what an object weighs in a move; NULL: unknown
};

/// Splits an object that is heavier than the mean load of a rank: called on the rank that owns it, answers
/// how many pieces there are now (1 = cannot be split). The host gives the pieces as new objects with its
/// next call.
using SplitObject = std::function<int32_t(int64_t object, double load, double mean)>;

class Balancer {
  public:
    explicit Balancer(core::Memory& memory);
    ~Balancer();

    /// Collective. owner[i] = new rank of each local object (this rank where the old owners stay).
    /// step_s: seconds that the work measured by the loads took on the busiest rank (0: unknown, then only
    /// the tolerance decides). bytes_per_item: what migration will move per item. Throws what Decomposer::run
    /// throws.
    void run(comm::Communicator& comm, const backend::Executor& executor, const Settings& settings,
             const Objects& objects, double step_s, const SplitObject& split, core::Buffer<int32_t>& owner,
             Report& report);
    /// The domains of the last partition taken; null before.
    std::shared_ptr<const decompose::Decomposition> domains() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::balance
