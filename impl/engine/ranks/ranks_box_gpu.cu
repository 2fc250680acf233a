// DeviceForce over ranks, fourth part: a periodic box. See rank_force_table.hpp.
//
// A rank sends each of its particles once to every rank whose targets' box an image of it may come near; the
// receiver looks for the images itself, as in one process. Positions are in the box already.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <algorithm>
#include <limits>

namespace graft::engine {

namespace {

constexpr int threads = 256;

/// The box of a rank's targets, and how far images may be from it.
struct Near {
    geometry::Lattice box;
    double centre[3], half[3], reach[3];
    double square;
};

Near near_box(const periodic::DeviceLattice& lattice, const double* corners) {
    Near near{lattice.box, {}, {}, {}, lattice.cutoff * lattice.cutoff * (1 + 1e-12)};
    for (int a = 0; a < 3; ++a) {
        near.centre[a] = 0.5 * corners[3 + a] - 0.5 * corners[a];
        near.half[a] = 0.5 * corners[3 + a] + 0.5 * corners[a];
    }
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = lattice.box.reciprocal(a == 0, a == 1, a == 2);
        const double extent = lattice.cutoff / lattice.box.width(a) + std::abs(g.x) * near.half[0] +
                              std::abs(g.y) * near.half[1] + std::abs(g.z) * near.half[2];
        near.reach[a] = extent * (1 + 1e-9) + 1e-9;
    }
    return near;
}

__global__ void flag_near(const forces::DeviceSources from, const Near near, uint8_t* flag,
                          const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= from.n || backend::stopped(status))
        return;
    const double dx = from.x[k] - near.centre[0], dy = from.y[k] - near.centre[1],
                 dz = from.z[k] - near.centre[2];
    const geometry::Vec3 f =
        near.box.fractions(dx + near.box.lower[0], dy + near.box.lower[1], dz + near.box.lower[2]);
    bool hit = false;
    for (double l = ceil(-near.reach[2] - f.z); l <= near.reach[2] - f.z && !hit; ++l)
        for (double j = ceil(-near.reach[1] - f.y); j <= near.reach[1] - f.y && !hit; ++j)
            for (double i = ceil(-near.reach[0] - f.x); i <= near.reach[0] - f.x && !hit; ++i) {
                const geometry::Vec3 s = near.box.shift(i, j, l);
                const double gx = fmax(fabs(dx + s.x) - near.half[0], 0.0),
                             gy = fmax(fabs(dy + s.y) - near.half[1], 0.0),
                             gz = fmax(fabs(dz + s.z) - near.half[2], 0.0);
                hit = gx * gx + gy * gy + gz * gz <= near.square;
            }
    flag[k] = hit ? 1 : 0;
}

struct Columns {
    const double* column[5];
    int count;
};

__global__ void pack_columns(const Columns from, const int32_t* index, int64_t n, double* to) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    for (int c = 0; k < n && c < from.count; ++c)
        to[c * n + k] = from.column[c][index[k]];
}

void copy(backend::Queue& queue, void* to, const void* from, int64_t bytes) {
    if (bytes > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, queue.stream()));
}

} // namespace

int64_t DeviceForce::all_particles_of_ranks() const {
    return ranks_->frame.all_particles;
}

void DeviceForce::charges_of_ranks(double& net, double& magnitude, double& count) const {
    net = ranks_->box_net, magnitude = ranks_->box_magnitude;
    count = static_cast<double>(ranks_->frame.all_particles);
}

forces::DeviceSources DeviceForce::own_sources() const {
    return {x_.data(), y_.data(), z_.data(), charge_.data(), job_.per_particle ? softening_.data() : nullptr,
            job_.n};
}

