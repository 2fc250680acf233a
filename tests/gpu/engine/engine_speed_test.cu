// SPDX-License-Identifier: BSD-3-Clause
// Whole force evaluations, timed by events: data on the device, single precision. Prints a table; sizes and
// settings by GRAFT_ENGINE_SPEED, e.g. "plummer:1e6:64:64:2:1e-3 uniform:8e6:64:64:2:1e-3"
// (shape:n:leaf:group:order:accuracy, a 0 leaf or group: the GPU's own; "plummer" ends at 99.9 % of the mass,
// "whole" is not cut). Errors are relative to an fp64
// direct sum at about 4,000 targets.
#include "engine_scene.cuh"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace {

using namespace graft::test;

__device__ double random_of(uint64_t i, uint64_t stream) {
    uint64_t h = (i * 5 + stream + 1) * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    return (static_cast<double>((h ^ (h >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/// x, y, z, m: n floats each. Plummer: scale length 1, cut where `mass` is inside.
__global__ void make_particles(bool plummer, double mass, int64_t n, float* out) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double u = random_of(i, 0), v = random_of(i, 1), w = random_of(i, 2);
    double x = u, y = v, z = w;
    if (plummer) {
        const double r = rsqrt(pow(mass * u, -2.0 / 3) - 1), c = 2 * v - 1, s = sqrt(1 - c * c);
        x = r * s * cospi(2 * w), y = r * s * sinpi(2 * w), z = r * c;
    }
    out[i] = static_cast<float>(x), out[n + i] = static_cast<float>(y),
    out[2 * n + i] = static_cast<float>(z);
    out[3 * n + i] = static_cast<float>(1.0 / static_cast<double>(n));
}

struct Case {
    std::string shape;
    int64_t n;
    int leaf, group, order;
    double accuracy;
};

std::vector<Case> cases(const char* text) {
    std::vector<Case> list;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        std::replace(word.begin(), word.end(), ':', ' ');
        std::istringstream parts(word);
        Case c;
        double n = 0;
        parts >> c.shape >> n >> c.leaf >> c.group >> c.order >> c.accuracy;
        c.n = static_cast<int64_t>(n);
        list.push_back(c);
    }
    return list;
}

class EngineSpeed : public OnDevice {
  protected:
    struct Arrays {
        graft::engine::ParticleInput input;
        graft::engine::Outputs outputs;
    };
    static ArrayView view(float* data, int64_t n) {
        return {reinterpret_cast<char*>(data), ElementType::f32, 1, n, 4, 4, MemorySpace::device};
    }
    void prepare(const Case& c) {
        if (shape_ == c.shape && n_ == c.n)
            return;
        shape_ = c.shape, n_ = c.n;
        release();
        GRAFT_CUDA(cudaMalloc(&in_, static_cast<size_t>(16 * c.n)));
        GRAFT_CUDA(cudaMalloc(&out_, static_cast<size_t>(12 * c.n)));
        make_particles<<<graft::backend::blocks_for(c.n, 256), 256>>>(
            c.shape != "uniform", c.shape == "whole" ? 1 : 0.999, c.n, in_);
        GRAFT_CUDA(cudaDeviceSynchronize());
        arrays_ = {};
        arrays_.input.n = c.n;
        for (int a = 0; a < 3; ++a) {
            arrays_.input.position[a] = view(in_ + a * c.n, c.n);
            arrays_.outputs.acceleration[a] = view(out_ + a * c.n, c.n);
        }
        arrays_.input.charge = view(in_ + 3 * c.n, c.n);
        truth_.clear();
    }
    void release() {
        (void)cudaFree(in_);
        (void)cudaFree(out_);
        in_ = out_ = nullptr;
    }
    void TearDown() override { release(); }

    std::vector<float> result(int64_t step) {
        std::vector<float> all(static_cast<size_t>(3 * n_)), some;
        GRAFT_CUDA(cudaMemcpy(all.data(), out_, all.size() * 4, cudaMemcpyDeviceToHost));
        for (int64_t i = step / 2; i < n_; i += step)
            for (int a = 0; a < 3; ++a)
                some.push_back(all[static_cast<size_t>(a * n_ + i)]);
        return some;
    }
    DeviceReport call(const Settings& s, const graft::engine::ParticleInput& input) {
        graft::backend::DeviceError error;
        graft::backend::raise(table_.begin(engine_, &s, &input, nullptr, &arrays_.outputs, nullptr, &error),
                              error);
        DeviceReport report;
        graft::backend::raise(table_.end(engine_, &report, &error), error);
        return report;
    }
    /// p50, p99 and largest relative error at every step-th particle.
    std::vector<double> errors_of(int64_t step, const std::vector<float>& got) {
        if (truth_.empty()) {
            Settings s;
            s.method = Method::direct, s.precision = Precision::fp64;
            std::vector<int32_t> list;
            for (int64_t i = step / 2; i < n_; i += step)
                list.push_back(static_cast<int32_t>(i));
            graft::engine::ParticleInput input = arrays_.input;
            input.has_target = true;
            input.target = {reinterpret_cast<char*>(list.data()),
                            ElementType::i32,
                            1,
                            static_cast<int64_t>(list.size()),
                            4,
                            4,
                            MemorySpace::host};
            call(s, input);
            truth_ = result(step);
        }
        std::vector<double> list;
        for (size_t k = 0; k + 2 < truth_.size(); k += 3)
            list.push_back(
                std::hypot(got[k] - truth_[k], got[k + 1] - truth_[k + 1], got[k + 2] - truth_[k + 2]) /
                std::hypot(truth_[k], truth_[k + 1], truth_[k + 2]));
        std::sort(list.begin(), list.end());
        return {list[list.size() / 2], list[list.size() * 99 / 100], list.back()};
    }

    const graft::engine::DeviceForceTable& table_ = *graft::engine::device_force_table();
    void* engine_ = nullptr;
    std::string shape_;
    int64_t n_ = 0;
    float *in_ = nullptr, *out_ = nullptr;
    Arrays arrays_;
    std::vector<float> truth_;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

TEST_F(EngineSpeed, WholeEvaluation) {
    const char* wanted = std::getenv("GRAFT_ENGINE_SPEED");
    const graft::settings::DeviceOptions options;
    graft::backend::DeviceError error;
    graft::backend::raise(table_.create(&options, &engine_, &error), error);
    std::printf(
        "shape n leaf group order accuracy graph | ms: total import tree moments lists forces output | pairs "
        "cells launches batches GiB repeats | p50 p99 max error\n");
    for (const Case& c : cases(wanted != nullptr ? wanted : "plummer:1e5:0:0:2:1e-3")) {
        prepare(c);
        const int64_t step = std::max<int64_t>(1, c.n / 4000);
        for (int graph : {0, 1}) {
            if (graph == 1 && c.n > 300000)
                continue;
            Settings s;
            s.precision = Precision::fp32;
            s.tuned = c.leaf > 0;
            if (c.leaf > 0)
                s.leaf = c.leaf, s.group = c.group;
            s.order = c.order, s.accuracy = c.accuracy;
            s.device.graph = graph;
            for (int k = 0; k < 3; ++k)
                call(s, arrays_.input);
            std::vector<DeviceReport> runs;
            for (int k = 0; k < (c.n > 20000000 ? 5 : 9); ++k)
                runs.push_back(call(s, arrays_.input));
            const std::vector<double> e = errors_of(step, result(step));
            const auto time_ms = [&](auto member) {
                std::vector<double> values;
                for (const DeviceReport& run : runs)
                    values.push_back(1e3 * run.time_s.*member);
                return median(values);
            };
            using Times = DeviceReport::Times;
            const DeviceReport& r = runs.back();
            std::printf(
                "%s %.3g %d %d %d %g %d | %.3f %.3f %.3f %.3f %.3f %.3f %.3f | %.3e %.3e %lld %lld %.2f %lld "
                "| %.2e %.2e %.2e\n",
                c.shape.c_str(), static_cast<double>(c.n), c.leaf, c.group, c.order, c.accuracy, r.graph,
                time_ms(&Times::total), time_ms(&Times::import), time_ms(&Times::tree),
                time_ms(&Times::moments), time_ms(&Times::lists), time_ms(&Times::forces),
                time_ms(&Times::output), r.pairs, r.cells, static_cast<long long>(r.launches),
                static_cast<long long>(r.batches), static_cast<double>(r.bytes_device) / 1073741824.0,
                static_cast<long long>(r.repeats), e[0], e[1], e[2]);
            std::fflush(stdout);
            EXPECT_LT(e[1], 10 * c.accuracy);
        }
    }
    table_.destroy(engine_);
}

} // namespace
