// SPDX-License-Identifier: BSD-3-Clause
// Tiles: the sources of a box's neighbourhood are copied, run by run, into one block of the thread's own that
// stays in the first-level cache; then targets pass over it, several in registers. Where the copy would cost
// more than it saves (few targets, or long runs) they pass over the runs as they stand. tiled_split first
// sums each box's own points, in a pass of its own, then the neighbours' (the paper's reference [10]).
#include "near/layouts/layout_makers.hpp"
#include "near/layouts/sorted_layout.hpp"

#include <bit>

namespace graft::near {
namespace {

/// Copies whole pieces of 32 bytes or 64: up to a piece less one number is read and written behind the end.
template <typename V>
inline void copy_pieces(const V* from, int64_t count, V* to) {
    constexpr int64_t piece = 8;
    for (int64_t k = 0; k < count; k += piece)
        std::memcpy(to + k, from + k, piece * sizeof(V));
}

template <typename T, typename V, bool split>
class Tiled final : public SortedLayout<T, V> {
    using Base = SortedLayout<T, V>;
    using Base::structure_, Base::sums_, Base::low;

  public:
    Tiled(const Structure& structure, const Sums& sums, const LayoutOptions& options, core::Memory& memory)
        : Base(structure, sums, options, memory), block_(memory, "near field: gathered sources"),
          row_(gather_slots(this->shape_)), rows_(sums.dimension * (low ? 2 : 1) + sums.components),
          lanes_(tile_lanes<V>()), lane_bits_(std::countr_zero(static_cast<uint64_t>(lanes_))),
          few_((rows_ * (copy_of_row + copy_of_piece) * lanes_ - 1) /
               (std::max<int64_t>(lanes_ - 1, 1) * vector_of_pairs)) {
        const int64_t size = this->executor_.threads * rows_ * row_;
        this->build(split ? Layout::tiled_split : Layout::tiled, static_cast<double>(size) * sizeof(V));
        block_.reserve(size, this->executor_);
    }

  private:
    enum class Part { all, own, others };
    static constexpr int64_t copy_of_row = 8, copy_of_piece = 8, piece = 8, vector_of_pairs = 20;

    int64_t own_bytes() const override { return Base::own_bytes() + block_.bytes(); }

    void sum_box(int64_t box, int thread, double* sums) override {
        sum_part(box, thread, sums, split && structure_.same ? Part::own : Part::all);
    }
    bool second_pass(int64_t box, int thread, double* sums) override {
        if (!split || !structure_.same)
            return false;
        if (box >= 0)
            sum_part(box, thread, sums, Part::others);
        return true;
    }

    /// Few targets do not pay for the copy: whether the lanes that short runs waste cost less. In slots of
    /// arithmetic, guessed from rates over 2...64 points a box (near-notes.md). Up to few_ targets whatever
    /// the runs are: each of them wastes less than a vector and has a piece.
    bool better_in_place(int64_t box, int64_t targets) const {
        if (targets <= few_)
            return true;
        const Run* runs = this->runs(box);
        int64_t in_place = 0, sources = 0, pieces = 0;
        for (int64_t k = 0; k < this->run_count(box); ++k) {
            in_place += (runs[k].count + lanes_ - 1) >> lane_bits_;
            sources += runs[k].count;
            pieces += (runs[k].count + piece - 1) / piece;
        }
        const int64_t gathered = (sources + lanes_ - 1) >> lane_bits_;
        return targets * (in_place - gathered) * vector_of_pairs <
               rows_ * (this->run_count(box) * copy_of_row + pieces * copy_of_piece);
    }
    void sum_in_place(int64_t box, double* sums) {
        Tile<V> tile = this->tile_of(box);
        tile.runs = this->runs(box), tile.run_count = this->run_count(box);
        this->mark_own(box, tile);
        this->run_groups(tile, sums, [&](int32_t c) { return this->charge(c); });
    }

    void sum_part(int64_t box, int thread, double* sums, Part part) {
        if (part == Part::all && better_in_place(box, this->targets_of(box)))
            return sum_in_place(box, sums);
        Tile<V> tile = this->tile_of(box);
        V* block = block_.data() + thread * rows_ * row_;
        const Run all{0, static_cast<int32_t>(gather(box, part, tile, block))};
        const int dimension = sums_.dimension;
        for (int axis = 0; axis < 3; ++axis) {
            const int there = axis < dimension ? axis : 0;
            tile.source[axis] = block + there * row_;
            tile.source_low[axis] = low ? block + (dimension + there) * row_ : nullptr;
        }
        tile.runs = &all, tile.run_count = 1;
        this->run_groups(tile, sums,
                         [&](int32_t c) { return block + (dimension * (low ? 2 : 1) + c) * row_; });
    }

    /// Copies the runs one after the other; returns the number of sources and tells the tile where its
    /// targets' own are.
    int64_t gather(int64_t box, Part part, Tile<V>& tile, V* block) {
        const std::pair<int64_t, int64_t> range = this->own_of(box);
        const int64_t own = range.first, own_end = range.second; // clang 14 captures no bindings
        int64_t filled = 0;
        const auto copy = [&](int64_t first, int64_t end) {
            if (first >= end)
                return;
            if (own < own_end && first <= own && own_end <= end) {
                tile.self = filled + own - first;
                tile.self_end = tile.self + own_end - own;
            }
            copy_rows(tile, first, end - first, block + filled);
            filled += end - first;
        };
        const Run *run = this->runs(box), *last = run + this->run_count(box);
        for (; run != last; ++run) {
            const int64_t first = run->begin, end = first + run->count;
            if (part == Part::all) {
                copy(first, end);
            } else if (part == Part::own) {
                copy(std::max(first, own), std::min(end, own_end));
            } else {
                copy(first, std::min(end, std::max(first, own)));
                copy(std::max(first, std::min(end, own_end)), end);
            }
        }
        return filled;
    }
    void copy_rows(const Tile<V>& tile, int64_t first, int64_t count, V* to) {
        for (int axis = 0; axis < sums_.dimension; ++axis, to += row_)
            copy_pieces(tile.source[axis] + first, count, to);
        if constexpr (low)
            for (int axis = 0; axis < sums_.dimension; ++axis, to += row_)
                copy_pieces(tile.source_low[axis] + first, count, to);
        for (int32_t c = 0; c < sums_.components; ++c, to += row_)
            copy_pieces(this->charge(c) + first, count, to);
    }

    Store<V> block_;
    int64_t row_, rows_, lanes_;
    int lane_bits_;
    int64_t few_; // targets that are never worth a copy
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_tiled(const Structure& structure, const Sums& sums,
                                          const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Tiled<T, V, false>>(structure, sums, options, memory);
}
template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_tiled_split(const Structure& structure, const Sums& sums,
                                                const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Tiled<T, V, true>>(structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_tiled)
GRAFT_NEAR_MAKERS(make_tiled_split)

} // namespace graft::near
