// SPDX-License-Identifier: BSD-3-Clause
// See import_inputs_gpu.cuh; on a CPU import_inputs.cpp.
#include "engine/import_inputs_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "backend/primitives_gpu.cuh"
#include "engine/checks.hpp"
#include "forces/frame.hpp"
#include "particles/import_arrays.hpp"
#include "periodic/periodic.hpp"

#include <algorithm>
#include <limits>

namespace graft::engine {

using particles::DeviceRealImport;
using particles::DeviceStaging;
using particles::ImportArray;

namespace {

constexpr double largest = std::numeric_limits<double>::max();

int positions(const ParticleInput& input, int dimension, ImportArray first, double* const (&out)[3],
              DeviceRealImport* imports) {
    for (int a = 0; a < dimension; ++a)
        imports[a] = {input.position[a], static_cast<ImportArray>(static_cast<int>(first) + a),
                      -largest_position, largest_position, out[a]};
    return dimension;
}

} // namespace

ImportStep::ImportStep(backend::DeviceMemory& memory)
    : x(memory, "x"), y(memory, "y"), z(memory, "z"), charge(memory, "charges"),
      softening(memory, "softening"), point_x(memory, "point x"), point_y(memory, "point y"),
      point_z(memory, "point z"), point_length(memory, "target softening"), point_charge(memory, "target charges"),
      staging_(memory),
      active_(memory, "target marks"), owner_(memory, "target entries"), host_active_(memory, "target marks"),
      chosen_(memory, "targets"), chosen_count_(memory, "target count") {}

forces::DeviceSources ImportStep::sources(const DeviceJob& job) const {
    return {x.data(), y.data(), z.data(), charge.data(), job.per_particle ? softening.data() : nullptr,
            job.n};
}

tree::DeviceParticleView ImportStep::view(const DeviceJob& job) const {
    return {job.n,    x.data(),      y.data(),
            z.data(), charge.data(), job.per_particle ? softening.data() : nullptr};
}

/// Arrays of n items; those in host memory travel in chunks.
void ImportStep::import_group(Computation& c, int count, const DeviceRealImport* imports, int64_t n) {
    DeviceRealImport here[particles::most_device_imports], there[particles::most_device_imports];
    int here_count = 0, there_count = 0;
    for (int a = 0; a < count; ++a)
        (imports[a].view.on_device() ? here[here_count++] : there[there_count++]) = imports[a];
    particles::DeviceImportState* state = c.import_state();
    particles::import_reals(c.queue, here_count, here, n, 0, state);
    const backend::Executor executor = c.executor();
    for (int64_t first = 0; there_count > 0 && first < n; first += DeviceStaging::chunk_items) {
        const int64_t items = std::min(DeviceStaging::chunk_items, n - first);
        particles::ArrayView from[particles::most_device_imports], to[particles::most_device_imports];
        for (int a = 0; a < there_count; ++a)
            from[a] = there[a].view;
        staging_.send(c.queue, executor, there_count, from, first, items, to);
        DeviceRealImport chunk[particles::most_device_imports];
        for (int a = 0; a < there_count; ++a) {
            chunk[a] = there[a];
            chunk[a].view = to[a];
            chunk[a].out += first;
        }
        particles::import_reals(c.queue, there_count, chunk, items, first, state);
    }
}

void ImportStep::import_particles(Computation& c) {
    const ParticleInput& input = c.job.particles;
    const int64_t n = c.job.n;
    const int dimension = c.job.settings.dimension;
    for (backend::DeviceBuffer<double>* values : {&x, &y, &z, &charge})
        c.in_place() ? backend::resize_exactly(*values, n) : values->resize(n);
    softening.resize(c.job.per_particle ? n : 0);
    c.block_sums.resize(std::max(particles::charge_partials(n), sum_partials(std::max(n, c.job.targets))));
    staging_.restart();
    particles::clear_imports(c.queue, c.import_state());
    DeviceRealImport imports[particles::most_device_imports];
    int count = positions(input, dimension, ImportArray::x, {x.data(), y.data(), z.data()}, imports);
    if (input.charge.present())
        imports[count++] = {input.charge, ImportArray::charge, -largest, largest, charge.data()};
    if (c.job.per_particle && input.softening.present())
        imports[count++] = {input.softening, ImportArray::softening, 0, largest_position, softening.data()};
    import_group(c, count, imports, n);
    if (dimension == 2)
        particles::fill(c.queue, z.data(), 0, n);
    if (!input.charge.present())
        particles::fill(c.queue, charge.data(), input.charge_all, n);
    if (c.job.per_particle && !input.softening.present()) // other ranks' particles have lengths of their own
        particles::fill(c.queue, softening.data(), c.job.settings.softening_length, n);
    import_targets(c);
    const bool any_charge = c.job.over_ranks || c.job.settings.precision == settings::Precision::fp64; // all ranks agree on it
    if (n > 0)
        particles::finish_import(c.queue, charge.data(), n, any_charge ? 0 : forces::least_charge_in_single,
                                 c.block_sums.data(), c.import_state());
    else
        particles::conclude_imports(c.queue, c.import_state());
}

void ImportStep::import_targets(Computation& c) {
    if (c.job.with_points) {
        const int64_t count = c.job.targets;
        for (backend::DeviceBuffer<double>* values : {&point_x, &point_y, &point_z})
            values->resize(count);
        point_length.resize(c.job.per_particle ? count : 0);
        DeviceRealImport imports[3];
        const int axes = positions(c.job.points, c.job.settings.dimension, ImportArray::point_x,
                                   {point_x.data(), point_y.data(), point_z.data()}, imports);
        import_group(c, axes, imports, count);
        if (axes == 2)
            particles::fill(c.queue, point_z.data(), 0, count);
        particles::fill(c.queue, point_length.data(), 0, point_length.size());
        return;
    }
    if (c.job.all_targets)
        return;
    active_.resize(c.job.n);
    const particles::ArrayView& view =
        c.job.particles.has_active ? c.job.particles.active : c.job.particles.target;
    particles::DeviceImportState* state = c.import_state();
    if (c.job.n == 0 || (view.present() && !view.on_device())) {
        import_host_targets(c);
    } else if (c.job.particles.has_target) {
        owner_.resize(c.job.n);
        if (view.n > 0)
            particles::import_targets(c.queue, view, c.job.n, c.job.particles.target_from_1 ? 1 : 0,
                                      owner_.data(), active_.data(), state);
    } else { // a mask on the device: only the device knows how many are set
        particles::import_mask(c.queue, view, c.job.n, active_.data(), state);
        GRAFT_CUDA(cudaMemcpyAsync(c.host_outcome.data(), c.outcome.data(), sizeof(DeviceOutcome),
                                   cudaMemcpyDeviceToHost, c.queue.stream()));
        c.queue.wait();
        c.job.targets = c.host_outcome.data()->import.active;
    }
}

/// Masks and lists in host memory are read here, as Solver::import_targets does.
void ImportStep::import_host_targets(Computation& c) {
    host_active_.resize(c.job.n);
    uint8_t* const active = host_active_.data();
    const ParticleInput& input = c.job.particles;
    int64_t count = 0;
    if (input.has_active) {
        for (int64_t i = 0; i < c.job.n; ++i)
            count += active[i] = particles::integer_at(input.active, i) != 0;
    } else {
        const int64_t base = input.target_from_1 ? 1 : 0;
        std::fill(active, active + c.job.n, uint8_t{0});
        for (int64_t k = 0; k < input.target.n; ++k) {
            const int64_t given = particles::integer_at(input.target, k);
            if (given < base || given - base >= c.job.n)
                refuse_target(k, given, base, c.job.n);
            if (active[given - base] != 0)
                refuse_target_twice(k, given);
            active[given - base] = 1;
        }
        count = input.target.n;
    }
    c.job.targets = count;
    if (c.job.n > 0)
        GRAFT_CUDA(cudaMemcpyAsync(active_.data(), active, static_cast<size_t>(c.job.n),
                                   cudaMemcpyHostToDevice, c.queue.stream()));
}

void ImportStep::wrap(Computation& c) {
    const settings::Settings& s = c.job.settings;
    const geometry::Lattice box = periodic::PeriodicSum::lattice_of(s);
    periodic::wrap_into_box(c.queue, box, s.open_axis, c.job.n, x.data(), y.data(), z.data());
    if (c.job.with_points)
        periodic::wrap_into_box(c.queue, box, s.open_axis, c.job.targets, point_x.data(), point_y.data(),
                                point_z.data());
}

forces::DeviceSources ImportStep::targets(Computation& c) {
    const DeviceJob& job = c.job;
    if (job.some()) {
        for (backend::DeviceBuffer<double>* values : {&point_x, &point_y, &point_z})
            values->resize(job.targets);
        point_length.resize(job.per_particle ? job.targets : 0);
        point_charge.resize(job.settings.periodic ? job.targets : 0);
        chosen_.resize(job.n);
        chosen_count_.resize(1);
        backend::select_flagged(c.queue, active_.data(), chosen_.data(), chosen_count_.data(), job.n);
        gather(c.queue, chosen_.data(), job.targets,
               {x.data(), y.data(), z.data(), job.per_particle ? softening.data() : nullptr,
                job.settings.periodic ? charge.data() : nullptr},
               {point_x.data(), point_y.data(), point_z.data(), point_length.data(), point_charge.data()});
    }
    if (job.some() || job.with_points)
        return {point_x.data(),
                point_y.data(),
                point_z.data(),
                job.some() && job.settings.periodic ? point_charge.data() : nullptr,
                job.per_particle ? point_length.data() : nullptr,
                job.targets};
    forces::DeviceSources all = sources(job);
    all.n = job.targets;
    return all;
}

} // namespace graft::engine
