// SPDX-License-Identifier: BSD-3-Clause
// operator new with a header that says whose the memory is.
#include "rank_memory.hpp"

#include "study/simulate/simulated_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

constexpr int32_t most_ranks = 1 << 17;
int64_t held[most_ranks], peak[most_ranks];
int32_t counted = 0;

struct Header {
    int64_t bytes;
    int32_t rank;
    int32_t offset; // from the start of the block to the pointer
};

void* take(size_t bytes, size_t alignment) {
    alignment = std::max(alignment, sizeof(Header));
    const size_t whole = (bytes + 2 * alignment - 1) / alignment * alignment;
    char* const start = static_cast<char*>(std::aligned_alloc(alignment, whole));
    if (start == nullptr)
        return nullptr;
    const int32_t rank = graft::study::Simulator::current_rank();
    Header* const header = reinterpret_cast<Header*>(start + alignment) - 1;
    *header = {static_cast<int64_t>(bytes), rank < counted ? rank : -1, static_cast<int32_t>(alignment)};
    if (header->rank >= 0) {
        held[rank] += header->bytes;
        peak[rank] = std::max(peak[rank], held[rank]);
    }
    return header + 1;
}

void give(void* pointer) {
    if (pointer == nullptr)
        return;
    const Header header = static_cast<Header*>(pointer)[-1];
    if (header.rank >= 0)
        held[header.rank] -= header.bytes;
    std::free(static_cast<char*>(pointer) - header.offset);
}

void* take_or_throw(size_t bytes, size_t alignment) {
    void* const pointer = take(bytes, alignment);
    if (pointer == nullptr)
        throw std::bad_alloc();
    return pointer;
}

} // namespace

namespace graft::test {

void count_rank_memory(int32_t ranks) {
    counted = 0;
    std::fill(held, held + most_ranks, 0);
    std::fill(peak, peak + most_ranks, 0);
    counted = std::min(ranks, most_ranks);
}

int64_t most_held_by_a_rank(bool others) {
    return *std::max_element(peak + (others ? 1 : 0), peak + std::max(counted, 1));
}

} // namespace graft::test

using std::align_val_t;
using std::nothrow_t;
void* operator new(size_t n) {
    return take_or_throw(n, 16);
}
void* operator new[](size_t n) {
    return take_or_throw(n, 16);
}
void* operator new(size_t n, const nothrow_t&) noexcept {
    return take(n, 16);
}
void* operator new[](size_t n, const nothrow_t&) noexcept {
    return take(n, 16);
}
void* operator new(size_t n, align_val_t a) {
    return take_or_throw(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, align_val_t a) {
    return take_or_throw(n, static_cast<size_t>(a));
}
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
    return take(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
    return take(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept {
    give(p);
}
void operator delete[](void* p) noexcept {
    give(p);
}
void operator delete(void* p, size_t) noexcept {
    give(p);
}
void operator delete[](void* p, size_t) noexcept {
    give(p);
}
void operator delete(void* p, const nothrow_t&) noexcept {
    give(p);
}
void operator delete[](void* p, const nothrow_t&) noexcept {
    give(p);
}
void operator delete(void* p, align_val_t) noexcept {
    give(p);
}
void operator delete[](void* p, align_val_t) noexcept {
    give(p);
}
void operator delete(void* p, size_t, align_val_t) noexcept {
    give(p);
}
void operator delete[](void* p, size_t, align_val_t) noexcept {
    give(p);
}
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept {
    give(p);
}
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept {
    give(p);
}
