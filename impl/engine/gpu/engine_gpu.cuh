// The force computation on one GPU, step by step; behind DeviceForceTable.
//
// Invariants: begin() enqueues and does not wait (but for a mask in device memory, whose set items it must
// count, and for staging slots when host arrays exceed them all); everything that grows, repeats or is built
// on the host happens in end(). Host arrays are read in begin() or, page-locked ones, by copies; results are
// written by kernels to device arrays when the status says so, and by the host to host arrays in end(). Not
// thread-safe.
#pragma once

#include "backend/queue_gpu.cuh"
#include "backend/executor.hpp"
#include "backend/side_stream_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "forces/variants_gpu.cuh"
#include "periodic/periodic_gpu.cuh"
#include "lists/lists_gpu.cuh"
#include "lists/skin_gpu.cuh"
#include "moments/moments_gpu.cuh"
#include "particles/staging_gpu.cuh"
#include "particles/transfer_gpu.cuh"
#include "engine/gpu/memory_cap.hpp"
#include "engine/gpu/step_clock_gpu.cuh"
#include "lists/field_estimate_gpu.cuh"
#include "engine/gpu/force_table.hpp"
#include "engine/ranks/rank_force_table.hpp"
#include "engine/gpu/sums_gpu.cuh"
#include "tree/tree_gpu.cuh"
#include "tree/build_in_place_gpu.cuh"

#include <memory>
#include <vector>

namespace graft::engine {

/// One call, copied: the caller's structs may go.
struct DeviceJob {
    settings::Settings settings; // leaf and group as used
    ParticleInput particles, points;
    Outputs outputs;
    bool with_points = false, all_targets = true;
    bool with_potential = false, with_sums = false;
    bool per_particle = false; // a softening length each
    bool over_ranks = false;   // other ranks may have particles where this one has none
    int64_t n = 0, targets = 0;
    forces::PairVariant pairs;
    bool empty() const { return (n == 0 && !over_ranks) || targets == 0; }
    bool is_tree() const { return settings.method == settings::Method::tree; }
};

/// What the host reads of a computation, beside the status words.
struct DeviceOutcome {
    particles::DeviceImportState import;
    double totals[device_sum_count];
    periodic::PeriodicFacts periodic;
};

/// Bytes of lists that are always allowed.
inline constexpr int64_t least_list_limit = 1 << 16;

/// The octree of a computation, root included where the deck gives one.
tree::TreeOptions octree_options(const settings::Settings& settings);

class DeviceForce {
  public:
    explicit DeviceForce(const settings::DeviceOptions& options);
    ~DeviceForce();
    DeviceForce(const DeviceForce&) = delete;
    DeviceForce& operator=(const DeviceForce&) = delete;

    /// See DeviceForceTable. Throws Error(argument, value, unsupported, memory, device, call_order).
    void begin(const settings::Settings& settings, const ParticleInput& particles, const ParticleInput* points,
               const Outputs& outputs, void* stream);
    void end(DeviceReport& report);
    void work(double expansion_pairs, double* work, int64_t n);
    bool begun() const { return begun_; }

    // Over ranks, ranks_engine_gpu.cu: see DeviceRanksTable.
    void ranks_begin(const settings::Settings& settings, const ParticleInput& particles, const ParticleInput* points,
                     const Outputs& outputs, void* stream, const RankWish& wish, RankFacts& facts);
    void ranks_build(const RankFrame& frame, essential::RankShape& shape);
    int64_t ranks_cover_targets(lists::Group* groups, int64_t most);
    int64_t ranks_cover_particles(lists::Group* groups, int64_t most);
    void ranks_keep_off(const geometry::Box* boxes, int64_t count);
    void ranks_pack(essential::RankContent content, int32_t rank, const lists::Target* boxes, int32_t count,
                    bool on_device, essential::RankHeader& header);
    const void* ranks_packed(int32_t rank, bool on_device);
    void* ranks_receive(int64_t bytes, bool on_device);
    void ranks_take(essential::RankContent content, bool on_device, const RankArrival* arrivals, int32_t count);
    void ranks_scale_targets(bool use_last);
    void ranks_evaluate_own();
    void ranks_evaluate_all(RankOutcome& outcome);
    void ranks_write(const double* totals);
    // A periodic box, ranks_box_gpu.cu.
    void ranks_box_measure(const RankFrame& frame, BoxFacts& facts);
    void ranks_box_plan(const BoxFrame& frame);
    double* ranks_box_structure(int64_t& size);
    int64_t ranks_box_pack(int32_t rank, const double* corners, bool on_device);
    void ranks_box_take(bool on_device, const int64_t* counts, int32_t arrivals);
    void ranks_box_evaluate(bool tells_waves, RankOutcome& outcome);
    /// After an error in any of them: ready for another begin.
    void ranks_stop() noexcept;

