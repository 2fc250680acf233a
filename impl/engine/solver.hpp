// One force computation from the host's arrays to the host's arrays: the way of the data through all rooms.
//
// Invariants: outputs are written only after everything has succeeded; all memory comes from the Memory given
// and is kept between calls, so that a second call of the same size allocates nothing; results are the same
// bits for any number of threads.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "core/log.hpp"
#include "core/timer.hpp"
#include "lists/targets.hpp"
#include "particles/array_view.hpp"
#include "engine/direct.hpp"
#include "essential/global_tree.hpp"
#include "particles/problem.hpp"
#include "engine/report.hpp"
#include "engine/rank_ring.hpp"
#include "settings/settings.hpp"
#include "engine/tree_tuning.hpp"
#include "forces/workspace.hpp"

#include <functional>
#include <memory>
#include <string>

namespace graft::periodic {
class PeriodicSum;
}
namespace graft::study {
class BufferTuning;
}

namespace graft::engine {

struct ParticleInput {
    int64_t n = 0;
    particles::ArrayView position[3];
    particles::ArrayView charge; // absent: charge_all for everyone
    double charge_all = 1;
    particles::ArrayView softening;              // absent: the settings' length
    bool has_active = false, has_target = false; // given, though perhaps with no items
    particles::ArrayView active;
    particles::ArrayView target;
    bool target_from_1 = false;
};

struct Outputs {
    particles::ArrayView acceleration[3];
    particles::ArrayView potential;
    particles::ArrayView virial; // 6 components
    particles::ArrayView energy;
    bool force = false;     // charge * field
    bool no_repair = false; // on a GPU: no second attempt inside end_compute(), which throws Error(again) instead
};

/// A host's allocator of device memory, in the order of `stream`; NULL functions: the library's own. NULL = refused.
struct DeviceAllocator {
    void* user = nullptr;
    void* (*allocate)(void* user, int64_t bytes, int32_t device, void* stream) = nullptr;
    void (*release)(void* user, void* pointer, int64_t bytes, int32_t device, void* stream) = nullptr;
};

class TreeForce;
class RanksOnDevice;
struct DeviceReport;

class Solver {
  public:
    Solver(const settings::Settings& settings, core::Memory& memory);
    ~Solver();

