// The moments' kernels of order 3, see p2m_m2m_gpu.cuh.
#include "moments/p2m_m2m_gpu.cuh"

namespace graft::moments::device {

template void compute_order<3>(backend::Queue&, const Problem&, int64_t);

} // namespace graft::moments::device
