// SPDX-License-Identifier: BSD-3-Clause
// The schedule of rehmann2022's GPU version (his figures 21, 23 and 25): the host bisects, the device counts
// and partitions; times by step, launches and bytes.
#include "study/papers/rehmann_bench_gpu.cuh"

#include <chrono>
#include <cmath>

namespace graft::study {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

} // namespace

/// In the order of their indices, whatever a run before left.
void RehmannBench::make_all_points() {
    const int64_t n = request_.n;
    const bool rows = from_.stride == 3; // made as columns, then laid out in rows
    if (rows)
        spare_.resize(3 * n);
    float* columns = rows ? spare_.data() : data_.data();
    make_points<float>
        <<<1024, 256, 0, queue_.stream()>>>(maker(), n, columns, columns + n, columns + 2 * n, nullptr);
    GRAFT_CUDA_LAUNCHED("make_points");
    for (int a = 0; rows && a < 3; ++a)
        GRAFT_CUDA(cudaMemcpy2DAsync(data_.data() + a, 12, spare_.data() + a * n, 4, 4,
                                     static_cast<size_t>(n), cudaMemcpyDeviceToDevice, queue_.stream()));
}

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
                rehmann_count_cell(queue_, in, stride, cells[c].count, cells[c].cut,
                                   sums_.data() + first_block_[c], request_.threads, request_.items);
            }
    } else {
        std::vector<float> cuts;
        for (const RehmannCell& cell : cells)
            cuts.push_back(cell.done ? NAN : cell.cut);
        send(cuts_, cuts);
        const auto blocks = static_cast<int64_t>(blocks_.size());
        if (request_.variant == OrbVariant::level)
            rehmann_count_level(queue_, block_.data(), blocks, stride, cuts_.data(), sums_.data(),
                                request_.threads);
        else
            rehmann_count_warp(queue_, block_.data(), blocks, stride, cuts_.data(), sums_.data(),
                               request_.threads, request_.items);
    }
    GRAFT_CUDA(cudaMemcpyAsync(host_sums_.data(), sums_.data(), blocks_.size() * 4, cudaMemcpyDeviceToHost,
                               queue_.stream()));
    queue_.wait();
    cost.launches += queue_.launches - launches;
    const auto start = Clock::now();
    for (size_t c = 0; c < cells.size(); ++c) {
        if (cells[c].done)
            continue;
        ++cost.searches;
        cells[c].left = 0;
        for (int64_t b = first_block_[c]; b < first_block_[c + 1]; ++b)
            cells[c].left += host_sums_.data()[b];
    }
    cost.host_ms += ms_since(start);
}

