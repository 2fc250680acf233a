// What ranges and tiled share: places and charges sorted into the order of slots, and each box's
// neighbourhood as runs of them. O(points + runs) bytes; nothing here can be made in chunks.
#pragma once

#include "kernels/near/host_layout.hpp"
#include "kernels/near/runs.hpp"
#include "kernels/near/sorted_points.hpp"

namespace graft::kernels::near {

template <typename T, typename V>
class SortedLayout : public HostBase<T, V> {
  protected:
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_, Base::low;

    SortedLayout(const Structure& structure, const Sums& sums, const LayoutOptions& options,
                 core::Memory& memory)
        : Base(structure, sums, options, memory), source_points_(memory), target_points_(memory),
          charges_sorted_(memory, "near field: sorted charges"), runs_(memory, "near field: runs"),
          run_begin_(memory, "near field: where a box's runs begin"),
          charge_row_(structure.sources() + record_step) {
        this->choose_loops(false);
    }
    /// `scratch_bytes`: what the layout holds beside this.
    void build(Layout layout, double scratch_bytes) {
        const int dimension = sums_.dimension;
        this->divide(layout, scratch_bytes + sorted_bytes());
        source_points_.reserve(structure_.sources(), dimension);
        if (!structure_.same)
            target_points_.reserve(structure_.targets(), dimension);
        charges_sorted_.reserve(sums_.components * charge_row_);
        runs_.reserve(this->shape_.runs);
        run_begin_.reserve(structure_.target_boxes() + 1);
        int64_t run = 0;
        for (int64_t b = 0; b < structure_.target_boxes(); ++b) {
            run_begin_[b] = run;
            if (this->targets_of(b) > 0)
                for_runs(structure_, b, [&](int64_t first, int64_t count) {
                    runs_[run++] = {static_cast<int32_t>(first), static_cast<int32_t>(count)};
                });
        }
        run_begin_[structure_.target_boxes()] = run;
    }
    int64_t own_bytes() const override {
        return source_points_.bytes() + target_points_.bytes() + charges_sorted_.bytes() + runs_.bytes() +
               run_begin_.bytes();
    }
    double unit_bytes(int64_t) const final { return 0; }
    void set_fixed_points() final {
        std::array<double, 3> centre{};
        const auto& own = structure_.same ? structure_.target_index : structure_.source_index;
        if constexpr (low)
            centre = centre_of(this->sources_, own, structure_.sources(), sums_.dimension);
        source_points_.fill(this->sources_, own, structure_.sources(), sums_.dimension, centre,
                            this->executor_);
        if (!structure_.same)
            target_points_.fill(this->targets_, structure_.target_index, structure_.targets(),
                                sums_.dimension, centre, this->executor_);
    }
    void set_fixed_charges() final {
        this->executor_.for_blocks(structure_.sources(), 16384, [&](int64_t begin, int64_t end, int) {
            for (int32_t c = 0; c < sums_.components; ++c)
                for (int64_t s = begin; s < end; ++s)
                    charges_sorted_[c * charge_row_ + s] =
                        static_cast<V>(this->charges_.component[c][this->source_point(s)]);
        });
    }
    void collect(int64_t, int64_t) final {}
    void fill_charges(int64_t, int64_t) final {}

    const V* charge(int32_t component) const { return charges_sorted_.data() + component * charge_row_; }
    int64_t run_count(int64_t box) const { return run_begin_[box + 1] - run_begin_[box]; }
    const Run* runs(int64_t box) const { return runs_.data() + run_begin_[box]; }
    /// Targets of a box and, as they stand, all sources.
    Tile<V> tile_of(int64_t box) {
        Tile<V> tile;
        SortedPoints<T, V>& targets = structure_.same ? source_points_ : target_points_;
        const int64_t first = structure_.target_offset[box];
        for (int axis = 0; axis < 3; ++axis) {
            tile.source[axis] = source_points_.place(axis, sums_.dimension);
            tile.target[axis] = targets.place(axis, sums_.dimension) + first;
            if constexpr (low) {
                tile.source_low[axis] = source_points_.place_low(axis, sums_.dimension);
                tile.target_low[axis] = targets.place_low(axis, sums_.dimension) + first;
            }
        }
        tile.targets = this->targets_of(box);
        return tile;
    }

  private:
    double sorted_bytes() const {
        using Points = SortedPoints<T, V>;
        return Points::bytes_for(structure_.sources(), sums_.dimension) +
               (structure_.same ? 0 : Points::bytes_for(structure_.targets(), sums_.dimension)) +
               static_cast<double>(sums_.components * charge_row_) * sizeof(V) +
               8.0 * static_cast<double>(this->shape_.runs + structure_.target_boxes() + 1);
    }

    SortedPoints<T, V> source_points_, target_points_;
    Store<V> charges_sorted_;
    Store<Run> runs_;
    Store<int64_t> run_begin_;
    int64_t charge_row_;
};

} // namespace graft::kernels::near
