// SPDX-License-Identifier: BSD-3-Clause
// The better model of the near field: seconds of each phase of each layout from what it touches.
//
// A phase takes the sum over its terms of (how many) x (seconds of one), NearPhase: calls, boxes, targets,
// runs, sources (kernels: slots, pairs rounded up to whole vectors or warps, at the kernel's own seconds),
// and cache lines of 64 bytes that the second and the last level have not. How many follows from the
// structure and is exact except for the lines: a working set of w bytes finds a share min(1, cache / w) of
// its lines in a cache. The seconds of one are measured once per machine (study/calibrate/calibrate_near.cpp) on
// small structures; without a machine file those of the machine on which Graft was last calibrated stand in
// (near_defaults.cpp).
//
// Against p2p-data-replication's model (near_paper.hpp): the paper's lambda stands for everything that is not
// counted there; here bytes count by the line and level, pairs by the slot, and nothing is left to a lambda.
#pragma once

#include "model/machine.hpp"

#include <cstdint>

namespace graft::near {

/// near/near_field.hpp's layouts by number.
enum class NearLayout : int32_t {
    indexed,
    ranges,
    replicated,
    replicated_interleaved,
    replicated_group,
    tiled,
    tiled_split,
    replicated_packed,
    replicated_group_padded,
    tiled_once // no layout of its own: tiled where pairs of boxes are summed once (NearWay::pairs_once)
};
constexpr int near_layouts = 9, near_forms = 10;

enum class NearPhaseName : int32_t { collection, charges, kernel, scatter, again };

/// The structure in numbers; near/near_field.hpp says what each is.
struct NearTimeInput {
    double targets = 0, sources = 0, boxes = 0, neighbours = 0;
    double full_boxes = 0; // with targets; 0: estimated as for even points
    double pairs = 0, warp_pairs = 0, lane_pairs = 0;
    double row_slots = 0; // pairs with each run rounded up to whole vectors; 0: estimated from runs
    double gathered = 0, group_slots = 0, lane_targets = 0, runs = 0;
    double most_targets = 0, most_sources = 0;
    int32_t dimension = 3, components = 1, outputs = 1;
    int32_t kernel = 0, precision = 2;
    bool same = true;
    double simd_bytes = 64;  // of a vector
    double layout_bytes = 0; // of the layout's arrays, when whole

    double number_bytes() const { return precision == 0 ? 4 : 8; }
};

enum class NearBackend : int32_t { cpu, cuda };

/// Where the plan runs and how.
struct NearWay {
    NearBackend backend = NearBackend::cpu;
    double threads = 1;           // CPU
    double most_bytes = 0;        // of the layout's arrays; 0: no cap
    bool host_arrays = true;      // CUDA: the caller's arrays are in host memory
    bool pageable = true;         // CUDA: and not pinned
    bool collect_on_host = false; // CUDA: the paper's way
    bool pairs_once = false;      // CUDA: tiled sums each pair of boxes once (near/mutual.hpp)
};

/// Seconds of one execution; collection once. Chunked: collected again by every execution.
struct NearPrediction {
    NearLayout layout = NearLayout::tiled;
    double collection_s = 0, charges_s = 0, transfer_s = 0, kernel_s = 0, scatter_s = 0;
    double bytes = 0;
    double error = 0; // the model's own, of the total
    bool chunked = false;
    bool measured = false; // from this machine's numbers; false: from the built-in ones

    double execution_s() const {
        return charges_s + transfer_s + kernel_s + scatter_s + (chunked ? collection_s : 0);
    }
    /// Seconds of an execution with its share of the collection.
    double per_execution_s(double executes) const {
        return execution_s() + (chunked ? 0 : collection_s / (executes > 1 ? executes : 1));
    }
};

/// How many of each term of a phase there are, in NearPhase's order. `slot_s`: seconds of the kernel's slot.
model::NearTerms near_terms(NearLayout layout, NearPhaseName phase, const NearTimeInput& problem,
                            const NearWay& way, const model::Machine& machine);

/// Seconds of a vector's lane (scalar: of a plain loop) of the problem's kernel on one core or on the GPU.
/// Where only another kernel, precision or dimension was measured it is scaled by instructions.
double near_slot_s(const NearTimeInput& problem, const NearWay& way, const model::Machine& machine,
                   bool scalar);

/// The layout whose seconds hold for this one, too, where it has none of its own: the same records with or
/// without padding; what differs is their bytes (NearTimeInput::layout_bytes), on a GPU a table of where
/// records begin and, on a CPU, that gaps between records break the stream of their lines, which their own
/// seconds tell. Itself for all others. On a GPU only layouts that stand for themselves are measured by a
/// calibration, on a CPU all.
NearLayout near_measured_as(NearLayout layout);

/// tiled_once for tiled where that is what runs; else itself.
NearLayout near_form(NearLayout layout, const NearWay& way);

/// Whether a layout's loop is a plain one on the CPU.
bool near_scalar(NearLayout layout);
/// Whether it copies the sources of a box or target into records.
bool near_records(NearLayout layout);

/// Of a GPU's memory, what of one block the library keeps for the next plan (backend/block_cache_gpu).
double near_kept_bytes(const model::Machine& machine);

/// Machine's numbers of a layout, or those of another size of number, or the built-in ones (*measured =
/// false), as where a GPU's are of a file from before they had scatter.
model::NearLayoutCosts near_costs(NearLayout layout, const NearTimeInput& problem, const NearWay& way,
                                  const model::Machine& machine, bool* measured);

NearPrediction near_time(NearLayout layout, const NearTimeInput& problem, const NearWay& way,
                         const model::Machine& machine);

/// Seconds to send `bytes` one way in one piece, from the sizes measured (between two: linear in the time).
double transfer_s(const model::Link& link, double bytes, bool pageable, bool to_device);

/// The built-in numbers of the CPU; their machine and date are told in near_defaults.cpp.
const model::NearMachine& near_defaults();

/// Terms and seconds multiplied.
double near_sum(const model::NearTerms& terms, const model::NearPhase& phase);

} // namespace graft::near
