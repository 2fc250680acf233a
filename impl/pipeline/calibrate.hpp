// Measuring this machine for its machine file (model/machine.hpp), and the models as capi reaches them.
//
// Every figure is the best of a few rounds; the whole takes less than 20 s on a quiet machine. Bandwidths of
// copying count bytes read plus written. Sources: rehmann2022, section 4.2 (what to measure); the loops are
// those that `graft bench` times.
#pragma once

#include "decompose/device_orb.hpp"
#include "model/machine.hpp"
#include "model/orb_paper.hpp"
#include "model/orb_rounds.hpp"
#include "model/orb_time.hpp"
#include "model/roofline.hpp"

#include <cstdint>

namespace graft::pipeline {

struct Calibration {
    bool cpu = true;
    int32_t device = 0;      // of the GPU to measure
    bool gpu_needed = false; // else a machine without one is measured without
    bool gpu_wanted = true;
    int threads = 0; // as settings.threads
    int repetitions = 5;
};

/// "model name" of /proc/cpuinfo, "" where there is none: cpu.name of a machine file.
std::string processor_name();

/// Throws Error(argument) when the near field's model cannot use `machine` on this host: it has no numbers of
/// layouts (near.layouts), or it is of another processor (cpu.name, where the file tells it). `file` is its
/// name in the message.
void require_this_machine(const model::Machine& machine, const std::string& file);

/// What the calibration found out, and how long it took. *why says what was left out (no GPU...), else "".
/// Throws Error: memory, device (gpu_needed and there is none, or it failed).
model::Machine calibrate(const Calibration& calibration, std::string* why);

/// The CPU's share: `threads` threads together and one alone, per level of the memory.
void calibrate_cpu(model::Machine& machine, int threads, int repetitions);
/// The GPU's numbers of orthogonal recursive bisection, rehmann2022's kernels and ours, from runs on up to
/// 2^28 points (a sixteenth where less than 16 GiB are free). Throws Error(device).
void calibrate_orb(model::Gpu& gpu, const decompose::DeviceOrbTable& orb, int32_t device, int64_t bytes_free);
/// The GPU's and the link's. Throws Error(device).
void calibrate_gpu(model::Machine& machine, int32_t device, int repetitions);

} // namespace graft::pipeline
