// Memory of a computation on the GPU: how many batches of groups, room for one, and what is given back when
// memory runs out. The arithmetic is memory_cap.hpp's.
//
// What is not of a batch (particles, tree, moments, targets, the field, results for the host) is allocated
// before the batches are planned; the rest of what gpu.memory allows, or half of what is free where nothing
// is said, is theirs.
#include "engine/gpu/engine_gpu.cuh"

#include "particles/scatter_gpu.cuh"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int64_t usual_list_limit = int64_t{8} << 30;
constexpr int64_t held_back = 1 << 20; // for scratch of scans

bool uses_units(const settings::Settings& settings) {
    return forces::works_by_units(static_cast<forces::DeviceKernel>(settings.device.kernel));
}

/// The output takes the node lists' memory for its records (enqueue_output): they get as much as that needs,
/// where memory is ample.
void hold_records(const DeviceJob& job, int64_t bytes_free, lists::DeviceLists& lists) {
    const int64_t bytes = job.targets * int64_t{sizeof(particles::ExportRecord)};
    if ((job.with_points || job.all_targets) && particles::serves_records(job.targets) &&
        bytes <= bytes_free / 4)
        lists.nodes.resize(bytes / int64_t{sizeof(int32_t)});
}

} // namespace

BatchShape DeviceForce::batch_shape() const {
    const settings::Settings& settings = job_.settings;
    return {targets_.groups.size(),
            list_builder_.bytes_a_group(static_cast<lists::DeviceWalk>(settings.device.walk)),
            planned_.in_double, planned_.with_units, planned_.with_local};
}

/// With the room of batches given back: what there is.
BatchLimits DeviceForce::batch_limits() const {
    const settings::DeviceOptions& options = job_.settings.device;
    const int64_t free = memory_.bytes_free();
    const bool all = options.memory_limit > 0 || lean_;
    const int64_t allowed = all ? free - free / 32 - held_back : free / 2;
    return {std::max<int64_t>(allowed, 0),
            options.list_limit > 0 ? std::max(options.list_limit, least_list_limit) : usual_list_limit};
}

/// What evaluation and output allocate whatever the batches.
void DeviceForce::hold_fixed_room() {
    lists_.node_offset.resize(targets_.groups.size() + 2);
    lists_.leaf_offset.resize(targets_.groups.size() + 2);
    if (uses_units(job_.settings))
        evaluator_.hold_cells(evaluation(), tree_);
    particles::DeviceRealExport all[particles::most_device_exports];
    hold_results(all, wanted(all));
}

void DeviceForce::release_batch_room() {
    lists_.nodes.release(), lists_.leaves.release();
    list_builder_.release_room();
    evaluator_.release_room();
    room_ = {};
    kept_.valid = reusing_ = false;
}

bool DeviceForce::has_batch_room() const {
    return lists_.nodes.capacity() + lists_.leaves.capacity() > 0;
}

/// room_ is set last: what has none is planned anew, also after a failure in here.
void DeviceForce::take_plan(const BatchPlan& plan) {
    room_ = {};
    batches_ = static_cast<int>(plan.batches);
    if (job_.settings.device.memory_limit == 0 && !lean_ && batches_ == 1)
        hold_records(job_, memory_.bytes_free(), lists_);
    lists_.nodes.resize(plan.room.node_entries);
    lists_.leaves.resize(plan.room.leaf_entries);
    take_groups(plan.room);
    room_ = plan.room;
}

