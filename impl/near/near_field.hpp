// SPDX-License-Identifier: BSD-3-Clause
// The near field of a code that brings its own boxes: what is summed, over which pairs, in which precision.
//
//     out_c(i) = factor x sum over the sources j of the neighbour boxes of i's box of q_c(j) K(x_i - y_j)
//
// for every charge component c; and its gradient with respect to x_i. A pair at zero distance adds nothing to
// a kernel that is singular there; with softening it adds K(0), except a point to itself (targets and sources
// the same: equal index). This file has the words of the room; the layouts (layout.hpp) do the work.
// Source: p2p-data-replication, section 2; the kernels are Graft's own list.
#pragma once

#include "core/host_device.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace graft::near {

enum class Kernel : int32_t {
    laplace,   // 1/r in three dimensions: gravity and Coulomb; Plummer softening: 1/sqrt(r^2 + eps^2)
    logarithm, // -ln r in two dimensions, the paper's case
    yukawa,    // exp(-kappa r) / r
    helmholtz, // exp(i k r) / r; charges and sums are complex: components come in pairs (real, imaginary)
    table      // f(r), cubic Hermite on a uniform grid in r^2 or r; zero beyond the last knot
};

/// How the arithmetic is done. mixed: pairs in float, sums in double.
enum class Precision : int32_t { fp32, mixed, fp64 };

/// A radial function by its values and derivatives at knots x_k = begin + k step in x = r: f(r), f'(r).
/// Beyond the last knot 0; below the first knot the first cubic is continued. The arrays are the owner's.
struct RadialTable {
    double begin = 0, step = 0;
    std::span<const double> value, derivative; // equal lengths, at least 2
};

struct KernelOptions {
    Kernel kernel = Kernel::laplace;
    double factor = 1;
    double softening = 0;   // laplace: Plummer length
    double wave_number = 0; // yukawa: kappa, helmholtz: k; 1/length
    RadialTable table;
};

enum Outputs : int32_t { potential = 1, gradient = 2 };

/// What is to be summed. `components` charges a source; helmholtz: an even number.
struct Sums {
    KernelOptions kernel;
    int32_t dimension = 3; // 2: z is not read, distances are in the plane, for every kernel
    int32_t components = 1;
    int32_t outputs = potential;
    Precision precision = Precision::fp64;
};

/// Which pairs: boxes of targets and of sources, and for each target box its source boxes. All in host
/// memory; the arrays belong to whoever made the structure and live as long as the plan.
/// Slot s of the boxes is point target_index[s] of the caller's arrays, or s itself where the index is empty.
struct Structure {
    std::span<const int64_t> target_offset;    // target boxes + 1, from 0, not falling
    std::span<const int64_t> source_offset;    // source boxes + 1; equal to target_offset where same
    std::span<const int64_t> neighbour_offset; // target boxes + 1
    std::span<const int32_t> neighbour;        // source boxes, ascending within a target box, each once
    std::span<const int64_t> target_index, source_index;
    bool same = false; // targets are the sources: one set of points and boxes

    int64_t target_boxes() const { return static_cast<int64_t>(target_offset.size()) - 1; }
    int64_t source_boxes() const { return static_cast<int64_t>(source_offset.size()) - 1; }
    int64_t targets() const { return target_offset.empty() ? 0 : target_offset.back(); }
    int64_t sources() const { return source_offset.empty() ? 0 : source_offset.back(); }
};

/// Gathered sources are filled up to a multiple of this with charge 0: a vector of every instruction set.
constexpr int64_t record_step = 16;

/// What decides the cost of a structure; models see only this.
struct Shape {
    int64_t targets = 0, sources = 0, boxes = 0, source_boxes = 0, neighbours = 0;
    int64_t pairs = 0;                     // target-source pairs, a point with itself included
    int64_t largest = 0;                   // t of the paper: points of the fullest box (targets or sources)
    int64_t most_sources = 0;              // sources of the fullest neighbourhood
    double mean = 0;                       // D: targets a box
    double warp_pairs = 0, lane_pairs = 0; // pairs with targets rounded up to 32 a box, to the vector's lanes
    int64_t most_targets = 0;              // targets of the fullest target box
    int64_t gathered = 0;     // sum over target boxes (empty ones too) of the sources of their neighbourhood
    int64_t group_slots = 0;  // the same over boxes with targets, each rounded up to record_step
    int64_t lane_targets = 0; // targets with each box rounded up to the vector's lanes
    double row_slots = 0;     // targets times sources with each run rounded up to the vector's lanes
    int64_t runs = 0;         // runs of consecutive slots in the neighbourhoods of boxes with targets
    int32_t dimension = 3, components = 1, outputs = potential;
    Kernel kernel = Kernel::laplace;
    Precision precision = Precision::fp64;
    bool same = false;
};

/// Where the plan's points and charges are, and where its sums go: caller's order, stride 1, type double or
/// float as the precision says (fp32: float; else double). NULL: not wanted. z is NULL in two dimensions.
/// scale: layouts on a GPU multiply what they read by it (near_units.hpp), of charges by what stands in the GPU's
/// memory, NULL: 1. Layouts of the host do not look at it.
template <typename T>
struct Coordinates {
    const T *x = nullptr, *y = nullptr, *z = nullptr;
    double scale = 1;
};
constexpr int32_t most_components = 16;
template <typename T>
struct Charges {
    std::array<const T*, most_components> component{};
    std::array<const double*, most_components> scale{};
};
template <typename T>
struct Fields {
    std::array<T*, most_components> potential{};
    std::array<std::array<T*, 3>, most_components> gradient{};
};

/// The layouts. A file near/layout_*.cpp has one, or one with and without padding (replicated, group).
enum class Layout : int32_t {
    indexed,    // the paper's: index arrays of second order, a thread a box
    ranges,     // sorted points, ranges instead of indices; GPU: a few lanes a target
    replicated, // the paper's: a padded record a target with all its neighbours, a thread a target
    replicated_interleaved, // the same, lane j of a warp (vector) reads column j
    replicated_group,       // one record for all targets of a box, without padding
    tiled,                  // tiles of targets and sources in registers and shared memory
    tiled_split,       // tiled, self boxes and neighbour boxes in separate kernels (the paper's ref. [10])
    replicated_packed, // replicated without padding: records one after the other, found by offsets
    replicated_group_padded // replicated_group padded to the longest: records found by a stride
};
constexpr int layouts = 9;
std::string_view name(Layout layout);
/// Throws Error(argument) that lists the names.
Layout layout_named(std::string_view text);
std::string_view name(Kernel kernel);
std::string_view name(Precision precision);

/// Seconds of one plan so far, last execution.
struct Times {
    double collection_s = 0; // at creation and when coordinates change: the layout's own arrays
    double charges_s = 0;    // gathering of new charges into the layout
    double transfer_s = 0, kernel_s = 0, scatter_s = 0, total_s = 0;
};

} // namespace graft::near
