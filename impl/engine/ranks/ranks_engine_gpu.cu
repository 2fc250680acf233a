// DeviceForce over ranks: the steps of DeviceRanksTable. See rank_force_table.hpp.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "backend/primitives_gpu.cuh"
#include "backend/host_stream_gpu.cuh"
#include "moments/expansion.hpp"
#include "engine/checks.hpp"
#include "engine/gpu/cuda_graph_gpu.cuh"
#include "essential/forest.hpp"

#include <algorithm>
#include <cstring>

namespace graft::engine {

namespace {

constexpr int most_repeats = 64;
constexpr int least_patches = 512; // nodes of the level that the own particles are covered by

template <typename T>
void to_host(backend::Queue& queue, T* to, const T* from, int64_t count) {
    if (count > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(T), cudaMemcpyDeviceToHost,
                                   queue.stream()));
}

template <typename T>
void to_device(backend::Queue& queue, T* to, const T* from, int64_t count) {
    if (count > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(T), cudaMemcpyHostToDevice,
                                   queue.stream()));
}

} // namespace

void DeviceForce::ranks_begin(const settings::Settings& settings, const ParticleInput& particles,
                              const ParticleInput* points, const Outputs& outputs, void* stream,
                              const RankWish& wish, RankFacts& facts) {
    if (begun_)
        core::fail(core::Status::call_order,
                   "compute_begin: the last computation was begun but not ended; call compute_end first");
    valid_ = false;
    if (!ranks_)
        ranks_ = std::make_shared<Ranks>(memory_);
    Ranks& r = ranks();
    accept(settings, particles, points, outputs);
    job_.over_ranks = true;
    job_.with_potential = wish.with_potential, job_.with_sums = wish.with_sums;
    job_.per_particle = wish.per_particle;
    const bool softened = job_.per_particle || settings.softening_length > 0;
    job_.pairs = {softened ? static_cast<forces::Softening>(settings.softening) : forces::Softening::none,
                  softened && job_.per_particle, job_.with_potential};
    choose_sizes();
    memory_.set_limit(settings.device.memory_limit);
    queue_.borrow(backend::host_stream(stream));
    launches_before_ = queue_.launches;
    host_built_ = false, note_ = "", origin_ = nullptr;
    reusing_ = kept_.valid = false; // the lists are of two trees
    if (graph_)
        graph_->replayed = false;
    r.nodes = r.particles = r.coarse_nodes = 0;
    clock_.forget();
    clock_.record(queue_.stream(), DeviceClock::begin, false);
    queue_.clear_status();
    import_particles();
    if (settings.periodic)
        wrap_positions();
    clock_.record(queue_.stream(), DeviceClock::imported, false);
    field_.resize(job_.targets, job_.with_potential);
    r.corners.resize(6), r.known.resize(1);
    KnownTree& known = *r.known.data();
    if (job_.n > 0) {
        find_corners(queue_, x_.data(), y_.data(), z_.data(), job_.n, partial_.data(), r.corners.data());
        to_host(queue_, known.corners, r.corners.data(), 6);
        const double* const axes[3] = {x_.data(), y_.data(), z_.data()};
        for (int a = 0; a < 3; ++a)
            to_host(queue_, known.first + a, axes[a], 1);
    }
    fetch();
    queue_.wait();
    if (queue_.fetched_status().stop == backend::bad_value)
        raise_bad_value(queue_.fetched_status());
    facts = {};
    facts.n = job_.n, facts.targets = job_.targets;
    facts.magnitude = job_.n > 0 ? host_outcome_.data()->import.magnitude : 0;
    for (int c = 0; c < 6; ++c)
        facts.corners[c] = job_.n > 0 ? known.corners[c] : -std::numeric_limits<double>::infinity();
    for (int a = 0; a < 3 && job_.n > 0; ++a)
        facts.first[a] = known.first[a];
    facts.has_last = settings.mac_history && !job_.with_points && (job_.n == 0 || last_n_ == job_.n);
    if (remembers() && last_n_ != job_.n) {
        last_n_ = -1;
        last_.resize(job_.n);
    }
}