    /// The ranks among which the particles are spread, each rank with its own; NULL: this one alone. The
    /// communicator must outlive the solver or the next call of this function. Not collective.
    void set_communicator(comm::Communicator* comm) {
        comm_ = comm != nullptr ? comm : &alone_;
        ranks_device_ = -1;
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
    const study::BufferTuning& buffers() const { return *buffers_; }

    /// The stream that compute() and field_at() use on a GPU (a cudaStream_t; NULL: one of the solver's own,
    /// so that device arrays must be complete). begin_compute() sets it.
    void set_stream(void* stream) { stream_ = stream; }

    /// What balancing weighs particles by: work[i] = pair interactions that the last compute() evaluated for
    /// particle i, an expansion counting as the pairs it takes the time of; 0 where the field was not asked
    /// for. work: as many values as that call had particles. Throws Error(call_order) unless the last call
    /// was a compute() that succeeded. Not collective. Cost O(n).
    void work_of_particles(double* work) const;

    settings::Settings& settings() { return settings_; }
    core::Log& log() { return log_; }
    const Report& report() const { return report_; }

  private:
    struct DeviceSide;
    const char* why_on_cpu(const ParticleInput& particles, const ParticleInput* points,
                           const char* device_array);
    bool choose_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs);
    bool wants_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs);
    bool choose_over_ranks(const ParticleInput& particles, const ParticleInput* points,
                           const Outputs& outputs);
    std::string why_not_auto(const ParticleInput& particles, const ParticleInput* points,
                             const Outputs& outputs);
    bool gpu_of_its_own(int32_t device);
    const char* why_not_over_ranks() const;
    void begin_over_ranks(const ParticleInput& particles, const ParticleInput* points,
                          const Outputs& outputs);
    /// gpu.device; or the device of the first array in device memory; or by rank.
    int32_t device_for(const ParticleInput& particles, const ParticleInput* points,
                       const Outputs& outputs) const;
    void make_device(int ordinal);
    const char* why_sizes_stay_on_gpu(int64_t particles) const;
    void begin_on_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs);
    void end_on_gpu();
    void report_on_gpu(const DeviceReport& done);
    void compute_on_gpu(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs);
    void compute_on_cpu(const ParticleInput& particles, const Outputs& outputs);
    void work_on_gpu(double* work) const;
    void require_nothing_begun(const char* entry) const;

    enum class Call : int32_t { compute = 1, field_at = 2 };
    void run(Call call, const Outputs& outputs, const std::function<void(const backend::Executor&)>& import);
    void import_sources(const ParticleInput& particles, const backend::Executor& executor);
    void import_targets(const ParticleInput& particles);
    void list_targets(const ParticleInput& particles);
    void scale_sources(const backend::Executor& executor, double magnitude);
    void gather_targets(const backend::Executor& executor);
    void agree_on(Call call, const Outputs& outputs);
    void evaluate(const backend::Executor& executor);
    void evaluate_tree(const backend::Executor& executor);
    void remember();
    // solver_periodic.cpp
    void wrap(const backend::Executor& executor, core::Buffer<double>* const (&axes)[3]);
    void begin_periodic();
    void evaluate_periodic_reference(const backend::Executor& executor);
    void finish_periodic(const backend::Executor& executor);
    void evaluate_pairs(const backend::Executor& executor);
    void remove_self_potential(const backend::Executor& executor);
    void sum_up(const backend::Executor& executor);
    void find_origin(double (&origin)[3]);
    void measure_ranks(const comm::Traffic& before);
    template <typename Body>
    void for_results(const Outputs& outputs, const backend::Executor& executor, const Body& body) const;
    void check_results(const Outputs& outputs, const backend::Executor& executor) const;
    void write(const Outputs& outputs, const backend::Executor& executor);
    void finish_report();

    settings::Settings settings_;
    core::Memory& memory_;
    core::Log log_;
    Report report_;
    particles::Problem problem_;
    particles::RawField field_;
    particles::RawField scratch_; // reference method over ranks
    essential::GlobalTree global_tree_;
    particles::Problem spread_; // global tree: this rank's share of all particles
    particles::RawField spread_field_;
    core::Buffer<double> work_, spread_work_; // global tree: of the own particles, of the share
    core::Buffer<char> seen_;
    core::Buffer<double> sums_;
    lists::TargetSet direct_targets_; // direct method: the targets in compact blocks
    forces::AllWorkspaces workspaces_;
    std::unique_ptr<TreeForce> tree_force_;
    TreeTuning tuning_;
    std::unique_ptr<study::BufferTuning> buffers_;
    Ring ring_;
    comm::Communicator alone_;
    comm::Communicator* comm_ = &alone_;
    double magnitude_ = 0;        // sum of |charge|: of this rank, then of all
    int64_t all_particles_ = 0;   // of all ranks
    bool with_potential_ = false; // some rank wants potentials or the energy
    bool with_sums_ = false;      // some rank wants the virial or the energy
    bool with_virial_ = false;    // this one wants the virial
    bool begun_ = false;          // between begin_compute and end_compute
    bool released_ = false;       // since the last computation
    std::shared_ptr<periodic::PeriodicSum> periodic_;
    std::shared_ptr<DeviceSide> device_;
    DeviceAllocator device_allocator_;
    std::shared_ptr<RanksOnDevice> ranks_on_device_;
    double gpu_exchange_s_ = 0, gpu_forces_s_ = 0, gpu_started_s_ = 0;
    bool on_gpu_ = false, gpu_points_ = false; // the last computation; it was a field_at
    int64_t gpu_n_ = 0;
    Report::Ranks gpu_ranks_; // of a computation over ranks, until its report is made
    void* stream_ = nullptr;
    std::string said_, no_gpu_, ranks_why_; // about the backend
    int32_t ranks_device_ = -1;             // over ranks: the GPU that each_has_a_gpu_ speaks of
    bool each_has_a_gpu_ = false;
    double totals_[7] = {};           // virial and energy of all ranks
    const int32_t* origin_ = nullptr; // target k -> host item; NULL: k
};

} // namespace graft::engine
