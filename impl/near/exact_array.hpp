// SPDX-License-Identifier: BSD-3-Clause
// An array of exactly as many bytes as it says: what a layout reports is what it holds.
#pragma once

#include "backend/executor.hpp"
#include "core/memory.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace graft::near {

/// Zeroed when it grows: what stands behind the end of what is filled is a number.
template <typename T>
class Store {
  public:
    Store(core::Memory& memory, const char* name) : memory_(&memory), name_(name) {}
    ~Store() { release(); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Contents are lost if it grows; never shrinks. Fresh memory is touched by all threads. Throws
    /// Error(memory).
    void reserve(int64_t size, const backend::Executor& executor) {
        if (size <= size_)
            return;
        release();
        data_ = static_cast<T*>(memory_->allocate(size * static_cast<int64_t>(sizeof(T)), name_));
        size_ = size;
        executor.for_blocks(bytes(), 1 << 20, [&](int64_t begin, int64_t end, int) {
            std::memset(reinterpret_cast<unsigned char*>(data_) + begin, 0, static_cast<size_t>(end - begin));
        });
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](int64_t i) { return data_[i]; }
    const T& operator[](int64_t i) const { return data_[i]; }
    int64_t bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

  private:
    void release() {
        memory_->release(data_, bytes());
        data_ = nullptr;
        size_ = 0;
    }
    core::Memory* memory_;
    const char* name_;
    T* data_ = nullptr;
    int64_t size_ = 0;
};

} // namespace graft::near
