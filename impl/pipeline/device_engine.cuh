// The force computation on one GPU, step by step; behind DeviceForceTable.
//
// Invariants: begin() enqueues and does not wait (but for a mask in device memory, whose set items it must
// count, and for staging slots when host arrays exceed them all); everything that grows, repeats or is built
// on the host happens in end(). Host arrays are read in begin() or, page-locked ones, by copies; results are
// written by kernels to device arrays when the status says so, and by the host to host arrays in end(). Not
// thread-safe.
#pragma once

#include "backend/device.cuh"
#include "backend/executor.hpp"
#include "kernels/device_evaluate.cuh"
#include "lists/device_lists.cuh"
#include "moments/device_moments.cuh"
#include "particles/device_staging.cuh"
#include "particles/device_transfer.cuh"
#include "pipeline/device_clock.cuh"
#include "pipeline/device_estimate.cuh"
#include "pipeline/device_force.hpp"
#include "pipeline/device_sums.cuh"
#include "tree/device_tree.cuh"

#include <memory>
#include <vector>

namespace graft::pipeline {

/// One call, copied: the caller's structs may go.
struct DeviceJob {
    Settings settings; // leaf and group as used
    ParticleInput particles, points;
    Outputs outputs;
    bool with_points = false, all_targets = true;
    bool with_potential = false, with_sums = false;
    bool per_particle = false; // a softening length each
    int64_t n = 0, targets = 0;
    kernels::PairVariant pairs;
    bool empty() const { return n == 0 || targets == 0; }
    bool is_tree() const { return settings.method == Method::tree; }
};

/// What the host reads of a computation, beside the status words.
struct DeviceOutcome {
    particles::DeviceImportState import;
    double totals[device_sum_count];
};

/// Bytes of lists that are always allowed.
inline constexpr int64_t least_list_limit = 1 << 16;

class DeviceForce {
  public:
    explicit DeviceForce(const DeviceOptions& options);
    ~DeviceForce();
    DeviceForce(const DeviceForce&) = delete;
    DeviceForce& operator=(const DeviceForce&) = delete;

    /// See DeviceForceTable. Throws Error(argument, value, unsupported, memory, device, call_order).
    void begin(const Settings& settings, const ParticleInput& particles, const ParticleInput* points,
               const Outputs& outputs, void* stream);
    void end(DeviceReport& report);
    void work(double expansion_pairs, double* work, int64_t n);

    backend::DeviceMemory& memory() { return memory_; }
    backend::Queue& queue() { return queue_; }

  private:
    struct HostTree; // trees that only the host builds
    struct Staged {  // a result on its way to a host array: at `offset` of result_
        particles::ArrayView view;
        particles::ElementType type;
        int64_t offset;
    };

    // device_engine.cu
    void accept(const Settings& settings, const ParticleInput& particles, const ParticleInput* points,
                const Outputs& outputs);
    void enqueue();
    void enqueue_after_import();
    void fetch();
    void report_on(DeviceReport& report) const;

    // device_import.cu
    void import_particles();
    void import_group(int count, const particles::DeviceRealImport* imports, int64_t n);
    void import_targets();
    void import_host_targets();

    // device_tree_force.cu
    void build_tree();
    void sum_moments();
    void choose_targets();
    void prepare_walk();
    void evaluate_batches();
    void evaluate_direct();
    void set_first_capacities();
    kernels::DeviceEvaluation evaluation() const;

    // device_outputs.cu
    void enqueue_output();
    int wanted(particles::DeviceRealExport (&exports)[particles::most_device_exports]) const;
    void stage_results(const particles::DeviceRealExport* all, int count);
    void export_sums();
    void write_host_outputs();
    void write_large_results();
    void write_host_sums();
    void write_items_of(const Staged& staged, const char* from, const int32_t* index, int64_t first,
                        int64_t count);
    bool remembers() const {
        return job_.is_tree() && job_.settings.mac == MacType::error && job_.settings.mac_history &&
               job_.all_targets && !job_.with_points;
    }
    DeviceTargetSources target_sources() const;

    // device_repair.cu
    void repair(const backend::DeviceStatus& status);
    void grow(const backend::DeviceStatus& status);
    bool grow_lists(const backend::DeviceStatus& status);
    int64_t list_limit() const;
    void build_on_host();
    void choose_targets_on_host(const backend::Executor& executor, const double* lengths);
    [[noreturn]] void raise_bad_value(const backend::DeviceStatus& status);
    [[noreturn]] void refuse_listed_target(bool twice, int64_t entry);

    // device_graph.cu
    struct Graph;
    bool may_replay() const;
    std::vector<uint64_t> graph_key() const;
    void remember_graph_key();
    bool replay();
    bool capture(Graph& graph);
    bool replayed() const;
    int64_t graph_launches() const;

    backend::DeviceMemory memory_;
    backend::Queue queue_;
    core::Memory host_memory_;
    particles::DeviceStaging staging_;
    DeviceClock clock_;
    DeviceJob job_;
    char device_name_[256] = {0};

    backend::DeviceBuffer<double> x_, y_, z_, charge_, softening_;             // host order
    backend::DeviceBuffer<double> point_x_, point_y_, point_z_, point_length_; // targets that are not all
    backend::DeviceBuffer<uint8_t> active_;
    backend::DeviceBuffer<uint32_t> owner_;
    backend::DeviceBuffer<int32_t> chosen_, chosen_count_, chosen_origin_; // direct method: active particles
    backend::DeviceBuffer<double> partial_, last_, work_;
    int64_t last_n_ = -1; // particles that last_ is of; -1: none
    backend::PinnedBuffer<uint8_t> host_active_;
    backend::DeviceBuffer<DeviceOutcome> outcome_;
    backend::PinnedBuffer<DeviceOutcome> host_outcome_;

    tree::DeviceTreeBuilder builder_;
    tree::DeviceTree tree_;
    moments::DeviceMoments moments_;
    lists::DeviceCriterion criterion_;
    lists::DeviceTargetMaker target_maker_;
    lists::DeviceTargets targets_;
    DeviceEstimate estimate_;
    lists::DeviceListBuilder list_builder_;
    lists::DeviceLists lists_;
    kernels::DeviceEvaluator evaluator_;
    kernels::DeviceDirect direct_;
    kernels::DeviceField field_;

    // Results on their way to host arrays.
    backend::DeviceBuffer<char> result_;
    backend::PinnedBuffer<char> host_result_;
    std::vector<Staged> staged_;
    int64_t staged_bytes_ = 0;
    bool staged_packed_ = false; // in target order, their indices behind them
    cudaEvent_t piece_done_[2] = {};

    std::unique_ptr<HostTree> host_tree_;
    int batches_ = 1;
    const int32_t* origin_ = nullptr; // target -> host item; null: itself
    bool begun_ = false, host_built_ = false, capturing_ = false, valid_ = false;
    int64_t repeats_ = 0, launches_before_ = 0, waits_ = 0;
    backend::DeviceStatus last_status_{};
    const char* note_ = "";
    int64_t host_nodes_ = 0, host_leaves_ = 0, host_levels_ = 0, host_groups_ = 0;
    std::unique_ptr<Graph> graph_;
};

} // namespace graft::pipeline
