// SPDX-License-Identifier: BSD-3-Clause
// DeviceRanks in a periodic box. See rank_force_table.hpp.
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
    Near near{lattice.box, {}, {}, {}, lattice.reach() * lattice.reach() * (1 + 1e-12)};
    for (int a = 0; a < 3; ++a) {
        near.centre[a] = 0.5 * corners[3 + a] - 0.5 * corners[a];
        near.half[a] = 0.5 * corners[3 + a] + 0.5 * corners[a];
    }
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = lattice.box.reciprocal(a == 0, a == 1, a == 2);
        const double extent = lattice.reach() / lattice.box.width(a) + std::abs(g.x) * near.half[0] +
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

backend::DeviceBuffer<double>& RankBox::column(size_t k) {
    while (columns.size() <= k)
        columns.emplace_back(memory, "particles near the own targets");
    return columns[k];
}

/// Waits once.
void DeviceRanks::box_measure(const RankFrame& frame, BoxFacts& facts) {
    Computation& c = s_.c;
    frame_ = frame;
    c.job.all_particles = frame.all_particles;
    c.tree_from = TreeFrom::host; // no graph of a part
    constexpr double none = -std::numeric_limits<double>::infinity();
    const settings::Settings& s = c.job.settings;
    rescale_charges(c.queue, s_.import.charge.data(), c.job.n, frame.scale, c.import_state());
    box_.targets = s_.import.targets(c);
    if (c.job.targets > 0) {
        box_.corner_partial.resize(6 * (c.job.targets / 2048 + 1));
        find_corners(c.queue, box_.targets.x, box_.targets.y, box_.targets.z, c.job.targets,
                     box_.corner_partial.data(), corners_.data());
        copy(c.queue, known_.data()->corners, corners_.data(), 6 * sizeof(double));
    }
    const bool slab = s.open_axis >= 0;
    s_.lattice.sum.find_facts(c.queue, s_.import.sources(c.job),
                              c.job.with_points ? box_.targets : forces::DeviceSources{}, s.open_axis,
                              slab ? frame.centre[s.open_axis] : 0, &c.outcome.data()->periodic);
    c.fetch();
    c.queue.wait();
    const periodic::PeriodicFacts& own = c.host_outcome.data()->periodic;
    facts = {};
    facts.sums[0] = own.magnitude, facts.sums[1] = own.magnitude * own.softening_square;
    facts.sums[2] = own.moments[0], facts.sums[3] = own.moments[1];
    const particles::DeviceImportState& import = c.host_outcome.data()->import;
    facts.sums[4] = import.net, facts.sums[5] = import.magnitude;
    facts.most[0] = own.longest, facts.most[1] = -own.lower, facts.most[2] = own.upper;
    facts.most[3] = c.job.outputs.virial.present() && !c.job.with_points ? 1 : 0;
    facts.most[4] = c.job.some() && c.job.n > 0 ? 1 : 0;
    for (int k = 0; k < 6; ++k)
        facts.targets[k] = c.job.targets > 0 ? known_.data()->corners[k] : none;
}

void DeviceRanks::box_plan(const BoxFrame& frame) {
    Computation& c = s_.c;
    const BoxFacts& all = frame.facts;
    const double square = all.sums[0] > 0 ? all.sums[1] / all.sums[0] : 0;
    box_.with_virial = frame.with_virial;
    s_.lattice.net = all.sums[4], s_.lattice.magnitude = all.sums[5];
    box_.facts.resize(1);
    *box_.facts.data() = {all.most[0], -all.most[1], all.most[2],
                          all.sums[0], square,       {all.sums[2], all.sums[3]}};
    s_.lattice.plan_for(*box_.facts.data());
    s_.lattice.plan(c);
    copy(c.queue, &c.outcome.data()->periodic, box_.facts.data(), sizeof(periodic::PeriodicFacts));
}

/// The sum over the own particles in page-locked memory, which the sum over all ranks is to replace. Waits.
double* DeviceRanks::box_structure(int64_t& size) {
    Computation& c = s_.c;
    size = s_.lattice.sum.structure_size();
    box_.structure.resize(size), box_.host_structure.resize(size);
    s_.lattice.sum.sum_structure(c.queue, c.job.evaluation(), s_.import.sources(c.job), frame_.all_particles,
                                 box_.structure.data());
    copy(c.queue, box_.host_structure.data(), box_.structure.data(), size * int64_t{sizeof(double)});
    c.queue.wait();
    return box_.host_structure.data();
}

