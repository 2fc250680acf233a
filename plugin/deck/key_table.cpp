// SPDX-License-Identifier: BSD-3-Clause
// The table of deck keys, made from settings/keys.inc.
#include "deck/schema.hpp"
#include "settings/accuracy_reach.hpp" // IWYU pragma: keep (keys.inc)
#include "settings/key_traits.hpp"

namespace graft::plugin {

namespace {

using namespace settings; // the traits, and the values of engine keys

/// A key whose value is a field of capi::Options.
#define GRAFT_FIELD(place, key_name, key_takes, key_unit, key_meaning, key_traits)                           \
    Key{.name = key_name,                                                                                    \
        .takes = key_takes,                                                                                  \
        .unit = key_unit,                                                                                    \
        .meaning = key_meaning,                                                                              \
        .traits = key_traits,                                                                                \
        .get = [](const capi::Options& o) { return static_cast<double>(o.place); },                          \
        .set = [](capi::Options& o, double value) { o.place = static_cast<decltype(o.place)>(value); }},

constexpr Key keys[] = {
#define ENGINE_KEY(type, field, standard, ...) GRAFT_FIELD(engine.field, __VA_ARGS__)
#define GPU_KEY(type, field, standard, ...) GRAFT_FIELD(engine.device.field, __VA_ARGS__)
#define DECOMPOSE_KEY(type, field, standard, ...) GRAFT_FIELD(balance.decompose.field, __VA_ARGS__)
#define BALANCE_KEY(type, field, standard, ...) GRAFT_FIELD(balance.field, __VA_ARGS__)
#define NEAR_KEY(type, field, standard, ...) GRAFT_FIELD(near.field, __VA_ARGS__)
#define ASKED_KEY(type, field, standard, ...) GRAFT_FIELD(asked.field, __VA_ARGS__)
#define TEXT_KEY(key_name, standard, key_takes, key_unit, key_meaning, key_traits)                           \
    Key{.name = key_name,                                                                                    \
        .takes = key_takes,                                                                                  \
        .unit = key_unit,                                                                                    \
        .meaning = key_meaning,                                                                              \
        .traits = key_traits,                                                                                \
        .fallback = standard},
#include "settings/keys.inc"
};
#undef GRAFT_FIELD

} // namespace

std::span<const Key> schema() {
    return keys;
}

bool Key::is_live() const {
    return (traits & live) != 0;
}

bool Key::for_papers() const {
    return (traits & study) != 0;
}

bool Key::is_shared() const {
    return (traits & shared) != 0;
}

} // namespace graft::plugin
