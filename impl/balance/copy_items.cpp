// SPDX-License-Identifier: BSD-3-Clause
// See copy_items.hpp.
#include "balance/copy_items.hpp"

#include <cstring>

namespace graft::balance {

namespace {

constexpr int64_t block = 2048;     // items a thread takes at once
constexpr int64_t run_length = 128; // items looked at together: a run without holes is one memcpy

char* place(const Strided& end, int64_t k) {
    return end.data + (end.index != nullptr ? int64_t{end.index[k]} : k) * end.item_stride;
}

/// An ascending index without holes from `begin` to `end`?
bool is_run(const int32_t* index, int64_t begin, int64_t end) {
    return index == nullptr || index[end - 1] - index[begin] == end - 1 - begin;
}

/// One element of `bytes` bytes an item; bytes known to the compiler where Bytes > 0.
template <int64_t Bytes>
void copy_elements(const Strided& from, const Strided& to, int64_t begin, int64_t end, int64_t bytes) {
    const size_t size = static_cast<size_t>(Bytes > 0 ? Bytes : bytes);
    if (from.index != nullptr)
        for (int64_t k = begin; k < end; ++k)
            std::memcpy(to.data + k * to.item_stride, from.data + from.index[k] * from.item_stride, size);
    else if (to.index != nullptr)
        for (int64_t k = begin; k < end; ++k)
            std::memcpy(to.data + to.index[k] * to.item_stride, from.data + k * from.item_stride, size);
    else
        for (int64_t k = begin; k < end; ++k)
            std::memcpy(to.data + k * to.item_stride, from.data + k * from.item_stride, size);
}

void copy_loop(const Strided& from, const Strided& to, int64_t begin, int64_t end, int64_t bytes) {
    switch (bytes) {
    case 4:
        return copy_elements<4>(from, to, begin, end, bytes);
    case 8:
        return copy_elements<8>(from, to, begin, end, bytes);
    case 12:
        return copy_elements<12>(from, to, begin, end, bytes);
    case 16:
        return copy_elements<16>(from, to, begin, end, bytes);
    case 24:
        return copy_elements<24>(from, to, begin, end, bytes);
    case 32:
        return copy_elements<32>(from, to, begin, end, bytes);
    default:
        return copy_elements<0>(from, to, begin, end, bytes);
    }
}

/// Items [begin, end), `bytes` bytes each: runs without gaps in one piece.
void copy_block(const Strided& from, const Strided& to, int64_t begin, int64_t end, int64_t bytes) {
    if (from.item_stride != bytes || to.item_stride != bytes)
        return copy_loop(from, to, begin, end, bytes);
    for (int64_t k = begin; k < end; k += run_length) {
        const int64_t last = std::min(end, k + run_length);
        if (is_run(from.index, k, last) && is_run(to.index, k, last))
            std::memcpy(place(to, k), place(from, k), static_cast<size_t>((last - k) * bytes));
        else
            copy_loop(from, to, k, last, bytes);
    }
}

} // namespace

int64_t packed_bytes(const particles::ArrayView& view) noexcept {
    return view.components * particles::element_size(view.type);
}

Strided items_of(const particles::ArrayView& view, int64_t first) noexcept {
    return {view.data + first * view.item_stride, view.item_stride, view.component_stride, nullptr};
}

Strided items_of(const particles::ArrayView& view, const int32_t* index) noexcept {
    return {view.data, view.item_stride, view.component_stride, index};
}

Strided packed(char* data, const particles::ArrayView& view) noexcept {
    return {data, packed_bytes(view), particles::element_size(view.type), nullptr};
}

void copy_items(const backend::Executor& executor, const particles::ArrayView& shape, const Strided& from,
                const Strided& to, int64_t n) {
    const int64_t element = particles::element_size(shape.type);
    const bool whole =
        shape.components == 1 || (from.component_stride == element && to.component_stride == element);
    executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
        if (whole)
            return copy_block(from, to, begin, end, packed_bytes(shape));
        for (int32_t c = 0; c < shape.components; ++c) {
            Strided source = from, target = to;
            source.data += c * from.component_stride;
            target.data += c * to.component_stride;
            copy_block(source, target, begin, end, element);
        }
    });
}

} // namespace graft::balance
