// The moments' kernels of order 0, see device_compute.cuh.
#include "moments/device_compute.cuh"

namespace graft::moments::device {

template void compute_order<0>(backend::Queue&, const Problem&, int64_t);

} // namespace graft::moments::device
