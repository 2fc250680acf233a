// SPDX-License-Identifier: BSD-3-Clause
// What a migration asks of the fields it is given.
#pragma once

#include "comm/communicator.hpp"
#include "particles/array_view.hpp"

#include <cstdint>

namespace graft::balance {

/// Throws Error(call_order) without a plan, Error(argument) for a negative number of fields or NULL, and
/// Error(array) where type, components or items do not fit. Cost O(fields).
void check_fields(bool planned, int fields, const particles::ArrayView* from, int64_t from_items,
                  const particles::ArrayView* to, int64_t to_items);

/// Collective. Throws Error(argument) on all ranks unless all ranks give as many fields of the same types and
/// components in the same order.
void check_same_fields(comm::Communicator& comm, int fields, const particles::ArrayView* views);

/// Whether the bytes that any `to` spans meet those of any `from`.
bool any_overlap(int fields, const particles::ArrayView* from, const particles::ArrayView* to);

} // namespace graft::balance