/// Waits once.
void DeviceForce::ranks_box_measure(const RankFrame& frame, BoxFacts& facts) {
    Ranks& r = ranks();
    r.frame = frame;
    host_built_ = true; // no graph of a part
    constexpr double none = -std::numeric_limits<double>::infinity();
    const settings::Settings& s = job_.settings;
    rescale_charges(queue_, charge_.data(), job_.n, frame.scale, &outcome_.data()->import);
    r.box_targets = direct_targets();
    if (job_.targets > 0) {
        r.corner_partial.resize(6 * (job_.targets / 2048 + 1));
        find_corners(queue_, r.box_targets.x, r.box_targets.y, r.box_targets.z, job_.targets,
                     r.corner_partial.data(), r.corners.data());
        copy(queue_, r.known.data()->corners, r.corners.data(), 6 * sizeof(double));
    }
    const bool slab = s.open_axis >= 0;
    periodic_.find_facts(queue_, own_sources(), job_.with_points ? r.box_targets : forces::DeviceSources{},
                         s.open_axis, slab ? frame.centre[s.open_axis] : 0, &outcome_.data()->periodic);
    fetch();
    queue_.wait();
    const periodic::PeriodicFacts& own = host_outcome_.data()->periodic;
    facts = {};
    facts.sums[0] = own.magnitude, facts.sums[1] = own.magnitude * own.softening_square;
    facts.sums[2] = own.moments[0], facts.sums[3] = own.moments[1];
    const particles::DeviceImportState& import = host_outcome_.data()->import;
    facts.sums[4] = import.net, facts.sums[5] = import.magnitude;
    facts.most[0] = own.longest, facts.most[1] = -own.lower, facts.most[2] = own.upper;
    facts.most[3] = job_.outputs.virial.present() && !job_.with_points ? 1 : 0;
    facts.most[4] = !job_.with_points && !job_.all_targets && job_.n > 0 ? 1 : 0;
    for (int c = 0; c < 6; ++c)
        facts.targets[c] = job_.targets > 0 ? r.known.data()->corners[c] : none;
}

void DeviceForce::ranks_box_plan(const BoxFrame& frame) {
    Ranks& r = ranks();
    const BoxFacts& all = frame.facts;
    const double square = all.sums[0] > 0 ? all.sums[1] / all.sums[0] : 0;
    r.box_virial = frame.with_virial;
    r.box_net = all.sums[4], r.box_magnitude = all.sums[5];
    r.box_facts.resize(1);
    *r.box_facts.data() = {all.most[0], -all.most[1], all.most[2],
                           all.sums[0], square,       {all.sums[2], all.sums[3]}};
    plan_for(*r.box_facts.data());
    plan_periodic();
    copy(queue_, &outcome_.data()->periodic, r.box_facts.data(), sizeof(periodic::PeriodicFacts));
}

/// The sum over the own particles in page-locked memory, which the sum over all ranks is to replace. Waits.
double* DeviceForce::ranks_box_structure(int64_t& size) {
    Ranks& r = ranks();
    size = periodic_.structure_size();
    r.structure.resize(size), r.host_structure.resize(size);
    periodic_.sum_structure(queue_, evaluation(), own_sources(), r.frame.all_particles, r.structure.data());
    copy(queue_, r.host_structure.data(), r.structure.data(), size * int64_t{sizeof(double)});
    queue_.wait();
    return r.host_structure.data();
}

/// Waits once, for the size.
int64_t DeviceForce::ranks_box_pack(int32_t rank, const double* corners, bool on_device) {
    Ranks& r = ranks();
    if (job_.n == 0 || !(corners[0] + corners[3] >= 0)) // no targets there
        return 0;
    const int64_t n = job_.n;
    r.flags.resize(n), r.number.resize(n), r.wanted.resize(1);
    flag_near<<<backend::blocks_for(n, threads), threads, 0, queue_.stream()>>>(
        own_sources(), near_box(periodic_.lattice(), corners), r.flags.data(), queue_.status());
    GRAFT_CUDA_LAUNCHED("particles near another rank");
    ++queue_.launches;
    backend::select_flagged(queue_, r.flags.data(), r.number.data(), r.wanted.data(), n);
    copy(queue_, &r.known.data()->particles, r.wanted.data(), sizeof(int32_t));
    queue_.wait();
    const int64_t count = r.known.data()->particles;
    if (count == 0)
        return 0;
    const Columns columns{{x_.data(), y_.data(), z_.data(), charge_.data(), softening_.data()},
                          job_.per_particle ? 5 : 4};
    Ranks::Parcel& parcel = r.parcel(rank);
    parcel.bytes = count * columns.count * int64_t{sizeof(double)};
    parcel.device.resize(parcel.bytes);
    pack_columns<<<backend::blocks_for(count, threads), threads, 0, queue_.stream()>>>(
        columns, r.number.data(), count, reinterpret_cast<double*>(parcel.device.data()));
    GRAFT_CUDA_LAUNCHED("particles for another rank");
    ++queue_.launches;
    if (!on_device) {
        parcel.host.resize(parcel.bytes);
        copy(queue_, parcel.host.data(), parcel.device.data(), parcel.bytes);
    }
    GRAFT_CUDA(cudaEventRecord(parcel.done, queue_.stream()));
    return count;
}

