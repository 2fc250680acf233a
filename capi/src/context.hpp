// SPDX-License-Identifier: BSD-3-Clause
// graft_context: options, memory, ranks and a solver behind the ABI, used by one thread at a time.
#pragma once

#include "domain_state.hpp"
#include "query_figures.hpp"
#include "guard.hpp"
#include "living.hpp"
#include "near_plans.hpp"
#include "option_use.hpp"
#include "structs.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace graft::capi {

/// What the last failing call on a context had to say, for any thread. Fixed, so that telling needs no memory.
class ContextError {
  public:
    void note(const char* text) noexcept;
    std::string text() const;

  private:
    mutable std::mutex mutex_;
    char text_[2048] = "";
};

} // namespace graft::capi

struct graft_context {
    graft_context(const graft::capi::Options& options, const graft::core::Allocator& allocator);

    graft::core::Memory memory;
    graft::capi::Options options; // live keys as they are now
    graft::engine::Solver solver;
    uint64_t options_fingerprint = 0;
    std::unique_ptr<graft::comm::Communicator> ranks;  // never null; one rank alone before set_communicator
    std::unique_ptr<graft::capi::DomainState> domains; // of decompose, balance and migrate; never null
    graft::capi::Figures figures;                      // of decompose, balance and migrate, for query
    graft::capi::NearPlans near_plans;                 // with their figures
    void* stream = nullptr;                            // of the host, for the GPU; NULL: the solver's own
    bool in_flight = false;                            // between compute_begin and compute_end
    bool log_level_by_key = true;                      // log.level, not the host's call, says how much is told
    graft::capi::ContextError error;
    std::atomic_flag in_use = ATOMIC_FLAG_INIT;
    graft::capi::Alive alive{this};
};

namespace graft::capi {

/// guard() for an entry that has a context: the message is kept there, too.
template <typename Body>
int32_t guard_on(graft_context* context, Body&& body) noexcept {
    const int32_t status = guard(body);
    if (status != 0 && context != nullptr && Living::here().has(context))
        context->error.note(last_error());
    return status;
}

/// What a call expects of compute_begin: that nothing is in flight, that something is, or either.
enum class Flight { none, one, any };

/// Throws Error(call_order) unless it is so.
void require_flight(const graft_context& context, Flight flight, const char* entry);

/// Holds the context for one call; a second thread gets Error(busy) instead of a race.
class Use {
  public:
    explicit Use(graft_context* context);
    ~Use() { context_->in_use.clear(std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

  private:
    graft_context* context_;
};

/// What a call on this context may be given: device arrays, where the call works on them.
Places places_of(const graft_context& context, bool device_arrays);

/// Throws Error(argument) for threads that cannot be had: OpenMP's number may have changed since the context was made.
void require_threads(const graft_context& context);

/// The threads of the context's options, its memory.
backend::Executor executor_of(graft_context& context);

/// decompose::Options::device by the context's backend and gpu.device.
int32_t device_of_domains(graft_context& context);

/// Collective. Throws on all ranks unless they are in the same entry (call_order) with the same options, box
/// and units (argument), threads that each can have, and as much in flight as the entry expects. One reduction of 32 bytes.
void require_same_call(graft_context& context, const char* entry, Flight flight);

/// One collective entry, by name: body(ranks) ends with the same status on all ranks. Only a NULL context and
/// one in use by another thread are this rank's own failure: nobody is told of it, since there is nothing to
/// tell it with.
template <typename Body>
int32_t collective(graft_context* context, const char* entry, Body&& body,
                   Flight flight = Flight::none) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        comm::Communicator& ranks = *context->ranks;
        if (ranks.alone()) {
            require_flight(*context, flight, entry);
            if (flight == Flight::none) // what is in flight must be ended
                require_threads(*context);
            body(ranks);
            return;
        }
        ranks.guarded([&] {
            require_same_call(*context, entry, flight);
            body(ranks);
        });
    });
}

} // namespace graft::capi
