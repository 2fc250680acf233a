// SPDX-License-Identifier: BSD-3-Clause
// Particles in the layouts that hosts have, in host or device memory, through the engine's table; the CPU's
// solver beside it.
#pragma once

#include "backend/queue_gpu.cuh"
#include "engine/gpu/force_table_gpu.hpp"
#include "engine/solver.hpp"

#include "device_fixture.cuh"
#include "particle_cloud.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace graft::test {

using core::Error;
using core::Status;
using particles::ArrayView;
using particles::ElementType;
using particles::MemorySpace;
using engine::DeviceReport;
using settings::Interaction;
using settings::Local;
using settings::MacType;
using settings::Method;
using settings::Precision;
using settings::Settings;
using settings::Softening;

/// Memory on either side, filled from the host; freed at the end.
class Block {
  public:
    Block(MemorySpace space, const std::vector<char>& bytes) : space_(space), size_(bytes.size()) {
        if (space == MemorySpace::host) {
            host_ = bytes;
            host_.resize(size_ + 1);
        } else if (space == MemorySpace::device) {
            GRAFT_CUDA(cudaMalloc(&device_, size_ + 1));
        } else {
            GRAFT_CUDA(cudaMallocManaged(&device_, size_ + 1));
        }
        if (device_ != nullptr)
            GRAFT_CUDA(cudaMemcpy(device_, bytes.data(), size_, cudaMemcpyDefault));
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    Block(Block&& other) noexcept
        : space_(other.space_), size_(other.size_), host_(std::move(other.host_)), device_(other.device_) {
        other.device_ = nullptr;
    }
    ~Block() {
        if (device_ != nullptr)
            (void)cudaFree(device_);
    }
    char* data() { return device_ != nullptr ? device_ : host_.data(); }
    std::vector<char> bytes() {
        std::vector<char> copy(size_);
        GRAFT_CUDA(cudaMemcpy(copy.data(), data(), size_, cudaMemcpyDefault));
        return copy;
    }
    MemorySpace space() const { return space_; }

  private:
    MemorySpace space_;
    size_t size_;
    std::vector<char> host_;
    char* device_ = nullptr;
};

enum class Layout { soa64, soa32, aos64, xyzh32, packed31 }; // packed31: a struct of 31 bytes, never aligned

struct Shape {
    int64_t size, item_stride, component_stride;
    ElementType type;
};

inline Shape shape_of(Layout layout, int64_t n) {
    switch (layout) {
    case Layout::soa64:
        return {32 * n, 8, 8 * n, ElementType::f64};
    case Layout::soa32:
        return {16 * n, 4, 4 * n, ElementType::f32};
    case Layout::aos64:
        return {56 * n, 56, 8, ElementType::f64};
    case Layout::xyzh32:
        return {16 * n, 16, 4, ElementType::f32};
    default:
        return {31 * n, 31, 4, ElementType::f32};
    }
}

inline bool is_single(Layout layout) {
    return layout == Layout::soa32 || layout == Layout::xyzh32 || layout == Layout::packed31;
}

inline void put_real(char* to, ElementType type, double value) {
    const float single = static_cast<float>(value);
    type == ElementType::f32 ? std::memcpy(to, &single, 4) : std::memcpy(to, &value, 8);
}

inline double get_real(const char* from, ElementType type) {
    float single;
    double value;
    std::memcpy(&single, from, 4);
    if (type == ElementType::f32)
        return single;
    std::memcpy(&value, from, 8);
    return value;
}

/// Four columns of n values in one block.
class Table {
  public:
    Table(Layout layout, MemorySpace space, const std::vector<const std::vector<double>*>& columns)
        : n_(static_cast<int64_t>(columns[0]->size())), shape_(shape_of(layout, n_)),
          block_(space, fill(columns)) {}
    ArrayView column(int c) {
        return {block_.data() + c * shape_.component_stride,
                shape_.type,
                1,
                n_,
                shape_.item_stride,
                shape_.component_stride,
                block_.space()};
    }
    std::vector<double> values(int c) {
        const std::vector<char> bytes = block_.bytes();
        std::vector<double> out;
        for (int64_t i = 0; i < n_; ++i)
            out.push_back(
                get_real(bytes.data() + c * shape_.component_stride + i * shape_.item_stride, shape_.type));
        return out;
    }