/// Room for the first computation, or the first one under other limits: from a guess of the lists' lengths.
void DeviceForce::set_first_capacities() {
    const settings::DeviceOptions& options = job_.settings.device;
    const bool in_double = job_.settings.precision == settings::Precision::fp64, units = uses_units(job_.settings);
    const bool local = evaluation().local;
    if (planned_.memory != options.memory_limit || planned_.lists != options.list_limit ||
        (in_double && !planned_.in_double) || (units && !planned_.with_units) ||
        (local && !planned_.with_local))
        release_batch_room();
    planned_ = {options.memory_limit, options.list_limit, in_double || planned_.in_double,
                units || planned_.with_units, local || planned_.with_local};
    hold_fixed_room();
    if (room_.node_entries > 0) {
        take_groups(room_); // there may be more of them now
        return;
    }
    const BatchShape shape = batch_shape();
    BatchShape likely = shape;
    likely.groups = std::min(3 * job_.targets / (2 * std::max(1, job_.settings.group)) + 64, shape.groups);
    BatchPlan plan =
        plan_batches(shape, batch_limits(), 1, guess_numbers(likely, job_.targets, job_.settings.leaf));
    if (!plan.fits) // a guess that does not fit is no reason to give up
        plan.room = {1024, 1024, 256, 16384};
    take_plan(plan);
    guessed_ = true;
}

/// What the room takes beside the lists; frames go by the number of groups.
void DeviceForce::take_groups(const BatchNumbers& room) {
    const BatchShape shape = batch_shape();
    if (shape.with_units)
        evaluator_.set_room(evaluator_room(shape, batches_, room));
}

/// After a computation that found its room too small. False: it did not ask for any of this.
bool DeviceForce::grow_batch_room(const backend::DeviceStatus& status) {
    BatchNumbers needed{status.node_entries_needed, status.leaf_entries_needed, status.units_needed,
                        status.slots_needed};
    const bool lists = needed.node_entries > room_.node_entries || needed.leaf_entries > room_.leaf_entries;
    const bool units = needed.units > room_.units || needed.slots > room_.slots;
    if (!lists && !units)
        return false;
    const BatchShape shape = batch_shape();
    if (needed.units == 0 && shape.with_units)
        guess_units(shape, batches_, job_.targets, job_.settings.leaf, needed);
    const BatchNumbers before = room_;
    release_batch_room();
    const BatchLimits limits = batch_limits();
    // Batches behind the one that stopped may need what this one did not: as much as before, if it fits.
    const auto both = [](int64_t now, int64_t then) { return std::max(now, then - then / 6); };
    BatchPlan plan = plan_batches(shape, limits, batches_,
                                  {both(needed.node_entries, guessed_ ? 0 : before.node_entries),
                                   both(needed.leaf_entries, guessed_ ? 0 : before.leaf_entries),
                                   both(needed.units, guessed_ ? 0 : before.units),
                                   both(needed.slots, guessed_ ? 0 : before.slots)});
    if (!plan.fits || plan.batches != batches_)
        plan = plan_batches(shape, limits, batches_, needed);
    if (!plan.fits)
        core::fail(
            core::Status::memory,
            "device %d: no memory for the lists and partial sums of one group of targets at a time: %lld "
            "bytes wanted, %lld free%s, %lld held by Graft; allow more, or use a smaller tree.group or "
            "a less accurate criterion",
            memory_.device(), static_cast<long long>(plan.bytes), static_cast<long long>(limits.bytes),
            planned_.memory > 0 ? " of what gpu.memory allows" : "",
            static_cast<long long>(memory_.bytes_held()));
    take_plan(plan);
    return true;
}

/// After the first computation with guessed room: kernels that go through all there is room for should not go
/// through more than there is. The memory is kept.
void DeviceForce::tighten_room(const backend::DeviceStatus& status) {
    if (!guessed_ || reusing_ || !job_.is_tree() || job_.empty())
        return;
    guessed_ = false;
    const auto less = [](int64_t& room, int64_t needed) {
        room = std::min(room, std::max<int64_t>(with_spare_room(needed), 1024));
    };
    less(room_.node_entries, status.node_entries_needed);
    less(room_.leaf_entries, status.leaf_entries_needed);
    lists_.nodes.resize(room_.node_entries), lists_.leaves.resize(room_.leaf_entries);
    take_groups(room_);
}

} // namespace graft::engine
