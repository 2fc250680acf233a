// SPDX-License-Identifier: BSD-3-Clause
// The papers' kernels put beside ours (forces/variants_gpu.cuh).
#pragma once

namespace graft::study {

/// From now on DeviceEvaluator, DeviceDirect and the engine find them.
void use_variants();

} // namespace graft::study