    backend::DeviceMemory& memory() { return memory_; }
    backend::Queue& queue() { return queue_; }

  private:
    struct HostTree; // trees that only the host builds
    struct Staged {  // a result on its way to a host array: at `offset` of result_
        particles::ArrayView view;
        particles::ElementType type;
        int64_t offset;
    };

    // engine_gpu.cu
    void accept(const settings::Settings& settings, const ParticleInput& particles, const ParticleInput* points,
                const Outputs& outputs);
    void choose_sizes();
    void enqueue();
    void enqueue_after_import();
    void fetch();
    void finish();
    void come_to_rest();
    template <typename Body>
    void with_memory(Body&& body);
    void report_on(DeviceReport& report) const;

    // import_gpu.cu
    void import_particles();
    void import_group(int count, const particles::DeviceRealImport* imports, int64_t n);
    void import_targets();
    void import_host_targets();

    // tree_force_gpu.cu
    void build_tree();
    void sum_moments();
    void choose_targets();
    void follow_tree();
    void prepare_walk();
    void fill_criterion();
    bool feeds() const;
    void evaluate_batches();
    void evaluate_direct();
    forces::DeviceSources direct_targets();
    forces::DeviceEvaluation evaluation() const;
    const char* why_not_local() const;

    // solver_periodic_gpu.cu
    void plan_periodic();
    void wrap_positions();
    void plan_for(const periodic::PeriodicFacts& facts);
    bool plan_again();
    void follow_particles();
    void evaluate_periodic(const forces::DeviceSources& targets);
    void evaluate_box(const periodic::PeriodicTask& task);
    periodic::PeriodicTask periodic_task() const;
    void report_periodic(DeviceReport::Periodic& report) const;

    // write_gpu.cu
    void enqueue_output();
    particles::ExportRecord* spare_records();
    bool sums_to_records();
    int wanted(particles::DeviceRealExport (&exports)[particles::most_device_exports]) const;
    void stage_results(const particles::DeviceRealExport* all, int count);
    int64_t hold_results(const particles::DeviceRealExport* all, int count);
    void export_sums();
    void write_host_outputs();
    void write_large_results();
    void write_host_sums();
    void write_items_of(const Staged& staged, const char* from, const int32_t* index, int64_t first,
                        int64_t count);
    bool remembers() const {
        return job_.is_tree() && job_.settings.mac == settings::MacType::error && job_.settings.mac_history &&
               job_.all_targets && !job_.with_points;
    }
    DeviceTargetSources target_sources() const;

    // tight_memory_gpu.cu: particles that nearly fill the device
    bool wants_lean() const;
    void choose_lean_leaf();
    tree::DeviceColumns columns();
    void build_tree_within();
    void give_columns_back(bool with_contents);
    bool may_resume(const backend::DeviceStatus& status) const;
    void resume_after(const backend::DeviceStatus& status);

    // repair_gpu.cu
    void repair(const backend::DeviceStatus& status);
    void grow(const backend::DeviceStatus& status);
    void build_on_host();
    void choose_targets_on_host(const backend::Executor& executor, const double* lengths);
    [[noreturn]] void raise_bad_value(const backend::DeviceStatus& status);
    [[noreturn]] void refuse_listed_target(bool twice, int64_t entry);

    // memory_cap_gpu.cu
    BatchShape batch_shape() const;
    BatchLimits batch_limits() const;
    void hold_fixed_room();
    void set_first_capacities();
    void take_plan(const BatchPlan& plan);
    void take_groups(const BatchNumbers& room);
    bool grow_batch_room(const backend::DeviceStatus& status);
    void tighten_room(const backend::DeviceStatus& status);
    void release_batch_room();
    bool has_batch_room() const;

