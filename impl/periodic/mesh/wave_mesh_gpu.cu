// SPDX-License-Identifier: BSD-3-Clause
// See wave_mesh_gpu.cuh: buffers, and tables of the axes.
#include "periodic/mesh/wave_mesh_gpu.cuh"

#include "periodic/mesh/fourier_plan.hpp"
#include "periodic/mesh/mesh_kernels_gpu.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::periodic {

struct DeviceWaveMesh::Work {
    explicit Work(backend::DeviceMemory& memory)
        : axis(memory, "axes of the mesh"), roots(memory, "roots of unity"), sent_axis(memory, "axes of the mesh"),
          sent_roots(memory, "roots of unity"), whole(memory, "charges on the mesh"),
          mesh(memory, "mesh"), spectrum(memory, "spectrum of the mesh"), influence(memory, "influence function"),
          own_rows(memory, "own sums of the mesh"), own(memory, "own sums of the mesh"), virial(memory, "virials of the mesh") {}
    geometry::Lattice box;
    double alpha = 0;
    MeshChoice choice;
    bool in_double = false, known = false; // known: the tables are those of the four above
    double unit = 0;
    std::vector<int> factors[3];
    int64_t axis_begin[3] = {0, 0, 0};
    backend::DeviceBuffer<mesh::AxisSums> axis;
    backend::DeviceBuffer<double> roots; // bytes for either type
    backend::PinnedBuffer<mesh::AxisSums> sent_axis;
    backend::PinnedBuffer<double> sent_roots;
    backend::DeviceBuffer<unsigned long long> whole;
    backend::DeviceBuffer<double> mesh, spectrum, influence; // bytes for either type
    backend::DeviceBuffer<double> own_rows, own, virial;
    int64_t virials = 0;

    int64_t half() const { return choice.count[2] / 2 + 1; }
    template <typename T>
    void fill_axes(backend::Queue& queue);
    template <typename T>
    mesh::MeshView<T> view(backend::Queue& queue);
    template <typename T>
    void sum(backend::Queue& queue, const MeshWavesTask& task);
};

/// The host's tables: a few thousand numbers.
template <typename T>
void DeviceWaveMesh::Work::fill_axes(backend::Queue& queue) {
    const int64_t points = choice.count[0] + choice.count[1] + choice.count[2];
    axis.resize(points), sent_axis.resize(points), roots.resize(2 * points), sent_roots.resize(2 * points);
    auto* const to_roots = reinterpret_cast<mesh::Pair<T>*>(sent_roots.data());
    int64_t first = 0;
    for (int a = 0; a < 3; ++a) {
        const std::vector<MeshAxisSums> sums = mesh_axis_sums(choice.order, choice.count[a]);
        const FourierPlan lines(static_cast<int>(choice.count[a]));
        axis_begin[a] = first;
        factors[a] = lines.factors;
        for (size_t k = 0; k < sums.size(); ++k) {
            sent_axis.data()[first + static_cast<int64_t>(k)] = sums[k];
            to_roots[first + static_cast<int64_t>(k)] = {static_cast<T>(lines.cosine[k]), static_cast<T>(lines.sine[k])};
        }
        first += choice.count[a];
    }
    GRAFT_CUDA(cudaMemcpyAsync(axis.data(), sent_axis.data(), static_cast<size_t>(points) * sizeof(mesh::AxisSums),
                               cudaMemcpyHostToDevice, queue.stream()));
    GRAFT_CUDA(cudaMemcpyAsync(roots.data(), sent_roots.data(), static_cast<size_t>(points) * sizeof(mesh::Pair<T>),
                               cudaMemcpyHostToDevice, queue.stream()));
}

template <typename T>
mesh::LinePlan<T> make_plan(const std::vector<int>& factors, const mesh::Pair<T>* roots) {
    mesh::LinePlan<T> plan{1, static_cast<int>(factors.size()), {}, {}, roots};
    for (size_t k = 0; k < factors.size(); ++k) {
        plan.factor[k] = factors[k];
        plan.inverse[k] = static_cast<uint32_t>(((1 << mesh::LinePlan<T>::inverse_bits) + plan.length - 1) / plan.length);
        plan.length *= factors[k];
    }
    return plan;
}

