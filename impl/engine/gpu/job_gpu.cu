// SPDX-License-Identifier: BSD-3-Clause
// See job_gpu.cuh.
#include "engine/gpu/job_gpu.cuh"

#include "engine/checks.hpp"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

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

} // namespace

void DeviceJob::choose_pairs() {
    const bool softened = per_particle || settings.softening_length > 0;
    pairs = {softened ? static_cast<forces::Softening>(settings.softening) : forces::Softening::none,
             softened && per_particle, with_potential};
}

DeviceJob accept(const settings::Settings& settings, const ParticleInput& particles,
                 const ParticleInput* points, const Outputs& outputs) {
    DeviceJob job;
    job.settings = settings;
    job.particles = particles;
    job.outputs = outputs;
    job.with_points = points != nullptr;
    if (points != nullptr)
        job.points = *points;
    job.n = job.all_particles = particles.n;
    job.per_particle = particles.softening.present();
    job.all_targets = !job.with_points && !particles.has_active && !particles.has_target;
    job.targets = job.with_points ? points->n : (particles.has_target ? particles.target.n : particles.n);
    job.with_sums = outputs.virial.present() || outputs.energy.present();
    job.with_potential = outputs.potential.present() || outputs.energy.present();
    job.choose_pairs();
    if (settings.periodic && job.n > 0)
        check_lattice(settings, job.per_particle || settings.softening_length > 0,
                      outputs.virial.present() && !job.all_targets && !job.with_points);
    job.sums_exactly = settings.method != settings::Method::tree;
    if (settings.periodic) // no screened cells here: both methods are this one sum
        job.settings.method = settings::Method::direct;
    return job;
}

void DeviceJob::choose_sizes() {
    if (!settings.tuned) {
        settings.leaf = far_sizes.leaf, settings.group = far_sizes.group;
        if (why_not_local() != nullptr)
            settings.leaf = sizes.leaf, settings.group = sizes.group;
    }
    if (settings.device.walk == settings::walk_auto)
        settings.device.walk = static_cast<int32_t>(faster_walk(targets, settings.group));
}

bool DeviceJob::remembers() const {
    return is_tree() && settings.mac == settings::MacType::error && settings.mac_history && all_targets &&
           !with_points;
}

bool DeviceJob::keeps_lists() const {
    return settings.device.reuse > 0 && is_tree() && settings.tree_type == tree::TreeType::octree &&
           all_targets && !with_points && !over_ranks && !empty() &&
           (kernel() == forces::DeviceKernel::automatic || kernel() == forces::DeviceKernel::units);
}

bool DeviceJob::feeds() const {
    return settings.device.buffer > 0 && !over_ranks &&
           (kernel() == forces::DeviceKernel::pairs_1d || kernel() == forces::DeviceKernel::tiles_2d);
}

const char* DeviceJob::why_not_local() const {
    const bool plummer_each = pairs.softening == forces::Softening::plummer && pairs.per_particle;
    const char* const why = forces::why_not_local(settings, plummer_each, forces::M2lDevice::gpu);
    if (why == nullptr && settings.local == settings::Local::auto_ &&
        targets / settings.group < forces::least_far_groups)
        return "no faster for so few targets on a GPU";
    return why;
}

forces::DeviceEvaluation DeviceJob::evaluation() const {
    forces::DeviceEvaluation how;
    how.pairs = pairs;
    how.softening_length = settings.softening_length;
    how.precision = static_cast<forces::DevicePrecision>(settings.precision);
    how.order = settings.order;
    how.group = settings.group;
    how.leaf = settings.leaf;
    how.kernel = kernel();
    how.local = why_not_local() == nullptr;
    // Kept lists are split anew for moved particles; what groups share is not.
    how.packed = how.local && !keeps_lists();
    how.block_x = settings.device.block_x, how.block_y = settings.device.block_y;
    return how;
}

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

} // namespace graft::engine
