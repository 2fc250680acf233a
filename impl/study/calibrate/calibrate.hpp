// SPDX-License-Identifier: BSD-3-Clause
// Measuring this machine for its machine file (model/machine.hpp), and the models as capi reaches them.
//
// Every figure is the best of a few rounds, no more than it takes for two to agree. From 8 threads on, what one
// core does and the GPU without transfers are measured side by side, and so are the near field of the CPU, four
// pieces of one thread each, and the GPU's kernels: 7 s on such a CPU, 15 s with a GPU, 13 s on 2 cores (where
// the time goes: docs/lab/gpu/model.md).
// Bandwidths of copying count bytes read plus written. Sources: rehmann2022, section 4.2 (what to measure);
// the loops are those that `graft bench` times.
#pragma once

#include "core/timer.hpp"
#include "model/machine.hpp"
#include "study/bench/bench_table.hpp"
#include "study/papers/orb_paper.hpp"
#include "study/papers/orb_rounds.hpp"
#include "study/papers/orb_time.hpp"
#include "model/roofline.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace graft::study {

struct Calibration {
    bool cpu = true;
    int32_t device = 0;      // of the GPU to measure
    bool gpu_needed = false; // else a machine without one is measured without
    bool gpu_wanted = true;
    int threads = 0; // as settings.threads
    int repetitions = 5;
};

/// What the calibration took, part by part, in the order in which they ended.
struct CalibrationParts {
    struct Part {
        std::string name;
        double seconds;
    };
    std::vector<Part> list;

    template <typename Body>
    void time(const char* name, Body&& body) {
        const core::Timer timer;
        body();
        list.push_back({name, timer.seconds()});
    }
};

struct CalibrationReport {
    std::string left_out; // why something was (no GPU...), else ""
    CalibrationParts parts;
};

/// What the calibration found out. Throws Error: memory, device (gpu_needed and there is none, or it failed).
model::Machine calibrate(const Calibration& calibration, CalibrationReport& report);

/// What one of `threads` cores does: caches, arrays of many sizes, loops.
void calibrate_core(model::Machine& machine, int threads, int repetitions, CalibrationParts& parts);
/// The main memory's rates, of all `threads` threads together and of one alone.
void calibrate_memory(model::Machine& machine, int threads, int repetitions, CalibrationParts& parts);
/// The GPU's numbers of orthogonal recursive bisection, rehmann2022's kernels and ours, from runs on up to
/// 2^28 points (a sixteenth where less than 16 GiB are free). Throws Error(device).
void calibrate_orb(model::Gpu& gpu, const DeviceBenchTable& bench, int32_t device, int64_t bytes_free,
                   CalibrationParts& parts);
/// The GPU's, which its host hardly disturbs. Throws Error(device).
void calibrate_gpu(model::Machine& machine, int32_t device, int repetitions, CalibrationParts& parts);
/// Transfers between the host and a GPU that calibrate_gpu() has measured, and between two. Throws
/// Error(device).
void calibrate_link(model::Machine& machine, int32_t device, int repetitions, CalibrationParts& parts);

} // namespace graft::study