/// Waits once, for the size.
int64_t DeviceRanks::box_pack(int32_t rank, const double* corners, bool on_device) {
    Computation& c = s_.c;
    if (c.job.n == 0 || !(corners[0] + corners[3] >= 0)) // no targets there
        return 0;
    const int64_t n = c.job.n;
    packing_.flags.resize(n), packing_.number.resize(n), packing_.wanted.resize(1);
    flag_near<<<backend::blocks_for(n, threads), threads, 0, c.queue.stream()>>>(
        s_.import.sources(c.job), near_box(s_.lattice.sum.lattice(), corners), packing_.flags.data(),
        c.queue.status());
    GRAFT_CUDA_LAUNCHED("particles near another rank");
    ++c.queue.launches;
    backend::select_flagged(c.queue, packing_.flags.data(), packing_.number.data(), packing_.wanted.data(),
                            n);
    copy(c.queue, &known_.data()->particles, packing_.wanted.data(), sizeof(int32_t));
    c.queue.wait();
    const int64_t count = known_.data()->particles;
    if (count == 0)
        return 0;
    const Columns columns{{s_.import.x.data(), s_.import.y.data(), s_.import.z.data(),
                           s_.import.charge.data(), s_.import.softening.data()},
                          c.job.per_particle ? 5 : 4};
    RankParcel& parcel = packing_.parcel(rank);
    parcel.bytes = count * columns.count * int64_t{sizeof(double)};
    parcel.device.resize(parcel.bytes);
    pack_columns<<<backend::blocks_for(count, threads), threads, 0, c.queue.stream()>>>(
        columns, packing_.number.data(), count, reinterpret_cast<double*>(parcel.device.data()));
    GRAFT_CUDA_LAUNCHED("particles for another rank");
    ++c.queue.launches;
    if (!on_device) {
        parcel.host.resize(parcel.bytes);
        copy(c.queue, parcel.host.data(), parcel.device.data(), parcel.bytes);
    }
    GRAFT_CUDA(cudaEventRecord(parcel.done, c.queue.stream()));
    return count;
}

/// Own particles and those that have come, behind one another.
void DeviceRanks::box_take(bool on_device, const int64_t* counts, int32_t arrivals) {
    Computation& c = s_.c;
    forest_.particles = 0;
    for (int32_t m = 0; m < arrivals; ++m)
        forest_.particles += counts[m];
    const double* const own[5] = {s_.import.x.data(), s_.import.y.data(), s_.import.z.data(),
                                  s_.import.charge.data(), s_.import.softening.data()};
    const int columns = c.job.per_particle ? 5 : 4;
    const char* const room = on_device ? forest_.arrived.data() : forest_.host_arrived.data();
    for (int k = 0; k < columns; ++k) {
        backend::DeviceBuffer<double>& to = box_.column(static_cast<size_t>(k));
        to.resize(c.job.n + forest_.particles);
        copy(c.queue, to.data(), own[k], c.job.n * int64_t{sizeof(double)});
        int64_t at = c.job.n, before = 0;
        for (int32_t m = 0; m < arrivals; ++m) {
            const int64_t bytes = counts[m] * int64_t{sizeof(double)};
            copy(c.queue, to.data() + at, room + before + k * bytes, bytes);
            at += counts[m], before += columns * bytes;
        }
    }
}

/// The own targets, and all that acts on them.
periodic::PeriodicTask DeviceRanks::box_task() {
    Computation& c = s_.c;
    periodic::PeriodicTask task = s_.lattice.task(c, s_.import);
    task.sources = {box_.column(0).data(),
                    box_.column(1).data(),
                    box_.column(2).data(),
                    box_.column(3).data(),
                    c.job.per_particle ? box_.column(4).data() : nullptr,
                    c.job.n + forest_.particles};
    task.targets = box_.targets;
    task.all = false;
    task.virial = box_.with_virial;
    task.all_particles = frame_.all_particles;
    task.structure = box_.structure.data();
    task.tells_waves = box_.tells_waves;
    if (const int axis = c.job.settings.open_axis; axis >= 0)
        task.middle = frame_.centre[axis];
    return task;
}

/// Waits; the structure factors in page-locked memory are those of all ranks by now.
void DeviceRanks::box_evaluate(bool tells_waves, RankOutcome& outcome) {
    Computation& c = s_.c;
    outcome = {};
    outcome.particles = forest_.particles, outcome.scale = frame_.scale;
    box_.tells_waves = tells_waves;
    c.clear_totals();
    clock_.record(c.queue, RankClock::own);
    if (frame_.all_particles > 0) {
        copy(c.queue, box_.structure.data(), box_.host_structure.data(),
             box_.structure.size() * int64_t{sizeof(double)});
        s_.lattice.evaluate(c, box_task(), s_.import, s_.targets, s_.evaluate.field);
    } else {
        s_.evaluate.clear(c);
    }
    clock_.record(c.queue, RankClock::own_done);
    sum_results();
    show_results();
    c.fetch();
    c.queue.wait();
    const uint64_t stop = c.queue.fetched_status().stop;
    if (asks_for_double(stop)) {
        outcome.needs_double = 1;
        return;
    }
    if (stop != backend::go)
        core::fail(core::Status::internal, "the GPU's part of a periodic box stopped (%d)", static_cast<int>(stop));
    take_sums(outcome);
    outcome.pairs = c.queue.fetched_status().pairs;
    outcome.own_s = clock_.between(RankClock::own, RankClock::own_done);
}

/// Enqueued, in place of the sum of places and forces.
void DeviceRanks::put_box_virial() {
    if (s_.c.job.settings.periodic && frame_.all_particles > 0 && box_.with_virial)
        s_.lattice.sum.put_virial(s_.c.queue, box_task());
}

} // namespace graft::engine
