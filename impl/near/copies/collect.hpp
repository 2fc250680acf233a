// SPDX-License-Identifier: BSD-3-Clause
// Collection by host threads for layouts on the device: the paper's algorithms 1 and 3, into page-locked
// memory. What they write has the bits that the device's own collection writes (collect_gpu.cu).
#pragma once

#include "backend/executor.hpp"
#include "near/near_field.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace graft::near {

template <typename T>
struct alignas(16) Point {
    T x, y, z, charge; // charge: of component 0
};

/// A piece of a layout's copies: boxes or targets [first, end), and where its part of the copies begins.
struct CopyPiece {
    int64_t first_box, end_box, first_target, end_target;
    int64_t base, size; // entries of the layout's array: indices, points, words
};

/// Where the words of records stand. Of boxes: padded records at b * length; length 0: from first[b] on. Of
/// targets: padded at s * length; interleaved: those of 32 targets side by side from first[s / 32] on;
/// packed: those of a box are equally long, and would begin at first[b] if its targets were numbered from 0.
struct RecordOffsets {
    int64_t length;
    const int64_t* first;
    bool interleaved;
    const int32_t* sources = nullptr; // packed: of a box
    int32_t head = 0, each = 0;       // packed: words of a record before its sources, and of a source
    GRAFT_HD int64_t of_box(int64_t box) const { return length > 0 ? box * length : first[box]; }
    GRAFT_HD int64_t of_target(int64_t slot, int64_t box) const {
        if (interleaved)
            return first[slot / 32] + slot % 32;
        return length > 0 ? slot * length : first[box] + slot * (head + int64_t{each} * sources[box]);
    }
    GRAFT_HD int64_t stride() const { return interleaved ? 32 : 1; }
};

template <typename T>
class HostCollector {
  public:
    /// runs: begin, end pairs of box b at 2 * run_offset[b].
    HostCollector(const Structure& structure, const Sums& sums, std::span<const int64_t> run_offset,
                  const int32_t* runs, std::span<const int32_t> sources,
                  const std::vector<int64_t>& entry_offset, int32_t threads);
    /// Host arrays in the caller's order, copied by slot.
    void set_points(const T* const (&targets)[3], const T* const (&sources)[3]);
    void set_charges(const T* const* component);
    /// By slot.
    const std::vector<Point<T>>& targets() const { return structure_->same ? source_ : target_; }
    const std::vector<Point<T>>& sources() const { return source_; }
    const std::vector<T>& charges() const { return charge_; } // by component; empty with one

    void collect_indices(const CopyPiece& piece, int32_t* out) const;
    /// charges: component c at c * stride; not written with one component.
    void collect_groups(const CopyPiece& piece, Point<T>* out, T* charges, int64_t stride) const;
    void collect_records(const CopyPiece& piece, const RecordOffsets& places, T* out) const;

  private:
    template <typename Body>
    void for_sources(int64_t box, Body&& body) const; // body(k, slot)
    void write_record(int64_t slot, int64_t box, int64_t stride, T* word) const;
    const Structure* structure_;
    int32_t dimension_, components_;
    std::span<const int64_t> run_offset_;
    const int32_t* runs_;
    std::span<const int32_t> sources_of_;
    const std::vector<int64_t>* entry_offset_; // of a box's sources
    mutable core::Memory memory_;
    backend::Executor executor_;
    std::vector<Point<T>> target_, source_;
    std::vector<T> charge_;
};

} // namespace graft::near
