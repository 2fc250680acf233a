// SPDX-License-Identifier: BSD-3-Clause
// The near field of evenly distributed points timed layout by layout: what `graft bench p2p --density` shows
// and what the calibration of the models measures.
//
// The points are even in the unit square or cube, boxes are those of a grid in Morton order, neighbours are
// the box itself and those that touch it (9, 27, fewer at the rim). Each repetition makes the layout anew, so
// that collection is what a caller pays who comes once.
#pragma once

#include "near/choice/choose.hpp"

#include <vector>

namespace graft::study {

struct BenchCase {
    int32_t dimension = 3;
    std::vector<double> x, y, z,
        charge; // z is empty in two dimensions; `components` charges a point in a row of n
    std::vector<int64_t> offset, neighbour_offset, index; // index is empty where the points are in order
    std::vector<int32_t> neighbour;

    int64_t points() const { return static_cast<int64_t>(x.size()); }
    /// Spans into this object.
    near::Structure structure() const;
};

struct BenchGrid {
    int64_t points = 100000;
    int32_t dimension = 3, components = 1;
    double density = 8;  // points a box: the grid is the nearest to it with as many boxes along each axis
    int32_t height = 0;  // the paper's quadtree instead: 2^(height - 1) boxes along each axis
    bool sorted = false; // points in the order of the boxes; else at random, found by index
    uint64_t seed = 1;
};

/// O(points + boxes). Throws Error(argument) beyond 2^31 - 1 boxes.
BenchCase make_case(const BenchGrid& grid);

/// One layout on one case: seconds of each repetition, of one thread its own time (thread_clock.hpp).
struct BenchTimes {
    std::vector<double> once_s; // making the layout, set_points, and what the first execution takes longer
                                // than the second: memory that is touched for the first time
    std::vector<double> create_s, first_s; // of once_s, GPU: making the plan, the first execution's excess
    std::vector<double> again_s; // where asked for: set_points once more, into arrays that are filled
    std::vector<near::Times> second;   // charges, kernel; chunked: collection; total_s: from call to return
    int64_t bytes = 0;
    int32_t chunks = 1;
};

/// Repeats collection and two executions, alternating between the layouts so that all see the same machine.
/// Layouts that cannot be made (memory, unsupported) have no times. Cost: `repeats` times all of them.
/// `again`: records and indices are collected a second time.
std::vector<BenchTimes> bench_layouts(const std::vector<near::Layout>& names, const BenchCase& one,
                                      const near::Sums& sums, const near::NearWay& way, int32_t repeats,
                                      bool again = false);
/// The same on a GPU, from arrays in pageable host memory, through libgraft_cuda. Throws Error(device).
std::vector<BenchTimes> bench_layouts_on_device(const std::vector<near::Layout>& names, const BenchCase& one,
                                                const near::Sums& sums, const near::NearWay& way, int32_t device,
                                                int32_t repeats);

/// What layout: auto takes for this case, after a trial where it is needed and worth its time.
near::Choice bench_choice(const BenchCase& one, const near::Sums& sums, const model::Machine& machine,
                    const near::ChoiceOptions& options);
near::Choice bench_choice_on_device(const BenchCase& one, const near::Sums& sums, const model::Machine& machine,
                              const near::ChoiceOptions& options, int32_t device);

/// A plain nested loop over boxes in their order, neighbours gathered first, one target after another: the
/// paper's serial CPU baseline (section 4.1). Median seconds.
double bench_serial_s(const BenchCase& one, const near::Sums& sums, int32_t repeats);

} // namespace graft::study
