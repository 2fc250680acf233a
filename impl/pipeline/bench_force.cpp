// The measurement of whole force evaluations, see bench_force.hpp.
#include "pipeline/bench_force.hpp"

#include "backend/cuda_library.hpp"
#include "backend/executor.hpp"
#include "core/timer.hpp"

#include <algorithm>
#include <cmath>

namespace graft::pipeline {

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

/// Numbers of particle i, whoever asks: splitmix64 over a counter.
struct Random {
    uint64_t state;
    Random(uint64_t seed, int64_t i) : state(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(i) * 8) {}
    double uniform() {
        uint64_t z = ++state * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
    }
};

void make_point(Cloud cloud, uint64_t seed, int64_t i, double (&p)[3]) {
    Random random(seed, i);
    if (cloud == Cloud::uniform) {
        for (double& coordinate : p)
            coordinate = random.uniform();
        return;
    }
    const double r = 1 / std::sqrt(std::pow(random.uniform(), -2.0 / 3.0) - 1);
    const double c = 2 * random.uniform() - 1, phi = 2 * M_PI * random.uniform();
    const double s = std::sqrt(1 - c * c);
    p[0] = r * s * std::cos(phi), p[1] = r * s * std::sin(phi), p[2] = r * c;
}

/// Columns of n numbers, one behind the other, on the host and perhaps on the device as well.
class Columns {
  public:
    Columns(core::Memory& memory, ElementType type, int64_t n, int columns)
        : host_(memory, "arrays of the measurement"), type_(type), n_(n), columns_(columns) {
        host_.resize(bytes());
    }
    ~Columns() {
        if (device_ != nullptr)
            cuda_->release(ordinal_, device_);
    }
    Columns(const Columns&) = delete;
    Columns& operator=(const Columns&) = delete;

    void put_on_device(const backend::CudaTable& cuda, int32_t ordinal) {
        cuda_ = &cuda, ordinal_ = ordinal;
        backend::DeviceError error;
        backend::raise(cuda.allocate(ordinal, bytes(), &device_, &error), error);
        backend::raise(cuda.copy(device_, host_.data(), bytes(), &error), error);
    }
    void fetch() {
        backend::DeviceError error;
        if (device_ != nullptr)
            backend::raise(cuda_->copy(host_.data(), device_, bytes(), &error), error);
    }
    void set(int column, int64_t i, double value) {
        if (type_ == ElementType::f32)
            reinterpret_cast<float*>(host_.data())[column * n_ + i] = static_cast<float>(value);
        else
            reinterpret_cast<double*>(host_.data())[column * n_ + i] = value;
    }
    double get(int column, int64_t i) const {
        return type_ == ElementType::f32
                   ? double{reinterpret_cast<const float*>(host_.data())[column * n_ + i]}
                   : reinterpret_cast<const double*>(host_.data())[column * n_ + i];
    }
    ArrayView view(int column, bool on_device) {
        char* data = on_device ? static_cast<char*>(device_) : host_.data();
        const int64_t size = particles::element_size(type_);
        return {data + column * n_ * size,
                type_,
                1,
                n_,
                size,
                size,
                on_device ? particles::MemorySpace::device : particles::MemorySpace::host};
    }

