// SPDX-License-Identifier: BSD-3-Clause
// What the campaign lets go wrong: a host allocator that refuses its k-th call, and a rank whose k-th call of the
// communicator fails, stalls, or is its last.
#pragma once

#include <graft/graft.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace soak {

/// Of one context; counts, so that what was not given back is seen.
class Allocator {
  public:
    explicit Allocator(int64_t refused) : refused_(refused) {
        table_.struct_size = sizeof table_;
        table_.user = this;
        table_.allocate = [](void* self, int64_t bytes, int64_t alignment) {
            return static_cast<Allocator*>(self)->take(bytes, alignment);
        };
        table_.release = [](void* self, void* pointer, int64_t) {
            --static_cast<Allocator*>(self)->living_;
            std::free(pointer);
        };
    }
    const graft_allocator* table() const { return &table_; }
    bool fired() const { return refused_ > 0 && calls_ >= refused_; }
    int64_t living() const { return living_; }

  private:
    void* take(int64_t bytes, int64_t alignment) {
        if (++calls_ == refused_)
            return nullptr;
        void* pointer = nullptr;
        if (posix_memalign(&pointer, static_cast<size_t>(alignment), static_cast<size_t>(bytes)) != 0)
            return nullptr;
        std::memset(pointer, 0xA5, static_cast<size_t>(bytes)); // nothing is zero by chance
        ++living_;
        return pointer;
    }

    graft_allocator table_{};
    int64_t refused_;
    std::atomic<int64_t> calls_{0}, living_{0};
};

struct Fault {
    enum Way { fail, stall, kill } way = fail;
    int64_t at = 0; // which call; 0: none
};

/// How long a stalled rank stands still: several times the deadline of such cases (cases.py).
inline constexpr std::chrono::seconds stall_time{4};

/// A table before another one's, with a fault.
class Comm {
  public:
    Comm(graft_comm_v1* inner, Fault fault) : inner_(inner), table_(*inner), fault_(fault) {
        table_.self = this;
        table_.comm_barrier = [](void* s) {
            return of(s).fails() ? broken : of(s).inner_->comm_barrier(of(s).inner_->self);
        };
        table_.comm_bcast = [](void* s, void* d, int64_t b, int32_t r) {
            return of(s).fails() ? broken : of(s).inner_->comm_bcast(of(s).inner_->self, d, b, r);
        };
        table_.comm_allreduce = [](void* s, const void* x, void* y, int64_t n, int32_t t, int32_t o) {
            return of(s).fails() ? broken : of(s).inner_->comm_allreduce(of(s).inner_->self, x, y, n, t, o);
        };
        table_.comm_allgatherv = [](void* s, const void* x, int64_t n, void* y, const int64_t* b,
                                    const int64_t* o) {
            return of(s).fails() ? broken : of(s).inner_->comm_allgatherv(of(s).inner_->self, x, n, y, b, o);
        };
        table_.comm_alltoallv = [](void* s, const void* x, const int64_t* b, const int64_t* o, void* y,
                                   const int64_t* c, const int64_t* p) {
            return of(s).fails() ? broken
                                 : of(s).inner_->comm_alltoallv(of(s).inner_->self, x, b, o, y, c, p);
        };
        table_.comm_isend = [](void* s, const void* d, int64_t b, int32_t to, int32_t tag, int64_t* r) {
            return of(s).fails() ? broken : of(s).inner_->comm_isend(of(s).inner_->self, d, b, to, tag, r);
        };
        table_.comm_irecv = [](void* s, void* d, int64_t b, int32_t from, int32_t tag, int64_t* r) {
            return of(s).fails() ? broken : of(s).inner_->comm_irecv(of(s).inner_->self, d, b, from, tag, r);
        };
        table_.comm_waitall = [](void* s, int64_t n, int64_t* r) {
            return of(s).fails() ? broken : of(s).inner_->comm_waitall(of(s).inner_->self, n, r);
        };
        table_.comm_split = [](void* s, int32_t c, int32_t k, graft_comm_v1** p) {
            return of(s).fails() ? broken : of(s).inner_->comm_split(of(s).inner_->self, c, k, p);
        };
        table_.comm_free = [](graft_comm_v1*) {};
        if (inner->comm_error_text != nullptr)
            table_.comm_error_text = [](void* s) {
                return of(s).inner_->comm_error_text(of(s).inner_->self);
            };
        if (inner->comm_set_deadline != nullptr)
            table_.comm_set_deadline = [](void* s, double t) {
                return of(s).inner_->comm_set_deadline(of(s).inner_->self, t);
            };
        if (inner->comm_fail != nullptr)
            table_.comm_fail = [](void* s, const char* t) { of(s).inner_->comm_fail(of(s).inner_->self, t); };
        if (inner->comm_time_s != nullptr)
            table_.comm_time_s = [](void* s) { return of(s).inner_->comm_time_s(of(s).inner_->self); };
        table_.comm_failed_call = nullptr;
    }
    Comm(const Comm&) = delete;
    Comm& operator=(const Comm&) = delete;
    const graft_comm_v1* table() const { return &table_; }
    bool fired() const { return fault_.at > 0 && calls_ >= fault_.at; }

  private:
    static constexpr int32_t broken = 4711;
    static Comm& of(void* self) { return *static_cast<Comm*>(self); }
    bool fails() {
        if (++calls_ != fault_.at)
            return false;
        if (fault_.way == Fault::kill)
            std::raise(SIGKILL);
        if (fault_.way == Fault::stall)
            std::this_thread::sleep_for(stall_time);
        return fault_.way == Fault::fail;
    }

    graft_comm_v1* inner_;
    graft_comm_v1 table_;
    Fault fault_;
    int64_t calls_ = 0;
};

} // namespace soak
