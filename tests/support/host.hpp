// SPDX-License-Identifier: BSD-3-Clause
// A small host for tests: particles in vectors, the ABI's structs made from them, one call to compute.
#pragma once

#include "entries.hpp"
#include "guard.hpp"

#include <graft/graft.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace graft::test {

/// A packed or strided view of caller memory.
inline graft_array array_of(const void* data, int32_t dtype, int64_t n, int32_t components = 1,
                            int64_t stride = 0, int64_t bytes = -1) {
    graft_array a{};
    a.struct_size = sizeof a;
    a.data = const_cast<void*>(data);
    a.dtype = dtype;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = components;
    a.n = n;
    a.item_stride = stride;
    const int64_t size = dtype == GRAFT_F32 || dtype == GRAFT_I32 ? 4 : 8;
    a.bytes = bytes >= 0 ? bytes : n * (stride != 0 ? stride : components * size);
    return a;
}

inline graft_array array_of(const std::vector<double>& v) {
    return array_of(v.data(), GRAFT_F64, static_cast<int64_t>(v.size()));
}
inline graft_array array_of(const std::vector<int32_t>& v) {
    return array_of(v.data(), GRAFT_I32, static_cast<int64_t>(v.size()));
}

struct Bodies {
    std::vector<double> x, y, z, q;
    explicit Bodies(size_t n = 0) : x(n), y(n), z(n), q(n, 1.0) {}
    size_t size() const { return x.size(); }
    void add(double px, double py, double pz, double charge) {
        x.push_back(px), y.push_back(py), z.push_back(pz), q.push_back(charge);
    }
};

/// Plummer sphere, scale 1, total charge 1; positions only.
inline Bodies plummer(size_t n, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    Bodies b(n);
    for (size_t i = 0; i < n; ++i) {
        const double m = 0.999 * uniform(random);
        const double r = 1 / std::sqrt(std::pow(m + 1e-12, -2.0 / 3.0) - 1);
        const double c = 2 * uniform(random) - 1, phi = 6.283185307179586 * uniform(random);
        const double s = std::sqrt(1 - c * c);
        b.x[i] = r * s * std::cos(phi), b.y[i] = r * s * std::sin(phi), b.z[i] = r * c;
        b.q[i] = 1.0 / static_cast<double>(n);
    }
    return b;
}

struct Field {
    std::vector<double> ax, ay, az, potential;
    std::array<double, 6> virial{};
    double energy = 0;
    explicit Field(size_t n = 0, double fill = 0)
        : ax(n, fill), ay(n, fill), az(n, fill), potential(n, fill) {}
};

/// Views of a Bodies and a Field, alive as long as both; fields may be changed before the call.
struct Call {
    Call(const Bodies& b, Field& f)
        : arrays{array_of(b.x), array_of(b.y), array_of(b.z), array_of(b.q)}, out{array_of(f.ax),
                                                                                  array_of(f.ay),
                                                                                  array_of(f.az),
                                                                                  array_of(f.potential),
                                                                                  array_of(f.virial.data(),
                                                                                           GRAFT_F64, 1, 6),
                                                                                  array_of(&f.energy,
                                                                                           GRAFT_F64, 1)} {
        particles.struct_size = sizeof particles;
        particles.n = static_cast<int64_t>(b.size());
        for (int a = 0; a < 3; ++a)
            particles.position[a] = &arrays[a];
        particles.charge = &arrays[3];
        results.struct_size = sizeof results;
        for (int a = 0; a < 3; ++a)
            results.acceleration[a] = &out[a];
        results.potential = &out[3];
        results.virial = &out[4];
        results.energy = &out[5];
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    graft_array arrays[4];
    graft_array out[6];
    graft_particles particles{};
    graft_results results{};
};

/// A context that is destroyed with the test.
class Context {
  public:
    explicit Context(const capi::Options& options, const graft_allocator* allocator = nullptr) {
        status = capi::context_create(options, allocator, &context_);
    }
    ~Context() { capi::context_destroy(&context_); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    operator graft_context*() const { return context_; }
    int32_t status = GRAFT_OK;

  private:
    graft_context* context_ = nullptr;
};

inline capi::Options options(settings::Method method, settings::Precision precision = settings::Precision::fp64) {
    capi::Options v;
    v.engine.method = method;
    v.asked.precision = precision;
    v.engine.threads = 1;
    return v;
}

/// |a - b| / |b| for every particle.
inline std::vector<double> errors(const Field& a, const Field& b) {
    std::vector<double> e(a.ax.size());
    for (size_t i = 0; i < e.size(); ++i) {
        const double d = std::hypot(a.ax[i] - b.ax[i], a.ay[i] - b.ay[i], a.az[i] - b.az[i]);
        e[i] = d / std::hypot(b.ax[i], b.ay[i], b.az[i]);
    }
    return e;
}

} // namespace graft::test
