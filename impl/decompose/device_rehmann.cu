// The schedule of rehmann2022's GPU version (his figures 21, 23 and 25): the host bisects, the device counts and
// partitions; times by step, launches and bytes.
#include "decompose/device_rehmann.cuh"

#include "decompose/device_points.cuh"
#include "decompose/left_filled.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace graft::decompose {

namespace {

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
    double make_axis_ms = 0, count_ms = 0, partition_ms = 0;
    int64_t iterations = 0, launches = 0, cells = 0;
};

/// Sum over all points of a hash of their coordinates; and points outside their part's box.
__global__ void sum_hashes(RehmannPoints points, int64_t n, const RehmannCell* cells, int32_t leaves,
                           unsigned long long* out) {
    unsigned long long hash = 0, outside = 0;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) {
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

class RehmannBench {
  public:
    explicit RehmannBench(const DeviceOrbBench& request)
        : request_(request), memory_(request.device), queue_(memory_, nullptr), data_(memory_, "points"),
          spare_(memory_, "temporary points"), column_(memory_, "axis"), place_(memory_, "permutation"),
          block_(memory_, "blocks"), cuts_(memory_, "cuts"), sums_(memory_, "sums"), begins_(memory_, "begins"),
          lefts_(memory_, "lefts"), next_(memory_, "counters"), host_sums_(memory_, "sums"), hash_(memory_, "hashes") {
        for (cudaEvent_t& event : event_)
            GRAFT_CUDA(cudaEventCreate(&event));
        const int64_t n = request.n;
        const bool rows = request.axis == OrbAxis::strided;
        data_.resize(3 * n);
        from_ = points_of(data_.data());
        if (rows) { // made as columns, then laid out in rows
            spare_.resize(3 * n);
            make_points<float><<<1024, 256, 0, queue_.stream()>>>(maker(), n, spare_.data(), spare_.data() + n,
                                                                  spare_.data() + 2 * n, nullptr);
            for (int a = 0; a < 3; ++a)
                GRAFT_CUDA(cudaMemcpy2DAsync(data_.data() + a, 12, spare_.data() + a * n, 4, 4, static_cast<size_t>(n),
                                             cudaMemcpyDeviceToDevice, queue_.stream()));
        } else {
            make_points<float><<<1024, 256, 0, queue_.stream()>>>(maker(), n, data_.data(), data_.data() + n,
                                                                  data_.data() + 2 * n, nullptr);
        }
        GRAFT_CUDA_LAUNCHED("make_points");
        hash_.resize(4);
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
    void make_blocks(const std::vector<RehmannCell>& cells, const float* column, int64_t elements);
    void count(std::vector<RehmannCell>& cells, LevelCost& cost);
    void find_cuts(std::vector<RehmannCell>& cells, LevelCost& cost);
    void partition(std::vector<RehmannCell>& cells, LevelCost& cost);
    void permute(const std::vector<RehmannCell>& cells, bool by_cell);
    std::vector<RehmannCell> children(const std::vector<RehmannCell>& cells, std::vector<RehmannCell>& leaves) const;
    RehmannCell root();
    std::string verify(std::vector<RehmannCell>& leaves, unsigned long long hash_before);
    unsigned long long hash_of(const RehmannCell* cells, int32_t leaves, unsigned long long* outside);
    std::string copies();

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

/// Blocks of threads * items elements; the last one of a cell takes the rest as well (section 6.5).
void RehmannBench::make_blocks(const std::vector<RehmannCell>& cells, const float* column, int64_t elements) {
    blocks_.clear();
    first_block_.clear();
    for (size_t c = 0; c < cells.size(); ++c) {
        const RehmannCell& cell = cells[c];
        first_block_.push_back(static_cast<int64_t>(blocks_.size()));
        const int64_t count = std::max<int64_t>(1, cell.count / elements);
        for (int64_t b = 0; b < count; ++b)
            blocks_.push_back({column != nullptr ? column : from_.x[cell.axis],
                               static_cast<uint32_t>(cell.begin + b * elements),
                               static_cast<uint32_t>(b + 1 < count ? cell.begin + (b + 1) * elements
                                                                   : cell.begin + cell.count),
                               static_cast<uint32_t>(c)});
    }
    first_block_.push_back(static_cast<int64_t>(blocks_.size()));
    send(block_, blocks_);
    sums_.resize(static_cast<int64_t>(blocks_.size()));
    host_sums_.resize(static_cast<int64_t>(blocks_.size()));
}

/// Points <= cut of every cell that is not done, to its `left`.
void RehmannBench::count(std::vector<RehmannCell>& cells, LevelCost& cost) {
    const int64_t launches = queue_.launches, stride = column_.empty() ? from_.stride : 1;
    if (request_.variant == OrbVariant::cell) {
        for (size_t c = 0; c < cells.size(); ++c)
            if (!cells[c].done) {
                const float* in = blocks_[static_cast<size_t>(first_block_[c])].in + cells[c].begin * stride;
                rehmann_count_cell(queue_, in, stride, cells[c].count, cells[c].cut, sums_.data() + first_block_[c],
                                   request_.threads, request_.items);
            }
    } else {
        std::vector<float> cuts;
        for (const RehmannCell& cell : cells)
            cuts.push_back(cell.done ? NAN : cell.cut);
        send(cuts_, cuts);
        const auto blocks = static_cast<int64_t>(blocks_.size());
        if (request_.variant == OrbVariant::level)
            rehmann_count_level(queue_, block_.data(), blocks, stride, cuts_.data(), sums_.data(), request_.threads);
        else
            rehmann_count_warp(queue_, block_.data(), blocks, stride, cuts_.data(), sums_.data(), request_.threads,
                               request_.items);
    }
    GRAFT_CUDA(cudaMemcpyAsync(host_sums_.data(), sums_.data(), blocks_.size() * 4, cudaMemcpyDeviceToHost,
                               queue_.stream()));
    queue_.wait();
    cost.launches += queue_.launches - launches;
    for (size_t c = 0; c < cells.size(); ++c) {
        if (cells[c].done)
            continue;
        cells[c].left = 0;
        for (int64_t b = first_block_[c]; b < first_block_[c + 1]; ++b)
            cells[c].left += host_sums_.data()[b];
    }
}

/// His algorithm 4: bisection until the count is the wanted one, within the tolerance, or no float is between.
void RehmannBench::find_cuts(std::vector<RehmannCell>& cells, LevelCost& cost) {
    for (RehmannCell& cell : cells) {
        cell.low = cell.lower[cell.axis], cell.high = cell.upper[cell.axis];
        cell.cut = 0.5f * cell.low + 0.5f * cell.high;
    }
    for (bool open = true; open;) {
        count(cells, cost);
        ++cost.iterations;
        open = false;
        for (RehmannCell& cell : cells) {
            if (cell.done)
                continue;
            const double wanted = static_cast<double>(cell.count) * static_cast<double>(leaves_left(cell.parts)) / cell.parts;
            const double off = static_cast<double>(cell.left) - wanted;
            const double slack = request_.tolerance * static_cast<double>(request_.n) / request_.leaves;
            if (std::fabs(off) < 1 || std::fabs(off) <= slack) {
                cell.done = true;
                continue;
            }
            (off > 0 ? cell.high : cell.low) = cell.cut;
            const float next = 0.5f * cell.low + 0.5f * cell.high;
            cell.done = next == cell.cut || next == cell.low || next == cell.high;
            if (!cell.done)
                cell.cut = next, open = true;
        }
    }
}

/// place_ holds the order: every column by way of the one temporary and back.
void RehmannBench::permute(const std::vector<RehmannCell>& cells, bool by_cell) {
    const auto move = [&](int64_t begin, int64_t end) {
        for (int a = 0; a < 3; ++a) {
            rehmann_permute(queue_, from_.x[a], spare_.data(), from_.stride, place_.data(), begin, end);
            if (from_.stride == 1)
                GRAFT_CUDA(cudaMemcpyAsync(from_.x[a] + begin, spare_.data() + begin, static_cast<size_t>(end - begin) * 4,
                                           cudaMemcpyDeviceToDevice, queue_.stream()));
            else
                GRAFT_CUDA(cudaMemcpy2DAsync(from_.x[a] + begin * from_.stride, 12, spare_.data() + begin * from_.stride, 12,
                                             4, static_cast<size_t>(end - begin), cudaMemcpyDeviceToDevice,
                                             queue_.stream()));
        }
    };
    if (!by_cell && !cells.empty() && cells.front().begin == 0 &&
        cells.back().begin + cells.back().count == request_.n)
        return move(0, request_.n);
    for (const RehmannCell& cell : cells)
        move(cell.begin, cell.begin + cell.count);
}

void RehmannBench::partition(std::vector<RehmannCell>& cells, LevelCost& cost) {
    std::vector<float> cuts;
    std::vector<uint32_t> begins, lefts;
    for (const RehmannCell& cell : cells) {
        cuts.push_back(cell.cut);
        begins.push_back(static_cast<uint32_t>(cell.begin));
        lefts.push_back(static_cast<uint32_t>(cell.left));
    }
    send(cuts_, cuts), send(begins_, begins), send(lefts_, lefts);
    next_.resize(2 * static_cast<int64_t>(cells.size()));
    const bool three = request_.temporaries == 3, by_cell = request_.partition == OrbPartition::cell;
    const RehmannPoints spare = points_of(spare_.data());
    const RehmannPoints to = three ? spare : RehmannPoints{{nullptr, nullptr, nullptr}, from_.stride};
    cost.partition_ms += timed_ms([&] {
        GRAFT_CUDA(cudaMemsetAsync(next_.data(), 0, static_cast<size_t>(next_.size()) * 4, queue_.stream()));
        for (size_t c = 0; c < (by_cell ? cells.size() : size_t{1}); ++c) {
            const int64_t first = by_cell ? first_block_[c] : 0,
                          end = by_cell ? first_block_[c + 1] : static_cast<int64_t>(blocks_.size());
            rehmann_partition(queue_, block_.data() + first, end - first, cuts_.data(), from_, to,
                              three ? nullptr : place_.data(), begins_.data(), lefts_.data(), next_.data(),
                              request_.threads);
        }
        if (!three)
            return permute(cells, by_cell);
        // Back to where the cells not cut at this level are.
        for (int a = 0; a < 3 && from_.stride == 1; ++a)
            GRAFT_CUDA(cudaMemcpyAsync(from_.x[a] + cells.front().begin, spare.x[a] + cells.front().begin,
                                       static_cast<size_t>(cells.back().begin + cells.back().count - cells.front().begin) * 4,
                                       cudaMemcpyDeviceToDevice, queue_.stream()));
        if (from_.stride == 3)
            GRAFT_CUDA(cudaMemcpyAsync(from_.x[0] + 3 * cells.front().begin, spare.x[0] + 3 * cells.front().begin,
                                       static_cast<size_t>(cells.back().begin + cells.back().count - cells.front().begin) * 12,
                                       cudaMemcpyDeviceToDevice, queue_.stream()));
    });
}

std::vector<RehmannCell> RehmannBench::children(const std::vector<RehmannCell>& cells,
                                                std::vector<RehmannCell>& leaves) const {
    std::vector<RehmannCell> open;
    for (const RehmannCell& cell : cells)
        for (int side = 0; side < 2; ++side) {
            RehmannCell child = cell;
            child.done = false;
            child.heap = 2 * cell.heap + side;
            child.parts = static_cast<int32_t>(leaves_left(cell.parts));
            child.count = cell.left;
            (side == 0 ? child.upper : child.lower)[cell.axis] = cell.cut;
            if (side == 1) {
                child.parts = cell.parts - child.parts;
                child.begin = cell.begin + cell.left;
                child.count = cell.count - cell.left;
            }
            for (int a = 0; a < 3; ++a)
                if (a == 0 || child.upper[a] - child.lower[a] > child.upper[child.axis] - child.lower[child.axis])
                    child.axis = a;
            (child.parts > 1 ? open : leaves).push_back(child);
        }
    return open;
}

RehmannCell RehmannBench::root() {
    RehmannCell cell;
    cell.parts = request_.leaves;
    cell.count = request_.n;
    const float reach = request_.plummer != 0 ? 2048.0f : 1.0f; // the domain is known beforehand, as in his code
    for (int a = 0; a < 3; ++a)
        cell.lower[a] = request_.plummer != 0 ? -reach : 0, cell.upper[a] = reach;
    return cell;
}

unsigned long long RehmannBench::hash_of(const RehmannCell* cells, int32_t leaves, unsigned long long* outside) {
    GRAFT_CUDA(cudaMemsetAsync(hash_.data(), 0, 16, queue_.stream()));
    sum_hashes<<<16 * queue_.multiprocessors(), 256, 0, queue_.stream()>>>(from_, request_.n, cells, leaves, hash_.data());
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
    return core::format(",\"verified\":%s,\"outside_leaf\":%llu,\"part_least\":%lld,\"part_most\":%lld", good ? "true" : "false",
                        outside, static_cast<long long>(least), static_cast<long long>(most));
}

/// Host to device at the rate of this machine: a column a level (his working version) against all once.
std::string RehmannBench::copies() {
    constexpr int64_t bytes = int64_t{64} << 20;
    backend::PinnedBuffer<char> pinned(memory_, "copies");
    pinned.resize(bytes);
    const size_t sent = static_cast<size_t>(std::min(bytes, request_.n * 4));
    const double ms = best_ms([&] {
        GRAFT_CUDA(cudaMemcpyAsync(spare_.data(), pinned.data(), sent, cudaMemcpyHostToDevice, queue_.stream()));
    });
    const double rate = static_cast<double>(sent) / (ms * 1e-3), n = static_cast<double>(request_.n);
    const double levels = tree_depth(request_.leaves);
    return core::format(",\"copy\":{\"bytes_per_s\":%.4g,\"bytes_partition_on_host\":%.6g,\"bytes_partition_on_device\":%.6g,"
                        "\"time_s_partition_on_host\":%.4g,\"time_s_partition_on_device\":%.4g}",
                        rate, 4 * n * levels, 12 * n, 4 * n * levels / rate, 12 * n / rate);
}

std::string RehmannBench::orb() {
    const int64_t n = request_.n;
    spare_.resize(request_.temporaries == 3 || from_.stride == 3 ? 3 * n : n);
    if (request_.axis == OrbAxis::column)
        column_.resize(n);
    if (request_.temporaries != 3)
        place_.resize(n);
    const unsigned long long before = request_.verify != 0 ? hash_of(nullptr, 0, nullptr) : 0;
    std::vector<RehmannCell> open = {root()}, leaves;
    if (request_.leaves == 1)
        leaves.swap(open);
    std::vector<LevelCost> levels;
    queue_.wait();
    const int64_t launches = queue_.launches;
    const auto start = std::chrono::steady_clock::now();
    const int64_t elements = int64_t{request_.threads} * request_.items;
    while (!open.empty()) {
        LevelCost& cost = levels.emplace_back();
        cost.cells = static_cast<int64_t>(open.size());
        make_blocks(open, nullptr, elements);
        if (!column_.empty()) {
            cost.make_axis_ms = timed_ms([&] {
                if (request_.variant != OrbVariant::cell)
                    return rehmann_make_axis(queue_, block_.data(), static_cast<int64_t>(blocks_.size()), from_.stride,
                                             column_.data(), request_.threads);
                for (size_t c = 0; c < open.size(); ++c)
                    rehmann_make_axis(queue_, block_.data() + first_block_[c], first_block_[c + 1] - first_block_[c],
                                      from_.stride, column_.data(), request_.threads);
            });
            make_blocks(open, column_.data(), elements);
        }
        const auto count_start = std::chrono::steady_clock::now();
        find_cuts(open, cost);
        cost.count_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - count_start).count();
        if (!column_.empty())
            make_blocks(open, nullptr, elements);
        partition(open, cost);
        open = children(open, leaves);
    }
    const double total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    double sums[3] = {0, 0, 0};
    int64_t iterations = 0;
    std::string list;
    for (const LevelCost& c : levels) {
        sums[0] += c.make_axis_ms, sums[1] += c.count_ms, sums[2] += c.partition_ms;
        iterations += c.iterations;
        list += core::format("%s{\"cells\":%lld,\"make_axis_s\":%.4g,\"count_s\":%.5g,\"partition_s\":%.4g,\"iterations\":%lld,"
                             "\"count_launches\":%lld}",
                             list.empty() ? "" : ",", static_cast<long long>(c.cells), c.make_axis_ms * 1e-3,
                             c.count_ms * 1e-3, c.partition_ms * 1e-3, static_cast<long long>(c.iterations),
                             static_cast<long long>(c.launches));
    }
    static const char* const variants[] = {"rounds", "cell", "level", "warp", "sweep"};
    static const char* const axes[] = {"column", "direct", "strided"};
    std::string text = core::format(
        "{\"backend\":\"cuda\",\"variant\":\"%s\",\"n\":%lld,\"leaves\":%d,\"dist\":\"%s\",\"threads\":%d,\"items\":%d,\"axis\":\"%s\","
        "\"partition\":\"%s\",\"temporaries\":%d,\"tolerance\":%g,\"time_s\":{\"total\":%.6g,\"make_axis\":%.6g,\"count\":%.6g,"
        "\"partition\":%.6g},\"iterations_per_level\":%.3g,\"launches\":%lld,\"device_bytes\":%lld,\"levels\":[%s]",
        variants[static_cast<int>(request_.variant)], static_cast<long long>(n), request_.leaves,
        request_.plummer != 0 ? "plummer" : "uniform", request_.threads, request_.items,
        axes[static_cast<int>(request_.axis)], request_.partition == OrbPartition::cell ? "cell" : "level",
        request_.temporaries, request_.tolerance, total_s, sums[0] * 1e-3, sums[1] * 1e-3, sums[2] * 1e-3,
        levels.empty() ? 0.0 : static_cast<double>(iterations) / static_cast<double>(levels.size()),
        static_cast<long long>(queue_.launches - launches), static_cast<long long>(memory_.bytes_peak()), list.c_str());
    return text + copies() + (request_.verify != 0 ? verify(leaves, before) : "") + "}";
}

/// Count-left of one column as one cell, over threads and elements a thread, beside plain reading.
std::string RehmannBench::sweep() {
    const int64_t n = request_.n;
    std::vector<RehmannCell> one = {root()};
    send(cuts_, std::vector<float>{0.5f});
    const double read_ms = best_ms([&] { rehmann_read(queue_, data_.data(), n, hash_.empty() ? nullptr : reinterpret_cast<uint32_t*>(hash_.data())); });
    const auto rate = [&](double ms) { return static_cast<double>(n) * 4 / (ms * 1e-3); };
    std::string text = core::format("{\"backend\":\"cuda\",\"variant\":\"sweep\",\"n\":%lld,\"axis\":\"%s\",\"read_bytes_per_s\":%.5g,\"count_left\":[",
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
                rehmann_count_level(queue_, block_.data(), blocks, from_.stride, cuts_.data(), sums_.data(), threads);
            });
            const double warp = best_ms([&] {
                rehmann_count_warp(queue_, block_.data(), blocks, from_.stride, cuts_.data(), sums_.data(), threads, items);
            });
            text += core::format("%s{\"threads\":%d,\"items\":%d,\"cell_bytes_per_s\":%.5g,\"level_bytes_per_s\":%.5g,"
                                 "\"warp_bytes_per_s\":%.5g,\"warp_share\":%.4g}",
                                 first ? "" : ",", threads, items, rate(cell), rate(level), rate(warp), read_ms / warp);
            first = false;
        }
    return text + "]}";
}

} // namespace

std::string bench_rehmann(const DeviceOrbBench& request) {
    if (request.lognormal != 0 || request.fp64 != 0)
        core::fail(core::Status::argument, "bench orb: rehmann2022's variants have neither weights nor fp64");
    if (request.n > (int64_t{1} << 31) - 1 || request.leaves > 65536)
        core::fail(core::Status::argument, "bench orb: rehmann2022's variants take up to 2^31 - 1 points and 65536 leaves");
    RehmannBench bench(request);
    return request.variant == OrbVariant::sweep ? bench.sweep() : bench.orb();
}

} // namespace graft::decompose
