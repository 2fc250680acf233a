// What a context knows of ranks: its communicator, the settings of decompose and balance, and the checks that
// every collective entry begins with.
#pragma once

#include "balance/balance.hpp"
#include "comm/communicator.hpp"

#include <graft/types.h>

#include <cstdint>

namespace graft::capi {

struct RankSettings {
    balance::Settings balance; // holds decompose's, too
    double deadline_s = 0;     // 0: a rank waits for ever
};

/// Fills in the fields of minor 1; the others stay.
void set_default_rank_options(graft_options_values& values) noexcept;
RankSettings read_rank_options(const graft_options_values& values);

/// FNV-1a over plain bytes: equal settings on all ranks have equal fingerprints.
uint64_t fingerprint(const void* data, size_t bytes, uint64_t seed = 14695981039346656037ull) noexcept;

} // namespace graft::capi
