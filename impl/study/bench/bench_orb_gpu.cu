// SPDX-License-Identifier: BSD-3-Clause
// Measuring device ORB, and checking in the same run what it made: see bench_orb.hpp.
#include "study/bench/bench_table_gpu.cuh"

#include "backend/guard_gpu.cuh"
#include "decompose/orb/cut_goal.hpp"
#include "decompose/orb/gpu/orb_gpu.cuh"
#include "decompose/orb/gpu/orb_host_arrays_gpu.cuh"
#include "study/bench/bench_points_gpu.cuh"
#include "decompose/points/point_records_table.hpp"
#include "study/papers/rehmann_gpu.cuh"

#include <algorithm>
#include <string>

namespace graft::study {

using namespace decompose;

namespace {

using backend::DeviceBuffer;

/// What a check of all points counts.
struct OrbFaults {
    unsigned long long outside, moved_wrongly, unordered, id_sum, id_hash, hash_wanted;
};

__device__ unsigned long long mix_bits(uint64_t v) {
    v *= 0x9E3779B97F4A7C15ull;
    return v ^ v >> 32;
}

/// Every point: in its leaf's box and on its side of every cut, its coordinates those of its index, indices
/// rising in a leaf; and checksums of all indices.
template <typename T>
__global__ void check_points(const T* const* column, const T* const* original, const uint32_t* index,
                             int64_t n, const int64_t* offset, const Cell* cells, int32_t parts,
                             OrbFaults* faults) {
    unsigned long long sum = 0, hash = 0, wanted = 0, outside = 0, moved = 0, unordered = 0;
    const int64_t stride = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
        int32_t low = 0, high = parts; // the last part with offset <= i
        while (high - low > 1) {
            const int32_t middle = low + (high - low) / 2;
            (offset[middle] <= i ? low : high) = middle;
        }
        const uint32_t id = index[i];
        double x[3];
        bool same = true;
        for (int a = 0; a < 3; ++a) {
            x[a] = static_cast<double>(column[a][i]);
            same = same && column[a][i] == original[a][id];
        }
        int64_t k = 1;
        while (cells[k].axis >= 0) {
            const Cell& cell = cells[k];
            const double v = x[cell.axis];
            k = 2 * k + (v < cell.cut || (v == cell.cut && static_cast<int64_t>(id) < cell.tie) ? 0 : 1);
        }
        bool inside = cells[k].first_part == low;
        for (int a = 0; a < 3; ++a)
            inside = inside && x[a] >= cells[k].lower[a] && x[a] <= cells[k].upper[a];
        outside += !inside, moved += !same;
        unordered += i > offset[low] && index[i - 1] >= id;
        sum += id, hash += mix_bits(id), wanted += mix_bits(static_cast<uint64_t>(i));
    }
    atomicAdd(&faults->outside, outside), atomicAdd(&faults->moved_wrongly, moved);
    atomicAdd(&faults->unordered, unordered), atomicAdd(&faults->id_sum, sum);
    atomicAdd(&faults->id_hash, hash), atomicAdd(&faults->hash_wanted, wanted);
}

/// Points of every part as the rule has it for unit weights, whatever the coordinates.
void expected_counts(int64_t count, int32_t parts, std::vector<int64_t>& out) {
    if (parts == 1) {
        out.push_back(count);
        return;
    }
    const CutGoal goal(count, static_cast<Wide>(count), parts, 0);
    int64_t low = 0, high = count; // the crossing point is the first k with past(k)
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (goal.past(middle, static_cast<Wide>(middle)))
            high = middle;
        else
            low = middle + 1;
    }
    const int64_t left =
        count > 0 && !goal.takes(low, static_cast<Wide>(low - 1), static_cast<Wide>(low)) ? low - 1 : low;
    const auto parts_left = static_cast<int32_t>(leaves_left(parts));
    expected_counts(left, parts_left, out);
    expected_counts(count - left, parts - parts_left, out);
}

