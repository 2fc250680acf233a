// SPDX-License-Identifier: BSD-3-Clause
// What a key of keys.inc says of itself, beside its field.
#pragma once

namespace graft::settings {

/// own: each rank may have its own value. shared: all ranks must have the same. live: a living context takes a
/// new value. study: a parameter of papers, outside the promise that keys stay.
enum Trait : int { own = 0, shared = 1, live = 2, study = 4 };

} // namespace graft::settings