    // ranks_engine_gpu.cu, ranks_forest_gpu.cu
    struct Ranks;
    Ranks& ranks() { return *ranks_; }
    void add_tree_work(double expansion_pairs, bool own);
    void ranks_know_tree();
    void ranks_criterion();
    void ranks_sum(bool own);
    void ranks_results();
    periodic::PeriodicTask ranks_box_task(bool tells_waves);
    void ranks_box_results(const periodic::PeriodicTask& task);
    int64_t all_particles_of_ranks() const;
    void charges_of_ranks(double& net, double& magnitude, double& count) const;
    forces::DeviceSources own_sources() const;
    essential::OwnNodes ranks_own_nodes(essential::RankContent content) const;
    essential::RemoteNodes ranks_remote_nodes();
    void ranks_resize_forest(const essential::RemotePlan& plan);

    // list_reuse_gpu.cu
    bool keeps_lists() const;
    bool may_reuse_lists() const;
    lists::WatchedParticles watched() const;
    void refresh_kept_tree();
    void account_for_lists();

    // cuda_graph_gpu.cu
    std::vector<uint64_t> lists_key() const;
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
    backend::SideStream side_;
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
    tree::DeviceTreeWithin within_;
    tree::DeviceTree tree_;
    moments::DeviceMoments moments_;
    lists::DeviceCriterion criterion_;
    lists::DeviceTargetMaker target_maker_;
    lists::DeviceTargets targets_;
    lists::DeviceEstimate estimate_;
    lists::DeviceListBuilder list_builder_;
    lists::DeviceLists lists_;
    lists::DeviceSkinWatch watch_;
    forces::DeviceEvaluator evaluator_;
    std::unique_ptr<forces::Feed> fed_; // of cuda.buffer
    forces::FedReport fed_report_; // of this computation's batches
    lists::DeviceFarChoice far_{};  // where evaluation() says packed: what lists are cut by
    forces::DeviceDirect direct_;
    periodic::DevicePeriodic periodic_;
    struct { // what the lattice sum is split for
        std::vector<double> key;
        double longest = 0;          // softening length, of particles with one each
        double lower = 0, upper = 0; // of a slab's particles
        bool measured = false;       // a computation has found these
        bool stale = false;          // the next one is to be split anew
    } split_;
    forces::DeviceField field_;

    // Results on their way to host arrays.
    backend::DeviceBuffer<char> result_;
    backend::PinnedBuffer<char> host_result_;
    std::vector<Staged> staged_;
    int64_t staged_bytes_ = 0;
    bool summed_to_records_ = false; // this computation's evaluation has written the records of results
    bool staged_packed_ = false;     // in target order, their indices behind them
    cudaEvent_t piece_done_[2] = {};

    std::unique_ptr<HostTree> host_tree_;
    int batches_ = 1;
    BatchNumbers room_; // of a batch
    struct {
        int64_t memory = 0, lists = 0;
        bool in_double = false, with_units = false, with_local = false;
    } planned_;                       // what the room was made for
    bool guessed_ = false;            // the room is a guess
    const int32_t* origin_ = nullptr; // target -> host item; null: itself
    bool begun_ = false, host_built_ = false, capturing_ = false, valid_ = false;
    struct { // lists for later computations
        bool valid = false;
        int served = 0; // computations, beside the one that built them
        std::vector<uint64_t> key;
        backend::DeviceStatus status{}; // of the build
    } kept_;
    bool reusing_ = false;  // this computation uses kept lists
    bool lean_ = false;     // this computation's tree takes the particles' own memory, and the field's
    bool resuming_ = false; // this repeat begins at the lists
    backend::DeviceStatus resumed_{}; // what the computation that stopped there said of tree and groups
    int64_t lists_built_ = 0, lists_reused_ = 0;
    int64_t repeats_ = 0, launches_before_ = 0, waits_ = 0;
    backend::DeviceStatus last_status_{};
    const char* note_ = "";
    int64_t host_nodes_ = 0, host_leaves_ = 0, host_levels_ = 0, host_groups_ = 0;
    std::unique_ptr<Graph> graph_;
    std::shared_ptr<Ranks> ranks_; // since the first computation over ranks
};

} // namespace graft::engine
