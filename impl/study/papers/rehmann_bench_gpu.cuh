// SPDX-License-Identifier: BSD-3-Clause
// The measurement of rehmann2022's variants: what is shared by the schedule (rehmann_gpu.cu) and
// the report with its checks (rehmann_report_gpu.cu).
#pragma once

#include "study/bench/bench_points_gpu.cuh"
#include "study/papers/rehmann_gpu.cuh"
#include "decompose/orb/left_filled.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace graft::study {

using backend::DeviceBuffer;

struct RehmannCell {
    int32_t heap = 1, parts = 1;
    int64_t begin = 0, count = 0;
    float lower[3], upper[3];
    // The search.
    int axis = 0;
    float low = 0, high = 0, cut = 0;
    int64_t left = 0;
    bool done = false;
};

/// Per level: milliseconds and numbers.
struct LevelCost {
    double make_axis_ms = 0, count_ms = 0, partition_ms = 0, all_ms = 0;
    double host_ms = 0; // of count_ms: results added up, next cuts
    int64_t iterations = 0, launches = 0, cells = 0;
    int64_t searches = 0; // iterations of each cell, added up
    int64_t blocks = 0;
};

/// One ORB: its levels, and the leaves it made.
struct RehmannRun {
    std::vector<LevelCost> levels;
    std::vector<RehmannCell> leaves;
    double total_s = 0;
    int64_t launches = 0;
};

class RehmannBench {
  public:
    explicit RehmannBench(const DeviceOrbBench& request)
        : request_(request), memory_(request.device), queue_(memory_, nullptr), data_(memory_, "points"),
          spare_(memory_, "temporary points"), column_(memory_, "axis"), place_(memory_, "permutation"),
          block_(memory_, "blocks"), cuts_(memory_, "cuts"), sums_(memory_, "sums"),
          begins_(memory_, "begins"), lefts_(memory_, "lefts"), next_(memory_, "counters"),
          host_sums_(memory_, "sums"), hash_(memory_, "hashes") {
        for (cudaEvent_t& event : event_)
            GRAFT_CUDA(cudaEventCreate(&event));
        data_.resize(3 * request.n);
        from_ = points_of(data_.data());
        hash_.resize(4);
        make_all_points();
    }
    ~RehmannBench() {
        for (cudaEvent_t event : event_)
            (void)cudaEventDestroy(event);
    }

    std::string sweep();
    std::string orb();

  private:
    PointMaker maker() const { return {request_.seed, request_.plummer != 0}; }
    RehmannPoints points_of(float* data) const {
        const int64_t n = request_.n;
        if (request_.axis == OrbAxis::strided)
            return {{data, data + 1, data + 2}, 3};
        return {{data, data + n, data + 2 * n}, 1};
    }
    template <typename Body>
    double timed_ms(Body&& body) {
        GRAFT_CUDA(cudaEventRecord(event_[0], queue_.stream()));
        body();
        GRAFT_CUDA(cudaEventRecord(event_[1], queue_.stream()));
        GRAFT_CUDA(cudaEventSynchronize(event_[1]));
        float ms = 0;
        GRAFT_CUDA(cudaEventElapsedTime(&ms, event_[0], event_[1]));
        return ms;
    }
    template <typename Body>
    double best_ms(Body&& body) {
        double best = 1e30;
        for (int r = 0; r < 6; ++r)
            best = std::min(best, timed_ms(body));
        return best;
    }
    template <typename V>
    void send(DeviceBuffer<V>& to, const std::vector<V>& from) {
        to.resize(static_cast<int64_t>(from.size()));
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(V), cudaMemcpyHostToDevice,
                                   queue_.stream()));
    }
    void make_all_points();
    void make_blocks(const std::vector<RehmannCell>& cells, const float* column, int64_t elements);
    void count(std::vector<RehmannCell>& cells, LevelCost& cost);
    void find_cuts(std::vector<RehmannCell>& cells, LevelCost& cost);
    void partition(std::vector<RehmannCell>& cells, LevelCost& cost);
    void permute(const std::vector<RehmannCell>& cells, bool by_cell);
    std::vector<RehmannCell> children(const std::vector<RehmannCell>& cells,
                                      std::vector<RehmannCell>& leaves) const;
    RehmannCell root();
    std::string verify(std::vector<RehmannCell>& leaves, unsigned long long hash_before);
    unsigned long long hash_of(const RehmannCell* cells, int32_t leaves, unsigned long long* outside);
    std::string copies();
    std::vector<RehmannCell> cut_level(std::vector<RehmannCell>& open, std::vector<RehmannCell>& leaves,
                                       LevelCost& cost);
    RehmannRun run_once();
    std::string json(const RehmannRun& run) const;

    DeviceOrbBench request_;
    backend::DeviceMemory memory_;
    backend::Queue queue_;
    DeviceBuffer<float> data_, spare_, column_;
    DeviceBuffer<uint32_t> place_;
    DeviceBuffer<RehmannBlock> block_;
    DeviceBuffer<float> cuts_;
    DeviceBuffer<uint32_t> sums_, begins_, lefts_, next_;
    backend::PinnedBuffer<uint32_t> host_sums_;
    DeviceBuffer<unsigned long long> hash_;
    cudaEvent_t event_[2];
    RehmannPoints from_;
    std::vector<RehmannBlock> blocks_;
    std::vector<int64_t> first_block_; // of each cell
};

} // namespace graft::study
