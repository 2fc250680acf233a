// SPDX-License-Identifier: BSD-3-Clause
// The caller's boxes and lists, checked and owned: what every layout may rely on.
//
// Invariants after read_structure: offsets begin at 0 and never fall; lists of source boxes ascend within a
// target box, each box once; index arrays name points of the caller, each at most once; there are fewer than
// 2^31 boxes, points and (as 64 bits) pairs enough. Anything else is refused, by array and item.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "near/layouts/layout.hpp"
#include "particles/array_view.hpp"

namespace graft::near {

/// One array of integers of the caller (I32 or I64, any stride); `base` is what it counts from, 0 or 1.
struct Integers {
    particles::ArrayView view;
    int64_t base = 0;
    const char* name = "";

    bool present() const { return view.present() || given; }
    bool given = false; // present also where it has no items, and so perhaps no address
    int64_t size() const { return view.n; }
};

struct StructureInput {
    Integers target_offset, source_offset, neighbour_offset, neighbour, target_index, source_index;
    int64_t targets = 0, sources = 0; // points of the caller's arrays
    bool same = false;                // then source_offset and source_index must be absent
};

/// A structure and its memory.
class OwnedStructure {
  public:
    explicit OwnedStructure(core::Memory& memory)
        : target_offset(memory, "target offsets"), source_offset(memory, "source offsets"),
          neighbour_offset(memory, "list offsets"), target_index(memory, "target indices"),
          source_index(memory, "source indices"), neighbour(memory, "lists of boxes") {}

    core::Buffer<int64_t> target_offset, source_offset, neighbour_offset, target_index, source_index;
    core::Buffer<int32_t> neighbour;
    bool same = false;

    /// Spans into this object.
    Structure view() const;
    int64_t bytes() const;
};

/// Copies and checks. Throws Error(argument) for what is missing or contradicts itself, Error(array) for
/// sizes that do not fit each other, Error(value) for a wrong item (offsets that fall, boxes out of range,
/// unsorted or repeated; indices out of range or repeated), naming array, item, what was expected and what
/// found; Error(unsupported) beyond 2^31 - 1 points or boxes. Cost O(boxes + neighbours + points).
void read_structure(const backend::Executor& executor, const StructureInput& input, OwnedStructure& out);

} // namespace graft::near
