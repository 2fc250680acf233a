// How much of the host's memory can still be had.
#pragma once

namespace graft::backend {

/// Bytes that the system would hand out without taking any from others, and at most what the control group of
/// this process may hold; 0: not known. Systems promise more than they have and end a process when it is
/// written to, so that a refused allocation is not to be waited for. Cost: two or three files read, 50 us.
double free_memory();

} // namespace graft::backend
