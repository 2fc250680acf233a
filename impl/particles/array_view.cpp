// SPDX-License-Identifier: BSD-3-Clause
// Bounds of strided arrays, without overflow for any 64-bit n and stride.
#include "particles/array_view.hpp"

namespace graft::particles {

using core::fail;
using core::Status;

int64_t element_size(ElementType type) noexcept {
    return type == ElementType::f32 || type == ElementType::i32 ? 4 : 8;
}

namespace {

/// a * b + c as 128 bits: item and component offsets of a hostile array must not wrap.
using Wide = __int128;

} // namespace

void check_view(const ArrayView& view, int64_t bytes, const char* name) {
    if (view.n == 0)
        return;
    if (view.data == nullptr)
        fail(Status::array, "%s: data is NULL but n = %lld; expected a pointer to %lld items", name,
             static_cast<long long>(view.n), static_cast<long long>(view.n));
    const auto overlaps = [&](int64_t stride) {
        return stride > -element_size(view.type) && stride < element_size(view.type);
    };
    if ((view.n > 1 && overlaps(view.item_stride)) ||
        (view.components > 1 && overlaps(view.component_stride)))
        fail(Status::array,
             "%s: item_stride %lld or component_stride %lld is smaller than one element of %lld bytes, so "
             "that elements "
             "overlap; expected strides in bytes, not in elements",
             name, static_cast<long long>(view.item_stride), static_cast<long long>(view.component_stride),
             static_cast<long long>(element_size(view.type)));
    const Wide item_span = static_cast<Wide>(view.n - 1) * view.item_stride;
    const Wide component_span = static_cast<Wide>(view.components - 1) * view.component_stride;
    const Wide lowest = (item_span < 0 ? item_span : 0) + (component_span < 0 ? component_span : 0);
    const Wide highest =
        (item_span > 0 ? item_span : 0) + (component_span > 0 ? component_span : 0) + element_size(view.type);
    if (lowest < 0)
        fail(Status::array,
             "%s: strides reach %lld bytes before data; expected offsets >= 0. Point data at the lowest "
             "element",
             name, static_cast<long long>(-lowest));
    if (highest > bytes)
        fail(Status::array,
             "%s: %lld items of %d components with item_stride %lld and component_stride %lld reach past the "
             "%lld bytes "
             "given; expected bytes >= %lld. Check n, the strides (in bytes, not elements) and bytes",
             name, static_cast<long long>(view.n), view.components, static_cast<long long>(view.item_stride),
             static_cast<long long>(view.component_stride), static_cast<long long>(bytes),
             highest > INT64_MAX ? static_cast<long long>(INT64_MAX) : static_cast<long long>(highest));
}

} // namespace graft::particles
