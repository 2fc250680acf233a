// SPDX-License-Identifier: BSD-3-Clause
// What a context takes from options: the engine's settings, those of domains, what ranks must share.
#pragma once

#include "option_values.hpp"

#include <graft/types.h>

namespace graft::capi {

/// The engine's settings as a new context has them, with the box of the options. Throws Error(argument, unsupported).
settings::Settings engine_settings(const Options& options);
/// Equal on all ranks whose shared keys are.
uint64_t shared_fingerprint(const Options& options);
/// Brings the live keys of `changed` into settings that may differ from the options otherwise (box, sizes by tuning).
void take_live_keys(const Options& changed, settings::Settings& settings);
/// Throws Error(argument) for keys that fit the others no longer.
void check_options(const Options& options);

/// FNV-1a over plain bytes: equal settings on all ranks have equal fingerprints.
uint64_t fingerprint(const void* data, size_t bytes, uint64_t seed = 14695981039346656037ull) noexcept;

/// A box of the caller, checked, into settings. Throws Error(argument, unsupported).
void take_box(const graft_box& box, settings::Settings& settings);
/// The same box as deck keys box.*, for who asks the context.
void note_box(const settings::Settings& settings, AskedKeys& asked);

} // namespace graft::capi