template <typename T>
class OrbBench {
  public:
    explicit OrbBench(const DeviceOrbBench& request)
        : request_(request), memory_(request.device),
          queue_(memory_, nullptr), x_{DeviceBuffer<T>(memory_, "points"), DeviceBuffer<T>(memory_, "points"),
                                       DeviceBuffer<T>(memory_, "points")},
          cost_(memory_, "costs"), orb_(queue_) {
        queue_.clear_status();
        for (DeviceBuffer<T>& x : x_)
            x.resize(request.n);
        cost_.resize(request.lognormal != 0 ? request.n : 0);
        study::make_points<T><<<8 * queue_.multiprocessors(), 256, 0, queue_.stream()>>>(
            study::PointMaker{request.seed, request.plummer != 0}, request.n, x_[0].data(), x_[1].data(),
            x_[2].data(), request.lognormal != 0 ? cost_.data() : nullptr);
        GRAFT_CUDA_LAUNCHED("make_points");
    }

    std::string run() {
        DeviceOrbPoints points;
        points.n = request_.n, points.fp64 = sizeof(T) == 8;
        points.x = x_[0].data(), points.y = x_[1].data(), points.z = x_[2].data();
        points.cost = request_.lognormal != 0 ? cost_.data() : nullptr;
        DeviceOrbOptions options;
        options.parts = request_.leaves;
        options.levels_per_round = request_.levels_per_round;
        options.samples_per_cell = request_.samples_per_cell;
        std::vector<DeviceOrbTimes> runs;
        const int64_t launches = queue_.launches;
        orb_.run(points, options, true); // warms up, allocates
        launches_ = queue_.launches - launches;
        orb_.check();
        for (int r = 0; r < std::max(1, request_.repeats); ++r) {
            orb_.run(points, options, true);
            runs.push_back(orb_.times());
        }
        std::sort(runs.begin(), runs.end(),
                  [](const auto& a, const auto& b) { return a.total_ms < b.total_ms; });
        return json(runs[runs.size() / 2], runs[0].total_ms) + (request_.verify != 0 ? verify() : "}");
    }

  private:
    std::string json(const DeviceOrbTimes& t, double best_ms) {
        const double n = static_cast<double>(request_.n), size = sizeof(T),
                     w = request_.lognormal != 0 ? 8 : 0;
        double bytes = n * 3 * size + (w > 0 ? n * (3 * 8 + 8) : 0); // box, weights
        for (int r = 0, level = 0; r < t.rounds; ++r) {
            const int count = (t.levels - level + t.rounds - r - 1) / (t.rounds - r);
            for (int step = 0; step < count; ++step)
                bytes += n * (std::min(step + 1, 3) * size + w);
            bytes += n * (2 * (3 * size + w + 4) - (r == 0 ? 4 : 0));
            level += count;
        }
        std::string text = core::format(
            "{\"backend\":\"gpu\",\"variant\":\"rounds\",\"n\":%lld,\"leaves\":%d,\"dist\":\"%s\","
            "\"weights\":\"%s\","
            "\"precision\":\"%s\",\"levels\":%d,\"rounds\":%d,\"launches\":%lld,\"missed_brackets\":%lld,"
            "\"time_s\":{\"total\":%.6g,\"best\":%.6g,\"bounds\":%.6g,\"sample\":%.6g,\"bracket\":%.6g,"
            "\"count\":%.6g,"
            "\"select\":%.6g,\"move\":%.6g},\"level_s\":[",
            static_cast<long long>(request_.n), request_.leaves,
            request_.plummer != 0 ? "plummer" : "uniform", request_.lognormal != 0 ? "lognormal" : "unit",
            sizeof(T) == 8 ? "fp64" : "fp32", t.levels, t.rounds, static_cast<long long>(launches_),
            static_cast<long long>(orb_.missed_brackets()), t.total_ms * 1e-3, best_ms * 1e-3,
            t.bounds_ms * 1e-3, t.sample_ms * 1e-3, t.bracket_ms * 1e-3, t.count_ms * 1e-3,
            t.select_ms * 1e-3, t.move_ms * 1e-3);
        for (int level = 0; level < t.levels; ++level)
            text += core::format("%s%.4g", level == 0 ? "" : ",", t.level_ms[level] * 1e-3);
        return text +
               core::format("],\"passes\":%d,\"bytes\":%.6g,\"bytes_per_s\":%.4g,\"device_bytes\":%lld",
                            t.levels + t.rounds + 1, bytes, bytes / (best_ms * 1e-3),
                            static_cast<long long>(memory_.bytes_peak()));
    }