/// His algorithm 4: bisection until the count is the wanted one, within the tolerance, or no float is
/// between.
void RehmannBench::find_cuts(std::vector<RehmannCell>& cells, LevelCost& cost) {
    for (RehmannCell& cell : cells) {
        cell.low = cell.lower[cell.axis], cell.high = cell.upper[cell.axis];
        cell.cut = 0.5f * cell.low + 0.5f * cell.high;
    }
    for (bool open = true; open;) {
        count(cells, cost);
        ++cost.iterations;
        const auto start = Clock::now();
        open = false;
        for (RehmannCell& cell : cells) {
            if (cell.done)
                continue;
            const double wanted =
                static_cast<double>(cell.count) * static_cast<double>(decompose::leaves_left(cell.parts)) / cell.parts;
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
        cost.host_ms += ms_since(start);
    }
}

/// place_ holds the order: every column by way of the one temporary and back.
void RehmannBench::permute(const std::vector<RehmannCell>& cells, bool by_cell) {
    const auto move = [&](int64_t begin, int64_t end) {
        for (int a = 0; a < 3; ++a) {
            rehmann_permute(queue_, from_.x[a], spare_.data(), from_.stride, place_.data(), begin, end);
            if (from_.stride == 1)
                GRAFT_CUDA(cudaMemcpyAsync(from_.x[a] + begin, spare_.data() + begin,
                                           static_cast<size_t>(end - begin) * 4, cudaMemcpyDeviceToDevice,
                                           queue_.stream()));
            else
                GRAFT_CUDA(cudaMemcpy2DAsync(
                    from_.x[a] + begin * from_.stride, 12, spare_.data() + begin * from_.stride, 12, 4,
                    static_cast<size_t>(end - begin), cudaMemcpyDeviceToDevice, queue_.stream()));
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
            GRAFT_CUDA(cudaMemcpyAsync(
                from_.x[a] + cells.front().begin, spare.x[a] + cells.front().begin,
                static_cast<size_t>(cells.back().begin + cells.back().count - cells.front().begin) * 4,
                cudaMemcpyDeviceToDevice, queue_.stream()));
        if (from_.stride == 3)
            GRAFT_CUDA(cudaMemcpyAsync(
                from_.x[0] + 3 * cells.front().begin, spare.x[0] + 3 * cells.front().begin,
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
            child.parts = static_cast<int32_t>(decompose::leaves_left(cell.parts));
            child.count = cell.left;
            (side == 0 ? child.upper : child.lower)[cell.axis] = cell.cut;
            if (side == 1) {
                child.parts = cell.parts - child.parts;
                child.begin = cell.begin + cell.left;
                child.count = cell.count - cell.left;
            }
            for (int a = 0; a < 3; ++a)
                if (a == 0 ||
                    child.upper[a] - child.lower[a] > child.upper[child.axis] - child.lower[child.axis])
                    child.axis = a;
            (child.parts > 1 ? open : leaves).push_back(child);
        }
    return open;
}

/// One level: make-axis, cuts, partition; its cells' children come back.
std::vector<RehmannCell> RehmannBench::cut_level(std::vector<RehmannCell>& open,
                                                 std::vector<RehmannCell>& leaves, LevelCost& cost) {
    const auto start = Clock::now();
    const int64_t elements = int64_t{request_.threads} * request_.items;
    cost.cells = static_cast<int64_t>(open.size());
    make_blocks(open, nullptr, elements);
    cost.blocks = static_cast<int64_t>(blocks_.size());
    if (!column_.empty()) {
        cost.make_axis_ms = timed_ms([&] {
            if (request_.variant != OrbVariant::cell)
                return rehmann_make_axis(queue_, block_.data(), static_cast<int64_t>(blocks_.size()),
                                         from_.stride, column_.data(), request_.threads);
            for (size_t c = 0; c < open.size(); ++c)
                rehmann_make_axis(queue_, block_.data() + first_block_[c],
                                  first_block_[c + 1] - first_block_[c], from_.stride, column_.data(),
                                  request_.threads);
        });
        make_blocks(open, column_.data(), elements);
    }
    const auto count_start = Clock::now();
    find_cuts(open, cost);
    cost.count_ms = ms_since(count_start);
    if (!column_.empty())
        make_blocks(open, nullptr, elements);
    partition(open, cost);
    std::vector<RehmannCell> next = children(open, leaves);
    cost.all_ms = ms_since(start);
    return next;
}

RehmannRun RehmannBench::run_once() {
    RehmannRun run;
    std::vector<RehmannCell> open = {root()};
    if (request_.leaves == 1)
        run.leaves.swap(open);
    make_all_points();
    queue_.wait();
    const int64_t launches = queue_.launches;
    const auto start = Clock::now();
    while (!open.empty())
        open = cut_level(open, run.leaves, run.levels.emplace_back());
    run.total_s = 1e-3 * ms_since(start), run.launches = queue_.launches - launches;
    return run;
}

std::string RehmannBench::orb() {
    const int64_t n = request_.n;
    spare_.resize(request_.temporaries == 3 || from_.stride == 3 ? 3 * n : n);
    if (request_.axis == OrbAxis::column)
        column_.resize(n);
    if (request_.temporaries != 3)
        place_.resize(n);
    const unsigned long long before = request_.verify != 0 ? hash_of(nullptr, 0, nullptr) : 0;
    run_once(); // warms up, allocates
    std::vector<RehmannRun> runs;
    for (int r = 0; r < std::max(1, request_.repeats); ++r)
        runs.push_back(run_once());
    std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.total_s < b.total_s; });
    RehmannRun& median = runs[runs.size() / 2];
    return json(median) + copies() + (request_.verify != 0 ? verify(median.leaves, before) : "") + "}";
}

std::string bench_rehmann(const DeviceOrbBench& request) {
    if (request.lognormal != 0 || request.fp64 != 0)
        core::fail(core::Status::argument, "bench orb: rehmann2022's variants have neither weights nor fp64");
    if (request.n > (int64_t{1} << 31) - 1 || request.leaves > 65536)
        core::fail(core::Status::argument,
                   "bench orb: rehmann2022's variants take up to 2^31 - 1 points and 65536 leaves");
    RehmannBench bench(request);
    return request.variant == OrbVariant::sweep ? bench.sweep() : bench.orb();
}

} // namespace graft::study