/// Waits, and repeats what was too small.
void DeviceForce::ranks_build(const RankFrame& frame, essential::RankShape& shape) {
    Ranks& r = ranks();
    r.frame = frame;
    settings::Settings& settings = job_.settings;
    if (frame.has_box) {
        settings.has_box = true;
        std::copy_n(frame.lower, 3, settings.box_lower);
        std::copy_n(frame.upper, 3, settings.box_upper);
    }
    rescale_charges(queue_, charge_.data(), job_.n, frame.scale, &outcome_.data()->import);
    for (int repeat = 0;; ++repeat) {
        if (job_.n > 0 && !host_built_) {
            build_tree();
            sum_moments();
        }
        if (job_.targets > 0 && !host_built_)
            choose_targets();
        if (job_.n > 0)
            ranks_criterion();
        fetch();
        queue_.wait();
        const backend::DeviceStatus status = queue_.fetched_status();
        if (status.stop == backend::bad_value)
            raise_bad_value(status);
        if (status.stop == backend::go)
            break;
        if (repeat == most_repeats)
            core::fail(core::Status::internal,
                       "the GPU's tree still asks for larger buffers after %d repeats", repeat);
        repair(status);
        queue_.clear_status();
    }
    ranks_know_tree();
    const bool plummer = job_.pairs.softening == forces::Softening::plummer;
    const int64_t number = settings.precision == settings::Precision::fp64 ? sizeof(double) : sizeof(float);
    r.shape = {essential::RankContent::all, job_.per_particle,
               static_cast<int32_t>(moments::record_size(settings.order, plummer) * number),
               moments::term_count(settings.order)};
    shape = r.shape;
}

/// What the host must know of tree and targets, and end() reports.
void DeviceForce::ranks_know_tree() {
    Ranks& r = ranks();
    const backend::DeviceStatus& status = queue_.fetched_status();
    if (!host_built_) {
        host_nodes_ = status.nodes_needed, host_leaves_ = status.leaves, host_levels_ = status.levels;
        host_groups_ = status.groups_needed;
        host_built_ = true; // the status words may be cleared when sums are repeated
    }
    r.groups = job_.targets > 0 ? host_groups_ : 0;
    if (job_.n == 0) {
        host_nodes_ = host_leaves_ = host_levels_ = 0;
        return;
    }
    KnownTree& known = *r.known.data();
    to_host(queue_, &known.counts, tree_.counts.data(), 1);
    to_host(queue_, known.level_offset, tree_.level_offset.data(), host_levels_ + 1);
    to_host(queue_, &known.charge, moments_.values.data(), 1);
    to_host(queue_, &known.magnitude, moments_.magnitude.data(), 1);
    to_host(queue_, &known.box, tree_.boxes.data(), 1);
    queue_.wait();
}

/// As prepare_walk(), without the factors of targets.
void DeviceForce::ranks_criterion() {
    const settings::Settings& settings = job_.settings;
    const bool error = settings.mac == settings::MacType::error;
    moments::fill_expansion(queue_, tree_, job_.pairs.softening == forces::Softening::plummer,
                            settings.precision == settings::Precision::fp64, moments_);
    clock_.record(queue_.stream(), DeviceClock::summed, false);
    if (error)
        estimate_.prepare(queue_, settings, job_.per_particle, tree_, moments_);
    criterion_.skin = 0;
    lists::fill_criterion(queue_, tree_, moments_, essential::criterion_options(settings),
                          error ? estimate_.reach() : nullptr, criterion_);
    clock_.record(queue_.stream(), DeviceClock::prepared, false);
}

int64_t DeviceForce::ranks_cover_targets(lists::Group* groups, int64_t most) {
    Ranks& r = ranks();
    const int64_t count = std::min(most, r.groups);
    if (count == 0)
        return 0;
    r.cover.resize(most), r.host_cover.resize(most);
    cover_groups(queue_, targets_.groups.data(), r.groups, count, r.cover.data());
    to_host(queue_, r.host_cover.data(), r.cover.data(), count);
    queue_.wait();
    std::copy_n(r.host_cover.data(), count, groups);
    return count;
}

