// The host's arrays to contiguous doubles on the device: import.cpp there.
#include "engine/gpu/engine_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "particles/transfer.hpp"
#include "engine/checks.hpp"

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

/// Arrays of n items; those in host memory travel in chunks.
void DeviceForce::import_group(int count, const DeviceRealImport* imports, int64_t n) {
    DeviceRealImport here[particles::most_device_imports], there[particles::most_device_imports];
    int here_count = 0, there_count = 0;
    for (int a = 0; a < count; ++a)
        (imports[a].view.on_device() ? here[here_count++] : there[there_count++]) = imports[a];
    particles::DeviceImportState* state = &outcome_.data()->import;
    particles::import_reals(queue_, here_count, here, n, 0, state);
    const backend::Executor executor{host_memory_, backend::resolve_threads(job_.settings.threads)};
    for (int64_t first = 0; there_count > 0 && first < n; first += DeviceStaging::chunk_items) {
        const int64_t items = std::min(DeviceStaging::chunk_items, n - first);
        particles::ArrayView from[particles::most_device_imports], to[particles::most_device_imports];
        for (int a = 0; a < there_count; ++a)
            from[a] = there[a].view;
        staging_.send(queue_, executor, there_count, from, first, items, to);
        DeviceRealImport chunk[particles::most_device_imports];
        for (int a = 0; a < there_count; ++a) {
            chunk[a] = there[a];
            chunk[a].view = to[a];
            chunk[a].out += first;
        }
        particles::import_reals(queue_, there_count, chunk, items, first, state);
    }
}

void DeviceForce::import_particles() {
    const ParticleInput& input = job_.particles;
    const int64_t n = job_.n;
    const int dimension = job_.settings.dimension;
    for (backend::DeviceBuffer<double>* values : {&x_, &y_, &z_, &charge_})
        lean_ ? backend::resize_exactly(*values, n) : values->resize(n);
    softening_.resize(job_.per_particle ? n : 0);
    partial_.resize(std::max(particles::charge_partials(n), sum_partials(std::max(n, job_.targets))));
    staging_.restart();
    particles::clear_imports(queue_, &outcome_.data()->import);
    DeviceRealImport imports[particles::most_device_imports];
    int count = positions(input, dimension, ImportArray::x, {x_.data(), y_.data(), z_.data()}, imports);
    if (input.charge.present())
        imports[count++] = {input.charge, ImportArray::charge, -largest, largest, charge_.data()};
    if (job_.per_particle && input.softening.present())
        imports[count++] = {input.softening, ImportArray::softening, 0, largest_position, softening_.data()};
    import_group(count, imports, n);
    if (dimension == 2)
        particles::fill(queue_, z_.data(), 0, n);
    if (!input.charge.present())
        particles::fill(queue_, charge_.data(), input.charge_all, n);
    if (job_.per_particle && !input.softening.present()) // other ranks' particles have lengths of their own
        particles::fill(queue_, softening_.data(), job_.settings.softening_length, n);
    import_targets();
    if (n > 0)
        particles::finish_import(queue_, charge_.data(), n, partial_.data(), &outcome_.data()->import);
    else
        particles::conclude_imports(queue_, &outcome_.data()->import);
}

void DeviceForce::import_targets() {
    if (job_.with_points) {
        const int64_t count = job_.targets;
        for (backend::DeviceBuffer<double>* values : {&point_x_, &point_y_, &point_z_})
            values->resize(count);
        point_length_.resize(job_.per_particle ? count : 0);
        DeviceRealImport imports[3];
        const int axes = positions(job_.points, job_.settings.dimension, ImportArray::point_x,
                                   {point_x_.data(), point_y_.data(), point_z_.data()}, imports);
        import_group(axes, imports, count);
        if (axes == 2)
            particles::fill(queue_, point_z_.data(), 0, count);
        particles::fill(queue_, point_length_.data(), 0, point_length_.size());
        return;
    }
    if (job_.all_targets)
        return;
    active_.resize(job_.n);
    const particles::ArrayView& view =
        job_.particles.has_active ? job_.particles.active : job_.particles.target;
    particles::DeviceImportState* state = &outcome_.data()->import;
    if (job_.n == 0 || (view.present() && !view.on_device())) {
        import_host_targets();
    } else if (job_.particles.has_target) {
        owner_.resize(job_.n);
        if (view.n > 0)
            particles::import_targets(queue_, view, job_.n, job_.particles.target_from_1 ? 1 : 0,
                                      owner_.data(), active_.data(), state);
    } else { // a mask on the device: only the device knows how many are set
        particles::import_mask(queue_, view, job_.n, active_.data(), state);
        GRAFT_CUDA(cudaMemcpyAsync(host_outcome_.data(), outcome_.data(), sizeof(DeviceOutcome),
                                   cudaMemcpyDeviceToHost, queue_.stream()));
        queue_.wait();
        job_.targets = host_outcome_.data()->import.active;
    }
}

/// Masks and lists in host memory are read here, as Solver::import_targets does.
void DeviceForce::import_host_targets() {
    host_active_.resize(job_.n);
    uint8_t* const active = host_active_.data();
    const ParticleInput& input = job_.particles;
    int64_t count = 0;
    if (input.has_active) {
        for (int64_t i = 0; i < job_.n; ++i)
            count += active[i] = particles::integer_at(input.active, i) != 0;
    } else {
        const int64_t base = input.target_from_1 ? 1 : 0;
        std::fill(active, active + job_.n, uint8_t{0});
        for (int64_t k = 0; k < input.target.n; ++k) {
            const int64_t given = particles::integer_at(input.target, k);
            if (given < base || given - base >= job_.n)
                refuse_target(k, given, base, job_.n);
            if (active[given - base] != 0)
                refuse_target_twice(k, given);
            active[given - base] = 1;
        }
        count = input.target.n;
    }
    job_.targets = count;
    if (job_.n > 0)
        GRAFT_CUDA(cudaMemcpyAsync(active_.data(), active, static_cast<size_t>(job_.n),
                                   cudaMemcpyHostToDevice, queue_.stream()));
}

} // namespace graft::engine
