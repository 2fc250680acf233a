// Instances of target_threads_gpu.cuh.
#include "near/layouts/target_threads_kernel_gpu.cuh"

namespace graft::near {

template void sum_targets<RangesFeed, Precision::mixed>(backend::Queue&, Form, bool,
                                                        const SumView<Precision::mixed>&, const RangesFeed&,
                                                        int);

} // namespace graft::near
