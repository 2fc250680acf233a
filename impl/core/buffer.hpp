// SPDX-License-Identifier: BSD-3-Clause
// A growing array of plain values that keeps its memory between uses.
//
// Invariants: data() is aligned to Memory::alignment; capacity never shrinks before release(); the values
// after resize() are undefined unless resize_keep() is used. A second computation of the same size allocates
// nothing.
#pragma once

#include "core/memory.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace graft::core {

template <typename T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>, "Buffer holds plain values only");

  public:
    explicit Buffer(Memory& memory, const char* name = "a buffer") : memory_(&memory), name_(name) {}
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept
        : memory_(other.memory_), name_(other.name_), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}

    /// New size, contents undefined. Strong guarantee: throws Error(memory) and keeps the old contents.
    void resize(int64_t size) { grow(size, false); }
    /// New size, the first min(old, new) values kept; amortised growth.
    void resize_keep(int64_t size) { grow(size, true); }
    void release() noexcept {
        memory_->release(data_, capacity_ * static_cast<int64_t>(sizeof(T)));
        data_ = nullptr;
        size_ = capacity_ = 0;
    }
    void push_back(const T& value) {
        if (size_ == capacity_) {
            const T copy = value;
            grow(size_ + 1, true);
            data_[size_ - 1] = copy;
        } else {
            data_[size_++] = value;
        }
    }
    void clear() noexcept { size_ = 0; }
    void swap(Buffer& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(name_, other.name_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T* data() noexcept { return data_; }
    const T* data() const noexcept { return data_; }
    int64_t size() const noexcept { return size_; }
    int64_t capacity() const noexcept { return capacity_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](int64_t i) noexcept { return data_[i]; }
    const T& operator[](int64_t i) const noexcept { return data_[i]; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    const T* begin() const noexcept { return data_; }
    const T* end() const noexcept { return data_ + size_; }
    Memory& memory() const noexcept { return *memory_; }

  private:
    void grow(int64_t size, bool keep) {
        if (size > capacity_) {
            const int64_t wanted = keep && size < 2 * capacity_ ? 2 * capacity_ : size + size / 16;
            T* fresh = static_cast<T*>(memory_->allocate(wanted * static_cast<int64_t>(sizeof(T)), name_));
            if (keep && size_ > 0)
                std::memcpy(static_cast<void*>(fresh), data_, static_cast<size_t>(size_) * sizeof(T));
            memory_->release(data_, capacity_ * static_cast<int64_t>(sizeof(T)));
            data_ = fresh;
            capacity_ = wanted;
        }
        size_ = size;
    }

    Memory* memory_;
    const char* name_;
    T* data_ = nullptr;
    int64_t size_ = 0;
    int64_t capacity_ = 0;
};

} // namespace graft::core
