// SPDX-License-Identifier: BSD-3-Clause
// P2P and M2P from interaction lists on the device.
//
// Results: raw field at the targets in target order, as particles::RawField: a = sum q d / r^3 towards the
// sources, p = sum q / r, in the internal units of the particles. Frames and softening as on the CPU.
// Variants that `automatic` may choose give the same bits every run; the two liu2022 variants add with
// atomics and do not.
#pragma once

#include "backend/queue_gpu.cuh"
#include "forces/gpu_kernel.hpp"
#include "forces/evaluation_bytes.hpp"
#include "forces/softening.hpp"
#include "lists/lists_gpu.cuh"
#include "moments/moments_gpu.cuh"
#include "particles/scatter_gpu.cuh"
#include "tree/tree_gpu.cuh"

namespace graft::forces {

enum class DevicePrecision : int32_t { fp32 = 0, mixed = 1, fp64 = 2 }; // as settings::Precision

struct DeviceField {
    explicit DeviceField(backend::DeviceMemory& memory)
        : ax(memory, "field x"), ay(memory, "field y"), az(memory, "field z"),
          potential(memory, "potentials") {}
    backend::DeviceBuffer<double> ax, ay, az, potential; // targets; potential may be empty
    void resize(int64_t n, bool with_potential) {
        ax.resize(n), ay.resize(n), az.resize(n), potential.resize(with_potential ? n : 0);
    }
};

struct DeviceEvaluation {
    PairVariant pairs;           // softening kind, per particle, potential
    double softening_length = 0; // one for all, host units
    DevicePrecision precision = DevicePrecision::mixed;
    int order = 2;
    int group = 128; // most targets in a group
    int leaf = 64;
    bool add = false; // to the field, instead of setting it
    DeviceKernel kernel = DeviceKernel::automatic;
    /// Cells far from a group become its polynomial where the fast cells of order 2 serve (m2l_gpu.cuh);
    /// the groups' factors are the error criterion's.
    bool local = false;
    /// The lists were built with what pack() gave: they may be cut, and share far cells.
    bool packed = false;
    /// Of kernels that work by tasks, not null: accelerations go into records in the host's order (by
    /// DeviceTargets::origin) and not to the field; no potentials, no `add`.
    particles::ExportRow* records = nullptr;
    int block_x = 0, block_y = 0; // liu2022's BX, BY or threads a block; 0: their optimum
};

/// Why a computation in single precision has stopped: distances, softening lengths or charges that it does not serve.
inline constexpr auto needs_double = static_cast<backend::StopReason>(6);
/// Why one in double has: a softening length beyond all distances by more than expansions of cells bear.
inline constexpr auto softened_beyond_range = static_cast<backend::StopReason>(7);

/// Word of DeviceStatus::spare (0: lists/targets_of_points_gpu.cu): cells that went into polynomials of groups.
inline constexpr int far_cells_word = 1;

class DeviceEvaluator {
  public:
    explicit DeviceEvaluator(backend::DeviceMemory& memory);
    ~DeviceEvaluator();
    /// Room for at least so many tasks and partial sums of a batch: what the status words
    /// tasks_needed and slots_needed of an earlier computation asked for. Called after too_small, between
    /// computations, by those that do not set the room.
    void reserve(int64_t tasks, int64_t slots);
    /// Just this room for a batch, until it is set anew (evaluation_bytes.hpp has its bytes; allocated here, so
    /// Error(memory) names what is missing). Room of no tasks: chosen by the lists' capacities again.
    void set_capacity(const EvaluatorCapacity& capacity);
    /// Gives the memory of the room back; between computations.
    void release_room();
    /// Takes the memory that does not depend on batches: of fast kernels 64 B a node, 32 more with `local`,
    /// and 4 B a particle.
    void hold_cells(const DeviceEvaluation& how, const tree::DeviceTree& tree);
    /// Enqueues what of the cells does not depend on lists: for lists of how.local, which share far cells and
    /// are cut at once. After hold_cells(); evaluate() does it for itself where `how.packed` is not set.
    lists::DeviceFarChoice pack(backend::Queue& queue, const DeviceEvaluation& how,
                                const tree::DeviceTree& tree, const moments::DeviceMoments& moments);
    /// Enqueues P2P and M2P of one batch of lists. Status: tasks_needed, slots_needed, pairs, cells,
    /// far_cells.
    void evaluate(backend::Queue& queue, const DeviceEvaluation& how, const tree::DeviceTree& tree,
                  const moments::DeviceMoments& moments, const lists::DeviceTargets& targets,
                  const lists::DeviceLists& lists, DeviceField& field);

  private:
    struct Work;
    Work* work_;
};

/// thuering2023's stages of the all-pairs kernel (sections 4.1 and 5.3.1), a target a thread: 0 block size as
/// his run time chose it (the largest divisor of n up to 1,024), 1 blocks of 128 with a padded last one, 2
/// sources through shared memory. 3: ours. 0 to 2 do no softening or one Plummer length, in fp32 (relative to
/// the centre of the sources) or fp64.
enum class DirectStage : int32_t { plain = 0, grouped = 1, tiled = 2, best = 3 };

struct DeviceSources {
    const double *x = nullptr, *y = nullptr, *z = nullptr, *charge = nullptr, *softening = nullptr;
    int64_t n = 0;
};

/// All pairs: the field of the sources at the targets (softening as in sources; null: one length for all).
/// Targets should be near each other in memory where they are near in space: fp32 coordinates are relative to
/// the centre of each block of targets, in units of its box (forces/frame.hpp). Partial sums over parts of
/// the sources are added in order: the same bits every run.
class DeviceDirect {
  public:
    explicit DeviceDirect(backend::DeviceMemory& memory);
    ~DeviceDirect();
    /// Enqueued, no waiting; buffers grow only. how: pairs, softening_length, precision, add, and for stages
    /// 1 and 2 block_x = threads a block (0: 128). `field` has room for targets.n. Status: pairs. Throws
    /// Error(unsupported) for what a stage does not do.
    void evaluate(backend::Queue& queue, const DeviceEvaluation& how, DirectStage stage,
                  const DeviceSources& sources, const DeviceSources& targets, DeviceField& field);

  private:
    struct Work;
    Work* work_;
};

} // namespace graft::forces
