// The methods on the device, step by step: tree_force.cpp and direct.cpp there.
#include "engine/gpu/engine_gpu.cuh"

#include "backend/primitives_gpu.cuh"
#include "essential/forest.hpp"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int direct_block = 256; // targets that stand together in space

} // namespace

tree::TreeOptions octree_options(const settings::Settings& settings) {
    tree::TreeOptions options;
    options.dimension = settings.dimension;
    options.leaf = settings.leaf;
    if (settings.has_box) {
        options.has_root = true;
        for (int a = 0; a < settings.dimension; ++a) {
            options.root_lower[a] = settings.box_lower[a];
            options.root_edge = std::max(options.root_edge, settings.box_upper[a] - settings.box_lower[a]);
        }
    }
    return options;
}

void DeviceForce::build_tree() {
    const settings::Settings& settings = job_.settings;
    const tree::DeviceParticleView particles{job_.n,         x_.data(),
                                             y_.data(),      z_.data(),
                                             charge_.data(), job_.per_particle ? softening_.data() : nullptr};
    tree::TwoPhase two_phase;
    two_phase.top_depth = settings.device.top_depth;
    builder_.build(queue_, octree_options(settings), particles, tree_,
                   static_cast<tree::DeviceBuild>(settings.device.build), two_phase);
    clock_.record(queue_.stream(), DeviceClock::built, capturing_);
}

void DeviceForce::sum_moments() {
    moments::compute_moments(queue_, tree_, job_.settings.order, moments_);
}

void DeviceForce::choose_targets() {
    const int group = job_.settings.group;
    targets_.keeps_factors = reusing_; // the criterion, which made them, stays as it is
    if (job_.with_points)
        target_maker_.set_points(queue_, job_.settings.dimension, job_.targets, point_x_.data(),
                                 point_y_.data(), point_z_.data(),
                                 job_.per_particle ? point_length_.data() : nullptr, group, targets_);
    else if (job_.all_targets)
        target_maker_.set_all(queue_, tree_, group, targets_);
    else
        target_maker_.set_active(queue_, tree_, active_.data(), job_.targets, group, targets_);
}

/// Moments, and targets beside them: both read the tree alone. Moments come up from leaf to root and leave
/// most of the device to others.
void DeviceForce::follow_tree() {
    side_.follow(queue_.stream());
    sum_moments();
    {
        const backend::OnSide beside(queue_, side_);
        choose_targets();
    }
    side_.join(queue_.stream());
}

/// Tree, moments and targets are there: criterion and factors of the error MAC, and beside them expansions
/// and cells.
void DeviceForce::prepare_walk() {
    side_.follow(queue_.stream());
    {
        const backend::OnSide beside(queue_, side_);
        const bool plummer = job_.pairs.softening == forces::Softening::plummer;
        moments::fill_expansion(queue_, tree_, plummer, job_.settings.precision == settings::Precision::fp64, moments_);
    }
    clock_.record(queue_.stream(), DeviceClock::summed, capturing_);
    if (!reusing_)
        fill_criterion();
    set_first_capacities();
    const forces::DeviceEvaluation how = evaluation();
    if (how.packed) {
        const backend::OnSide beside(queue_, side_);
        far_ = evaluator_.pack(queue_, how, tree_, moments_);
    }
    side_.join(queue_.stream());
    clock_.record(queue_.stream(), DeviceClock::prepared, capturing_);
}

void DeviceForce::fill_criterion() {
    const settings::Settings& settings = job_.settings;
    if (keeps_lists())
        watch_.remember(queue_, watched());
    criterion_.skin = keeps_lists() ? 2 * settings.device.skin : 0;
    const bool error = settings.mac == settings::MacType::error;
    const bool use_last = settings.mac_history && !job_.with_points && last_n_ == job_.n;
    if (error)
        estimate_.prepare(queue_, settings, job_.per_particle, tree_, moments_, criterion_.skin);
    lists::fill_criterion(queue_, tree_, moments_, essential::criterion_options(settings),
                          error ? estimate_.reach() : nullptr, criterion_);
    if (error && use_last)
        lists::scale_groups_by_last(queue_, settings, last_.data(), targets_);
    else if (error)
        estimate_.scale_groups(queue_, settings, tree_, targets_);
}

/// Whether far cells become polynomials of groups, and why not.
const char* DeviceForce::why_not_local() const {
    const settings::Settings& settings = job_.settings;
    const bool plummer_each = job_.pairs.softening == forces::Softening::plummer && job_.pairs.per_particle;
    const char* const why = forces::why_not_local(settings, plummer_each, forces::LocalPlace::gpu);
    if (why == nullptr && settings.local == settings::Local::auto_ && job_.targets / settings.group < forces::least_far_groups)
        return "no faster for so few targets on a GPU";
    return why;
}

