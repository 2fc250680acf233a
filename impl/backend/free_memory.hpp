// SPDX-License-Identifier: BSD-3-Clause
// How much of the host's memory can still be had.
#pragma once

namespace graft::backend {

/// Bytes that the system would hand out without taking any from others, and at most what the control groups
/// of this process (a container's, a batch job's) leave; 0: not known. Other processes may take them first.
/// Systems promise more than they have and end a process when it is written to, so that a refused allocation
/// is not to be waited for. Cost: some files read, 50 to 200 us.
double free_memory();

} // namespace graft::backend
