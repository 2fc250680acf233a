// SPDX-License-Identifier: BSD-3-Clause
// Measurements of a device as the core reaches them, in libgraft_cuda_study's table: rates of the hardware that
// bound the kernels, the link to the host, and (appended by whoever measures more) the kernels themselves.
//
// Every function returns a core::Status and fills the DeviceError. Rates are the best of `repetitions` rounds
// after a warm-up, timed by events on the device unless it is the host that waits.
#pragma once

#include "backend/gpu_library.hpp"
#include "study/bench/bench_orb.hpp"
#include "study/bench/cloud_points.hpp"

#include <cstdint>

namespace graft::study {

/// Lane operations and bytes a second of one device; seconds.
struct DeviceRates {
    double read_bytes_per_s; // of an array far beyond the second-level cache
    double copy_bytes_per_s; // read plus written
    double fma_fp32_per_s;   // independent multiply-adds
    double fma_fp64_per_s;
    double mix_per_s;   // times 12 fp32 multiply-adds and one reciprocal root: the bound of P2P in pairs
    double rsqrt_per_s; // reciprocal roots (approximate) alone
    double launch_s;    // an empty kernel after another in one stream
    double kernel_s;    // a kernel that reads 4 MiB after another, less the time of the bytes
    double wait_s;      // an empty kernel, launched and waited for
};

/// Transfers of one size, launched and waited for by the host; bytes a second.
struct LinkRate {
    int64_t bytes;
    double pinned_to_device, pinned_to_host, pageable_to_device, pageable_to_host;
};

/// All pairs of n uniform bodies in the unit cube, without softening and potential.
struct PairsRequest {
    int64_t n;
    int32_t precision;   // forces::DevicePrecision: 0 fp32, 1 mixed, 2 fp64
    int32_t stage;       // forces::DirectStage: 0 to 2 thuering2023's (not mixed), 3 ours
    int32_t block;       // threads a block of stages 1 and 2; 0: 128
    int32_t repetitions; // after a warm-up
};

struct PairsRate {
    double time_s;      // median, by events, data on the device
    double best_s;      // shortest
    double pairs_per_s; // of the median
    int32_t launches;   // kernels
    int32_t unused;
};

/// n points of a cloud (cloud_points.hpp), masses 1 / n.
struct CloudRequest {
    int64_t n;
    uint64_t seed;
    int32_t cloud;     // study::Cloud
    int32_t in_double; // else float
};

struct DeviceBenchTable {
    uint32_t struct_size;
    uint32_t unused;
    /// Needs 2 GiB of device memory at most (half of what is free when that is less); about a second.
    int32_t (*rates)(int32_t device, int32_t repetitions, DeviceRates* rates, backend::DeviceError* error);
    /// 4 KiB, 16 KiB ... up to `most` sizes, at most 256 MiB; *count of them were measured. About a second.
    int32_t (*link)(int32_t device, int32_t repetitions, int32_t most, LinkRate* rates, int32_t* count,
                    backend::DeviceError* error);
    /// Bytes a second from one device's memory to another's, directly where they can.
    int32_t (*peer)(int32_t device, int32_t other, int32_t repetitions, double* bytes_per_s,
                    backend::DeviceError* error);
    /// DeviceDirect. Error(memory) when n bodies do not fit, Error(unsupported) for what a stage does not do.
    int32_t (*pairs)(int32_t device, const PairsRequest* request, PairsRate* rate,
                     backend::DeviceError* error);
    /// x, y, z, mass to four columns of n numbers, one behind the other, in device memory. Waits.
    int32_t (*cloud)(int32_t device, const CloudRequest* request, void* columns, backend::DeviceError* error);
    /// Every byte of device memory [to, to + bytes) to this one. Waits.
    int32_t (*fill_bytes)(int32_t device, void* to, int32_t byte, int64_t bytes, backend::DeviceError* error);
    /// ORB of points made on the device: the answer as JSON to text (room bytes).
    int32_t (*orb)(const DeviceOrbBench* request, char* text, int64_t room, backend::DeviceError* error);
};

/// The GPU library with benches; its own calls serve as libgraft_cuda.so's. Throws Error(device) without one.
inline const backend::CudaTable& bench_cuda() {
    return backend::require_cuda(backend::GpuLibrary::study);
}

/// The table; only libgraft_cuda_study.so has it (bench_table_gpu.cu).
const DeviceBenchTable& device_bench_table();

} // namespace graft::study
