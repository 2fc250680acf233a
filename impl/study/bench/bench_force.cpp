// SPDX-License-Identifier: BSD-3-Clause
// The measurement of whole force evaluations, see bench_force.hpp.
#include "study/bench/bench_force.hpp"

#include "backend/gpu_library.hpp"
#include "backend/executor.hpp"
#include "core/median.hpp"
#include "core/timer.hpp"
#include "study/bench/bench_table.hpp"
#include "engine/gpu/tight_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graft::study {

namespace {

using particles::ArrayView;
using particles::ElementType;

constexpr const char* figure_names[] = {
    "time_s.import",     "time_s.sort",      "time_s.tree",      "time_s.moments", "time_s.lists",
    "time_s.forces",     "time_s.p2p",       "time_s.m2p",       "time_s.output",  "time_s.total",
    "interactions.p2p",  "interactions.m2p", "interactions.m2l", "tree.nodes",     "tree.leaves",
    "tree.groups",       "tree.levels",      "bytes.lists",      "bytes.total",    "bytes.device",
    "bytes.device_peak", "bytes.pinned",     "device.launches",  "device.batches", "device.graph",
    "device.repeats",    "device.ordinal",   "threads"};

/// Columns of n numbers, one behind the other: on the host, or on the device, whose numbers are fetched one
/// by one.
class Columns {
  public:
    Columns(core::Memory& memory, ElementType type, int64_t n, int columns)
        : host_(memory, "arrays of the measurement"), type_(type), n_(n), columns_(columns) {}
    ~Columns() {
        if (device_ != nullptr)
            cuda_->release(ordinal_, device_);
    }
    Columns(const Columns&) = delete;
    Columns& operator=(const Columns&) = delete;

    void make_on_host() { host_.resize(bytes()); }
    void make_on_device(const backend::CudaTable& cuda, int32_t ordinal) {
        cuda_ = &cuda;
        ordinal_ = ordinal;
        backend::DeviceError error;
        backend::raise(cuda.allocate(ordinal, bytes(), &device_, &error), error);
    }
    void* device() const { return device_; }
    int64_t bytes() const { return n_ * columns_ * particles::element_size(type_); }
    void set(int column, int64_t i, double value) {
        if (type_ == ElementType::f32)
            reinterpret_cast<float*>(host_.data())[column * n_ + i] = static_cast<float>(value);
        else
            reinterpret_cast<double*>(host_.data())[column * n_ + i] = value;
    }
    double get(int column, int64_t i) const {
        const int64_t size = particles::element_size(type_), at = (column * n_ + i) * size;
        char item[sizeof(double)];
        if (device_ != nullptr) {
            backend::DeviceError error;
            backend::raise(cuda_->copy(item, static_cast<const char*>(device_) + at, size, &error), error);
        } else {
            std::memcpy(item, host_.data() + at, static_cast<size_t>(size));
        }
        float single = 0;
        double value = 0;
        std::memcpy(&single, item, sizeof single);
        if (type_ == ElementType::f32)
            return single;
        std::memcpy(&value, item, sizeof value);
        return value;
    }
    ArrayView view(int column) {
        char* const data = device_ != nullptr ? static_cast<char*>(device_) : host_.data();
        const int64_t size = particles::element_size(type_);
        return {data + column * n_ * size,
                type_,
                1,
                n_,
                size,
                size,
                device_ != nullptr ? particles::MemorySpace::device : particles::MemorySpace::host};
    }

