// SPDX-License-Identifier: BSD-3-Clause
// What a measurement of rehmann2022's variants says, and its checks: every point in its part's box, none
// lost.
#include "study/papers/rehmann_bench_gpu.cuh"

namespace graft::study {

namespace {

/// Sum over all points of a hash of their coordinates; and points outside their part's box.
__global__ void sum_hashes(RehmannPoints points, int64_t n, const RehmannCell* cells, int32_t leaves,
                           unsigned long long* out) {
    unsigned long long hash = 0, outside = 0;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
         i += int64_t{gridDim.x} * blockDim.x) {
        uint64_t h = 0;
        float x[3];
        for (int a = 0; a < 3; ++a) {
            x[a] = points.x[a][i * points.stride];
            h = (h ^ __float_as_uint(x[a])) * 0x9E3779B97F4A7C15ull;
            h ^= h >> 29;
        }
        hash += h;
        if (cells == nullptr)
            continue;
        int32_t low = 0, high = leaves; // the last leaf with begin <= i
        while (high - low > 1) {
            const int32_t middle = low + (high - low) / 2;
            (cells[middle].begin <= i ? low : high) = middle;
        }
        bool inside = true;
        for (int a = 0; a < 3; ++a)
            inside = inside && x[a] >= cells[low].lower[a] && x[a] <= cells[low].upper[a];
        outside += !inside;
    }
    atomicAdd(out, hash), atomicAdd(out + 1, outside);
}

} // namespace

RehmannCell RehmannBench::root() {
    RehmannCell cell;
    cell.parts = request_.leaves;
    cell.count = request_.n;
    const float reach =
        request_.plummer != 0 ? 2048.0f : 1.0f; // the domain is known beforehand, as in his code
    for (int a = 0; a < 3; ++a)
        cell.lower[a] = request_.plummer != 0 ? -reach : 0, cell.upper[a] = reach;
    return cell;
}

unsigned long long RehmannBench::hash_of(const RehmannCell* cells, int32_t leaves,
                                         unsigned long long* outside) {
    GRAFT_CUDA(cudaMemsetAsync(hash_.data(), 0, 16, queue_.stream()));
    sum_hashes<<<16 * queue_.multiprocessors(), 256, 0, queue_.stream()>>>(from_, request_.n, cells, leaves,
                                                                           hash_.data());
    GRAFT_CUDA_LAUNCHED("sum_hashes");
    queue_.wait();
    unsigned long long answer[2];
    GRAFT_CUDA(cudaMemcpy(answer, hash_.data(), 16, cudaMemcpyDeviceToHost));
    if (outside != nullptr)
        *outside = answer[1];
    return answer[0];
}

std::string RehmannBench::verify(std::vector<RehmannCell>& leaves, unsigned long long before) {
    std::sort(leaves.begin(), leaves.end(), [](const auto& a, const auto& b) {
        return a.begin < b.begin || (a.begin == b.begin && a.count < b.count);
    });
    DeviceBuffer<RehmannCell> on_device(memory_, "leaves");
    send(on_device, leaves);
    unsigned long long outside = 0;
    const unsigned long long after = hash_of(on_device.data(), static_cast<int32_t>(leaves.size()), &outside);
    int64_t least = request_.n, most = 0, sum = 0;
    for (const RehmannCell& leaf : leaves) {
        least = std::min(least, leaf.count), most = std::max(most, leaf.count);
        sum += leaf.count;
    }
    const bool good = after == before && outside == 0 && sum == request_.n &&
                      static_cast<int32_t>(leaves.size()) == request_.leaves;
    return core::format(",\"verified\":%s,\"outside_leaf\":%llu,\"part_least\":%lld,\"part_most\":%lld",
                        good ? "true" : "false", outside, static_cast<long long>(least),
                        static_cast<long long>(most));
}

/// Host to device at the rate of this machine: a column a level (his working version) against all once.
std::string RehmannBench::copies() {
    constexpr int64_t bytes = int64_t{64} << 20;
    backend::PinnedBuffer<char> pinned(memory_, "copies");
    pinned.resize(bytes);
    const size_t sent = static_cast<size_t>(std::min(bytes, request_.n * 4));
    const double ms = best_ms([&] {
        GRAFT_CUDA(
            cudaMemcpyAsync(spare_.data(), pinned.data(), sent, cudaMemcpyHostToDevice, queue_.stream()));
    });
    const double rate = static_cast<double>(sent) / (ms * 1e-3), n = static_cast<double>(request_.n);
    const double levels = decompose::tree_depth(request_.leaves);
    return core::format(
        ",\"copy\":{\"bytes_per_s\":%.4g,\"bytes_partition_on_host\":%.6g,\"bytes_partition_on_device\":%.6g,"
        "\"time_s_partition_on_host\":%.4g,\"time_s_partition_on_device\":%.4g}",
        rate, 4 * n * levels, 12 * n, 4 * n * levels / rate, 12 * n / rate);
}