/// The nodes of the first level with enough of them, and leaves above.
int64_t DeviceForce::ranks_cover_particles(lists::Group* groups, int64_t most) {
    Ranks& r = ranks();
    if (job_.n == 0)
        return 0;
    const KnownTree& known = *r.known.data();
    const auto size_of = [&](int level) { return known.level_offset[level + 1] - known.level_offset[level]; };
    int level = 0;
    while (level + 1 < known.counts.levels && size_of(level) < least_patches)
        ++level;
    const int32_t begin = known.level_offset[level], end = known.level_offset[level + 1];
    r.host_nodes.resize(end), r.host_boxes.resize(end);
    to_host(queue_, r.host_nodes.data(), tree_.nodes.data(), end);
    to_host(queue_, r.host_boxes.data(), tree_.boxes.data(), end);
    queue_.wait();
    int64_t count = 0;
    for (int32_t k = 0; k < end; ++k) {
        if (k < begin && r.host_nodes.data()[k].child_count > 0)
            continue;
        if (count < most)
            groups[count++] = {0, 0, {r.host_boxes.data()[k], 0, 0}};
        else
            groups[most - 1].target.box.include(r.host_boxes.data()[k]);
    }
    return count;
}

void DeviceForce::ranks_keep_off(const geometry::Box* boxes, int64_t count) {
    Ranks& r = ranks();
    if (job_.n == 0 || count == 0)
        return;
    geometry::Box all;
    for (int64_t k = 0; k < count; ++k)
        all.include(boxes[k]);
    r.regions.resize(count);
    to_device(queue_, r.regions.data(), boxes, count);
    keep_off_regions(queue_, tree_, moments_, job_.settings.mac == settings::MacType::error, r.regions.data(), count,
                     all, criterion_);
}

essential::OwnNodes DeviceForce::ranks_own_nodes(essential::RankContent content) const {
    essential::OwnNodes own{};
    const auto numbers = [](const auto& buffer) {
        return reinterpret_cast<const double*>(buffer.data() + lists::mac_shift);
    };
    static_assert(sizeof(essential::RankLink) == sizeof(lists::DeviceMacLink));
    const auto pointer = [](const auto& buffer) { return buffer.empty() ? nullptr : buffer.data(); };
    own.nodes = tree_.nodes.data(), own.boxes = tree_.boxes.data();
    own.xy = numbers(criterion_.xy), own.za = numbers(criterion_.za);
    own.links = reinterpret_cast<const essential::RankLink*>(criterion_.links.data() + lists::mac_shift);
    own.mac_softening = pointer(criterion_.softening);
    own.softening_length = job_.settings.softening_length;
    own.compact = job_.settings.softening == settings::Softening::spline;
    own.coarse = content == essential::RankContent::masses ? estimate_.nodes() : nullptr;
    own.radius = moments_.radius.data(), own.rho = moments_.rho.data();
    own.magnitude = moments_.magnitude.data();
    own.softening_square = pointer(moments_.softening_square);
    own.values = moments_.values.data();
    own.records = job_.settings.precision == settings::Precision::fp64
                      ? reinterpret_cast<const char*>(moments_.full.data())
                      : reinterpret_cast<const char*>(moments_.single.data());
    own.heap = job_.per_particle ? std::numeric_limits<int64_t>::max() : job_.settings.leaf;
    own.particle[0] = tree_.x.data(), own.particle[1] = tree_.y.data(), own.particle[2] = tree_.z.data();
    own.particle[3] = tree_.charge.data(), own.particle[4] = pointer(tree_.softening);
    return own;
}

