// SPDX-License-Identifier: BSD-3-Clause
// Stacks, switches, and what the sanitizers must be told about them.
#include "study/simulate/fiber.hpp"

#include "core/error.hpp"

#include <cstring>
#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define GRAFT_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRAFT_FIBER_ASAN 1
#endif
#endif
#ifdef GRAFT_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace graft::study {

namespace {

constexpr int32_t most_guarded = 8192;      // a guard page costs two mappings
constexpr int64_t stack_reserve = 16 << 10; // bytes of stack that a switch must find free

/// The C++ run time's record of exceptions in flight (Itanium ABI 2.2.2): a pointer and a count.
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};

void swap_exceptions(ExceptionState& other) {
    void* const globals = abi::__cxa_get_globals();
    ExceptionState mine;
    std::memcpy(static_cast<void*>(&mine), globals, sizeof mine);
    std::memcpy(globals, static_cast<void*>(&other), sizeof other);
    other = mine;
}

} // namespace

struct FiberPool::Fiber {
    ucontext_t context;
    ExceptionState exceptions;
    bool made = false, ended = false;
    void* fake_stack = nullptr; // of the address sanitizer
};

struct FiberPool::Main {
    ucontext_t context;
    const void* bottom = nullptr;
    size_t bytes = 0;
    void* fake_stack = nullptr;
};

FiberPool::FiberPool(int32_t fibers, int64_t stack_bytes)
    : count_(fibers), fibers_(new Fiber[static_cast<size_t>(fibers)]), main_(new Main) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    stack_bytes_ = (stack_bytes + stack_reserve + page - 1) / page * page + page;
    const size_t bytes = static_cast<size_t>(count_ * stack_bytes_);
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        core::fail(core::Status::memory,
                   "stacks of %d simulated ranks: the system refused %lld bytes of address space; "
                   "try fewer ranks or smaller stacks",
                   count_, static_cast<long long>(bytes));
    stacks_ = static_cast<char*>(mapped);
#ifdef MADV_NOHUGEPAGE
    madvise(mapped, bytes, MADV_NOHUGEPAGE); // a touched page must not cost 2 MiB
#endif
    if (count_ <= most_guarded)
        for (int32_t i = 0; i < count_; ++i)
            mprotect(stack_of(i), static_cast<size_t>(page), PROT_NONE);
}

FiberPool::~FiberPool() {
    munmap(stacks_, static_cast<size_t>(count_ * stack_bytes_));
}

bool FiberPool::ended(int32_t index) const {
    return fibers_[index].ended;
}

void FiberPool::make(int32_t index) {
    Fiber& fiber = fibers_[index];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack_of(index);
    fiber.context.uc_stack.ss_size = static_cast<size_t>(stack_bytes_);
    fiber.context.uc_link = nullptr; // enter() never returns
    const uint64_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&FiberPool::enter), 3,
                static_cast<uint32_t>(self), static_cast<uint32_t>(self >> 32), static_cast<uint32_t>(index));
    fiber.made = true;
}

void FiberPool::enter(uint32_t low, uint32_t high, uint32_t index) {
    FiberPool& pool = *reinterpret_cast<FiberPool*>(low | static_cast<uintptr_t>(high) << 32);
    Fiber& fiber = pool.fibers_[index];
#ifdef GRAFT_FIBER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &pool.main_->bottom, &pool.main_->bytes);
#endif
    (*pool.body_)(static_cast<int32_t>(index));
    fiber.ended = true;
#ifdef GRAFT_FIBER_ASAN
    __sanitizer_start_switch_fiber(nullptr, pool.main_->bottom, pool.main_->bytes); // NULL: the fiber dies
#endif
    setcontext(&pool.main_->context);
}

void FiberPool::resume(int32_t index, const std::function<void(int32_t)>& body) {
    Fiber& fiber = fibers_[index];
    if (!fiber.made)
        make(index);
    body_ = &body;
    current_ = index;
    swap_exceptions(fiber.exceptions);
#ifdef GRAFT_FIBER_ASAN
    __sanitizer_start_switch_fiber(&main_->fake_stack, stack_of(index), static_cast<size_t>(stack_bytes_));
#endif
    swapcontext(&main_->context, &fiber.context);
#ifdef GRAFT_FIBER_ASAN
    __sanitizer_finish_switch_fiber(main_->fake_stack, nullptr, nullptr);
#endif
    swap_exceptions(fiber.exceptions);
    current_ = -1;
}

void FiberPool::yield() {
    Fiber& fiber = fibers_[current_];
    char marker = 0;
#ifndef GRAFT_FIBER_ASAN // its locals may lie on a fake stack
    if (&marker - stack_of(current_) < stack_reserve)
        core::fail(core::Status::internal, "simulated rank %d has used its stack of %lld bytes; give it more",
                   current_, static_cast<long long>(stack_bytes_));
#else
    static_cast<void>(marker);
    __sanitizer_start_switch_fiber(&fiber.fake_stack, main_->bottom, main_->bytes);
#endif
    swapcontext(&fiber.context, &main_->context);
#ifdef GRAFT_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &main_->bottom, &main_->bytes);
#endif
}

} // namespace graft::study
