// Instances of device_targets.cuh.
#include "kernels/near/device_targets_kernel.cuh"

namespace graft::kernels::near {

template void sum_targets<RangesFeed, Precision::mixed>(backend::Queue&, Form, bool,
                                                        const SumView<Precision::mixed>&, const RangesFeed&,
                                                        int);

} // namespace graft::kernels::near
