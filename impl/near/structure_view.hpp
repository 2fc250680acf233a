// SPDX-License-Identifier: BSD-3-Clause
// A structure as spans into the arrays of its owner.
#pragma once

#include "near/near_field.hpp"

namespace graft::near {

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), static_cast<size_t>(array.size()));
}

/// The owner's arrays (std::vector, core::Buffer) have the names of the spans. Where targets are the sources, their
/// offsets and indices stand for those of the sources, which are not read.
template <class Owner>
Structure view_of(const Owner& owner) {
    Structure s;
    s.target_offset = span_of(owner.target_offset);
    s.source_offset = span_of(owner.same ? owner.target_offset : owner.source_offset);
    s.neighbour_offset = span_of(owner.neighbour_offset);
    s.neighbour = span_of(owner.neighbour);
    s.target_index = span_of(owner.target_index);
    s.source_index = span_of(owner.same ? owner.target_index : owner.source_index);
    s.same = owner.same;
    return s;
}

} // namespace graft::near
