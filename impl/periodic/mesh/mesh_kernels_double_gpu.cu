// SPDX-License-Identifier: BSD-3-Clause
// A mesh of waves in double: the instances of its kernels.
#include "periodic/mesh/mesh_kernels_transforms_gpu.cuh"
#include "periodic/mesh/mesh_kernels_tables_gpu.cuh"

namespace graft::periodic::mesh {

template void launch_tables<double>(backend::Queue&, const MeshView<double>&);
template void launch_sum<double>(backend::Queue&, const MeshView<double>&, bool);
template int64_t convolve_blocks<double>(const MeshView<double>&);

} // namespace graft::periodic::mesh
