// SPDX-License-Identifier: BSD-3-Clause
// The paper's repetition layout (algorithms 3 and 4): for each target a record of its own place, the number
// of its sources, and place and charges of every one of them. replicated, as the paper has it: padded to the
// fullest neighbourhood, so that records are found by a stride. replicated_packed: one after the other, each
// as long as its neighbourhood; all of a box are equally long, so that an offset a box finds them.
//
// Record, numbers of the caller's type: x, y(, z), n, then n times x, y(, z), q_1...q_c. The count is stored
// as a number, as he does (exact up to 2^24 in float, which is asked for when the layout is made).
#include "near/layouts/layout_base.hpp"
#include "near/copies/scalar_sums.hpp"
#include "near/layouts/layout_makers.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
class Replicated final : public HostBase<T, V> {
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_;

  public:
    Replicated(Layout layout, const Structure& structure, const Sums& sums, const LayoutOptions& options,
               core::Memory& memory)
        : Base(structure, sums, options, memory), records_(memory, "near field: records of targets"),
          record_begin_(memory, "near field: where a box's records begin"),
          packed_(layout == Layout::replicated_packed), each_(sums.dimension + sums.components),
          longest_(length_of(this->shape_.most_sources)) {
        if (sizeof(T) == 4 && this->shape_.most_sources > (1 << 24))
            core::fail(core::Status::unsupported,
                       "near field: %s in fp32 counts up to 2^24 sources a target, found %lld",
                       std::string(name(layout)).c_str(), static_cast<long long>(this->shape_.most_sources));
        const int64_t boxes = structure.target_boxes(), offsets = packed_ ? boxes + 1 : 0;
        record_begin_.reserve(offsets, this->executor_);
        if (packed_)
            this->count_sources(0, boxes, record_begin_);
        this->divide(layout, 8.0 * static_cast<double>(offsets));
        records_.reserve(this->largest_chunk([&](int64_t box) { return numbers_of(box); }), this->executor_);
        if (this->chunks() == 1 && packed_)
            place(0, boxes);
    }

  private:
    int64_t length_of(int64_t sources) const { return sums_.dimension + 1 + sources * each_; }
    /// Of a box that is not placed yet: its record_begin_ is how many sources it has.
    int64_t numbers_of(int64_t box) const {
        return this->targets_of(box) * (packed_ ? length_of(record_begin_[box]) : longest_);
    }
    int64_t own_bytes() const override { return records_.bytes() + record_begin_.bytes(); }
    double unit_bytes(int64_t box) const override { return static_cast<double>(numbers_of(box)) * sizeof(T); }
    void place(int64_t begin, int64_t end) {
        int64_t record = 0;
        for (int64_t b = begin; b < end; ++b) {
            const int64_t numbers = numbers_of(b);
            record_begin_[b] = std::exchange(record, record + numbers);
        }
        record_begin_[end] = record;
    }
    T* record(int64_t box, int64_t slot) {
        if (!packed_)
            return records_.data() + (slot - structure_.target_offset[chunk_]) * longest_;
        const int64_t length = (record_begin_[box + 1] - record_begin_[box]) / this->targets_of(box);
        return records_.data() + record_begin_[box] + (slot - structure_.target_offset[box]) * length;
    }
    void collect(int64_t begin, int64_t end) override {
        chunk_ = begin;
        if (this->chunks() > 1 && packed_) {
            this->count_sources(begin, end, record_begin_);
            place(begin, end);
        }
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                for (int64_t s = structure_.target_offset[b]; s < structure_.target_offset[b + 1]; ++s)
                    collect_target(b, s);
        });
    }
    void collect_target(int64_t box, int64_t slot) {
        T* out = record(box, slot);
        const int dimension = sums_.dimension;
        for (int axis = 0; axis < dimension; ++axis)
            *out++ = this->axis_of(this->targets_, axis)[this->target_point(slot)];
        *out++ = static_cast<T>(this->sources_of(box));
        this->for_neighbours(box, [&](int64_t first, int64_t count) {
            for (int64_t s = first; s < first + count; ++s, out += each_)
                for (int axis = 0; axis < dimension; ++axis)
                    out[axis] = this->axis_of(this->sources_, axis)[this->source_point(s)];
        });
    }
    void fill_charges(int64_t begin, int64_t end) override {
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                for (int64_t s = structure_.target_offset[b]; s < structure_.target_offset[b + 1]; ++s)
                    fill_target(b, s);
        });
    }
    void fill_target(int64_t box, int64_t slot) {
        T* out = record(box, slot) + 2 * sums_.dimension + 1;
        this->for_neighbours(box, [&](int64_t first, int64_t count) {
            for (int64_t s = first; s < first + count; ++s, out += each_)
                for (int32_t c = 0; c < sums_.components; ++c)
                    out[c] = this->charges_.component[c][this->source_point(s)];
        });
    }

    template <Form form, bool slope, int dimension>
    void sum(int64_t box, double* sums) {
        int64_t self = -1;
        this->sources_of(box, &self);
        const int64_t first = structure_.target_offset[box], each = each_;
        for (int64_t s = first; s < structure_.target_offset[box + 1]; ++s) {
            const T* own = record(box, s);
            T at[3] = {};
            for (int axis = 0; axis < dimension; ++axis)
                at[axis] = own[axis];
            const T* list = own + dimension + 1;
            const auto source = [list, each](int64_t j, T(&place)[3]) {
                const T* one = list + j * each;
                for (int axis = 0; axis < dimension; ++axis)
                    place[axis] = one[axis];
                return [one](int32_t c) { return one[dimension + c]; };
            };
            sum_target<form, slope, dimension>(this->constants_, at, static_cast<int64_t>(own[dimension]),
                                               self < 0 ? -1 : self + s - first, sums_.components, sums,
                                               source);
            sums += this->stride();
        }
    }
    void sum_box(int64_t box, int, double* sums) override {
        choose_scalar(
            form_of(sums_.kernel, sizeof(V) == 4), sums_,
            [&]<Form form, bool slope, int dimension>() { sum<form, slope, dimension>(box, sums); });
    }

    Store<T> records_;
    Store<int64_t> record_begin_; // packed: of a box
    bool packed_;
    int64_t each_, longest_; // numbers of a source; of a padded record
    int64_t chunk_ = 0;      // its first box
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated(const Structure& structure, const Sums& sums,
                                               const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Replicated<T, V>>(Layout::replicated, structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated)

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated_packed(const Structure& structure, const Sums& sums,
                                                      const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Replicated<T, V>>(Layout::replicated_packed, structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated_packed)

} // namespace graft::near
