// SPDX-License-Identifier: BSD-3-Clause
// The near field on one GPU, and on several of one host: its targets cut by pairs, each GPU with the points
// it needs.
#pragma once

#include "backend/gpu_library.hpp"
#include "near/choice/choose.hpp"
#include "near/plan/near_table.hpp"
#include "near/plan/plan_backend.hpp"

namespace graft::near {

/// What libgraft_cuda's table takes.
DeviceNearOutputs device_outputs(const NearSums& sums);

/// One GPU, with the layout that is asked for; auto: by prediction, after a trial with these points where
/// that is worth its time, and by what executions took when the points change. Another layout's plan is made
/// beside the old one: where there is no memory for both the old one stays. Throws Error(device, memory).
std::unique_ptr<PlanBackend> make_near_one_device(const PlanBackendInput& input, const DeviceNearTable& table,
                                                  int32_t device, const NearPoints& points);

/// How many GPUs this host has. Throws Error(device) where they are fewer than `count`.
int32_t require_devices(const backend::CudaTable& cuda, int32_t count);

/// Where a caller's arrays are, and whether points follow each other as in the boxes.
enum class NearArrays { host_in_order, host_at_random, device };

/// How many GPUs, at most `most`, execute fastest what is predicted to take `one` on one of them: kernels are
/// cut, what the host does is not and takes longer where each part's points lie among others', arrays on a
/// device go to the others and back, and each GPU costs its calls. 1 where the gain is less than the model's
/// error. Source: docs/lab/gpu/near.md.
int32_t best_device_count(const NearPrediction& one, const Shape& shape, const model::Link& link,
                          NearArrays arrays, int32_t most);

/// Devices first, first + 1, ... (after the last one 0) of `count` >= 2. The same bits as on one of them with
/// the same layout. Host arrays: each GPU gets the points that its boxes need and gives its own sums back.
/// Arrays on one device: the same, from GPU to GPU, in the order of the caller's stream. Throws Error(device)
/// where there are fewer GPUs, Error(memory).
std::unique_ptr<PlanBackend> make_near_devices(const PlanBackendInput& input, const backend::CudaTable& cuda,
                                               int32_t first, int32_t count, Layout layout, ChosenBy by);

} // namespace graft::near
