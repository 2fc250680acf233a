// SPDX-License-Identifier: BSD-3-Clause
// Who owns which point: orthogonal recursive bisection (ORB) and space-filling-curve (prefix) partitions of
// points that lie on any number of ranks.
//
// The result is a pure function of the set of points: any order of points, any spread over ranks and any
// strategy give the same owners for the same number of parts when `tolerance` is 0 (coincident points without
// ids excepted: they are split by rank, then index). Weights are summed as 128-bit integers of a common
// scale, so sums have no order. A cut sends (x, id) to the left when x < cut, or x == cut and id < tie: heaps
// of equal coordinates are split too. Cell k has children 2 k and 2 k + 1; parts d of a cell go left and
// right as in a left-filled nearly complete binary tree; the cell is cut across its longest side. Sources:
// rehmann2022 chapters 3 and 5 (equations 1-7 derived anew: 4 is wrong at d = 2, 6 is off by one), liu2022
// chapter 2.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "geometry/box.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace graft::decompose {

enum class Shape : int32_t { orb, prefix };
/// level: all cells of a level in one collective, every rank knows all cells (O(parts) data a rank).
/// halving: ranks and points are halved together, points move at each level; O(log parts) data a rank;
/// parts = ranks.
/// central: gather on one rank, solve there, scatter.
enum class Strategy : int32_t { level, halving, central };
enum class CutFinder : int32_t { bisection, histogram, sampled };
enum class Curve : int32_t { hilbert, morton };

inline constexpr int32_t no_device = -1, device_by_rank = -2;

struct Options {
#define DECOMPOSE_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
    int dimension = 3;
    int32_t parts = 1;
    /// GPU that strategy level may use on a rank with at least device_least points (a rank alone: with
    /// tolerance 0): the same cells, owners and order. What the GPU refuses at the start (its memory) the
    /// CPU does; ranks need not agree. device_by_rank: ranks go round the GPUs (backend/gpu_choice.hpp).
    int32_t device = no_device;
    int64_t device_least = 1 << 20;
};

/// This rank's points: n values each, contiguous, finite. z NULL in two dimensions; cost NULL: 1 each (>= 0
/// otherwise, finite); id NULL: none (else unique over all ranks).
struct Points {
    int64_t n = 0;
    const double* x = nullptr;
    const double* y = nullptr;
    const double* z = nullptr;
    const double* cost = nullptr;
    const int64_t* id = nullptr;
};

/// One cell of the cut tree. Leaves have parts == 1 and are numbered left to right by first_part.
struct Cell {
    double lower[3], upper[3]; // the domain's share: cells of a level tile the domain
    double cut = 0;
    int64_t tie = 0;   // ids (or ranks and indices) below it go left where x == cut
    int32_t axis = -1; // -1: a leaf
    int32_t parts = 0;
    int32_t first_part = 0;
};

struct Statistics {
    double imbalance_count = 1, imbalance_weight = 1; // max / mean over parts, afterwards
    int64_t passes = 0;                               // reads of all local points
    double iterations_per_cut = 0;
    int64_t cuts = 0;
    int64_t collectives = 0, bytes = 0, messages = 0; // by this rank
    int32_t on_device = 0;                            // 1: this rank's points were cut on a GPU
    double upload_s = 0;                              // of them to the GPU, not part of cuts_s
    double wait_s = 0;                                // in collectives and messages
    double gather_s = 0; // central: until all points were on one rank, part of cuts_s
    double cuts_s = 0, partition_s = 0, total_s = 0;
};

/// The finished partition. Complete (cells of all parts known here) after level. Halving leaves each rank the
/// path to its own part, central the tree on rank 0 and every rank its own box (where parts = ranks);
/// complete() then gathers or sends the rest. is_complete() is the same on all ranks.
class Decomposition {
  public:
    virtual ~Decomposition() = default;
    virtual int32_t parts() const = 0;
    virtual bool is_complete() const = 0;
    /// Collective. O(parts) data on every rank afterwards.
    virtual void complete(comm::Communicator& comm) = 0;
    /// The part of a point anywhere in space (outside the domain: that of the nearest cell). Needs
    /// is_complete(), or throws Error(call_order). A point without id at a tie goes left.
    virtual int32_t owner_of(double x, double y, double z, int64_t id) const = 0;
    /// The domain's share of one part (ORB): needs is_complete() or, over parts = ranks, the own part. The
    /// tight box of its points (prefix; empty without points): needs is_complete().
    virtual geometry::Box box_of(int32_t part) const = 0;
    /// ORB: the heap, cells[1] the root; empty for prefix.
    virtual const std::vector<Cell>& cells() const = 0;
};

/// Error(argument): no part of 0 ... parts - 1.
void check_part(int32_t part, int32_t parts);

struct Result {
    explicit Result(core::Memory& memory)
        : owner(memory, "owners"), permutation(memory, "part order"), part_offset(memory, "part offsets") {}
    core::Buffer<int32_t> owner;       // part of each local point
    core::Buffer<int32_t> permutation; // local points sorted by part: position -> index; only when asked for
    core::Buffer<int64_t> part_offset; // parts + 1, into permutation; only when asked for
    std::shared_ptr<Decomposition> domains;
    Statistics statistics;
};

/// Keeps its working memory between calls.
class Decomposer {
  public:
    explicit Decomposer(core::Memory& memory);
    ~Decomposer();
    /// Collective. with_permutation: fill permutation and part_offset, too. Throws Error (argument:
    /// parts < 1, halving with parts != ranks, a cap that cannot hold all points; value: a coordinate or cost
    /// that is not finite or negative, the first bad one named; memory), the same on all ranks.
    void run(comm::Communicator& comm, const backend::Executor& executor, const Options& options,
             const Points& points, bool with_permutation, Result& result);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::decompose