forces::DeviceEvaluation DeviceForce::evaluation() const {
    const settings::Settings& settings = job_.settings;
    forces::DeviceEvaluation how;
    how.pairs = job_.pairs;
    how.softening_length = settings.softening_length;
    how.precision = static_cast<forces::DevicePrecision>(settings.precision);
    how.order = settings.order;
    how.group = settings.group;
    how.leaf = settings.leaf;
    how.kernel = static_cast<forces::DeviceKernel>(settings.device.kernel);
    how.local = why_not_local() == nullptr;
    // Kept lists are cut anew for moved particles; what groups share is not.
    how.packed = how.local && !keeps_lists() && !job_.over_ranks;
    how.block_x = settings.device.block_x, how.block_y = settings.device.block_y;
    return how;
}

/// Whether the host feeds liu2022's kernels; lists of several ranks stay on the device.
bool DeviceForce::feeds() const {
    const auto kernel = static_cast<forces::DeviceKernel>(job_.settings.device.kernel);
    return job_.settings.device.buffer > 0 && !job_.over_ranks &&
           (kernel == forces::DeviceKernel::pairs_1d || kernel == forces::DeviceKernel::tiles_2d);
}

void DeviceForce::evaluate_batches() {
    set_first_capacities();
    forces::DeviceEvaluation how = evaluation();
    summed_to_records_ = sums_to_records();
    how.records = summed_to_records_ ? spare_records() : nullptr;
    const auto kind = static_cast<lists::DeviceWalk>(job_.settings.device.walk);
    fed_report_ = {};
    if (!feeds())
        fed_.reset();
    else if (!fed_)
        fed_ = forces::require_variants().make_feed(memory_);
    for (int b = 0; b < batches_; ++b) {
        if (!reusing_)
            list_builder_.build(queue_, tree_, criterion_, targets_, kind, b, batches_, lists_,
                                how.packed ? &far_ : nullptr);
        if (b < DeviceClock::timed_batches)
            clock_.record(queue_.stream(), DeviceClock::batches + 2 * b, capturing_);
        if (feeds()) {
            fed_->evaluate(queue_, how, job_.settings.device.buffer, tree_, moments_, targets_, lists_,
                          field_);
            fed_report_.add(fed_->report());
        } else {
            evaluator_.evaluate(queue_, how, tree_, moments_, targets_, lists_, field_);
        }
        if (b < DeviceClock::timed_batches)
            clock_.record(queue_.stream(), DeviceClock::batches + 2 * b + 1, capturing_);
    }
    if (batches_ > DeviceClock::timed_batches)
        clock_.record(queue_.stream(), DeviceClock::rest, capturing_);
    origin_ = targets_.origin;
}

/// Targets that no tree has ordered: chosen particles are gathered.
forces::DeviceSources DeviceForce::direct_targets() {
    const int64_t count = job_.targets;
    const double *x = x_.data(), *y = y_.data(), *z = z_.data(), *length = softening_.data();
    const bool chosen = !job_.with_points && !job_.all_targets;
    if (chosen) {
        for (backend::DeviceBuffer<double>* values : {&point_x_, &point_y_, &point_z_})
            values->resize(count);
        point_length_.resize(job_.per_particle ? count : 0);
        chosen_.resize(job_.n);
        chosen_count_.resize(1);
        backend::select_flagged(queue_, active_.data(), chosen_.data(), chosen_count_.data(), job_.n);
        gather(queue_, chosen_.data(), count, {x, y, z, job_.per_particle ? length : nullptr},
               {point_x_.data(), point_y_.data(), point_z_.data(), point_length_.data()});
    }
    if (chosen || job_.with_points)
        x = point_x_.data(), y = point_y_.data(), z = point_z_.data(), length = point_length_.data();
    return {x,
            y,
            z,
            job_.with_points || chosen ? nullptr : charge_.data(),
            job_.per_particle ? length : nullptr,
            count};
}

/// All pairs: targets in compact blocks along the Morton curve, sources as the host has them.
void DeviceForce::evaluate_direct() {
    const int64_t count = job_.targets;
    const bool chosen = !job_.with_points && !job_.all_targets;
    const forces::DeviceSources at = direct_targets();
    if (job_.settings.periodic)
        return evaluate_periodic(at);
    if (!host_built_)
        target_maker_.set_points(queue_, job_.settings.dimension, count, at.x, at.y, at.z, at.softening,
                                 direct_block, targets_);
    clock_.record(queue_.stream(), DeviceClock::prepared, capturing_);
    origin_ = targets_.origin;
    if (chosen) {
        chosen_origin_.resize(count);
        compose(queue_, chosen_.data(), targets_.origin, count, chosen_origin_.data());
        origin_ = chosen_origin_.data();
    }
    const forces::DeviceSources sources{
        x_.data(), y_.data(), z_.data(), charge_.data(), job_.per_particle ? softening_.data() : nullptr,
        job_.n};
    const forces::DeviceSources to{targets_.x, targets_.y, targets_.z, nullptr, targets_.softening, count};
    direct_.evaluate(queue_, evaluation(),
                     static_cast<forces::DirectStage>(job_.settings.device.direct_stage), sources, to,
                     field_);
    clock_.record(queue_.stream(), DeviceClock::batches, capturing_); // no lists: forces begin at `prepared`
}

} // namespace graft::engine
