// SPDX-License-Identifier: BSD-3-Clause
// The force computation on one GPU: conducts the steps (steps_gpu.cuh); behind DeviceForceTable.
//
// Invariants: begin() enqueues and does not wait (but for a mask in device memory, whose set items it must
// count, and for staging slots when host arrays exceed them all); everything that grows, repeats or is built
// on the host happens in end(). Host arrays are read in begin() or, page-locked ones, by copies; results are
// written by kernels to device arrays when the status says so, and by the host to host arrays in end(). Not
// thread-safe.
#pragma once

#include "engine/gpu/cuda_graph_gpu.cuh"
#include "engine/gpu/force_table.hpp"
#include "engine/gpu/repair_gpu.cuh"
#include "engine/gpu/steps_gpu.cuh"
#include "engine/ranks/rank_force_table.hpp"

#include <memory>

namespace graft::engine {

class DeviceRanks; // engine/ranks/ranks_engine_gpu.cuh

class DeviceForce {
  public:
    explicit DeviceForce(const settings::DeviceOptions& options, const backend::GpuAllocator& allocator = {});
    ~DeviceForce();
    DeviceForce(const DeviceForce&) = delete;
    DeviceForce& operator=(const DeviceForce&) = delete;

    /// See DeviceForceTable. Throws Error(argument, value, unsupported, memory, device, call_order).
    void begin(const settings::Settings& settings, const ParticleInput& particles,
               const ParticleInput* points, const Outputs& outputs, void* stream);
    /// False: the call is to be made again, nothing has been written; only where it may not repeat.
    bool end(bool may_repeat, DeviceReport& report);
    /// Whether what begin() enqueued has ended; and the event behind it. Throw Error(call_order, device).
    bool ended() const;
    cudaEvent_t event() const;
    /// False: nothing is left of a compute of n particles.
    bool work(double expansion_pairs, double* work, int64_t n);
    bool begun() const { return s_.c.phase == Phase::begun; }

    /// The steps of DeviceRanksTable: begin_over_ranks() first.
    void begin_over_ranks(const settings::Settings& settings, const ParticleInput& particles,
                          const ParticleInput* points, const Outputs& outputs, void* stream,
                          const RankWish& wish, RankFacts& facts);
    DeviceRanks& ranks() { return *ranks_; }
    /// After an error in any of them: ready for another begin.
    void stop() noexcept;

    backend::DeviceMemory& memory() { return s_.c.memory; }

  private:
    void require_nothing_begun() const;
    void start(DeviceJob&& job, void* stream);
    void enqueue();
    void enqueue_after_import();
    void build();
    void finish(bool may_repeat);
    void require_begun(const char* call) const;
    void take_status(const backend::DeviceStatus& status);
    template <typename Body>
    void with_memory(Body&& body);
    void report_times(DeviceReport::Times& times) const;
    void report_tree(DeviceReport& report) const;
    void report_engine(DeviceReport& report) const;
    void report_on(DeviceReport& report) const;

    Steps s_;
    Repair repair_;
    Graph graph_;
    std::unique_ptr<DeviceRanks> ranks_; // since the first computation over ranks
    backend::DeviceBuffer<double> work_; // of particles
    char device_name_[256] = {0};
};

} // namespace graft::engine
