// SPDX-License-Identifier: BSD-3-Clause
// A host on the GPU that knows Graft by its table only: device columns, a stream, a context; or a skip.
#pragma once

#include "graft_loader.h"
#include "small.hpp"
#include "text.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace graft::test {

/// What a graft_array of T says.
template <typename T>
constexpr int32_t dtype_of = std::is_same_v<T, float>     ? GRAFT_F32
                             : std::is_same_v<T, double>  ? GRAFT_F64
                             : std::is_same_v<T, int32_t> ? GRAFT_I32
                                                          : GRAFT_I64;

template <typename T>
graft_array array_at(T* data, int64_t n, int32_t memory, int32_t components = 1, int64_t item_stride = 0) {
    graft_array a{};
    a.struct_size = sizeof a;
    a.data = const_cast<void*>(static_cast<const void*>(data));
    a.dtype = dtype_of<std::remove_const_t<T>>;
    a.memory = memory;
    a.components = components;
    a.n = n;
    a.item_stride = item_stride;
    a.bytes = n * (item_stride != 0 ? item_stride : components * int64_t{sizeof(T)});
    return a;
}

/// Device memory with the contents of a vector; freed at the end.
template <typename T>
class OnDevice {
  public:
    explicit OnDevice(const std::vector<T>& values) : n_(static_cast<int64_t>(values.size())) {
        EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
        // A copy from pageable memory may return before it has arrived, and Graft's stream does not wait for
        // it.
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    }
    ~OnDevice() { cudaFree(data_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    std::vector<T> get() const {
        std::vector<T> values(static_cast<size_t>(n_));
        EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }
    T* data() const { return data_; }
    graft_array view(int32_t components = 1) const {
        return array_at(data_, n_ / components, GRAFT_MEMORY_DEVICE, components);
    }

  private:
    size_t bytes() const { return static_cast<size_t>(n_) * sizeof(T); }
    T* data_ = nullptr;
    int64_t n_;
};

/// The host's capture is as the host left it: it ends with so many nodes.
inline void end_capture(cudaStream_t stream, size_t expected) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "the host's capture is spoilt";
    size_t nodes = 99;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, expected);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

/// Plummer's sphere, xyz xyz ..., cut at radius 20.
inline std::vector<double> plummer_points(int64_t n, unsigned seed = 5) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(1e-9, 0.996);
    std::vector<double> xyz;
    for (int64_t i = 0; i < n; ++i) {
        const double r = 1 / std::sqrt(std::pow(uniform(random), -2.0 / 3.0) - 1);
        const double c = uniform(random) * 2.008 - 1, phi = 6.3085 * uniform(random);
        const double s = std::sqrt(std::max(0.0, 1 - c * c));
        xyz.insert(xyz.end(), {r * s * std::cos(phi), r * s * std::sin(phi), r * c});
    }
    return xyz;
}

/// Particles and results around views; absent ones stay NULL.
struct Call {
    graft_array views[8];
    graft_particles particles{};
    graft_results results{};
    Call(const graft_array& position, const graft_array& acceleration) {
        views[0] = position, views[1] = acceleration;
        particles.struct_size = sizeof particles;
        particles.n = position.n;
        particles.position[0] = &views[0];
        particles.charge_all = 1.0 / static_cast<double>(std::max<int64_t>(position.n, 1));
        results.struct_size = sizeof results;
        results.acceleration[0] = &views[1];
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    const graft_array* keep(int slot, const graft_array& view) {
        views[slot] = view;
        return &views[slot];
    }
};

class DeviceHost : public testing::Test {
  protected:
    void SetUp() override {
        int devices = 0;
        if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
            GTEST_SKIP() << "no CUDA device";
        char message[1024];
        const char* library = std::getenv("GRAFT_LIBRARY") != nullptr ? nullptr : GRAFT_REAL;
        ASSERT_EQ(graft_load(library, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
        set("backend", "gpu");
    }
    void TearDown() override {
        if (api == nullptr)
            return;
        api->context_destroy(&context);
        api->options_destroy(&options);
    }
    void set(const char* key, const char* value) {
        ASSERT_EQ(api->options_set(options, key, value), GRAFT_OK) << api->last_error();
    }
    void create() {
        api->context_destroy(&context);
        ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    }
    void compute(const Call& call) {
        ASSERT_EQ(api->compute(context, &call.particles, &call.results), GRAFT_OK) << api->last_error();
    }
    void expect_error(int32_t status, int32_t expected, const char* words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    double figure(const char* key) {
        double value = -1;
        EXPECT_EQ(api->query(context, key, &value), GRAFT_OK) << api->last_error();
        return value;
    }
    std::string words(const char* key) { return support::text_of(api, context, key); }
    /// The field by this backend, all arrays on the host, in double precision.
    std::vector<double> field_of(const std::vector<double>& xyz, const char* backend) {
        set("backend", backend);
        create();
        std::vector<double> a(xyz.size(), -1);
        const auto n = static_cast<int64_t>(xyz.size() / 3);
        compute(
            Call(array_at(xyz.data(), n, GRAFT_MEMORY_HOST, 3), array_at(a.data(), n, GRAFT_MEMORY_HOST, 3)));
        set("backend", "gpu");
        return a;
    }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
};

/// The largest |a - b| of all vectors in units of the mean |b|.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0, mean = 0;
    for (size_t i = 0; i + 2 < b.size(); i += 3) {
        largest = std::max(largest, std::hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]));
        mean += std::hypot(b[i], b[i + 1], b[i + 2]) * 3 / static_cast<double>(b.size());
    }
    return largest / mean;
}

} // namespace graft::test
