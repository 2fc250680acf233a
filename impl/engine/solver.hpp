// SPDX-License-Identifier: BSD-3-Clause
// One force computation from the host's arrays to the host's arrays: the way of the data through all rooms.
//
// Invariants: outputs are written only after everything has succeeded; all memory comes from the Memory given
// and is kept between calls, so that a second call of the same size allocates nothing; results are the same
// bits for any number of threads.
#pragma once

#include "core/timer.hpp"
#include "engine/engine_cpu.hpp"
#include "engine/report.hpp"
#include "engine/request.hpp"
#include "engine/tree_tuning.hpp"

#include <functional>
#include <memory>
#include <string>

namespace graft::engine {

class BufferTuning;
class GpuEngine;

class Solver {
  public:
    Solver(const settings::Settings& settings, core::Memory& memory);
    ~Solver();

    /// The ranks among which the particles are spread, each rank with its own; NULL: this one alone. The
    /// communicator must outlive the solver or the next call of this function. Not collective.
    void set_communicator(comm::Communicator* comm) {
        comm_ = comm != nullptr ? comm : &alone_;
        backend_choice_.forget_ranks();
    }

    /// Field of the particles at their active ones. Collective over the communicator: all ranks call it with
    /// equal settings, each with its own particles (perhaps none) and outputs; virial and energy are those of
    /// all ranks' targets. All ranks throw the same core::Error (value, argument, memory), or
    /// Error(communication); outputs are then untouched.
    void compute(const ParticleInput& particles, const Outputs& outputs);
    /// Field of all ranks' particles at this rank's points (positions and n of `points` only). Collective as
    /// above.
    void field_at(const ParticleInput& particles, const ParticleInput& points, const Outputs& outputs);

    /// compute() in two halves, so that the host goes on while a GPU works: begin returns when everything is
    /// enqueued on `stream` (a cudaStream_t; NULL: one of the solver's own), end when the outputs are
    /// complete. Device arrays are read and written in the order of the stream; host arrays must stay until
    /// end, `particles` and `outputs` themselves need not. On the CPU begin does all the work. Every begin
    /// that succeeded needs its end, before any other call (else Error(call_order)); errors as compute().
    void begin_compute(const ParticleInput& particles, const Outputs& outputs, void* stream);
    void end_compute();
    /// Between the two: whether what was begun has ended. Never waits.
    bool poll();
    /// Between the two: an event behind all that was begun (a cudaEvent_t, valid until end); NULL on the CPU. Throws
    /// Error(unsupported).
    void* event();
    /// Gives memory back that is kept for the next call. What results depend on (accelerations for mac.history) and the
    /// report stay; work_of_particles() is gone until the next compute().
    void release();
    /// Memory on GPUs from now on. Throws Error(call_order) where there is some already.
    void set_device_allocator(const DeviceAllocator& allocator);

    /// Who chooses N_leaf and N_group (tree_tuning.hpp); leaf_given, group_given: the settings', which stay.
    /// machine: NULL, or the GPU's numbers, which need not live on.
    void set_tree_sizes(TreeSizesBy by, bool leaf_given, bool group_given,
                        const model::Machine* machine = nullptr);

    const TreeTuning& tuning() const { return tuning_; }
    /// Of a GPU's computations with buffers (settings().device.buffer).
    const BufferTuning& buffers() const { return *buffers_; }

    /// The stream that compute() and field_at() use on a GPU (a cudaStream_t; NULL: one of the solver's own,
    /// so that device arrays must be complete). begin_compute() sets it.
    void set_stream(void* stream) { stream_ = stream; }

    /// What balancing weighs particles by: work[i] = pair interactions that the last compute() evaluated for
    /// particle i, an expansion counting as the pairs it takes the time of; 0 where the field was not asked
    /// for. work: as many values as that call had particles. Throws Error(call_order) unless the last call
    /// was a compute() that succeeded. Not collective. Cost O(n).
    void work_of_particles(double* work) const;

    /// For the next computation; what they leave to Graft is chosen when it begins (settings/choices.hpp).
    const settings::Settings& settings() const { return settings_; }
    /// The same, to be changed before the next call; not to be kept: what is said of settings is made anew after each.
    settings::Settings& change_settings() {
        to_doubt_ = true;
        return settings_;
    }
    /// Of the last computation.
    const settings::Settings& computed() const { return computed_; }
    core::Log& log() { return log_; }
    const Report& report() const { return report_; }

  private:
    /// The conductor: the request is checked, placed and agreed on, then one of the engines computes.
    void begin(const Request& request);
    void end(bool once = false);
    void require_nothing_begun(const char* entry) const;
    void say(const Placement& placement);
    void doubt(const Placement& placement);
    Environment environment();

    settings::Settings settings_, computed_; // as asked; of the last computation
    core::Log log_;
    Report report_;
    TreeTuning tuning_;
    std::unique_ptr<BufferTuning> buffers_;
    comm::Communicator alone_;
    comm::Communicator* comm_ = &alone_;
    BackendChoice backend_choice_;
    CpuEngine cpu_;
    std::unique_ptr<GpuEngine> gpu_;
    void* stream_ = nullptr;
    std::string said_;     // about the backend
    std::string doubted_;  // about mac.accuracy
    bool to_doubt_ = true; // GPUs have computed nothing yet with these settings
    bool on_gpu_ = false; // the last computation
    bool points_ = false; // it was a field_at
    bool begun_ = false;  // between begin_compute and end_compute
    bool once_ = false;   // what was begun is not repeated inside
    bool released_ = false; // since the last computation
};

} // namespace graft::engine