std::string RehmannBench::json(const RehmannRun& run) const {
    double sums[3] = {0, 0, 0};
    int64_t iterations = 0;
    std::string list;
    const auto whole = [](int64_t number) { return static_cast<long long>(number); };
    for (const LevelCost& c : run.levels) {
        sums[0] += c.make_axis_ms, sums[1] += c.count_ms, sums[2] += c.partition_ms;
        iterations += c.iterations;
        list += core::format("%s{\"cells\":%lld,\"make_axis_s\":%.4g,\"count_s\":%.5g,\"partition_s\":%.4g,"
                             "\"all_s\":%.5g,\"host_s\":%.4g,\"iterations\":%lld,\"searches\":%lld,"
                             "\"blocks\":%lld,\"count_launches\":%lld}",
                             list.empty() ? "" : ",", whole(c.cells), c.make_axis_ms * 1e-3,
                             c.count_ms * 1e-3, c.partition_ms * 1e-3, c.all_ms * 1e-3, c.host_ms * 1e-3,
                             whole(c.iterations), whole(c.searches), whole(c.blocks), whole(c.launches));
    }
    static const char* const variants[] = {"rounds", "cell", "level", "warp", "sweep"};
    static const char* const axes[] = {"column", "direct", "strided"};
    return core::format(
        "{\"backend\":\"gpu\",\"variant\":\"%s\",\"n\":%lld,\"leaves\":%d,\"dist\":\"%s\",\"threads\":%d,"
        "\"items\":%d,\"axis\":\"%s\","
        "\"partition\":\"%s\",\"temporaries\":%d,\"tolerance\":%g,\"time_s\":{\"total\":%.6g,\"make_axis\":%."
        "6g,\"count\":%.6g,"
        "\"partition\":%.6g},\"iterations_per_level\":%.3g,\"launches\":%lld,\"device_bytes\":%lld,"
        "\"levels\":[%s]",
        variants[static_cast<int>(request_.variant)], static_cast<long long>(request_.n), request_.leaves,
        request_.plummer != 0 ? "plummer" : "uniform", request_.threads, request_.items,
        axes[static_cast<int>(request_.axis)], request_.partition == OrbPartition::cell ? "cell" : "level",
        request_.temporaries, request_.tolerance, run.total_s, sums[0] * 1e-3, sums[1] * 1e-3, sums[2] * 1e-3,
        run.levels.empty() ? 0.0 : static_cast<double>(iterations) / static_cast<double>(run.levels.size()),
        static_cast<long long>(run.launches), static_cast<long long>(memory_.bytes_peak()), list.c_str());
}

/// Count-left of one column as one cell, over threads and elements a thread, beside plain reading.
std::string RehmannBench::sweep() {
    const int64_t n = request_.n;
    std::vector<RehmannCell> one = {root()};
    send(cuts_, std::vector<float>{0.5f});
    const double read_ms = best_ms([&] {
        rehmann_read(queue_, data_.data(), n,
                     hash_.empty() ? nullptr : reinterpret_cast<uint32_t*>(hash_.data()));
    });
    const auto rate = [&](double ms) { return static_cast<double>(n) * 4 / (ms * 1e-3); };
    std::string text =
        core::format("{\"backend\":\"gpu\",\"variant\":\"sweep\",\"n\":%lld,\"axis\":\"%s\",\"read_bytes_"
                     "per_s\":%.5g,\"count_left\":[",
                     static_cast<long long>(n), from_.stride == 3 ? "strided" : "column", rate(read_ms));
    bool first = true;
    for (const int threads : {128, 256, 512})
        for (const int items : {4, 8, 16, 32}) {
            make_blocks(one, nullptr, int64_t{threads} * items);
            const auto blocks = static_cast<int64_t>(blocks_.size());
            const double cell = best_ms([&] {
                rehmann_count_cell(queue_, from_.x[0], from_.stride, n, 0.5f, sums_.data(), threads, items);
            });
            const double level = best_ms([&] {
                rehmann_count_level(queue_, block_.data(), blocks, from_.stride, cuts_.data(), sums_.data(),
                                    threads);
            });
            const double warp = best_ms([&] {
                rehmann_count_warp(queue_, block_.data(), blocks, from_.stride, cuts_.data(), sums_.data(),
                                   threads, items);
            });
            text += core::format(
                "%s{\"threads\":%d,\"items\":%d,\"cell_bytes_per_s\":%.5g,\"level_bytes_per_s\":%.5g,"
                "\"warp_bytes_per_s\":%.5g,\"warp_share\":%.4g}",
                first ? "" : ",", threads, items, rate(cell), rate(level), rate(warp), read_ms / warp);
            first = false;
        }
    return text + "]}";
}

} // namespace graft::study
