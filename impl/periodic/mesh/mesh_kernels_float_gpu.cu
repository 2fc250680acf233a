// SPDX-License-Identifier: BSD-3-Clause
// A mesh of waves in float: the instances of its kernels.
#include "periodic/mesh/mesh_kernels_transforms_gpu.cuh"
#include "periodic/mesh/mesh_kernels_tables_gpu.cuh"

namespace graft::periodic::mesh {

template void launch_tables<float>(backend::Queue&, const MeshView<float>&);
template void launch_sum<float>(backend::Queue&, const MeshView<float>&, bool);
template int64_t convolve_blocks<float>(const MeshView<float>&);

} // namespace graft::periodic::mesh