  private:
    std::vector<char> fill(const std::vector<const std::vector<double>*>& columns) const {
        std::vector<char> bytes(static_cast<size_t>(shape_.size), char{0x5a});
        for (size_t c = 0; c < columns.size(); ++c)
            for (int64_t i = 0; i < n_; ++i)
                put_real(bytes.data() + static_cast<int64_t>(c) * shape_.component_stride +
                             i * shape_.item_stride,
                         shape_.type, (*columns[c])[static_cast<size_t>(i)]);
        return bytes;
    }
    int64_t n_;
    Shape shape_;
    Block block_;
};

/// What a host gives and gets, beyond positions and charges.
struct Wish {
    bool softening = false, potential = true, sums = true, force = false, add = false;
    std::vector<int32_t> active, target; // empty: all
    bool has_target = false, target_from_1 = false;
    const Cloud* points = nullptr;
};

struct Answer {
    std::vector<double> ax, ay, az, potential, virial;
    double energy = 0;
};

template <typename T>
std::vector<char> bytes_of(const std::vector<T>& values) {
    std::vector<char> bytes(values.size() * sizeof(T));
    if (!values.empty())
        std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// All arrays of one call.
class Call {
  public:
    Call(const Cloud& cloud, const Wish& wish, Layout layout, MemorySpace space)
        : wish_(wish), in_(layout, space, {&cloud.x, &cloud.y, &cloud.z, &cloud.q}),
          softening_(space, bytes_of(cloud.softening)), active_(space, bytes_of(wish.active)),
          target_(space, bytes_of(wish.target)),
          out_(layout, space, start(wish.points != nullptr ? wish.points->size() : cloud.size())),
          sums_(space, std::vector<char>(56, 0)) {
        input.n = cloud.size();
        for (int a = 0; a < 3; ++a)
            input.position[a] = in_.column(a), outputs.acceleration[a] = out_.column(a);
        input.charge = in_.column(3);
        if (wish.softening)
            input.softening = view(softening_, ElementType::f64, cloud.size(), 8);
        input.has_active = !wish.active.empty(), input.has_target = wish.has_target;
        if (input.has_active)
            input.active = view(active_, ElementType::i32, cloud.size(), 4);
        if (input.has_target)
            input.target = view(target_, ElementType::i32, static_cast<int64_t>(wish.target.size()), 4);
        input.target_from_1 = wish.target_from_1;
        if (wish.potential)
            outputs.potential = out_.column(3);
        if (wish.sums && wish.points == nullptr) {
            outputs.virial = view(sums_, ElementType::f64, 1, 48);
            outputs.virial.components = 6, outputs.virial.component_stride = 8;
            outputs.energy = view(sums_, ElementType::f64, 1, 8);
            outputs.energy.data += 48;
        }
        outputs.force = wish.force;
        for (ArrayView* output : {&outputs.acceleration[0], &outputs.acceleration[1], &outputs.acceleration[2],
                                  &outputs.potential, &outputs.virial, &outputs.energy})
            output->add = wish.add;
        if (wish.points != nullptr)
            take_points(*wish.points, layout, space);
    }
    Answer answer() {
        Answer a{out_.values(0), out_.values(1), out_.values(2), out_.values(3), std::vector<double>(6), 0};
        const std::vector<char> bytes = sums_.bytes();
        std::memcpy(a.virial.data(), bytes.data(), 48);
        std::memcpy(&a.energy, bytes.data() + 48, 8);
        return a;
    }
    bool has_points() const { return points_in_ != nullptr; }

    engine::ParticleInput input, points;
    engine::Outputs outputs;

  private:
    static ArrayView view(Block& block, ElementType type, int64_t n, int64_t stride) {
        return {block.data(), type, 1, n, stride, stride, block.space()};
    }
    std::vector<const std::vector<double>*> start(int64_t n) {
        poison_.assign(static_cast<size_t>(n), wish_.add ? 0.25 : -7e30);
        return {&poison_, &poison_, &poison_, &poison_};
    }
    void take_points(const Cloud& at, Layout layout, MemorySpace space) {
        points_in_ = std::make_unique<Table>(
            layout, space, std::vector<const std::vector<double>*>{&at.x, &at.y, &at.z, &at.q});
        points.n = at.size();
        for (int a = 0; a < 3; ++a)
            points.position[a] = points_in_->column(a);
    }
    const Wish& wish_;
    std::vector<double> poison_;
    Table in_;
    Block softening_, active_, target_;
    Table out_;
    Block sums_;
    std::unique_ptr<Table> points_in_;
};

inline Answer on_cpu(const Settings& settings, const Cloud& cloud, const Wish& wish,
                     Layout layout = Layout::soa64) {
    core::Memory memory;
    Settings copy = settings;
    copy.backend = settings::Backend::cpu;
    if (copy.local == Local::auto_) // which is off on a GPU
        copy.local = Local::off;
    engine::Solver solver(copy, memory);
    Call call(cloud, wish, layout, MemorySpace::host);
    call.has_points() ? solver.field_at(call.input, call.points, call.outputs)
                      : solver.compute(call.input, call.outputs);
    return call.answer();
}

/// The engine, made and destroyed through its table.
class Engine {
  public:
    explicit Engine(const settings::DeviceOptions& options = {}) : table_(*engine::device_force_table()) {
        backend::DeviceError error;
        backend::raise(table_.create(&options, &engine_, &error), error);
    }
    ~Engine() { table_.destroy(engine_); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void begin(const Settings& settings, const Call& call, cudaStream_t stream = nullptr) {
        backend::DeviceError error;
        backend::raise(table_.begin(engine_, &settings, &call.input,
                                    call.has_points() ? &call.points : nullptr, &call.outputs, stream,
                                    &error),
                       error);
    }
    DeviceReport end() {
        DeviceReport report;
        backend::DeviceError error;
        backend::raise(table_.end(engine_, &report, &error), error);
        return report;
    }
    Answer run(const Settings& settings, const Cloud& cloud, const Wish& wish, Layout layout,
               MemorySpace space) {
        Call call(cloud, wish, layout, space);
        begin(settings, call);
        report = end();
        return call.answer();
    }
    std::vector<double> work(double expansion_pairs, int64_t n) {
        std::vector<double> values(static_cast<size_t>(n), -1);
        backend::DeviceError error;
        int32_t known = 0;
        backend::raise(table_.work(engine_, expansion_pairs, values.data(), n, &known, &error), error);
        EXPECT_EQ(known, 1);
        return values;
    }
    DeviceReport report;

  private:
    const engine::DeviceForceTable& table_;
    void* engine_ = nullptr;
};

/// Errors |a - b| / (|b| + a thousandth of the mean |b|), largest last.
inline std::vector<double> errors(const Answer& a, const Answer& b) {
    double mean = 0;
    for (size_t k = 0; k < b.ax.size(); ++k)
        mean += std::hypot(b.ax[k], b.ay[k], b.az[k]) / static_cast<double>(b.ax.size());
    std::vector<double> list;
    for (size_t k = 0; k < b.ax.size(); ++k) {
        const double error = std::hypot(a.ax[k] - b.ax[k], a.ay[k] - b.ay[k], a.az[k] - b.az[k]) /
                             (std::hypot(b.ax[k], b.ay[k], b.az[k]) + 1e-3 * mean + 1e-300);
        list.push_back(std::isfinite(error) ? error : 1e300);
    }
    std::sort(list.begin(), list.end());
    return list;
}

inline double worst(const std::vector<double>& a, const std::vector<double>& b) {
    double size = 1e-300, most = 0;
    for (double value : b)
        size = std::max(size, std::abs(value));
    for (size_t k = 0; k < b.size(); ++k) {
        const double error = std::abs(a[k] - b[k]) / size;
        most = std::isfinite(error) ? std::max(most, error) : 1e300;
    }
    return most;
}

} // namespace graft::test
