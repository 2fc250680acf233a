// Variants that are declared but not there yet: each says so.
#include "kernels/device_variants.cuh"

namespace graft::kernels {

void evaluate_pairs_1d(VariantWork&, backend::Queue&, const DeviceEvaluation&, const tree::DeviceTree&,
                       const moments::DeviceMoments&, const lists::DeviceTargets&, const lists::DeviceLists&,
                       DeviceField&) {
    core::fail(core::Status::unsupported,
               "the 1-D kernel is not part of this build; choose cuda.kernel = units");
}
void evaluate_tiles_2d(VariantWork&, backend::Queue&, const DeviceEvaluation&, const tree::DeviceTree&,
                       const moments::DeviceMoments&, const lists::DeviceTargets&, const lists::DeviceLists&,
                       DeviceField&) {
    core::fail(core::Status::unsupported,
               "the 2-D kernel is not part of this build; choose cuda.kernel = units");
}
void evaluate_block_per_group(VariantWork&, backend::Queue&, const DeviceEvaluation&, const tree::DeviceTree&,
                              const moments::DeviceMoments&, const lists::DeviceTargets&,
                              const lists::DeviceLists&, DeviceField&) {
    core::fail(core::Status::unsupported,
               "the block-per-group kernel is not part of this build; choose cuda.kernel = units");
}

} // namespace graft::kernels
