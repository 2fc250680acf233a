// SPDX-License-Identifier: BSD-3-Clause
// See staging.hpp.
#include "particles/staging.hpp"

#include "particles/array_items.hpp"

#include <cstring>

namespace graft::particles {

namespace {

constexpr int64_t pack_block = 16384;

template <typename T>
void pack_items(const ArrayView& view, int64_t begin, int64_t end, char* out) {
    const char* from = view.at(begin);
    if (view.item_stride == static_cast<int64_t>(sizeof(T))) {
        std::memcpy(out, from, static_cast<size_t>(end - begin) * sizeof(T));
        return;
    }
    for (int64_t i = begin; i < end; ++i, from += view.item_stride, out += sizeof(T))
        std::memcpy(out, from, sizeof(T));
}

template <typename From, typename To>
void unpack_items(const backend::Executor& executor, const char* from, const int32_t* index, int64_t first,
                  int64_t count, bool add, const ArrayView& view) {
    executor.for_each(
        count,
        [&](int64_t k) {
            char* const to = view.at(index != nullptr ? index[k] : first + k);
            const From value = load<From>(from + k * static_cast<int64_t>(sizeof(From)));
            const To result =
                static_cast<To>(add ? static_cast<double>(load<To>(to)) + static_cast<double>(value) : value);
            std::memcpy(to, &result, sizeof result);
        },
        pack_block);
}

} // namespace

void pack(const backend::Executor& executor, int views, const PackItem* items, int64_t first, int64_t count) {
    executor.for_blocks(count, pack_block, [&](int64_t begin, int64_t end, int) {
        for (int a = 0; a < views; ++a) {
            const ArrayView& view = items[a].view;
            const int64_t size = element_size(view.type);
            size == 4 ? pack_items<uint32_t>(view, first + begin, first + end, items[a].out + begin * size)
                      : pack_items<uint64_t>(view, first + begin, first + end, items[a].out + begin * size);
        }
    });
}

void unpack(const backend::Executor& executor, const char* from, ElementType type, const int32_t* index,
            int64_t first, int64_t count, const ArrayView& view) {
    if (type == ElementType::f32)
        unpack_items<float, float>(executor, from, index, first, count, false, view);
    else if (view.type == ElementType::f32)
        unpack_items<double, float>(executor, from, index, first, count, view.add, view);
    else
        unpack_items<double, double>(executor, from, index, first, count, view.add, view);
}

} // namespace graft::particles
