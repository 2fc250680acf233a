// DeviceForce: one call from begin to end. See engine_gpu.cuh.
#include "engine/gpu/engine_gpu.cuh"

#include "backend/context_gpu.cuh"
#include "backend/host_stream_gpu.cuh"
#include "engine/checks.hpp"
#include "engine/gpu/cuda_graph_gpu.cuh"
#include "engine/gpu/host_tree_gpu.cuh"
#include "periodic/lattice_kind.hpp"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>
#include <cstring>

namespace graft::engine {

namespace {

constexpr int most_repeats = 64; // of one computation: every one must have found a buffer to enlarge

/// Leaf and group where the user has not chosen any. A far cell costs a group one polynomial, however many
/// targets it has: groups are then larger, and leaves smaller, as what is left are pairs.
struct Sizes {
    int leaf, group;
};
constexpr Sizes sizes{64, 64}, far_sizes{32, 128};

/// Groups of groups walk 15 to 27 % faster from 1e6 targets on, where they still fill the device, and slower
/// at 1e5 (docs/lab/gpu/lists.md).
lists::DeviceWalk faster_walk(int64_t targets, int group) {
    constexpr int64_t groups_enough = 8192;
    return targets / group >= groups_enough ? lists::DeviceWalk::super_group
                                            : lists::DeviceWalk::warp_per_group;
}

int chosen_device(const settings::DeviceOptions& options) {
    int count = 0;
    GRAFT_CUDA(cudaGetDeviceCount(&count));
    const int device = std::max(options.device, 0);
    if (device >= count)
        core::fail(core::Status::argument, "cuda.device: %d; expected 0 to %d, as there are %d devices",
                   device, count - 1, count);
    return device;
}

} // namespace

DeviceForce::DeviceForce(const settings::DeviceOptions& options)
    : memory_(chosen_device(options)), queue_(memory_, nullptr), side_(memory_), staging_(memory_),
      x_(memory_, "x"), y_(memory_, "y"), z_(memory_, "z"), charge_(memory_, "charges"),
      softening_(memory_, "softening"), point_x_(memory_, "point x"), point_y_(memory_, "point y"),
      point_z_(memory_, "point z"), point_length_(memory_, "target softening"),
      active_(memory_, "target marks"), owner_(memory_, "target entries"), chosen_(memory_, "targets"),
      chosen_count_(memory_, "target count"), chosen_origin_(memory_, "target origins"),
      partial_(memory_, "block sums"), last_(memory_, "last accelerations"),
      work_(memory_, "work of particles"), host_active_(memory_, "target marks"),
      outcome_(memory_, "outcome"), host_outcome_(memory_, "outcome"), builder_(memory_), within_(memory_),
      tree_(memory_), moments_(memory_), criterion_(memory_), target_maker_(memory_), targets_(memory_),
      estimate_(memory_), list_builder_(memory_), lists_(memory_), watch_(memory_), evaluator_(memory_),
      direct_(memory_), periodic_(memory_), field_(memory_),
      result_(memory_, "results for the host"), host_result_(memory_, "results for the host") {
    cudaDeviceProp properties;
    GRAFT_CUDA(cudaGetDeviceProperties(&properties, memory_.device()));
    std::snprintf(device_name_, sizeof device_name_, "%s", properties.name);
    for (cudaEvent_t& event : piece_done_)
        GRAFT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    outcome_.resize(1);
    host_outcome_.resize(1);
    *host_outcome_.data() = {};
    GRAFT_CUDA(cudaMemsetAsync(outcome_.data(), 0, sizeof(DeviceOutcome), queue_.stream()));
    queue_.wait();
}

DeviceForce::~DeviceForce() {
    (void)backend::use_device(memory_.device());
    if (begun_)
        (void)cudaStreamSynchronize(queue_.stream());
    for (cudaEvent_t event : piece_done_)
        if (event != nullptr)
            (void)cudaEventDestroy(event);
}

/// Copies the call and checks what needs no look at the data.
void DeviceForce::accept(const settings::Settings& settings, const ParticleInput& particles,
                         const ParticleInput* points, const Outputs& outputs) {
    DeviceJob& job = job_;
    job = {};
    job.settings = settings;
    job.particles = particles;
    job.outputs = outputs;
    job.with_points = points != nullptr;
    if (points != nullptr)
        job.points = *points;
    check_count(particles.n, "particles");
    job.n = particles.n;
    if (!particles.charge.present() && particles.n > 0)
        check_charge_all(particles.charge_all);
    job.per_particle = particles.softening.present();
    if (job.per_particle && settings.softening == settings::Softening::none)
        refuse_needless_softening();
    if (!job.with_points && particles.has_active && particles.has_target)
        refuse_two_target_sets();
    job.all_targets = !job.with_points && !particles.has_active && !particles.has_target;
    if (job.with_points)
        check_count(points->n, "points");
    job.targets = job.with_points ? points->n : (particles.has_target ? particles.target.n : particles.n);
    job.with_sums = outputs.virial.present() || outputs.energy.present();
    job.with_potential = outputs.potential.present() || outputs.energy.present();
    const bool softened = job.per_particle || settings.softening_length > 0;
    job.pairs = {softened ? static_cast<forces::Softening>(settings.softening) : forces::Softening::none,
                 softened && job.per_particle, job.with_potential};
    if (settings.method == settings::Method::reference)
        core::fail(core::Status::unsupported,
                   "method reference runs on the CPU only; expected direct or tree");
    if (const char* why = periodic::why_no_gpu_lattice(settings); why != nullptr)
        core::fail(core::Status::unsupported, "%s is computed on the CPU only", why);
    if (settings.periodic && settings.open_axis >= 0 && softened && settings.softening == settings::Softening::plummer)
        refuse_plummer_slab();
    if (settings.periodic) // no screened cells here: both methods are this one sum
        job.settings.method = settings::Method::direct;
    if (settings.periodic && outputs.virial.present() && !job.all_targets && !job.with_points && job.n > 0)
        refuse_virial_of_some();
}

/// What settings leave to the engine, once all of the job is known: leaf and group, and the walk.
void DeviceForce::choose_sizes() {
    settings::Settings& settings = job_.settings;
    if (!settings.tuned) {
        settings.leaf = far_sizes.leaf, settings.group = far_sizes.group;
        if (why_not_local() != nullptr)
            settings.leaf = sizes.leaf, settings.group = sizes.group;
    }
    if (settings.device.walk == settings::walk_auto)
        settings.device.walk = static_cast<int32_t>(faster_walk(job_.targets, settings.group));
}

void DeviceForce::begin(const settings::Settings& settings, const ParticleInput& particles, const ParticleInput* points,
                        const Outputs& outputs, void* stream) {
    if (begun_)
        core::fail(core::Status::call_order,
                   "compute_begin: the last computation was begun but not ended; call compute_end first");
    GRAFT_CUDA(backend::use_device(memory_.device()));
    valid_ = false;
    accept(settings, particles, points, outputs);
    choose_sizes();
    memory_.set_limit(settings.device.memory_limit);
    queue_.borrow(backend::host_stream(stream));
    try {
        launches_before_ = queue_.launches;
        host_built_ = false;
        note_ = "";
        reusing_ = may_reuse_lists();
        kept_.valid = reusing_;
        give_columns_back(false);
        if (lean_ = wants_lean(); lean_)
            choose_lean_leaf();
        if (!replay())
            with_memory([&] { enqueue(); });
        begun_ = true;
    } catch (...) {
        come_to_rest();
        throw;
    }
}

/// After an error: what is under way reads our buffers and the host's arrays.
void DeviceForce::come_to_rest() {
    (void)cudaStreamSynchronize(queue_.stream());
    (void)cudaStreamSynchronize(side_);
    (void)cudaGetLastError();
    queue_.borrow(nullptr);
}

/// Does what enqueues a computation; when memory runs out, once more without the room of batches, which takes
/// what is left then.
template <typename Body>
void DeviceForce::with_memory(Body&& body) {
    try {
        body();
    } catch (const core::Error& error) {
        if (error.status() != core::Status::memory || !has_batch_room())
            throw;
        GRAFT_CUDA(cudaStreamSynchronize(queue_.stream()));
        GRAFT_CUDA(cudaStreamSynchronize(side_));
        release_batch_room();
        body();
    }
}

/// The whole computation.
void DeviceForce::enqueue() {
    give_columns_back(false); // after a first try without memory
    resuming_ = false;
    clock_.forget();
    clock_.record(queue_.stream(), DeviceClock::begin, capturing_);
    queue_.clear_status();
    import_particles();
    if (job_.settings.periodic && !job_.empty()) {
        plan_periodic();
        wrap_positions();
    }
    clock_.record(queue_.stream(), DeviceClock::imported, capturing_);
    if (!lean_)
        field_.resize(job_.targets, job_.with_potential);
    if (remembers() && last_n_ != job_.n) {
        last_n_ = -1;
        last_.resize(job_.n);
    }
    if (job_.settings.method == settings::Method::tree && job_.settings.tree_type == tree::TreeType::orb &&
        !job_.empty()) {
        fetch(); // the rest is done in end()
        return;
    }
    enqueue_after_import();
}

void DeviceForce::enqueue_after_import() {
    if (!resuming_)
        give_columns_back(true);
    origin_ = nullptr, summed_to_records_ = false;
    if (job_.empty()) {
        for (backend::DeviceBuffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            particles::fill(queue_, values->data(), 0, values->size());
        GRAFT_CUDA(
            cudaMemsetAsync(outcome_.data()->totals, 0, sizeof(DeviceOutcome::totals), queue_.stream()));
    } else if (!job_.is_tree()) {
        evaluate_direct();
    } else {
        if (!host_built_ && !resuming_) {
            reusing_ ? refresh_kept_tree() : (lean_ ? build_tree_within() : build_tree());
            follow_tree();
        }
        if (!resuming_)
            prepare_walk();
        evaluate_batches();
    }
    enqueue_output();
    fetch();
}

void DeviceForce::fetch() {
    GRAFT_CUDA(cudaMemcpyAsync(host_outcome_.data(), outcome_.data(), sizeof(DeviceOutcome),
                               cudaMemcpyDeviceToHost, queue_.stream()));
    queue_.fetch_status();
    clock_.record_end(queue_.stream(), capturing_);
}

void DeviceForce::end(DeviceReport& report) {
    if (!begun_)
        core::fail(core::Status::call_order,
                   "compute_end: no computation was begun; expected compute_begin before it");
    GRAFT_CUDA(backend::use_device(memory_.device()));
    begun_ = false;
    try {
        finish();
        follow_particles();
        account_for_lists();
        write_host_outputs();
    } catch (...) {
        come_to_rest();
        throw;
    }
    queue_.borrow(nullptr); // the host may destroy its stream
    last_n_ = remembers() && !job_.empty() ? job_.n : -1;
    valid_ = true;
    tighten_room(last_status_);
    remember_graph_key();
    report_on(report);
}

/// Waits; repairs and repeats what stopped.
void DeviceForce::finish() {
    bool deferred = job_.is_tree() && job_.settings.tree_type == tree::TreeType::orb &&
                    !job_.empty(); // built on the host
    for (int repeat = 0;; ++repeat) {
        clock_.wait();
        ++waits_;
        const backend::DeviceStatus status = queue_.fetched_status();
        if (status.stop == backend::bad_value)
            raise_bad_value(status);
        if (status.stop == backend::go && !deferred) {
            last_status_ = status;
            if (resuming_) {
                last_status_.nodes_needed = resumed_.nodes_needed, last_status_.leaves = resumed_.leaves;
                last_status_.levels = resumed_.levels, last_status_.groups_needed = resumed_.groups_needed;
            }
            if (host_built_) {
                last_status_.nodes_needed = host_nodes_, last_status_.groups_needed = host_groups_;
                last_status_.leaves = host_leaves_, last_status_.levels = host_levels_;
            }
            return;
        }
        const bool moved = status.stop == lists::moved; // too far for kept lists
        if (moved)
            reusing_ = kept_.valid = false, ++repeats_;
        if (repeat == most_repeats)
            core::fail(core::Status::internal,
                       "the GPU computation still asks for larger buffers after %d repeats", repeat);
        resume_after(status);
        bool repaired = false;
        with_memory([&] {
            if (!repaired && !moved)
                deferred ? build_on_host() : repair(status);
            repaired = true;
            queue_.clear_status();
            enqueue_after_import();
        });
        deferred = false;
    }
}

void DeviceForce::report_on(DeviceReport& report) const {
    using Clock = DeviceClock;
    report = {};
    DeviceReport::Times& t = report.time_s;
    t.import = clock_.between(Clock::begin, Clock::imported);
    t.tree = clock_.between(Clock::imported, Clock::built);
    t.moments = clock_.between(Clock::built, Clock::summed);
    t.lists = clock_.between(Clock::summed, Clock::prepared);
    int before = Clock::prepared;
    for (int b = 0; job_.is_tree() && b < std::min(batches_, Clock::timed_batches); ++b) {
        t.lists += clock_.between(before, Clock::batches + 2 * b);
        t.forces += clock_.between(Clock::batches + 2 * b, Clock::batches + 2 * b + 1);
        before = Clock::batches + 2 * b + 1;
    }
    if (job_.is_tree() && batches_ > Clock::timed_batches) {
        t.forces += clock_.between(before, Clock::rest);
        before = Clock::rest;
    }
    if (!job_.is_tree())
        t.forces = clock_.between(Clock::prepared, before = Clock::batches);
    t.output = clock_.between(before, Clock::last);
    t.total = clock_.between(Clock::begin, Clock::last);
    const backend::DeviceStatus& s = last_status_;
    report.pairs = job_.is_tree() || job_.over_ranks
                       ? s.pairs
                       : static_cast<double>(job_.n) * static_cast<double>(job_.targets);
    if (job_.settings.periodic && (job_.over_ranks ? all_particles_of_ranks() > 0 : !job_.empty()))
        report_periodic(report.periodic);
    report.cells = s.cells;
    report.far_cells = static_cast<double>(s.spare[forces::far_cells_word]);
    report.targets = job_.targets;
    if (job_.is_tree()) {
        std::snprintf(report.local, sizeof report.local, "%s", forces::local_words(why_not_local()).c_str());
        report.nodes = s.nodes_needed, report.leaves = s.leaves, report.levels = s.levels;
        report.groups = s.groups_needed;
        report.leaf = job_.settings.leaf, report.group = job_.settings.group;
        report.fed = fed_report_;
        report.batches = batches_;
        report.bytes_lists = 4 * (lists_.nodes.size() + lists_.leaves.size()) +
                             8 * (lists_.node_offset.size() + lists_.leaf_offset.size());
    }
    report.bytes_device = memory_.bytes_held(), report.bytes_device_peak = memory_.bytes_peak();
    report.bytes_pinned = memory_.bytes_pinned();
    report.allocations = memory_.allocations() + host_memory_.allocations();
    report.waits = queue_.waits() + waits_ + staging_.slot_waits();
    report.repeats = repeats_;
    report.lists_built = lists_built_, report.lists_reused = lists_reused_;
    report.graph = replayed() ? 1 : 0;
    report.launches = replayed() ? graph_launches() : queue_.launches - launches_before_;
    report.device = memory_.device();
    std::memcpy(report.device_name, device_name_, sizeof report.device_name);
    std::snprintf(report.note, sizeof report.note, "%s", note_);
    const DeviceOutcome& outcome = *host_outcome_.data();
    for (int c = 0; c < device_sum_count && job_.with_sums; ++c)
        report.totals[c] = outcome.totals[c] / outcome.import.scale / outcome.import.scale;
}

} // namespace graft::engine
