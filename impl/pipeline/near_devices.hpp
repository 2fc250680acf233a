// The near field on one GPU, and on several of one host: its targets cut by pairs, each GPU with the points
// it needs.
#pragma once

#include "backend/cuda_library.hpp"
#include "pipeline/near_side.hpp"

namespace graft::pipeline {

/// One GPU, with the layout that is asked for; auto: by prediction, after a trial with these points where
/// that is worth its time, and by what executions took when the points change. Another layout's plan is made
/// beside the old one: where there is no memory for both the old one stays. Throws Error(device, memory).
std::unique_ptr<NearSide> make_near_one_device(const NearSideInput& input, const near::DeviceNearTable& table,
                                               int32_t device, const NearPoints& points);

/// Devices first, first + 1, ... (after the last one 0) of `count` >= 2. The same bits as on one of them with
/// the same layout. Arrays in device memory come and go through the host, complete when the call is made:
/// streams of the caller are refused. Throws Error(device) where there are fewer GPUs, Error(memory).
std::unique_ptr<NearSide> make_near_devices(const NearSideInput& input, const backend::CudaTable& cuda,
                                            int32_t first, int32_t count, near::Layout layout,
                                            const char* reason);

} // namespace graft::pipeline
