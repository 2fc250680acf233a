// The root cube of all ranks' octrees: the one that one rank alone would take. Trees over parts of the
// particles then have the cells, and with them the errors, of the tree over all.
#pragma once

#include "comm/communicator.hpp"
#include "pipeline/problem.hpp"
#include "pipeline/settings.hpp"

#include <functional>

namespace graft::pipeline {

/// Collective. The given box, or the cube around the particles of all ranks; without a range of keys. Throws
/// Error(value) for particles outside the box or spans beyond 1e150, Error(communication); the same on all
/// ranks.
KeyRange find_root(comm::Communicator& comm, const Settings& settings, const Problem& own);

/// The same, from the corners of the own particles' box, (-lower, upper), all -infinity where there are none,
/// which become those of all ranks; `check` may refuse own particles outside the cube.
KeyRange find_root(comm::Communicator& comm, const Settings& settings, double (&corners)[6],
                   const std::function<void(const KeyRange&)>& check);

} // namespace graft::pipeline
