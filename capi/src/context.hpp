// graft_context: options, memory, ranks and a solver behind the ABI, used by one thread at a time.
#pragma once

#include "domain_state.hpp"
#include "figures.hpp"
#include "guard.hpp"
#include "ranks.hpp"
#include "structs.hpp"

#include <atomic>
#include <memory>

struct graft_context {
    graft_context(const graft_options_values& options, const graft::core::Allocator& allocator);

    graft::core::Memory memory;
    graft::pipeline::Solver solver;
    graft::capi::RankSettings rank_settings;
    uint64_t options_fingerprint;
    std::unique_ptr<graft::comm::Communicator> ranks;  // never null; one rank alone before set_communicator
    std::unique_ptr<graft::capi::DomainState> domains; // of decompose, balance and migrate; never null
    graft::capi::Figures figures;                      // of decompose, balance and migrate, for query
    std::atomic_flag in_use = ATOMIC_FLAG_INIT;
};

namespace graft::capi {

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

/// The threads of the context's options, its memory.
backend::Executor executor_of(graft_context& context);

/// Collective. Throws on all ranks unless they are in the same entry (call_order) with the same options, box
/// and units (argument). One reduction of 32 bytes.
void require_same_call(graft_context& context, const char* entry);

/// One collective entry, by name: body(ranks) ends with the same status on all ranks. Only a NULL context and
/// one in use by another thread are this rank's own failure: nobody is told of it, since there is nothing to
/// tell it with.
template <typename Body>
int32_t collective(graft_context* context, const char* entry, Body&& body) noexcept {
    return guard([&] {
        const Use use(context);
        comm::Communicator& ranks = *context->ranks;
        if (ranks.alone()) {
            body(ranks);
            return;
        }
        ranks.guarded([&] {
            require_same_call(*context, entry);
            body(ranks);
        });
    });
}

} // namespace graft::capi
