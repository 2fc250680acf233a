// The paper's repetition layout (algorithms 3 and 4): for each target a record of its own place, the number
// of its sources, and place and charges of every one of them, padded to the fullest neighbourhood.
//
// Record, numbers of the caller's type: x, y(, z), n, then n times x, y(, z), q_1...q_c. The count is stored
// as a number, as he does (exact up to 2^24 in float, which is asked for when the layout is made).
#include "kernels/near/host_layout.hpp"
#include "kernels/near/layout_scalar.hpp"
#include "kernels/near/layouts.hpp"

namespace graft::kernels::near {
namespace {

template <typename T, typename V>
class Replicated final : public HostBase<T, V> {
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_;

  public:
    Replicated(const Structure& structure, const Sums& sums, const LayoutOptions& options,
               core::Memory& memory)
        : Base(structure, sums, options, memory), records_(memory, "near field: records of targets"),
          each_(sums.dimension + sums.components),
          length_(sums.dimension + 1 + this->shape_.most_sources * each_) {
        if (sizeof(T) == 4 && this->shape_.most_sources > (1 << 24))
            core::fail(core::Status::unsupported,
                       "near field: replicated in fp32 counts up to 2^24 sources a target, found %lld",
                       static_cast<long long>(this->shape_.most_sources));
        this->divide(Layout::replicated, 0);
        int64_t most = 0;
        for (size_t c = 0; c + 1 < this->chunk_begin_.size(); ++c)
            most = std::max(most, structure.target_offset[this->chunk_begin_[c + 1]] -
                                      structure.target_offset[this->chunk_begin_[c]]);
        records_.reserve(most * length_, this->executor_);
    }

  private:
    int64_t own_bytes() const override { return records_.bytes(); }
    double unit_bytes(int64_t box) const override {
        return static_cast<double>(this->targets_of(box) * length_) * sizeof(T);
    }
    T* record(int64_t slot) { return records_.data() + (slot - structure_.target_offset[chunk_]) * length_; }
    void collect(int64_t begin, int64_t end) override {
        chunk_ = begin;
        this->executor_.for_blocks(end - begin, this->block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                for (int64_t s = structure_.target_offset[b]; s < structure_.target_offset[b + 1]; ++s)
                    collect_target(b, s);
        });
    }
    void collect_target(int64_t box, int64_t slot) {
        T* out = record(slot);
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
        T* out = record(slot) + 2 * sums_.dimension + 1;
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
            const T* own = record(s);
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
    int64_t each_, length_, chunk_ = 0;
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_replicated(const Structure& structure, const Sums& sums,
                                               const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Replicated<T, V>>(structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_replicated)

} // namespace graft::kernels::near
