// SPDX-License-Identifier: BSD-3-Clause
// All options as values: what deck keys set and contexts are made of. The fields are those of settings/keys.inc.
#pragma once

#include "balance/balance.hpp"
#include "core/log.hpp"
#include "engine/tree_tuning.hpp"
#include "near/plan/near_plan.hpp"
#include "settings/settings.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace graft::capi {

/// study.walk.
enum class WalkAsked : int32_t { auto_, transposed, thread };

/// What is asked for where the engine's own settings are made of it, and not the same.
struct AskedKeys {
#define ASKED_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
    bool operator==(const AskedKeys&) const = default;
};

/// Near fields: what a plan takes that does not say so itself.
struct NearKeys {
#define NEAR_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
};

struct Options {
    AskedKeys asked;
    settings::Settings engine; // its keys and engine.device; all else is made by engine_settings()
    balance::Settings balance; // with balance.decompose
    NearKeys near;
    std::map<std::string, std::string, std::less<>> texts;    // kept for the host: units, run.*, host.* ...
    std::string machine_file;                                 // near_field.machine; "": none
    std::vector<std::pair<std::string, std::string>> machine; // its keys and texts, checked
};

} // namespace graft::capi
