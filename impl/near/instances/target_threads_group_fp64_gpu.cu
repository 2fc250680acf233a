// Instances of target_threads_gpu.cuh.
#include "near/layouts/target_threads_kernel_gpu.cuh"

namespace graft::near {

template void sum_targets<GroupFeed, Precision::fp64>(backend::Queue&, Form, bool,
                                                      const SumView<Precision::fp64>&, const GroupFeed&, int);

} // namespace graft::near
