// SPDX-License-Identifier: BSD-3-Clause
// The layouts with copies of sources (indexed and the records of targets and boxes): their sizes, their
// pieces, and their collection by the device. Collection by the host: collect.hpp.
#pragma once

#include "near/layouts/layout_gpu.cuh"
#include "near/near_points_gpu.cuh"

#include <vector>

namespace graft::near {

/// What a collection writes: places, charges, or both.
enum Collects : int32_t { places = 1, charges_too = 2 };

/// Sizes of a layout's copies, in entries (indices, points, words), known from the runs.
struct CopyPlan {
    Layout layout = Layout::indexed;
    int64_t entry_bytes = 4;
    int64_t length = 0;                // padded records: words of a target's, points of a box's
    std::vector<int64_t> entry_offset; // indexed and records of boxes: of a box's first entry; boxes + 1
    std::vector<int64_t> word_offset;  // interleaved: of 32 targets' first word, one more; packed: of a box,
                                       // see RecordOffsets
    int32_t head = 0, each = 0;        // words of a target's record before its sources, and of a source
    int64_t entries = 0;               // in all
    std::vector<CopyPiece> pieces;     // runs of boxes or targets of at most so many bytes
    int64_t largest_piece = 0;         // entries

    /// The offsets, and the numbers of sources of the boxes, where they are to be read.
    RecordOffsets places(const int64_t* first, const int32_t* sources) const {
        return {length, first, layout == Layout::replicated_interleaved, sources, head, each};
    }
    /// Words of records before a slot, which begins 32 targets or is the end of all. Cost O(1), of packed
    /// ones O(log boxes).
    int64_t words_before(int64_t slot, const Structure& structure, const Runs& runs) const;
    /// Entries of the largest piece that cannot be cut: one box, or 32 targets.
    int64_t least_piece(const Structure& structure, const Runs& runs) const;
};

/// most_bytes of a piece. Throws Error(memory) when one box (or 32 targets) needs more.
CopyPlan make_copy_plan(Layout layout, const Structure& structure, const Runs& runs, const Sums& sums,
                        int64_t most_bytes);

template <typename T>
struct CollectView {
    StructureView boxes;
    RunsView runs;
    const Point<T>*target, *source; // by slot
    const T* charge;
    int64_t charge_stride;
    int32_t dimension, components;
    int32_t first_box, count_boxes, first_target, count_targets; // the piece
    int64_t base;
};

void collect_indices(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                     const CopyPiece& piece, const int64_t* first, int32_t* out);
template <typename T>
void collect_groups(backend::Queue& queue, const CollectView<T>& view, const RecordOffsets& places,
                    int32_t what, Point<T>* out, T* charges, int64_t stride);
template <typename T>
void collect_records(backend::Queue& queue, const CollectView<T>& view, const RecordOffsets& places,
                     int32_t what, T* out);

/// A record for all targets of a box.
constexpr bool by_group(Layout layout) {
    return layout == Layout::replicated_group || layout == Layout::replicated_group_padded;
}

} // namespace graft::near