    std::string verify() {
        std::vector<Cell> cells;
        orb_.fetch_cells(cells);
        DeviceBuffer<Cell> device_cells(memory_, "cells");
        DeviceBuffer<const T*> pointers(memory_, "pointers");
        DeviceBuffer<OrbFaults> faults(memory_, "faults");
        device_cells.resize(static_cast<int64_t>(cells.size())), pointers.resize(6), faults.resize(1);
        const T* host_pointers[6];
        for (int a = 0; a < 3; ++a)
            host_pointers[a] = static_cast<const T*>(orb_.column(a)), host_pointers[3 + a] = x_[a].data();
        GRAFT_CUDA(cudaMemcpy(device_cells.data(), cells.data(), cells.size() * sizeof(Cell),
                              cudaMemcpyHostToDevice));
        GRAFT_CUDA(cudaMemcpy(pointers.data(), host_pointers, sizeof host_pointers, cudaMemcpyHostToDevice));
        GRAFT_CUDA(cudaMemset(faults.data(), 0, sizeof(OrbFaults)));
        check_points<T><<<16 * queue_.multiprocessors(), 256, 0, queue_.stream()>>>(
            pointers.data(), pointers.data() + 3, orb_.index(), request_.n, orb_.part_offset(),
            device_cells.data(), request_.leaves, faults.data());
        GRAFT_CUDA_LAUNCHED("check_points");
        queue_.wait();
        OrbFaults f;
        std::vector<int64_t> offset(static_cast<size_t>(request_.leaves) + 1), wanted;
        GRAFT_CUDA(cudaMemcpy(&f, faults.data(), sizeof f, cudaMemcpyDeviceToHost));
        GRAFT_CUDA(cudaMemcpy(offset.data(), orb_.part_offset(), offset.size() * 8, cudaMemcpyDeviceToHost));
        int64_t wrong_counts = 0, least = request_.n, most = 0;
        if (request_.lognormal == 0)
            expected_counts(request_.n, request_.leaves, wanted);
        for (size_t p = 0; p + 1 < offset.size(); ++p) {
            const int64_t count = offset[p + 1] - offset[p];
            least = std::min(least, count), most = std::max(most, count);
            wrong_counts += !wanted.empty() && wanted[p] != count ? 1 : 0;
        }
        const uint64_t n = static_cast<uint64_t>(request_.n);
        const bool all = f.id_hash == f.hash_wanted && f.id_sum == n * (n - 1) / 2;
        const bool good = all && wrong_counts == 0 && f.outside + f.moved_wrongly + f.unordered == 0;
        return core::format(
            ",\"verified\":%s,\"faults\":{\"part_counts\":%lld,\"outside_leaf\":%llu,\"coordinates\":%llu,"
            "\"order\":%llu,\"checksum\":%d},\"part_least\":%lld,\"part_most\":%lld,\"id_checksum\":\"%"
            "016llx\"}",
            good ? "true" : "false", static_cast<long long>(wrong_counts), f.outside, f.moved_wrongly,
            f.unordered, all ? 0 : 1, static_cast<long long>(least), static_cast<long long>(most), f.id_hash);
    }

    DeviceOrbBench request_;
    backend::DeviceMemory memory_;
    backend::Queue queue_;
    DeviceBuffer<T> x_[3];
    DeviceBuffer<double> cost_;
    DeviceOrb orb_;
    int64_t launches_ = 0;
};

} // namespace

int32_t measure_orb(const DeviceOrbBench* request, char* text, int64_t room, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(request->device));
        const std::string answer = request->variant != OrbVariant::rounds ? bench_rehmann(*request)
                                   : request->fp64 != 0                   ? OrbBench<double>(*request).run()
                                                                          : OrbBench<float>(*request).run();
        if (static_cast<int64_t>(answer.size()) >= room)
            core::fail(core::Status::internal, "bench orb: an answer of %zu bytes does not fit %lld",
                       answer.size(), static_cast<long long>(room));
        std::copy(answer.c_str(), answer.c_str() + answer.size() + 1, text);
    });
}

} // namespace graft::study
