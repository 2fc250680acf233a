// SPDX-License-Identifier: BSD-3-Clause
// DeviceRanks: the steps of DeviceRanksTable, but for what came and a periodic box. See rank_force_table.hpp.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "backend/primitives_gpu.cuh"
#include "engine/write_results.hpp"
#include "essential/forest.hpp"
#include "moments/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::engine {

namespace {

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

DeviceJob job_over_ranks(DeviceJob&& own, const RankWish& wish) {
    own.over_ranks = true;
    own.with_potential = wish.with_potential, own.with_sums = wish.with_sums;
    own.per_particle = wish.per_particle;
    own.choose_pairs();
    return std::move(own);
}

RankParcel& RankPacking::parcel(int32_t rank) {
    while (parcels.size() <= static_cast<size_t>(rank))
        parcels.emplace_back();
    auto& wanted_one = parcels[static_cast<size_t>(rank)];
    if (!wanted_one)
        wanted_one = std::make_unique<RankParcel>(memory);
    return *wanted_one;
}

RankClock::RankClock() {
    for (cudaEvent_t& event : events_)
        GRAFT_CUDA(cudaEventCreate(&event));
}

RankClock::~RankClock() {
    for (cudaEvent_t event : events_)
        (void)cudaEventDestroy(event);
}

double RankClock::between(Mark from, Mark to) const {
    float time_ms = 0;
    GRAFT_CUDA(cudaEventElapsedTime(&time_ms, events_[from], events_[to]));
    return 1e-3 * static_cast<double>(time_ms);
}

DeviceRanks::DeviceRanks(Steps& steps, Repair& repair)
    : s_(steps), repair_(repair), corners_(steps.c.memory, "corners"),
      known_(steps.c.memory, "what is known of the tree"), cover_(steps.c.memory), packing_(steps.c.memory),
      forest_(steps.c.memory), box_(steps.c.memory) {}

/// Waits.
void DeviceRanks::import_particles(RankFacts& facts) {
    Computation& c = s_.c;
    c.order = TargetOrder::host;
    forest_.nodes = forest_.particles = forest_.coarse_nodes = 0;
    c.clock.forget();
    c.mark(DeviceClock::begin);
    c.queue.clear_status();
    s_.import.import_particles(c);
    if (c.job.settings.periodic)
        s_.import.wrap(c);
    c.mark(DeviceClock::imported);
    s_.evaluate.field.resize(c.job.targets, c.job.with_potential);
    corners_.resize(6), known_.resize(1);
    KnownTree& known = *known_.data();
    if (c.job.n > 0) {
        find_corners(c.queue, s_.import.x.data(), s_.import.y.data(), s_.import.z.data(), c.job.n,
                     c.block_sums.data(), corners_.data());
        to_host(c.queue, known.corners, corners_.data(), 6);
        const double* const axes[3] = {s_.import.x.data(), s_.import.y.data(), s_.import.z.data()};
        for (int a = 0; a < 3; ++a)
            to_host(c.queue, known.first + a, axes[a], 1);
    }
    c.fetch();
    c.queue.wait();
    if (c.queue.fetched_status().stop == backend::bad_value)
        repair_.raise_bad_value(s_, c.queue.fetched_status());
    facts = {};
    facts.n = c.job.n, facts.targets = c.job.targets;
    if (c.job.n > 0) {
        const particles::DeviceImportState& import = c.host_outcome.data()->import;
        facts.magnitude = import.magnitude, facts.lightest = std::isfinite(import.lightest) ? import.lightest : 0;
    }
    for (int k = 0; k < 6; ++k)
        facts.corners[k] = c.job.n > 0 ? known.corners[k] : -std::numeric_limits<double>::infinity();
    for (int a = 0; a < 3 && c.job.n > 0; ++a)
        facts.first[a] = known.first[a];
    facts.has_last =
        c.job.settings.mac_history && !c.job.with_points && (c.job.n == 0 || s_.sums.last.n == c.job.n);
    s_.sums.hold(c.job);
}

/// Waits, and repeats what was too small.
void DeviceRanks::build(const RankFrame& frame, essential::RankShape& shape) {
    Computation& c = s_.c;
    frame_ = frame;
    c.job.all_particles = frame.all_particles;
    settings::Settings& settings = c.job.settings;
    if (frame.has_box) {
        settings.has_box = true;
        std::copy_n(frame.lower, 3, settings.box_lower);
        std::copy_n(frame.upper, 3, settings.box_upper);
    }
    rescale_charges(c.queue, s_.import.charge.data(), c.job.n, frame.scale, c.import_state());
    for (int repeat = 0;; ++repeat) {
        const bool on_host = c.tree_from == TreeFrom::host;
        if (c.job.n > 0 && !on_host) {
            s_.tree.build(c, s_.import);
            s_.tree.sum_moments(c);
        }
        if (c.job.targets > 0 && !on_host)
            s_.targets.choose(c, s_.import, s_.tree.tree);
        if (c.job.n > 0)
            fill_criterion();
        c.fetch();
        c.queue.wait();
        const backend::DeviceStatus status = c.queue.fetched_status();
        if (status.stop == backend::bad_value)
            repair_.raise_bad_value(s_, status);
        if (status.stop == backend::go)
            break;
        check_repeats(repeat, "tree");
        repair_.repair(s_, status);
        c.queue.clear_status();
    }
    know_tree();
    const bool plummer = c.job.pairs.softening == forces::Softening::plummer;
    const int64_t number = settings.precision == settings::Precision::fp64 ? sizeof(double) : sizeof(float);
    shape_ = {essential::RankContent::all, c.job.per_particle,
              static_cast<int32_t>(moments::record_size(settings.order, plummer) * number),
              moments::term_count(settings.order)};
    shape = shape_;
}

/// What the host must know of tree and targets, and end() reports.
void DeviceRanks::know_tree() {
    Computation& c = s_.c;
    const backend::DeviceStatus& status = c.queue.fetched_status();
    TreeCounts& counts = s_.tree.known;
    if (c.tree_from != TreeFrom::host) {
        counts = {status.nodes_needed, status.leaves, status.levels, status.groups_needed};
        c.tree_from = TreeFrom::host; // the status words may be cleared when sums are repeated
    }
    groups_ = c.job.targets > 0 ? counts.groups : 0;
    if (c.job.n == 0) {
        counts = {0, 0, 0, counts.groups};
        return;
    }
    KnownTree& known = *known_.data();
    to_host(c.queue, &known.counts, s_.tree.tree.counts.data(), 1);
    to_host(c.queue, known.level_offset, s_.tree.tree.level_offset.data(), counts.levels + 1);
    to_host(c.queue, &known.charge, s_.tree.moments.values.data(), 1);
    to_host(c.queue, &known.magnitude, s_.tree.moments.magnitude.data(), 1);
    to_host(c.queue, &known.box, s_.tree.tree.boxes.data(), 1);
    c.queue.wait();
}

/// As prepare_walk(), without the factors of targets.
void DeviceRanks::fill_criterion() {
    Computation& c = s_.c;
    s_.tree.fill_expansion(c);
    c.mark(DeviceClock::summed);
    s_.lists.fill_criterion(c, s_.tree);
    c.mark(DeviceClock::prepared);
}

int64_t DeviceRanks::cover_targets(lists::Group* groups, int64_t most) {
    Computation& c = s_.c;
    const int64_t count = std::min(most, groups_);
    if (count == 0)
        return 0;
    cover_.groups.resize(most), cover_.host_groups.resize(most);
    cover_groups(c.queue, s_.targets.targets.groups.data(), groups_, count, cover_.groups.data());
    to_host(c.queue, cover_.host_groups.data(), cover_.groups.data(), count);
    c.queue.wait();
    std::copy_n(cover_.host_groups.data(), count, groups);
    return count;
}

/// The nodes of the first level with enough of them, and leaves above.
int64_t DeviceRanks::cover_particles(lists::Group* groups, int64_t most) {
    Computation& c = s_.c;
    if (c.job.n == 0)
        return 0;
    const KnownTree& known = *known_.data();
    const auto size_of = [&](int level) { return known.level_offset[level + 1] - known.level_offset[level]; };
    int level = 0;
    while (level + 1 < known.counts.levels && size_of(level) < least_patches)
        ++level;
    const int32_t begin = known.level_offset[level], end = known.level_offset[level + 1];
    cover_.nodes.resize(end), cover_.boxes.resize(end);
    to_host(c.queue, cover_.nodes.data(), s_.tree.tree.nodes.data(), end);
    to_host(c.queue, cover_.boxes.data(), s_.tree.tree.boxes.data(), end);
    c.queue.wait();
    int64_t count = 0;
    for (int32_t k = 0; k < end; ++k) {
        if (k < begin && cover_.nodes.data()[k].child_count > 0)
            continue;
        if (count < most)
            groups[count++] = {0, 0, {cover_.boxes.data()[k], 0, 0}};
        else
            groups[most - 1].target.box.include(cover_.boxes.data()[k]);
    }
    return count;
}

void DeviceRanks::keep_off(const geometry::Box* boxes, int64_t count) {
    Computation& c = s_.c;
    if (c.job.n == 0 || count == 0)
        return;
    geometry::Box all;
    for (int64_t k = 0; k < count; ++k)
        all.include(boxes[k]);
    cover_.regions.resize(count);
    to_device(c.queue, cover_.regions.data(), boxes, count);
    keep_off_regions(c.queue, s_.tree.tree, s_.tree.moments, c.job.settings.mac == settings::MacType::error,
                     cover_.regions.data(), count, all, s_.lists.criterion);
}

essential::OwnNodes DeviceRanks::own_nodes(essential::RankContent content) const {
    const Computation& c = s_.c;
    essential::OwnNodes own{};
    const auto numbers = [](const auto& buffer) {
        return reinterpret_cast<const double*>(buffer.data() + lists::mac_shift);
    };
    static_assert(sizeof(essential::RankLink) == sizeof(lists::DeviceMacLink));
    const auto pointer = [](const auto& buffer) { return buffer.empty() ? nullptr : buffer.data(); };
    own.nodes = s_.tree.tree.nodes.data(), own.boxes = s_.tree.tree.boxes.data();
    own.xy = numbers(s_.lists.criterion.xy), own.za = numbers(s_.lists.criterion.za);
    own.links =
        reinterpret_cast<const essential::RankLink*>(s_.lists.criterion.links.data() + lists::mac_shift);
    own.mac_softening = pointer(s_.lists.criterion.softening);
    own.softening_length = c.job.settings.softening_length;
    own.compact = c.job.settings.softening == settings::Softening::spline;
    own.coarse = content == essential::RankContent::masses ? s_.lists.estimate.nodes() : nullptr;
    own.radius = s_.tree.moments.radius.data(), own.rho = s_.tree.moments.rho.data();
    own.magnitude = s_.tree.moments.magnitude.data();
    own.softening_square = pointer(s_.tree.moments.softening_square);
    own.values = s_.tree.moments.values.data();
    own.records = c.job.settings.precision == settings::Precision::fp64
                      ? reinterpret_cast<const char*>(s_.tree.moments.full.data())
                      : reinterpret_cast<const char*>(s_.tree.moments.single.data());
    own.heap = c.job.per_particle ? std::numeric_limits<int64_t>::max() : c.job.settings.leaf;
    own.particle[0] = s_.tree.tree.x.data(), own.particle[1] = s_.tree.tree.y.data(),
    own.particle[2] = s_.tree.tree.z.data();
    own.particle[3] = s_.tree.tree.charge.data(), own.particle[4] = pointer(s_.tree.tree.softening);
    return own;
}

/// Waits once, for the sizes.
void DeviceRanks::pack(essential::RankContent content, int32_t rank, const lists::Target* boxes,
                       int32_t count, bool on_device, essential::RankHeader& header) {
    Computation& c = s_.c;
    header = {};
    if (c.job.n == 0 || count == 0)
        return;
    KnownTree& known = *known_.data();
    const int32_t nodes = known.counts.nodes;
    shape_.content = content;
    packing_.boxes.resize(64);
    to_device(c.queue, packing_.boxes.data(), boxes, count);
    packing_.opened.resize(nodes);
    for (backend::DeviceBuffer<int32_t>* values :
         {&packing_.sent, &packing_.number, &packing_.wanted, &packing_.particle})
        values->resize(int64_t{nodes} + 1);
    for (backend::DeviceBuffer<int32_t>* values : {&packing_.sent, &packing_.wanted})
        GRAFT_CUDA(cudaMemsetAsync(values->data() + nodes, 0, sizeof(int32_t), c.queue.stream()));
    const essential::Extraction extraction{packing_.opened.data(), packing_.sent.data(),
                                           packing_.number.data(), packing_.wanted.data(),
                                           packing_.particle.data()};
    const essential::OwnNodes own = own_nodes(content);
    for (int32_t level = 0; level < known.counts.levels; ++level)
        open_level(c.queue, own, packing_.boxes.data(), count, known.level_offset[level],
                   known.level_offset[level + 1], extraction);
    backend::exclusive_sum(c.queue, packing_.sent.data(), packing_.number.data(), int64_t{nodes} + 1);
    backend::exclusive_sum(c.queue, packing_.wanted.data(), packing_.particle.data(), int64_t{nodes} + 1);
    to_host(c.queue, &known.sent, packing_.number.data() + nodes, 1);
    to_host(c.queue, &known.particles, packing_.particle.data() + nodes, 1);
    c.queue.wait();
    header = {known.sent, known.particles, known.counts.levels, 0, known.charge, known.magnitude, known.box};
    RankParcel& parcel = packing_.parcel(rank);
    parcel.bytes = essential::message_bytes(shape_, header);
    parcel.device.resize(parcel.bytes);
    // What stands between the sections travels, too.
    GRAFT_CUDA(cudaMemsetAsync(parcel.device.data(), 0, static_cast<size_t>(parcel.bytes), c.queue.stream()));
    put_nodes(c.queue, own, shape_, extraction, nodes,
              essential::sections_of(parcel.device.data(), shape_, header));
    if (!on_device) {
        parcel.host.resize(parcel.bytes);
        to_host(c.queue, parcel.host.data(), parcel.device.data(), parcel.bytes);
    }
    GRAFT_CUDA(cudaEventRecord(parcel.done, c.queue.stream()));
}

const void* DeviceRanks::packed(int32_t rank, bool on_device) {
    Computation& c = s_.c;
    RankParcel& parcel = packing_.parcel(rank);
    GRAFT_CUDA(cudaEventSynchronize(parcel.done));
    ++c.waits;
    return on_device ? parcel.device.data() : parcel.host.data();
}

void DeviceRanks::scale_targets(bool use_last) {
    Computation& c = s_.c;
    if (c.job.targets == 0)
        return;
    if (use_last)
        lists::scale_groups_by_last(c.queue, c.job.settings, s_.sums.last.values.data(), s_.targets.targets);
    else
        s_.lists.estimate.scale_groups(c.queue, c.job.settings, c.job.per_particle, s_.targets.targets,
                                       c.job.n > 0 ? &s_.tree.tree : nullptr, c.job.with_points,
                                       forest_.coarse_nodes > 0 ? forest_.coarse.data() : nullptr);
}

/// Enqueues lists and sums of all groups over a tree, which set the field, or (how.add) add to it.
void DeviceRanks::sum_over(const forces::DeviceEvaluation& how, const tree::DeviceTree& tree,
                           const moments::DeviceMoments& moments, const lists::DeviceCriterion& criterion) {
    Computation& c = s_.c;
    const int batches = s_.capacity.batches();
    if (how.packed)
        s_.evaluate.pack(c, how, tree, moments);
    for (int b = 0; b < batches; ++b) {
        const bool timed = !how.add && b < DeviceClock::timed_batches;
        s_.lists.build(c, tree, criterion, s_.targets.targets, b, batches, s_.evaluate.far(how));
        if (timed)
            c.mark(DeviceClock::batches + 2 * b);
        s_.evaluate.evaluator.evaluate(c.queue, how, tree, moments, s_.targets.targets, s_.lists.lists, s_.evaluate.field);
        if (timed)
            c.mark(DeviceClock::batches + 2 * b + 1);
    }
}

void DeviceRanks::sum_own() {
    sum_over(s_.c.job.evaluation(), s_.tree.tree, s_.tree.moments, s_.lists.criterion);
}

/// Of the others.
void DeviceRanks::sum_forest() {
    forces::DeviceEvaluation how = s_.c.job.evaluation();
    how.add = true;
    how.kernel = forces::DeviceKernel::automatic; // the papers' kernels know one tree
    sum_over(how, forest_.tree, forest_.moments, forest_.criterion);
}

void DeviceRanks::evaluate_own() {
    Computation& c = s_.c;
    if (c.job.targets == 0)
        return;
    s_.capacity.hold(s_);
    clock_.record(c.queue, RankClock::own);
    if (c.job.n > 0)
        sum_own();
    else
        s_.evaluate.clear(c);
    clock_.record(c.queue, RankClock::own_done);
}

/// Of virials: relative to the centre of all.
DeviceTargetSources DeviceRanks::target_sources() const {
    DeviceTargetSources sources = s_.target_sources();
    sources.has_centre = true;
    std::copy_n(frame_.centre, 3, sources.centre);
    return sources;
}

/// Self potentials, net force and totals of the whole field.
void DeviceRanks::sum_results() {
    Computation& c = s_.c;
    if (c.job.targets > 0)
        s_.sums.sum(c, target_sources(), s_.evaluate.field);
    else
        s_.sums.sum_net_force(c, target_sources(), s_.evaluate.field);
    put_box_virial();
}

/// Results on their way to host arrays; nothing of the host's is touched yet.
void DeviceRanks::show_results() {
    if (s_.c.job.targets > 0)
        s_.output.look_at_fields(s_.c, s_.raw(), s_.lists.lists);
    s_.output.stage(s_.c, s_.raw());
}

/// As they were fetched.
void DeviceRanks::take_sums(RankOutcome& outcome) const {
    const DeviceOutcome& own = *s_.c.host_outcome.data();
    std::copy_n(own.totals, device_sum_count, outcome.totals);
    if (s_.c.job.conserves_momentum())
        std::copy_n(own.net_force, NetForce::count, outcome.net_force);
}

void DeviceRanks::take_off(const double* net_force, double* totals) {
    Computation& c = s_.c;
    c.clear_totals();
    s_.sums.take_off(c, target_sources(), net_force, s_.evaluate.field);
    put_box_virial();
    show_results();
    c.fetch();
    c.queue.wait();
    if (c.queue.fetched_status().stop != backend::go)
        raise_bad_result();
    s_.output.check_added_fields(c);
    std::copy_n(c.host_outcome.data()->totals, device_sum_count, totals);
}

/// What it would be is known once it has been on its way to its array, which nothing is written to.
void DeviceRanks::raise_bad_result() {
    Computation& c = s_.c;
    s_.output.to_device_arrays(c, s_.raw());
    c.fetch();
    c.queue.wait();
    s_.output.raise_bad_result(c);
}

/// Whether a computation that stopped is to be made again in double; throws where a result is bad in double.
bool DeviceRanks::asks_for_double(uint64_t stop) {
    const bool bad = stop == particles::bad_result;
    if (bad && s_.c.job.settings.precision == settings::Precision::fp64)
        raise_bad_result();
    return bad || stop == forces::needs_double;
}

void DeviceRanks::evaluate_all(RankOutcome& outcome) {
    Computation& c = s_.c;
    outcome = {};
    outcome.nodes = forest_.nodes, outcome.particles = forest_.particles, outcome.scale = frame_.scale;
    c.clear_totals();
    for (int repeat = 0; c.job.targets > 0; ++repeat) {
        clock_.record(c.queue, RankClock::others);
        if (forest_.nodes > 0)
            sum_forest();
        clock_.record(c.queue, RankClock::others_done);
        c.order = TargetOrder::targets;
        sum_results();
        show_results();
        c.fetch();
        c.queue.wait();
        const backend::DeviceStatus status = c.queue.fetched_status();
        if (status.stop == backend::go)
            break;
        if (asks_for_double(status.stop)) {
            outcome.needs_double = 1;
            return;
        }
        check_repeats(repeat, "computation");
        repair_.repair(s_, status);
        c.queue.clear_status();
        evaluate_own();
    }
    if (c.job.targets == 0) {
        sum_results();
        show_results();
        c.fetch();
        c.queue.wait();
        return take_sums(outcome);
    }
    s_.output.check_added_fields(c);
    outcome.pairs = c.queue.fetched_status().pairs, outcome.cells = c.queue.fetched_status().cells;
    take_sums(outcome);
    outcome.own_s = clock_.between(RankClock::own, RankClock::own_done);
    outcome.remote_s = clock_.between(RankClock::others, RankClock::others_done);
}

void DeviceRanks::write(const double* totals) {
    Computation& c = s_.c;
    DeviceOutcome& outcome = *c.host_outcome.data();
    std::copy_n(totals, device_sum_count, outcome.totals);
    to_device(c.queue, c.totals(), outcome.totals, device_sum_count);
    if (c.job.targets > 0)
        s_.sums.remember(c, s_.evaluate.field, s_.origin());
    s_.output.to_device_arrays(c, s_.raw());
    s_.output.sums(c);
    c.fetch();
    GRAFT_CUDA(cudaEventRecord(c.enqueued, c.queue.stream()));
    c.phase = Phase::begun;
}

} // namespace graft::engine
