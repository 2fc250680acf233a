// SPDX-License-Identifier: BSD-3-Clause
// See collect.hpp.
#include "near/copies/collect.hpp"

#include <algorithm>

namespace graft::near {

namespace {

constexpr int64_t boxes_a_block = 64, points_a_block = 4096;

template <typename T>
void gather(const backend::Executor& executor, const T* const (&from)[3], bool flat,
            std::span<const int64_t> index, std::vector<Point<T>>& to) {
    executor.for_each(
        static_cast<int64_t>(to.size()),
        [&](int64_t s) {
            const int64_t i = index.empty() ? s : index[static_cast<size_t>(s)];
            to[static_cast<size_t>(s)] = {from[0][i], from[1][i], flat ? T(0) : from[2][i], T(0)};
        },
        points_a_block);
}

} // namespace

template <typename T>
HostCollector<T>::HostCollector(const Structure& structure, const Sums& sums,
                                std::span<const int64_t> run_offset, const int32_t* runs,
                                std::span<const int32_t> sources, const std::vector<int64_t>& entry_offset,
                                int32_t threads)
    : structure_(&structure), dimension_(sums.dimension), components_(sums.components),
      run_offset_(run_offset), runs_(runs), sources_of_(sources),
      entry_offset_(&entry_offset), executor_{memory_, backend::resolve_threads(threads)},
      target_(structure.same ? 0 : static_cast<size_t>(structure.targets())),
      source_(static_cast<size_t>(structure.sources())),
      charge_(sums.components > 1 ? static_cast<size_t>(structure.sources() * sums.components) : 0) {}

template <typename T>
void HostCollector<T>::set_points(const T* const (&targets)[3], const T* const (&sources)[3]) {
    const bool same = structure_->same;
    gather(executor_, same ? targets : sources, dimension_ == 2,
           same ? structure_->target_index : structure_->source_index, source_);
    if (!same)
        gather(executor_, targets, dimension_ == 2, structure_->target_index, target_);
}

template <typename T>
void HostCollector<T>::set_charges(const T* const* component) {
    const std::span<const int64_t> index =
        structure_->same ? structure_->target_index : structure_->source_index;
    const auto n = static_cast<int64_t>(source_.size());
    executor_.for_each(
        n,
        [&](int64_t s) {
            const int64_t i = index.empty() ? s : index[static_cast<size_t>(s)];
            source_[static_cast<size_t>(s)].charge = component[0][i];
            for (int32_t c = 0; components_ > 1 && c < components_; ++c)
                charge_[static_cast<size_t>(c * n + s)] = component[c][i];
        },
        points_a_block);
}

template <typename T>
template <typename Body>
void HostCollector<T>::for_sources(int64_t box, Body&& body) const {
    int64_t k = 0;
    for (int64_t r = run_offset_[static_cast<size_t>(box)]; r < run_offset_[static_cast<size_t>(box) + 1];
         ++r)
        for (int32_t slot = runs_[2 * r]; slot < runs_[2 * r + 1]; ++slot, ++k)
            body(k, slot);
}

template <typename T>
void HostCollector<T>::collect_indices(const CopyPiece& piece, int32_t* out) const {
    const std::span<const int64_t> index =
        structure_->same ? structure_->target_index : structure_->source_index;
    executor_.for_each(
        piece.end_box - piece.first_box,
        [&](int64_t i) {
            const int64_t box = piece.first_box + i;
            int32_t* const to = out + (*entry_offset_)[static_cast<size_t>(box)] - piece.base;
            for_sources(box, [&](int64_t k, int32_t slot) {
                to[k] = index.empty() ? slot : static_cast<int32_t>(index[static_cast<size_t>(slot)]);
            });
        },
        boxes_a_block);
}

template <typename T>
void HostCollector<T>::collect_groups(const CopyPiece& piece, Point<T>* out, T* charges,
                                      int64_t stride) const {
    const auto n = static_cast<int64_t>(source_.size());
    executor_.for_each(
        piece.end_box - piece.first_box,
        [&](int64_t i) {
            const int64_t box = piece.first_box + i,
                          to = (*entry_offset_)[static_cast<size_t>(box)] - piece.base;
            for_sources(box, [&](int64_t k, int32_t slot) {
                out[to + k] = source_[static_cast<size_t>(slot)];
                for (int32_t c = 0; components_ > 1 && c < components_; ++c)
                    charges[c * stride + to + k] = charge_[static_cast<size_t>(c * n + slot)];
            });
        },
        boxes_a_block);
}

template <typename T>
void HostCollector<T>::write_record(int64_t slot, int64_t box, int64_t stride, T* word) const {
    const Point<T>& target = targets()[static_cast<size_t>(slot)];
    const auto n = static_cast<int64_t>(source_.size());
    const auto put = [&](T value) { *word = value, word += stride; };
    put(target.x), put(target.y);
    if (dimension_ == 3)
        put(target.z);
    put(static_cast<T>(sources_of_[static_cast<size_t>(box)]));
    for_sources(box, [&](int64_t, int32_t s) {
        const Point<T>& p = source_[static_cast<size_t>(s)];
        put(p.x), put(p.y);
        if (dimension_ == 3)
            put(p.z);
        if (components_ == 1)
            put(p.charge);
        for (int32_t c = 0; components_ > 1 && c < components_; ++c)
            put(charge_[static_cast<size_t>(c * n + s)]);
    });
}

template <typename T>
void HostCollector<T>::collect_records(const CopyPiece& piece, const RecordOffsets& places, T* out) const {
    const auto& offset = structure_->target_offset;
    executor_.for_blocks(piece.end_target - piece.first_target, 256, [&](int64_t begin, int64_t end, int) {
        int64_t slot = piece.first_target + begin;
        int64_t box = std::upper_bound(offset.begin(), offset.end(), slot) - offset.begin() - 1;
        for (; slot < piece.first_target + end; ++slot) {
            while (offset[static_cast<size_t>(box) + 1] <= slot)
                ++box;
            write_record(slot, box, places.stride(), out + places.of_target(slot, box) - piece.base);
        }
    });
}

template class HostCollector<float>;
template class HostCollector<double>;

} // namespace graft::near