template <typename T>
mesh::MeshView<T> DeviceWaveMesh::Work::view(backend::Queue& queue) {
    mesh::MeshView<T> in{};
    in.box = box, in.alpha = alpha, in.unit = unit;
    in.half = static_cast<int>(half()), in.order = choice.order;
    for (int a = 0; a < 3; ++a) {
        in.count[a] = static_cast<int>(choice.count[a]);
        in.plan[a] = make_plan(factors[a], reinterpret_cast<const mesh::Pair<T>*>(roots.data()) + axis_begin[a]);
        in.axis[a] = axis.data() + axis_begin[a];
    }
    in.whole = whole.data();
    in.mesh = reinterpret_cast<T*>(mesh.data());
    in.spectrum = reinterpret_cast<mesh::Pair<T>*>(spectrum.data());
    in.influence = reinterpret_cast<T*>(influence.data());
    in.own_rows = own_rows.data(), in.own = own.data();
    in.status = queue.status();
    in.spline = make_spline<T>(choice.order);
    return in;
}

DeviceWaveMesh::DeviceWaveMesh(backend::DeviceMemory& memory) : work_(new Work(memory)) {}
DeviceWaveMesh::~DeviceWaveMesh() {
    delete work_;
}

void DeviceWaveMesh::set(backend::Queue& queue, const geometry::Lattice& box, double alpha, const MeshChoice& choice,
                         bool in_double) {
    Work& w = *work_;
    if (w.known && w.box == box && w.alpha == alpha && w.choice == choice && w.in_double == in_double)
        return;
    w.known = false; // until all is there
    w.box = box, w.alpha = alpha, w.choice = choice, w.in_double = in_double;
    w.unit = std::ldexp(1.0, std::ilogb(std::cbrt(box.volume())) + 1);
    const int64_t rows = choice.count[0] * choice.count[1], values = in_double ? 1 : 2; // in a double
    w.whole.resize(choice.points());
    w.mesh.resize(rows * (choice.count[2] + spline_lanes) / values + 1);
    w.spectrum.resize(2 * rows * w.half() / values + 1);
    w.influence.resize(rows * w.half() / values + 1);
    w.own_rows.resize(rows * mesh::own_size), w.own.resize(mesh::own_size);
    in_double ? w.fill_axes<double>(queue) : w.fill_axes<float>(queue);
    in_double ? mesh::launch_tables(queue, w.view<double>(queue)) : mesh::launch_tables(queue, w.view<float>(queue));
    w.known = true;
}

template <typename T>
void DeviceWaveMesh::Work::sum(backend::Queue& queue, const MeshWavesTask& task) {
    mesh::MeshView<T> in = view<T>(queue);
    in.sources = task.sources, in.targets = task.targets;
    in.charge_scale = task.charge_scale;
    in.fixed_bits = 59 - std::ilogb(task.charge_scale); // the magnitudes add up to the scale at most
    virials = task.virial ? mesh::convolve_blocks(in) : 0;
    virial.resize(6 * virials);
    in.out = {virial.data(), task.charge, task.field};
    mesh::launch_sum(queue, in, task.virial);
}

void DeviceWaveMesh::clear(backend::Queue& queue) {
    const size_t bytes = static_cast<size_t>(work_->choice.points()) * sizeof(unsigned long long);
    GRAFT_CUDA(cudaMemsetAsync(work_->whole.data(), 0, bytes, queue.stream()));
}

void DeviceWaveMesh::sum(backend::Queue& queue, const MeshWavesTask& task) {
    work_->in_double ? work_->sum<double>(queue, task) : work_->sum<float>(queue, task);
}

double DeviceWaveMesh::unit() const {
    return work_->unit;
}
const double* DeviceWaveMesh::virials() const {
    return work_->virial.data();
}
int64_t DeviceWaveMesh::virial_count() const {
    return work_->virials;
}
const double* DeviceWaveMesh::own_virial() const {
    return work_->own.data() + 3 * mesh_self_terms + 1;
}

} // namespace graft::periodic
