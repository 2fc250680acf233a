// SPDX-License-Identifier: BSD-3-Clause
// How long the steps of a run took, for measurements.
#pragma once

#include "decompose/orb/gpu/orb_gpu.cuh"

#include <array>
#include <vector>

namespace graft::decompose {

/// Pairs of events around steps; read back after the queue's wait.
class StepClock {
  public:
    enum Step { bounds, sample, bracket, count, select, move, steps };
    ~StepClock() {
        for (cudaEvent_t event : events_)
            (void)cudaEventDestroy(event);
    }
    void begin(bool timed) {
        timed_ = timed;
        used_ = 0;
        marks_.clear();
    }
    void mark(cudaStream_t stream, int step, int level) {
        if (!timed_)
            return;
        if (used_ == events_.size()) {
            events_.push_back(nullptr);
            GRAFT_CUDA(cudaEventCreate(&events_.back()));
        }
        GRAFT_CUDA(cudaEventRecord(events_[used_++], stream));
        marks_.push_back({step, level});
    }
    /// marks_[i] is the step between events i and i + 1; the last event ends the run.
    DeviceOrbTimes read() const {
        DeviceOrbTimes times;
        double* const sums[steps] = {&times.bounds_ms, &times.sample_ms, &times.bracket_ms,
                                     &times.count_ms,  &times.select_ms, &times.move_ms};
        for (size_t i = 0; i + 1 < marks_.size(); ++i) {
            float ms = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]));
            *sums[marks_[i][0]] += ms;
            times.total_ms += ms;
            if (marks_[i][1] >= 0)
                times.level_ms[marks_[i][1]] += ms;
        }
        return times;
    }

  private:
    bool timed_ = false;
    size_t used_ = 0;
    std::vector<cudaEvent_t> events_;
    std::vector<std::array<int, 2>> marks_;
};

} // namespace graft::decompose
