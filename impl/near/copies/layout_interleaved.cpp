// SPDX-License-Identifier: BSD-3-Clause
// Repetition as vectors want it: the records of a vector's worth of targets are interleaved, so that lane j
// reads column j (on a GPU: thread j of a warp; loads coalesce), padded to the longest of their own box only.
//
// Of a box with n sources and k vectors of targets, one vector after the other: rows of n x lanes numbers, a
// row for each coordinate (mixed: high and low parts) and each charge.
#include "near/layouts/layout_base.hpp"
#include "near/layouts/layout_makers.hpp"
#include "near/layouts/sorted_points.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
class Interleaved final : public HostBase<T, V> {
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_, Base::low;

  public:
    Interleaved(const Structure& structure, const Sums& sums, const LayoutOptions& options,
                core::Memory& memory)
        : Base(structure, sums, options, memory), arrays_(memory, "near field: interleaved records"),
          place_begin_(memory, "near field: where a box's places begin"),
          record_begin_(memory, "near field: where a box's records begin"), lanes_(tile_lanes<V>()),
          places_each_(sums.dimension * (low ? 2 : 1)), rows_(places_each_ + sums.components) {
        this->choose_loops(true);
        place_begin_.reserve(structure.target_boxes() + 1, this->executor_);
        record_begin_.reserve(structure.target_boxes() + 1, this->executor_);
        this->count_sources(0, structure.target_boxes(), record_begin_);
        this->divide(Layout::replicated_interleaved,
                     16.0 * static_cast<double>(structure.target_boxes() + 1));
        arrays_.reserve(this->largest_chunk([&](int64_t box) { return numbers_of(box, record_begin_[box]); }),
                        this->executor_);
        if (this->chunks() == 1)
            place(0, structure.target_boxes());
    }

  private:
    int64_t columns(int64_t box) const { return round_up(this->targets_of(box), lanes_); }
    int64_t numbers_of(int64_t box, int64_t sources) const {
        return columns(box) * (places_each_ + rows_ * sources);
    }
    int64_t own_bytes() const override {
        return arrays_.bytes() + place_begin_.bytes() + record_begin_.bytes();
    }
    double unit_bytes(int64_t box) const override {
        return static_cast<double>(numbers_of(box, record_begin_[box])) * sizeof(V); // not placed yet
    }
    /// Where the boxes [begin, end) begin, from how many sources each has: a box's places, then its records.
    void place(int64_t begin, int64_t end) {
        int64_t at = 0;
        for (int64_t b = begin; b < end; ++b) {
            const int64_t sources = std::exchange(record_begin_[b], at + places_each_ * columns(b));
            place_begin_[b] = at;
            at += numbers_of(b, sources);
        }
    }
    void collect(int64_t begin, int64_t end) override {
        if constexpr (low)
            if (begin == 0)
                centre_ = centre_of(this->sources_,
                                    structure_.same ? structure_.target_index : structure_.source_index,
                                    structure_.sources(), sums_.dimension);
        if (this->chunks() > 1) {
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
        const int64_t n = this->sources_of(box), width = columns(box), first = structure_.target_offset[box];
        const int64_t count = this->targets_of(box);
        for (int axis = 0; axis < sums_.dimension; ++axis) {
            const T *target = this->axis_of(this->targets_, axis),
                    *source = this->axis_of(this->sources_, axis);
            V* place = arrays_.data() + place_begin_[box] + axis * width;
            V* place_low = place + sums_.dimension * width;
            V none;
            for (int64_t i = 0; i < width; ++i) // the last target fills the vector up
                split(target[this->target_point(first + std::min(i, count - 1))], centre_[axis], place[i],
                      low ? place_low[i] : none);
            int64_t j = 0;
            this->for_neighbours(box, [&](int64_t slot, int64_t sources) {
                for (int64_t s = slot; s < slot + sources; ++s, ++j) {
                    V high, rest{};
                    split(source[this->source_point(s)], centre_[axis], high, rest);
                    spread(box, n, axis, j, high);
                    if constexpr (low)
                        spread(box, n, sums_.dimension + axis, j, rest);
                }
            });
        }
    }
    /// Number j of a row, for every target of the box.
    void spread(int64_t box, int64_t n, int64_t row, int64_t j, V value) {
        for (int64_t g = 0; g < columns(box); g += lanes_)
            std::fill_n(arrays_.data() + record_begin_[box] + (g * rows_ + row * lanes_) * n + j * lanes_,
                        lanes_, value);
    }
    void fill_charges(int64_t begin, int64_t end) override {
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b) {
                const int64_t n = this->sources_of(b);
                for (int32_t c = 0; c < sums_.components; ++c) {
                    int64_t j = 0;
                    this->for_neighbours(b, [&](int64_t slot, int64_t sources) {
                        for (int64_t s = slot; s < slot + sources; ++s, ++j)
                            spread(b, n, places_each_ + c, j,
                                   static_cast<V>(this->charges_.component[c][this->source_point(s)]));
                    });
                }
            }
        });
    }
    void sum_box(int64_t box, int, double* sums) override {
        int64_t self = -1;
        const int64_t n = this->sources_of(box, &self), width = columns(box);
        const Run all{0, static_cast<int32_t>(n)};
        for (int64_t g = 0; g < width; g += lanes_) {
            const V* record = arrays_.data() + record_begin_[box] + g * rows_ * n;
            const V* place = arrays_.data() + place_begin_[box] + g;
            Tile<V> tile;
            for (int axis = 0; axis < 3; ++axis) {
                const int there = axis < sums_.dimension ? axis : 0;
                tile.target[axis] = place + there * width;
                tile.target_low[axis] = tile.target[axis] + (low ? sums_.dimension * width : 0);
                tile.source[axis] = record + there * n * lanes_;
                tile.source_low[axis] = tile.source[axis] + (low ? sums_.dimension * n * lanes_ : 0);
            }
            tile.targets = lanes_;
            tile.runs = &all, tile.run_count = 1;
            if (self >= 0)
                tile.self = self + g, tile.self_end = self + this->targets_of(box);
            this->run_groups(tile, sums + g * this->stride(),
                             [&](int32_t c) { return record + (places_each_ + c) * n * lanes_; });
        }
    }

    Store<V> arrays_;
    Store<int64_t> place_begin_, record_begin_;
    std::array<double, 3> centre_{};
    int64_t lanes_, places_each_, rows_;
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated_interleaved(const Structure& structure, const Sums& sums,
                                                           const LayoutOptions& options,
                                                           core::Memory& memory) {
    return std::make_unique<Interleaved<T, V>>(structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated_interleaved)

} // namespace graft::near
