// SPDX-License-Identifier: BSD-3-Clause
// Fibers: light tasks with stacks of their own that one thread runs in turn (POSIX ucontext).
//
// All stacks lie in one mapping whose untouched pages cost nothing, so 65,536 fibers need neither as many
// mappings (vm.max_map_count) nor gigabytes. A page at the low end of each stack is made unreadable while
// there are few fibers; with many, the stack pointer is checked at every switch instead. The exception state
// of the C++ run time is kept per fiber, so a fiber may switch inside a catch block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace graft::study {

class FiberPool {
  public:
    /// Stacks of `stack_bytes` (rounded up to pages). Throws Error(memory) when they cannot be mapped.
    FiberPool(int32_t fibers, int64_t stack_bytes);
    ~FiberPool();
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;

    /// Runs fiber `index` until it yields or ends; its first time runs body(index), which must not throw.
    void resume(int32_t index, const std::function<void(int32_t)>& body);
    /// From the running fiber back to resume(). Throws Error(internal) when the fiber has used up its stack.
    void yield();
    bool ended(int32_t index) const;
    /// -1 outside of all fibers.
    int32_t current() const noexcept { return current_; }

  private:
    struct Fiber;
    struct Main;
    static void enter(uint32_t low, uint32_t high, uint32_t index);
    char* stack_of(int32_t index) const { return stacks_ + index * stack_bytes_; }
    void make(int32_t index);

    int32_t count_ = 0, current_ = -1;
    int64_t stack_bytes_ = 0;
    char* stacks_ = nullptr;
    const std::function<void(int32_t)>* body_ = nullptr;
    std::unique_ptr<Fiber[]> fibers_;
    std::unique_ptr<Main> main_;
};

} // namespace graft::study
