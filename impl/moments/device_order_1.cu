// The moments' kernels of order 1, see device_compute.cuh.
#include "moments/device_compute.cuh"

namespace graft::moments::device {

template void compute_order<1>(backend::Queue&, const Problem&, int64_t);

} // namespace graft::moments::device
