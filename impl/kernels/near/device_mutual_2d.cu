// Instances of device_mutual_kernel.cuh.
#include "kernels/near/device_mutual_kernel.cuh"

namespace graft::kernels::near {

template void sum_mutual_of<Form::laplace, 2>(backend::Queue&, const SumView<Precision::fp32>&,
                                              const MutualView&);

} // namespace graft::kernels::near
