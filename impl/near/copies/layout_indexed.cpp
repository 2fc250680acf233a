// SPDX-License-Identifier: BSD-3-Clause
// The paper's indexed layout (algorithms 1 and 2): targets of all boxes and neighbours of all boxes as lists
// of indices, each with a list of where a box begins (index arrays of second order), and a plain loop a box.
//
// Coordinates and charges, his other three arrays, are read where the caller has them: what he copies to a
// device needs no copy here. Bytes: 4 a target, 4 a gathered source, 16 (boxes + 1).
#include "near/layouts/layout_base.hpp"
#include "near/copies/scalar_sums.hpp"
#include "near/layouts/layout_makers.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
class Indexed final : public HostBase<T, V> {
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_;

  public:
    Indexed(const Structure& structure, const Sums& sums, const LayoutOptions& options, core::Memory& memory)
        : Base(structure, sums, options, memory),
          indices_(memory, "near field: indices of targets and neighbours"),
          target_begin_(memory, "near field: where a box's targets begin"),
          neighbour_begin_(memory, "near field: where a box's neighbours begin") {
        const int64_t boxes = structure.target_boxes();
        target_begin_.reserve(boxes + 1, this->executor_);
        neighbour_begin_.reserve(boxes + 1, this->executor_);
        this->count_sources(0, boxes, neighbour_begin_);
        this->divide(Layout::indexed, 16.0 * static_cast<double>(boxes + 1));
        int64_t most = 0;
        for (size_t c = 0; c + 1 < this->chunk_begin_.size(); ++c) {
            int64_t indices = 0;
            for (int64_t b = this->chunk_begin_[c]; b < this->chunk_begin_[c + 1]; ++b)
                indices += this->targets_of(b) + neighbour_begin_[b];
            most = std::max(most, indices);
        }
        indices_.reserve(most, this->executor_);
        if (this->chunks() == 1)
            place(0, boxes);
    }

  private:
    int64_t own_bytes() const override {
        return indices_.bytes() + target_begin_.bytes() + neighbour_begin_.bytes();
    }
    double unit_bytes(int64_t box) const override {
        return 4.0 * static_cast<double>(this->targets_of(box) + neighbour_begin_[box]); // not placed yet
    }
    /// Where the lists of the boxes [begin, end) begin, from how many sources each has: all targets first,
    /// then all neighbours.
    void place(int64_t begin, int64_t end) {
        int64_t neighbours = structure_.target_offset[end] - structure_.target_offset[begin];
        for (int64_t b = begin; b < end; ++b) {
            target_begin_[b] = structure_.target_offset[b] - structure_.target_offset[begin];
            neighbours += std::exchange(neighbour_begin_[b], neighbours);
        }
        target_begin_[end] = structure_.target_offset[end] - structure_.target_offset[begin];
        neighbour_begin_[end] = neighbours;
    }
    void collect(int64_t begin, int64_t end) override {
        if (this->chunks() > 1) {
            this->count_sources(begin, end, neighbour_begin_);
            place(begin, end);
        }
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                collect_box(b);
        });
    }
    void collect_box(int64_t b) {
        const int64_t first = structure_.target_offset[b];
        for (int64_t i = 0; i < this->targets_of(b); ++i)
            indices_[target_begin_[b] + i] = static_cast<int32_t>(this->target_point(first + i));
        int32_t* out = indices_.data() + neighbour_begin_[b];
        this->for_neighbours(b, [&](int64_t slot, int64_t count) {
            for (int64_t s = slot; s < slot + count; ++s)
                *out++ = static_cast<int32_t>(this->source_point(s));
        });
    }
    void fill_charges(int64_t, int64_t) override {}

    template <Form form, bool slope, int dimension>
    void sum(int64_t box, double* sums) const {
        int64_t self = -1;
        this->sources_of(box, &self);
        const int32_t* neighbour = indices_.data() + neighbour_begin_[box];
        const int64_t count = neighbour_begin_[box + 1] - neighbour_begin_[box];
        const auto source = [&](int64_t j, T(&place)[3]) {
            const int32_t point = neighbour[j];
            for (int axis = 0; axis < dimension; ++axis)
                place[axis] = this->axis_of(this->sources_, axis)[point];
            return [this, point](int32_t c) { return this->charges_.component[c][point]; };
        };
        for (int64_t i = target_begin_[box]; i < target_begin_[box + 1]; ++i) {
            T at[3] = {};
            for (int axis = 0; axis < dimension; ++axis)
                at[axis] = this->axis_of(Base::targets_, axis)[indices_[i]];
            sum_target<form, slope, dimension>(this->constants_, at, count,
                                               self < 0 ? -1 : self + i - target_begin_[box],
                                               sums_.components, sums, source);
            sums += this->stride();
        }
    }
    void sum_box(int64_t box, int, double* sums) override {
        choose_scalar(
            form_of(sums_.kernel, sizeof(V) == 4), sums_,
            [&]<Form form, bool slope, int dimension>() { sum<form, slope, dimension>(box, sums); });
    }

    Store<int32_t> indices_;
    Store<int64_t> target_begin_, neighbour_begin_;
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_indexed(const Structure& structure, const Sums& sums,
                                            const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Indexed<T, V>>(structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_indexed)

} // namespace graft::near