  private:
    int64_t bytes() const { return n_ * columns_ * particles::element_size(type_); }
    core::Buffer<char> host_;
    ElementType type_;
    int64_t n_;
    int columns_;
    const backend::CudaTable* cuda_ = nullptr;
    int32_t ordinal_ = 0;
    void* device_ = nullptr;
};

ParticleInput input_of(Columns& points, int64_t n, bool on_device) {
    ParticleInput input;
    input.n = n;
    for (int axis = 0; axis < 3; ++axis)
        input.position[axis] = points.view(axis, on_device);
    input.charge = points.view(3, on_device);
    return input;
}

Outputs outputs_of(Columns& field, bool potential, bool on_device) {
    Outputs outputs;
    for (int axis = 0; axis < 3; ++axis)
        outputs.acceleration[axis] = field.view(axis, on_device);
    if (potential)
        outputs.potential = field.view(3, on_device);
    return outputs;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

double figure(const Report& report, const char* name) {
    double value = 0;
    return report.find(name, &value) ? value : 0;
}

void measure(const ForceBench& bench, Solver& solver, const ParticleInput& input, const Outputs& outputs,
             ForceBenchResult& result) {
    for (int k = 0; k < bench.warm_up; ++k)
        solver.compute(input, outputs);
    const Report before = solver.report();
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
        result.median[name] = median(values);
    const std::vector<double>& totals = samples["time_s.total"];
    result.best_s = *std::min_element(totals.begin(), totals.end());
    const double each = 1.0 / bench.repeats;
    const Report& after = solver.report();
    result.waits = (figure(after, "device.waits") - figure(before, "device.waits")) * each;
    result.allocations = (figure(after, "allocations") - figure(before, "allocations") +
                          figure(after, "device.allocations") - figure(before, "device.allocations")) *
                         each;
}

/// Indices of the targets, ascending, each once.
std::vector<int32_t> choose_targets(const ForceBench& bench) {
    std::vector<int32_t> chosen;
    for (int64_t k = 0; static_cast<int64_t>(chosen.size()) < std::min(bench.targets, bench.n); ++k) {
        if (bench.targets >= bench.n) {
            chosen.push_back(static_cast<int32_t>(k));
            continue;
        }
        const auto i = static_cast<int32_t>(Random(~bench.seed, k).uniform() * static_cast<double>(bench.n));
        if (std::find(chosen.begin(), chosen.end(), i) == chosen.end())
            chosen.push_back(i);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

std::vector<double> find_errors(const ForceBench& bench, core::Memory& memory, Columns& points,
                                const Columns& field) {
    std::vector<int32_t> targets = choose_targets(bench);
    Settings settings = bench.settings;
    settings.method = Method::reference;
    if (settings
            .periodic) { // the oracle of boxes takes hours for many: their own exact way, which it has judged
        settings.method = Method::tree, settings.theta = 0;
        settings.precision = Precision::fp64;
        settings.ewald_accuracy = 1e-10, settings.ewald_alpha = 0;
    }
    settings.backend = Backend::cpu;
    settings.threads = 0;
    Columns exact(memory, ElementType::f64, bench.n, 3);
    ParticleInput input = input_of(points, bench.n, false);
    input.has_target = true;
    input.target = {reinterpret_cast<char*>(targets.data()),
                    ElementType::i32,
                    1,
                    static_cast<int64_t>(targets.size()),
                    4,
                    4};
    Solver solver(settings, memory);
    solver.compute(input, outputs_of(exact, false, false));
    std::vector<double> errors;
    for (const int32_t i : targets) {
        double difference = 0, size = 0;
        for (int axis = 0; axis < settings.dimension; ++axis) { // in two dimensions the third is not written
            difference += std::pow(field.get(axis, i) - exact.get(axis, i), 2);
            size += std::pow(exact.get(axis, i), 2);
        }
        errors.push_back(size > 0 ? std::sqrt(difference / size) : std::sqrt(difference));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
}

void fill(const ForceBench& bench, core::Memory& memory, Columns& points, Columns& field, int columns) {
    const backend::Executor executor{memory, backend::resolve_threads(0)};
    executor.for_each(bench.n, [&](int64_t i) {
        double p[3];
        make_point(bench.cloud, bench.seed, i, p);
        for (int axis = 0; axis < 3; ++axis)
            points.set(axis, i, p[axis]);
        points.set(3, i, 1.0 / static_cast<double>(bench.n));
        for (int column = 0; column < columns; ++column)
            field.set(column, i, std::nan("")); // what is not written shows
    });
}

} // namespace

ForceBenchResult bench_force(const ForceBench& bench) {
    core::Memory arrays; // of the measurement: not the solver's
    core::Memory memory;
    const int columns = bench.potential ? 4 : 3;
    Columns points(arrays, bench.type, bench.n, 4), field(arrays, bench.type, bench.n, columns);
    fill(bench, arrays, points, field, columns);
    if (bench.on_device) {
        const backend::CudaTable& cuda = backend::require_cuda();
        const int32_t ordinal = std::max(bench.settings.device.device, 0);
        points.put_on_device(cuda, ordinal);
        field.put_on_device(cuda, ordinal);
    }
    ForceBenchResult result;
    Solver solver(bench.settings, memory);
    solver.set_tree_sizes(bench.sizes, bench.leaf_given, bench.group_given);
    measure(bench, solver, input_of(points, bench.n, bench.on_device),
            outputs_of(field, bench.potential, bench.on_device), result);
    field.fetch();
    result.backend = solver.report().backend;
    result.device = solver.report().device.name;
    result.sizes = solver.tuning().told();
    if (bench.targets > 0)
        result.errors = find_errors(bench, arrays, points, field);
    return result;
}

} // namespace graft::pipeline
