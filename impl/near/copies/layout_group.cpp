// SPDX-License-Identifier: BSD-3-Clause
// One record for all targets of a box: the sources of its neighbourhood, an array a coordinate and a charge.
// Collected once, read as it stands: no gathering in an execution.
//
// replicated_group: each as long as its neighbourhood (whole vectors), none for a box without targets, found
// by offsets. replicated_group_padded: every box has one, all as long as the fullest neighbourhood, found by
// a stride; what is left over is not written.
#include "near/layouts/layout_base.hpp"
#include "near/layouts/layout_makers.hpp"
#include "near/layouts/sorted_points.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
class Group final : public HostBase<T, V> {
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_, Base::low;

  public:
    Group(Layout layout, const Structure& structure, const Sums& sums, const LayoutOptions& options,
          core::Memory& memory)
        : Base(structure, sums, options, memory), arrays_(memory, "near field: records of boxes"),
          record_begin_(memory, "near field: where a box's record begins"),
          padded_(layout == Layout::replicated_group_padded),
          longest_(round_up(this->shape_.most_sources, record_step)),
          places_each_(sums.dimension * (low ? 2 : 1)), rows_(places_each_ + sums.components) {
        this->choose_loops(false);
        const int64_t offsets = padded_ ? 0 : structure.target_boxes() + 1;
        record_begin_.reserve(offsets, this->executor_);
        if (!padded_)
            this->count_sources(0, structure.target_boxes(), record_begin_);
        this->divide(layout, 8.0 * static_cast<double>(offsets));
        arrays_.reserve(this->largest_chunk([&](int64_t box) { return numbers_of(box); }), this->executor_);
        if (this->chunks() == 1 && !padded_)
            place(0, structure.target_boxes());
    }

  private:
    /// Length of a row of the record of a box that is not placed yet, whose record_begin_ is how many sources
    /// it has; nobody reads that of a box without targets.
    int64_t row_to_be(int64_t box) const {
        if (padded_)
            return longest_;
        return this->targets_of(box) > 0 ? round_up(record_begin_[box], record_step) : 0;
    }
    int64_t numbers_of(int64_t box) const {
        return places_each_ * this->targets_of(box) + rows_ * row_to_be(box);
    }
    int64_t row_of(int64_t box) const {
        return padded_ ? longest_ : (record_begin_[box + 1] - record_begin_[box]) / rows_;
    }
    V* record_of(int64_t box) {
        return arrays_.data() +
               (padded_ ? first_record_ + (box - chunk_) * rows_ * longest_ : record_begin_[box]);
    }
    int64_t own_bytes() const override { return arrays_.bytes() + record_begin_.bytes(); }
    double unit_bytes(int64_t box) const override { return static_cast<double>(numbers_of(box)) * sizeof(V); }
    V* places(int64_t box) {
        return arrays_.data() +
               places_each_ * (structure_.target_offset[box] - structure_.target_offset[chunk_]);
    }
    /// Where the records of the boxes [begin, end) begin, from how many sources each has: places of all
    /// targets first, then the records.
    void place(int64_t begin, int64_t end) {
        int64_t record = places_each_ * (structure_.target_offset[end] - structure_.target_offset[begin]);
        for (int64_t b = begin; b < end; ++b) {
            const int64_t row = row_to_be(b);
            record_begin_[b] = std::exchange(record, record + rows_ * row);
        }
        record_begin_[end] = record;
    }
    void collect(int64_t begin, int64_t end) override {
        if constexpr (low)
            if (begin == 0)
                centre_ = centre_of(this->sources_,
                                    structure_.same ? structure_.target_index : structure_.source_index,
                                    structure_.sources(), sums_.dimension);
        chunk_ = begin;
        first_record_ = places_each_ * (structure_.target_offset[end] - structure_.target_offset[begin]);
        if (this->chunks() > 1 && !padded_) {
            this->count_sources(begin, end, record_begin_);
            place(begin, end);
        }
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                if (this->targets_of(b) > 0)
                    collect_box(b);
        });
    }
    void collect_box(int64_t box) {
        const int64_t row = row_of(box), count = this->targets_of(box), dimension = sums_.dimension;
        const int64_t first = structure_.target_offset[box];
        for (int axis = 0; axis < dimension; ++axis) {
            const T *target = this->axis_of(this->targets_, axis),
                    *source = this->axis_of(this->sources_, axis);
            V *place = places(box) + axis * count, *out = record_of(box) + axis * row;
            V none;
            for (int64_t i = 0; i < count; ++i)
                split(target[this->target_point(first + i)], centre_[axis], place[i],
                      low ? place[dimension * count + i] : none);
            int64_t j = 0;
            this->for_neighbours(box, [&](int64_t slot, int64_t sources) {
                for (int64_t s = slot; s < slot + sources; ++s, ++j)
                    split(source[this->source_point(s)], centre_[axis], out[j],
                          low ? out[dimension * row + j] : none);
            });
            for (const int64_t end = round_up(j, record_step); j < end; ++j) // a vector reads them, too
                out[j] = V(0), (low ? out[dimension * row + j] : none) = V(0);
        }
    }
    void fill_charges(int64_t begin, int64_t end) override {
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                for (int32_t c = 0; c<sums_.components&& this->targets_of(b)> 0; ++c) {
                    V* out = record_of(b) + (places_each_ + c) * row_of(b);
                    this->for_neighbours(b, [&](int64_t slot, int64_t sources) {
                        for (int64_t s = slot; s < slot + sources; ++s)
                            *out++ = static_cast<V>(this->charges_.component[c][this->source_point(s)]);
                    });
                }
        });
    }
    void sum_box(int64_t box, int, double* sums) override {
        int64_t self = -1;
        const Run all{0, static_cast<int32_t>(this->sources_of(box, &self))};
        const int64_t row = row_of(box), count = this->targets_of(box);
        const V *place = places(box), *record = record_of(box);
        Tile<V> tile;
        for (int axis = 0; axis < 3; ++axis) {
            const int there = axis < sums_.dimension ? axis : 0;
            tile.target[axis] = place + there * count;
            tile.source[axis] = record + there * row;
            tile.target_low[axis] = tile.target[axis] + (low ? sums_.dimension * count : 0);
            tile.source_low[axis] = tile.source[axis] + (low ? sums_.dimension * row : 0);
        }
        tile.targets = count;
        tile.runs = &all, tile.run_count = 1;
        if (self >= 0)
            tile.self = self, tile.self_end = self + count;
        this->run_groups(tile, sums, [&](int32_t c) { return record + (places_each_ + c) * row; });
    }

    Store<V> arrays_;
    Store<int64_t> record_begin_;
    std::array<double, 3> centre_{};
    bool padded_;
    int64_t longest_; // row of a padded record
    int64_t places_each_, rows_;
    int64_t chunk_ = 0, first_record_ = 0; // the chunk's first box; where its records begin, behind places
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated_group(const Structure& structure, const Sums& sums,
                                                     const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Group<T, V>>(Layout::replicated_group, structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated_group)

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated_group_padded(const Structure& structure, const Sums& sums,
                                                            const LayoutOptions& options,
                                                            core::Memory& memory) {
    return std::make_unique<Group<T, V>>(Layout::replicated_group_padded, structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated_group_padded)

} // namespace graft::near
