// SPDX-License-Identifier: BSD-3-Clause
// See structure_gpu.cuh.
#include "near/structure_gpu.cuh"

#include "backend/executor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace graft::near {

namespace {

using backend::DeviceBuffer;
using backend::Queue;

template <typename T>
void upload(Queue& queue, std::span<const T> from, DeviceBuffer<T>& to) {
    to.resize(std::max<int64_t>(1, static_cast<int64_t>(from.size())));
    if (!from.empty())
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice,
                                   queue.stream()));
}

RawArray<int32_t> narrowed(std::span<const int64_t> from) {
    RawArray<int32_t> to(from.size());
    core::Memory memory;
    const backend::Executor executor{memory, backend::resolve_threads(0)};
    executor.for_each(
        static_cast<int64_t>(from.size()),
        [&](int64_t k) { to[static_cast<size_t>(k)] = static_cast<int32_t>(from[static_cast<size_t>(k)]); },
        1 << 15);
    return to;
}

void check_sizes(const Structure& s) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max() - 256;
    const int64_t largest = std::max({s.targets(), s.sources(), s.target_boxes(), s.source_boxes()});
    if (largest > most)
        core::fail(core::Status::unsupported,
                   "near field on a GPU: %lld points or boxes, at most %lld are possible; cut the problem",
                   static_cast<long long>(largest), static_cast<long long>(most));
}

/// A warp a box, so that full and empty boxes cost alike.
__global__ void fill_boxes(const int32_t* offset, int32_t boxes, int32_t* box_of) {
    const int64_t box = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (box < boxes)
        for (int32_t s = offset[box] + threadIdx.x % 32; s < offset[box + 1]; s += 32)
            box_of[s] = static_cast<int32_t>(box);
}

} // namespace

Runs::Runs(const Structure& structure, Neighbours which, bool empty, Queue& queue)
    : host_(merge_runs(structure, {which != Neighbours::others, which != Neighbours::own, empty, 0})),
      offset_(queue.memory(), "near field: runs of boxes"), run_(queue.memory(), "near field: runs"),
      sources_(queue.memory(), "near field: sources of boxes"),
      own_first_(queue.memory(), "near field: own places of boxes") {
    static_assert(sizeof(SlotRun) == sizeof(int2));
    const std::span<const SlotRun> run = std::as_const(host_.run).all();
    upload(queue, std::as_const(host_.offset).all(), offset_);
    upload(queue, {reinterpret_cast<const int2*>(run.data()), run.size()}, run_);
    upload(queue, std::as_const(host_.sources).all(), sources_);
    if (!host_.own.empty())
        upload(queue, std::as_const(host_.own).all(), own_first_);
}

RunsView Runs::view() const noexcept {
    return {offset_.data(), run_.data(), sources_.data(), own_first_.empty() ? nullptr : own_first_.data()};
}

int64_t Runs::bytes() const noexcept {
    return offset_.size() * 8 + run_.size() * 8 + sources_.size() * 4 + own_first_.size() * 4;
}

DeviceStructure::DeviceStructure(const Structure& structure, Queue& queue, bool empty_boxes)
    : structure_((check_sizes(structure), &structure)), all_(structure, Neighbours::all, empty_boxes, queue),
      target_offset_(queue.memory(), "near field: offsets of boxes"),
      box_of_(queue.memory(), "near field: boxes of targets"),
      target_index_(queue.memory(), "near field: target index"),
      source_index_(queue.memory(), "near field: source index") {
    const RawArray<int32_t> offset = narrowed(structure.target_offset),
                            targets = narrowed(structure.target_index),
                            sources = structure.same ? RawArray<int32_t>() : narrowed(structure.source_index);
    upload(queue, offset.all(), target_offset_);
    if (!targets.empty())
        upload(queue, targets.all(), target_index_);
    if (!sources.empty())
        upload(queue, sources.all(), source_index_);
    const auto boxes = static_cast<int32_t>(structure.target_boxes());
    box_of_.resize(std::max<int64_t>(1, structure.targets()));
    if (boxes > 0) {
        fill_boxes<<<backend::blocks_for(int64_t{boxes} * 32, 128), 128, 0, queue.stream()>>>(
            target_offset_.data(), boxes, box_of_.data());
        GRAFT_CUDA_LAUNCHED("fill_boxes");
        ++queue.launches;
    }
    queue.wait(); // the arrays go
}

StructureView DeviceStructure::view() const noexcept {
    const auto& source_index = structure_->same ? target_index_ : source_index_;
    return {static_cast<int32_t>(structure_->targets()),
            static_cast<int32_t>(structure_->sources()),
            static_cast<int32_t>(structure_->target_boxes()),
            target_offset_.data(),
            box_of_.data(),
            target_index_.empty() ? nullptr : target_index_.data(),
            source_index.empty() ? nullptr : source_index.data()};
}

int64_t DeviceStructure::bytes() const noexcept {
    return all_.bytes() +
           4 * (target_offset_.size() + box_of_.size() + target_index_.size() + source_index_.size());
}

} // namespace graft::near
