// SPDX-License-Identifier: BSD-3-Clause
// See check_fields.hpp.
#include "balance/check_fields.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace graft::balance {

using core::fail;
using core::Status;
using particles::ArrayView;

namespace {

void check_field(int field, const ArrayView& from, int64_t from_items, const ArrayView& to,
                 int64_t to_items) {
    if (from.n != from_items || to.n != to_items)
        fail(Status::array,
             "field %d: the source has %lld items and the target %lld; this plan moves %lld items to %lld",
             field, static_cast<long long>(from.n), static_cast<long long>(to.n),
             static_cast<long long>(from_items), static_cast<long long>(to_items));
    if (from.type != to.type || from.components != to.components || from.components < 1)
        fail(Status::array,
             "field %d: the source has %d components of type %d, the target %d of type %d; expected the same",
             field, from.components, static_cast<int>(from.type), to.components, static_cast<int>(to.type));
    if ((from.data == nullptr && from_items > 0) || (to.data == nullptr && to_items > 0))
        fail(Status::array, "field %d: data is NULL but %lld items leave and %lld arrive", field,
             static_cast<long long>(from_items), static_cast<long long>(to_items));
}

/// First byte and the one past the last that a view may touch; {NULL, NULL} without items.
std::pair<const char*, const char*> span_of(const ArrayView& view) {
    if (view.n == 0 || view.data == nullptr)
        return {nullptr, nullptr};
    const int64_t items = (view.n - 1) * view.item_stride;
    const int64_t components = (view.components - 1) * view.component_stride;
    return {view.data + std::min<int64_t>(0, items) + std::min<int64_t>(0, components),
            view.data + std::max<int64_t>(0, items) + std::max<int64_t>(0, components) +
                particles::element_size(view.type)};
}

} // namespace

void check_fields(bool planned, int fields, const ArrayView* from, int64_t from_items, const ArrayView* to,
                  int64_t to_items) {
    if (!planned)
        fail(Status::call_order, "there is no migration plan; plan from the owners of all items first");
    if (fields < 0 || (fields > 0 && (from == nullptr || to == nullptr)))
        fail(Status::argument,
             "%d fields to move, sources %s, targets %s; expected both for 0 fields or more", fields,
             from == nullptr ? "NULL" : "given", to == nullptr ? "NULL" : "given");
    for (int f = 0; f < fields; ++f)
        check_field(f, from[f], from_items, to[f], to_items);
}

void check_same_fields(comm::Communicator& comm, int fields, const ArrayView* views) {
    uint64_t hash = static_cast<uint64_t>(fields) + 1;
    for (int f = 0; f < fields; ++f)
        hash = (hash * 1099511628211u) ^
               (static_cast<uint64_t>(views[f].components) * 8 + static_cast<uint64_t>(views[f].type));
    int64_t range[2] = {static_cast<int64_t>(hash >> 1), -static_cast<int64_t>(hash >> 1)};
    comm.allreduce(range, 2, comm::Operation::max);
    comm.together([&] {
        if (range[0] != -range[1])
            fail(Status::argument,
                 "the ranks give different fields to migrate (this one gives %d); expected as many fields of "
                 "the "
                 "same types and components in the same order on every rank, those without items included",
                 fields);
    });
}

bool any_overlap(int fields, const ArrayView* from, const ArrayView* to) {
    const std::less<const char*> before;
    for (int t = 0; t < fields; ++t)
        for (int f = 0; f < fields; ++f) {
            const auto [target, target_end] = span_of(to[t]);
            const auto [source, source_end] = span_of(from[f]);
            if (before(target, source_end) && before(source, target_end))
                return true;
        }
    return false;
}

} // namespace graft::balance
