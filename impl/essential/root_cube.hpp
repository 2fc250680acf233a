// SPDX-License-Identifier: BSD-3-Clause
// The root cube of all ranks' octrees: trees over parts of the particles then have the cells, and with them
// the errors, of one tree over all. Where a plane parts the ranks' domains it is put through the cube's
// middle, so that no cell is cut by it: pieces of cells on both sides are two cells to sum where one would
// do, and must be kept further off (split_cells.hpp).
#pragma once

#include "comm/communicator.hpp"
#include "particles/problem.hpp"
#include "settings/settings.hpp"

#include <functional>

namespace graft::essential {

/// Collective. The root for trees of this scope over all ranks, without a range of keys.
///
/// The given box, or a cube around the particles of all ranks. For a tree of each rank's own particles
/// (TreeScope::local) that cube is moved and enlarged (its edge at most doubles) until planes that part the
/// ranks' boxes are its middle planes, where there are such planes; cost: six numbers of every rank. Throws
/// Error(value) for particles outside the box or spans beyond 1e150, Error(communication); the same on all
/// ranks.
particles::KeyRange find_root(comm::Communicator& comm, const settings::Settings& settings, settings::TreeScope scope,
                              const particles::Problem& own);

/// The same, from the corners of the own particles' box, (-lower, upper), all -infinity where there are none,
/// which become those of all ranks; `check` may refuse own particles outside the cube.
particles::KeyRange find_root(comm::Communicator& comm, const settings::Settings& settings, settings::TreeScope scope,
                              double (&corners)[6], const std::function<void(const particles::KeyRange&)>& check);

} // namespace graft::essential