  private:
    core::Buffer<char> host_;
    ElementType type_;
    int64_t n_;
    int columns_;
    const backend::CudaTable* cuda_ = nullptr;
    int32_t ordinal_ = 0;
    void* device_ = nullptr;
};

engine::ParticleInput input_of(Columns& points, int64_t n) {
    engine::ParticleInput input;
    input.n = n;
    for (int axis = 0; axis < 3; ++axis)
        input.position[axis] = points.view(axis);
    input.charge = points.view(3);
    return input;
}

engine::Outputs outputs_of(Columns& field, bool potential) {
    engine::Outputs outputs;
    for (int axis = 0; axis < 3; ++axis)
        outputs.acceleration[axis] = field.view(axis);
    if (potential)
        outputs.potential = field.view(3);
    return outputs;
}

double figure(const engine::Report& report, const char* name) {
    double value = 0;
    return report.find(name, &value) ? value : 0;
}

void measure(const ForceBench& bench, engine::Solver& solver, const engine::ParticleInput& input, const engine::Outputs& outputs,
             ForceBenchResult& result) {
    for (int k = 0; k < bench.warm_up; ++k)
        solver.compute(input, outputs);
    const engine::Report before = solver.report();
    std::map<std::string, std::vector<double>> samples;
    for (int k = 0; k < bench.repeats; ++k) {
        core::Timer timer;
        solver.compute(input, outputs);
        samples["time_s.wall"].push_back(timer.seconds());
        double value = 0;
        for (const char* name : figure_names)
            if (solver.report().find(name, &value))
                samples[name].push_back(value);
    }
    for (const auto& [name, values] : samples)
        result.median[name] = core::median(values);
    const std::vector<double>& totals = samples["time_s.total"];
    result.best_s = *std::min_element(totals.begin(), totals.end());
    const double each = 1.0 / bench.repeats;
    const engine::Report& after = solver.report();
    result.waits = (figure(after, "device.waits") - figure(before, "device.waits")) * each;
    result.allocations = (figure(after, "allocations") - figure(before, "allocations") +
                          figure(after, "device.allocations") - figure(before, "device.allocations")) *
                         each;
}

/// Indices of the targets, ascending, each once.
std::vector<int64_t> choose_targets(const ForceBench& bench) {
    std::vector<int64_t> chosen;
    for (int64_t k = 0; static_cast<int64_t>(chosen.size()) < std::min(bench.targets, bench.n); ++k) {
        if (bench.targets >= bench.n) {
            chosen.push_back(k);
            continue;
        }
        const auto i = static_cast<int64_t>(CloudRandom(~bench.seed, k).uniform() *
                                            static_cast<double>(bench.n));
        if (std::find(chosen.begin(), chosen.end(), i) == chosen.end())
            chosen.push_back(i);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

/// Pairs of a check that the CPU does not do in seconds.
bool sums_on_device(const ForceBench& bench) {
    return bench.on_device && !bench.settings.periodic &&
           static_cast<double>(bench.n) * static_cast<double>(bench.targets) > 5e10;
}

/// Errors at the chosen points: where pairs are many, against sums of all pairs in fp64 on the GPU, else
/// against the reference, over the same values.
std::vector<double> find_errors(const ForceBench& bench, core::Memory& memory, Columns& points,
                                const Columns& field) {
    const std::vector<int64_t> targets = choose_targets(bench);
    const auto count = static_cast<int64_t>(targets.size());
    Columns at(memory, ElementType::f64, count, 3), exact(memory, ElementType::f64, count, 3);
    at.make_on_host();
    exact.make_on_host();
    for (int64_t k = 0; k < count; ++k)
        for (int axis = 0; axis < 3; ++axis)
            at.set(axis, k, points.get(axis, targets[static_cast<size_t>(k)]));
    settings::Settings settings = bench.settings;
    settings.threads = 0;
    settings.device.memory_limit = 0;
    Columns copy(memory, bench.type, bench.n, 4);
    Columns* sources = &points;
    if (sums_on_device(bench)) {
        settings.method = settings::Method::direct;
        settings.precision = settings::Precision::fp64;
        settings.backend = settings::Backend::cuda;
    } else {
        settings.method = settings::Method::reference;
        settings.backend = settings::Backend::cpu;
        if (settings.periodic) { // the oracle of boxes takes hours: their own exact way, which it has judged
            settings.method = settings::Method::tree;
            settings.theta = 0;
            settings.precision = settings::Precision::fp64;
            settings.ewald_accuracy = 1e-10;
            settings.lattice_sum = settings::LatticeSum::split;
        }
        if (points.device() != nullptr) {
            copy.make_on_host();
            backend::DeviceError error;
            backend::raise(
                backend::require_cuda().copy(copy.view(0).data, points.device(), points.bytes(), &error),
                error);
            sources = &copy;
        }
    }
    engine::ParticleInput where;
    where.n = count;
    for (int axis = 0; axis < 3; ++axis)
        where.position[axis] = at.view(axis);
    engine::Solver solver(settings, memory);
    solver.field_at(input_of(*sources, bench.n), where, outputs_of(exact, false));
    std::vector<double> errors;
    for (int64_t k = 0; k < count; ++k) {
        double difference = 0, size = 0;
        for (int axis = 0; axis < settings.dimension; ++axis) { // in two dimensions the third is not written
            const double found = field.get(axis, targets[static_cast<size_t>(k)]);
            difference += std::pow(found - exact.get(axis, k), 2);
            size += std::pow(exact.get(axis, k), 2);
        }
        errors.push_back(size > 0 ? std::sqrt(difference / size) : std::sqrt(difference));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
}

void fill_on_host(const ForceBench& bench, core::Memory& memory, Columns& points, Columns& field,
                  int columns) {
    points.make_on_host();
    field.make_on_host();
    const backend::Executor executor{memory, backend::resolve_threads(0)};
    executor.for_each(bench.n, [&](int64_t i) {
        double p[3];
        study::cloud_point(bench.cloud, bench.seed, i, p);
        for (int axis = 0; axis < 3; ++axis)
            points.set(axis, i, p[axis]);
        points.set(3, i, 1.0 / static_cast<double>(bench.n));
        for (int column = 0; column < columns; ++column)
            field.set(column, i, std::nan("")); // what is not written shows
    });
}

/// On the device nothing passes through the host: 2^30 points take a fraction of a second.
void fill_on_device(const ForceBench& bench, Columns& points, Columns& field) {
    const backend::CudaTable& cuda = bench_cuda();
    const int32_t ordinal = std::max(bench.settings.device.device, 0);
    points.make_on_device(cuda, ordinal);
    field.make_on_device(cuda, ordinal);
    const CloudRequest request{bench.n, bench.seed, static_cast<int32_t>(bench.cloud),
                                        bench.type == ElementType::f64 ? 1 : 0};
    backend::DeviceError error;
    backend::raise(cuda.bench->cloud(ordinal, &request, points.device(), &error), error);
    backend::raise(cuda.bench->fill_bytes(ordinal, field.device(), 0xff, field.bytes(), &error),
                   error); // NaN
}

} // namespace

ForceBenchResult bench_force(const ForceBench& bench) {
    core::Memory arrays; // of the measurement: not the solver's
    core::Memory memory;
    const int columns = bench.potential ? 4 : 3;
    Columns points(arrays, bench.type, bench.n, 4), field(arrays, bench.type, bench.n, columns);
    if (bench.on_device)
        fill_on_device(bench, points, field);
    else
        fill_on_host(bench, arrays, points, field, columns);
    ForceBenchResult result;
    { // what the solver holds makes way for the check
        engine::Solver solver(bench.settings, memory);
        solver.set_tree_sizes(bench.sizes, bench.leaf_given, bench.group_given,
                              bench.machine ? &*bench.machine : nullptr);
        measure(bench, solver, input_of(points, bench.n), outputs_of(field, bench.potential), result);
        result.backend = solver.report().backend;
        result.device = solver.report().device.name;
        result.note = solver.report().device.note;
        result.sizes = solver.tuning().told();
        result.computed = solver.computed();
        result.buffers = solver.buffers().told();
    }
    const int64_t arrays_bytes = points.bytes() + field.bytes();
    result.median["bytes.arrays"] = static_cast<double>(arrays_bytes);
    if (const settings::Settings& s = result.computed; result.backend == "gpu" && s.tuned) {
        const engine::FootprintShape shape =
            engine::footprint_shape(bench.n, s.leaf, s.group, s.order, bench.n > engine::always_lean, true);
        result.median["bytes.model"] = static_cast<double>(engine::footprint_bytes(shape));
    }
    if (bench.targets > 0)
        result.errors = find_errors(bench, arrays, points, field);
    result.checked_on_device = bench.targets > 0 && sums_on_device(bench);
    return result;
}

} // namespace graft::study
