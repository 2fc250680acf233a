// SPDX-License-Identifier: BSD-3-Clause
// The GPU's engine (engine/gpu) as the host calls it, for one rank and, with engine/ranks, for many.
//
// A computation has two halves: begin() returns when everything is enqueued (over ranks: when all but the copies to
// host arrays is done), end() when the outputs are complete. Between them only what end() must know is kept.
#pragma once

#include "backend/gpu_library.hpp"
#include "engine/backend_choice.hpp"
#include "engine/gpu/force_table.hpp"
#include "engine/rank_agreement.hpp"
#include "engine/ranks/ranks_conductor.hpp"
#include "engine/report.hpp"

#include <memory>
#include <string>

namespace graft::engine {

bool makes_tree(const settings::Settings& settings);

class GpuEngine {
  public:
    explicit GpuEngine(core::Memory& memory) : memory_(memory) {}

    /// That computations have been made on; -1: none.
    int32_t device() const { return device_ ? device_->ordinal : -1; }

    /// stream: a cudaStream_t; NULL: one of the engine's own. Collective. Throws core::Error.
    void begin(const Environment& environment, const Request& request, const Placement& placement,
               void* stream);
    /// Waits, and fills the report. Throws core::Error; outputs are then untouched. once: Error(again) where a second
    /// attempt would be needed.
    void end(const Environment& environment, bool once);
    /// Of what was begun: whether it has ended, without waiting; an event behind it all.
    bool poll() const;
    void* event() const;
    /// Memory of the engine from now on. Throws Error(call_order) where there is some already.
    void set_allocator(const DeviceAllocator& allocator);
    /// Gives memory back that is kept for the next call.
    void release();
    /// work[i] as Solver::work_of_particles; false: what the last computation left on the GPU is gone.
    bool work_of_particles(const settings::Settings& settings, double* work) const;

  private:
    /// An engine on one GPU.
    struct Device {
        Device(const backend::CudaTable& cuda, const settings::DeviceOptions& options);
        ~Device() { table.destroy(engine); }
        Device(const Device&) = delete;
        Device& operator=(const Device&) = delete;
        int32_t end(bool once, DeviceReport& report, int32_t& again, backend::DeviceError& error) const;

        const DeviceForceTable& table;
        int32_t ordinal;
        void* engine = nullptr;
        std::string said; // of a periodic box
    };
    /// Of a computation over ranks, until its report is made.
    struct OverRanks {
        Report::Ranks report;
        double exchange_s = 0, forces_s = 0, started_s = 0;
    };

    void make_device(const settings::DeviceOptions& options, int32_t ordinal);
    void begin_over_ranks(const Environment& environment, const Request& request, const Placement& placement,
                          void* stream);
    void tell(const Environment& environment, const DeviceReport& done);
    void fill_report(const Environment& environment, const DeviceReport& done) const;

    core::Memory& memory_;
    DeviceAllocator allocator_;
    std::unique_ptr<Device> device_; // made when it is first wanted
    std::unique_ptr<RanksConductor> conductor_;
    int64_t n_ = 0; // particles of the last computation
    OverRanks over_ranks_;
};

} // namespace graft::engine