/// Waits once, for the sizes.
void DeviceForce::ranks_pack(essential::RankContent content, int32_t rank, const lists::Target* boxes, int32_t count,
                             bool on_device, essential::RankHeader& header) {
    Ranks& r = ranks();
    header = {};
    if (job_.n == 0 || count == 0)
        return;
    KnownTree& known = *r.known.data();
    const int32_t nodes = known.counts.nodes;
    r.shape.content = content;
    r.boxes.resize(64);
    to_device(queue_, r.boxes.data(), boxes, count);
    r.opened.resize(nodes);
    for (backend::DeviceBuffer<int32_t>* values : {&r.sent, &r.number, &r.wanted, &r.particle})
        values->resize(int64_t{nodes} + 1);
    for (backend::DeviceBuffer<int32_t>* values : {&r.sent, &r.wanted})
        GRAFT_CUDA(cudaMemsetAsync(values->data() + nodes, 0, sizeof(int32_t), queue_.stream()));
    const essential::Extraction extraction{r.opened.data(), r.sent.data(), r.number.data(), r.wanted.data(),
                                r.particle.data()};
    const essential::OwnNodes own = ranks_own_nodes(content);
    for (int32_t level = 0; level < known.counts.levels; ++level)
        open_level(queue_, own, r.boxes.data(), count, known.level_offset[level],
                   known.level_offset[level + 1], extraction);
    backend::exclusive_sum(queue_, r.sent.data(), r.number.data(), int64_t{nodes} + 1);
    backend::exclusive_sum(queue_, r.wanted.data(), r.particle.data(), int64_t{nodes} + 1);
    to_host(queue_, &known.sent, r.number.data() + nodes, 1);
    to_host(queue_, &known.particles, r.particle.data() + nodes, 1);
    queue_.wait();
    header = {known.sent, known.particles, known.counts.levels, 0, known.charge, known.magnitude, known.box};
    Ranks::Parcel& parcel = r.parcel(rank);
    parcel.bytes = essential::message_bytes(r.shape, header);
    parcel.device.resize(parcel.bytes);
    // What stands between the sections travels, too.
    GRAFT_CUDA(cudaMemsetAsync(parcel.device.data(), 0, static_cast<size_t>(parcel.bytes), queue_.stream()));
    put_nodes(queue_, own, r.shape, extraction, nodes, essential::sections_of(parcel.device.data(), r.shape, header));
    if (!on_device) {
        parcel.host.resize(parcel.bytes);
        to_host(queue_, parcel.host.data(), parcel.device.data(), parcel.bytes);
    }
    GRAFT_CUDA(cudaEventRecord(parcel.done, queue_.stream()));
}

const void* DeviceForce::ranks_packed(int32_t rank, bool on_device) {
    Ranks::Parcel& parcel = ranks().parcel(rank);
    GRAFT_CUDA(cudaEventSynchronize(parcel.done));
    ++waits_;
    return on_device ? parcel.device.data() : parcel.host.data();
}

void DeviceForce::ranks_scale_targets(bool use_last) {
    Ranks& r = ranks();
    if (job_.targets == 0)
        return;
    if (use_last)
        lists::scale_groups_by_last(queue_, job_.settings, last_.data(), targets_);
    else
        estimate_.scale_groups(queue_, job_.settings, tree_, targets_, job_.n > 0,
                               r.coarse_nodes > 0 ? r.coarse.data() : nullptr);
}

/// Enqueues lists and sums of all groups over the own tree, which sets the field, or the others', which adds.
void DeviceForce::ranks_sum(bool own) {
    Ranks& r = ranks();
    forces::DeviceEvaluation how = evaluation();
    how.add = !own;
    if (!own) // the papers' kernels know one tree
        how.kernel = forces::DeviceKernel::automatic;
    const auto kind = static_cast<lists::DeviceWalk>(job_.settings.device.walk);
    for (int b = 0; b < batches_; ++b) {
        list_builder_.build(queue_, own ? tree_ : r.tree, own ? criterion_ : r.criterion, targets_, kind, b,
                            batches_, lists_);
        if (own && b < DeviceClock::timed_batches)
            clock_.record(queue_.stream(), DeviceClock::batches + 2 * b, false);
        evaluator_.evaluate(queue_, how, own ? tree_ : r.tree, own ? moments_ : r.moments, targets_, lists_,
                            field_);
        if (own && b < DeviceClock::timed_batches)
            clock_.record(queue_.stream(), DeviceClock::batches + 2 * b + 1, false);
    }
}

