// Instances of mutual_kernel_gpu.cuh.
#include "near/mutual_kernel_gpu.cuh"

namespace graft::near {

template void sum_mutual_of<Form::laplace, 3>(backend::Queue&, const SumView<Precision::fp32>&,
                                              const MutualView&);

} // namespace graft::near