/// Own particles and those that have come, behind one another.
void DeviceForce::ranks_box_take(bool on_device, const int64_t* counts, int32_t arrivals) {
    Ranks& r = ranks();
    r.particles = 0;
    for (int32_t m = 0; m < arrivals; ++m)
        r.particles += counts[m];
    const double* const own[5] = {x_.data(), y_.data(), z_.data(), charge_.data(), softening_.data()};
    const int columns = job_.per_particle ? 5 : 4;
    const char* const room = on_device ? r.arrived.data() : r.host_arrived.data();
    for (int c = 0; c < columns; ++c) {
        backend::DeviceBuffer<double>& to = r.box_column(c);
        to.resize(job_.n + r.particles);
        copy(queue_, to.data(), own[c], job_.n * int64_t{sizeof(double)});
        int64_t at = job_.n, before = 0;
        for (int32_t m = 0; m < arrivals; ++m) {
            const int64_t bytes = counts[m] * int64_t{sizeof(double)};
            copy(queue_, to.data() + at, room + before + c * bytes, bytes);
            at += counts[m], before += columns * bytes;
        }
    }
}

/// The own targets, and all that acts on them.
periodic::PeriodicTask DeviceForce::ranks_box_task(bool tells_waves) {
    Ranks& r = ranks();
    periodic::PeriodicTask task = periodic_task();
    task.sources = {r.box_column(0).data(),
                    r.box_column(1).data(),
                    r.box_column(2).data(),
                    r.box_column(3).data(),
                    job_.per_particle ? r.box_column(4).data() : nullptr,
                    job_.n + r.particles};
    task.targets = r.box_targets;
    task.all = false;
    task.virial = r.box_virial;
    task.all_particles = r.frame.all_particles;
    task.structure = r.structure.data();
    task.tells_waves = tells_waves;
    if (const int axis = job_.settings.open_axis; axis >= 0)
        task.middle = r.frame.centre[axis];
    return task;
}

/// Waits; the structure factors in page-locked memory are those of all ranks by now.
void DeviceForce::ranks_box_evaluate(bool tells_waves, RankOutcome& outcome) {
    Ranks& r = ranks();
    outcome = {};
    outcome.particles = r.particles, outcome.scale = r.frame.scale;
    GRAFT_CUDA(cudaMemsetAsync(outcome_.data()->totals, 0, sizeof(DeviceOutcome::totals), queue_.stream()));
    GRAFT_CUDA(cudaEventRecord(r.sums[0], queue_.stream()));
    const bool any = r.frame.all_particles > 0;
    const periodic::PeriodicTask task = any ? ranks_box_task(tells_waves) : periodic::PeriodicTask{};
    if (any) {
        copy(queue_, r.structure.data(), r.host_structure.data(),
             r.structure.size() * int64_t{sizeof(double)});
        evaluate_box(task);
    } else {
        for (backend::DeviceBuffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            particles::fill(queue_, values->data(), 0, values->size());
    }
    GRAFT_CUDA(cudaEventRecord(r.sums[1], queue_.stream()));
    ranks_box_results(task);
    fetch();
    queue_.wait();
    if (queue_.fetched_status().stop == particles::bad_result)
        raise_bad_result();
    if (queue_.fetched_status().stop != backend::go)
        core::fail(core::Status::internal, "the GPU's part of a periodic box stopped (%d)",
                   static_cast<int>(queue_.fetched_status().stop));
    std::copy_n(host_outcome_.data()->totals, device_sum_count, outcome.totals);
    outcome.pairs = queue_.fetched_status().pairs;
    float time_ms = 0;
    GRAFT_CUDA(cudaEventElapsedTime(&time_ms, r.sums[0], r.sums[1]));
    outcome.own_s = 1e-3 * static_cast<double>(time_ms);
}

/// As ranks_results().
void DeviceForce::ranks_box_results(const periodic::PeriodicTask& task) {
    Ranks& r = ranks();
    const bool own = job_.targets > 0 && !job_.with_points;
    DeviceTargetSources sources = target_sources();
    sources.has_centre = true;
    std::copy_n(r.frame.centre, 3, sources.centre);
    if (own && job_.with_potential && job_.settings.softening != settings::Softening::none)
        remove_self_potential(queue_, static_cast<forces::Softening>(job_.settings.softening), sources,
                              field_, job_.targets);
    if (own && job_.with_sums)
        sum_virial(queue_, sources, field_, job_.targets, partial_.data(), outcome_.data()->totals);
    if (task.virial)
        periodic_.put_virial(queue_, task);
    staged_.clear(), staged_bytes_ = 0;
    if (job_.targets == 0)
        return;
    look_at_fields();
    particles::DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(all);
    stage_results(all, count);
}

} // namespace graft::engine