void DeviceForce::ranks_evaluate_own() {
    Ranks& r = ranks();
    if (job_.targets == 0)
        return;
    set_first_capacities();
    GRAFT_CUDA(cudaEventRecord(r.sums[0], queue_.stream()));
    if (job_.n > 0)
        ranks_sum(true);
    else
        for (backend::DeviceBuffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            particles::fill(queue_, values->data(), 0, values->size());
    GRAFT_CUDA(cudaEventRecord(r.sums[1], queue_.stream()));
}

/// Self potentials, totals, and results on their way to host arrays; nothing of the host's is touched yet.
void DeviceForce::ranks_results() {
    Ranks& r = ranks();
    origin_ = targets_.origin;
    DeviceTargetSources sources = target_sources();
    sources.has_centre = true;
    std::copy_n(r.frame.centre, 3, sources.centre);
    if (job_.with_potential && !job_.with_points && job_.settings.softening != settings::Softening::none)
        remove_self_potential(queue_, static_cast<forces::Softening>(job_.settings.softening), sources,
                              field_, job_.targets);
    if (job_.with_sums && !job_.with_points)
        sum_virial(queue_, sources, field_, job_.targets, partial_.data(), outcome_.data()->totals);
    particles::DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(all);
    stage_results(all, count);
}

void DeviceForce::ranks_evaluate_all(RankOutcome& outcome) {
    Ranks& r = ranks();
    outcome = {};
    outcome.nodes = r.nodes, outcome.particles = r.particles;
    GRAFT_CUDA(cudaMemsetAsync(outcome_.data()->totals, 0, sizeof(DeviceOutcome::totals), queue_.stream()));
    for (int repeat = 0; job_.targets > 0; ++repeat) {
        GRAFT_CUDA(cudaEventRecord(r.sums[2], queue_.stream()));
        if (r.nodes > 0)
            ranks_sum(false);
        GRAFT_CUDA(cudaEventRecord(r.sums[3], queue_.stream()));
        ranks_results();
        fetch();
        queue_.wait();
        const backend::DeviceStatus status = queue_.fetched_status();
        if (status.stop == backend::go)
            break;
        if (repeat == most_repeats)
            core::fail(core::Status::internal,
                       "the GPU computation still asks for larger buffers after %d repeats", repeat);
        repair(status);
        queue_.clear_status();
        ranks_evaluate_own();
    }
    if (job_.targets == 0) {
        staged_.clear(), staged_bytes_ = 0;
        fetch();
        queue_.wait();
        return;
    }
    outcome.pairs = queue_.fetched_status().pairs, outcome.cells = queue_.fetched_status().cells;
    std::copy_n(host_outcome_.data()->totals, device_sum_count, outcome.totals);
    const auto between = [&](int k) {
        float time_ms = 0;
        GRAFT_CUDA(cudaEventElapsedTime(&time_ms, r.sums[k], r.sums[k + 1]));
        return 1e-3 * static_cast<double>(time_ms);
    };
    outcome.own_s = between(0), outcome.remote_s = between(2);
}

void DeviceForce::ranks_write(const double* totals) {
    DeviceOutcome& outcome = *host_outcome_.data();
    std::copy_n(totals, device_sum_count, outcome.totals);
    to_device(queue_, outcome_.data()->totals, outcome.totals, device_sum_count);
    if (remembers() && job_.targets > 0)
        remember_field(queue_, field_, origin_, job_.targets, last_.data());
    particles::DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = wanted(all);
    int here_count = 0;
    for (int a = 0; a < count; ++a)
        if (all[a].view.on_device())
            here[here_count++] = all[a];
    particles::export_reals(queue_, here_count, here, origin_, job_.targets, nullptr,
                            &outcome_.data()->import);
    export_sums();
    fetch();
    begun_ = true;
}

void DeviceForce::ranks_stop() noexcept {
    (void)cudaStreamSynchronize(queue_.stream());
    (void)cudaGetLastError();
    queue_.borrow(nullptr);
    begun_ = false;
}

} // namespace graft::engine
