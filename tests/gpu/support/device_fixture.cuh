// SPDX-License-Identifier: BSD-3-Clause
// What a GPU test needs: a queue on device 0, or a skip where there is none.
#pragma once

#include "backend/queue_gpu.cuh"

#include "small.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace graft::test {

/// Skips where there is no device.
class OnDevice : public ::testing::Test {
  protected:
    void SetUp() override {
        int count = 0;
        if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
            (void)cudaGetLastError();
            GTEST_SKIP() << "no CUDA device";
        }
    }
};

class DeviceTest : public OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped())
            return;
        memory = std::make_unique<backend::DeviceMemory>(0);
        queue = std::make_unique<backend::Queue>(*memory, nullptr);
        queue->clear_status();
    }
    void TearDown() override {
        queue.reset();
        memory.reset();
    }

    template <typename T>
    void put(const std::vector<T>& from, backend::DeviceBuffer<T>& to) {
        to.resize(static_cast<int64_t>(from.size()));
        if (!from.empty())
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T),
                                       cudaMemcpyHostToDevice, queue->stream()));
        queue->wait();
    }
    template <typename T>
    std::vector<T> get(const T* from, int64_t n) {
        std::vector<T> to(static_cast<size_t>(n));
        if (n > 0)
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from, to.size() * sizeof(T), cudaMemcpyDeviceToHost,
                                       queue->stream()));
        queue->wait();
        return to;
    }
    backend::DeviceStatus status() {
        queue->fetch_status();
        queue->wait();
        return queue->fetched_status();
    }

    std::unique_ptr<backend::DeviceMemory> memory;
    std::unique_ptr<backend::Queue> queue;
};

} // namespace graft::test
