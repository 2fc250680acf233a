// Instances of target_threads_gpu.cuh.
#include "near/layouts/target_threads_kernel_gpu.cuh"

namespace graft::near {

template void sum_targets<GroupFeed, Precision::fp32>(backend::Queue&, Form, bool,
                                                      const SumView<Precision::fp32>&, const GroupFeed&, int);

} // namespace graft::near
