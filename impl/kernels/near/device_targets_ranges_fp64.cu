// Instances of device_targets.cuh.
#include "kernels/near/device_targets_kernel.cuh"

namespace graft::kernels::near {

template void sum_targets<RangesFeed, Precision::fp64>(backend::Queue&, Form, bool,
                                                       const SumView<Precision::fp64>&, const RangesFeed&,
                                                       int);

} // namespace graft::kernels::near
