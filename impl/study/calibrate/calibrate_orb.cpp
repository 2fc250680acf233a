// SPDX-License-Identifier: BSD-3-Clause
// What orthogonal recursive bisection takes on the GPU, from its own measurement (bench/bench_orb.hpp):
// two sizes each, so that what a level takes whatever its size is told from what a byte takes. See
// calibrate.hpp.
#include "study/calibrate/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace graft::study {

namespace {


constexpr int32_t leaves = 4096, few_leaves = 16;
constexpr double levels = 12, axis_bytes = 8, partition_bytes = 48, key_bytes = 4;

/// The number after `key` in the answer, from place `from` on; 0 when there is none.
double number_after(const std::string& text, size_t from, const std::string& key) {
    const size_t at = from == text.npos ? text.npos : text.find("\"" + key + "\":", from);
    return at == text.npos ? 0 : std::strtod(text.c_str() + at + key.size() + 3, nullptr);
}

std::string orb_answer(const DeviceBenchTable& bench, DeviceOrbBench request, OrbVariant variant,
                       int64_t n) {
    request.variant = variant;
    request.n = n;
    backend::DeviceError error;
    std::vector<char> text(size_t{1} << 18);
    backend::raise(bench.orb(&request, text.data(), static_cast<int64_t>(text.size()), &error), error);
    return text.data();
}

/// Levels of a run of rehmann2022's variants, added up.
struct PaperSums {
    double axis_s = 0, count_s = 0, partition_s = 0, rest_s = 0;
    double bytes = 0; // counted
    double passes = 0, pass_blocks = 0, pass_cells = 0, blocks = 0, launches = 0, cells = 0, levels = 0;
};

/// The levels of `answer` with `least` to `most` cells.
PaperSums paper_sums(const std::string& answer, double least, double most) {
    const double n = number_after(answer, 0, "n");
    PaperSums sums;
    for (size_t at = answer.find("{\"cells\""); at != answer.npos; at = answer.find("{\"cells\"", at + 1)) {
        const auto number = [&](const char* key) { return number_after(answer, at, key); };
        const double cells = number("cells"), passes = number("iterations"), blocks = number("blocks");
        if (cells < least || cells > most)
            continue;
        const double axis_s = number("make_axis_s"), count_s = number("count_s"),
                     partition_s = number("partition_s");
        sums.axis_s += axis_s;
        sums.count_s += count_s;
        sums.partition_s += partition_s;
        sums.rest_s += number("all_s") - axis_s - count_s - partition_s;
        sums.bytes += key_bytes * n * number("searches") / cells;
        sums.passes += passes;
        sums.pass_blocks += passes * blocks;
        sums.pass_cells += passes * cells;
        sums.blocks += blocks;
        sums.launches += number("count_launches");
        sums.cells += cells;
        ++sums.levels;
    }
    return sums;
}

/// `seconds` less what is known of them, for each of `many`.
double each(double seconds, double known_s, double many) {
    return many > 0 ? std::max(0.0, seconds - known_s) / many : 0;
}

double rate(double bytes, double seconds) {
    return bytes > 0 && seconds > 0 ? bytes / seconds : 0;
}

/// A pass: its seconds, more for a block and for a cell, from the levels of few cells on n / 16 and n points,
/// and all levels.
void measure_passes(model::Gpu& gpu, const PaperSums (&few)[2], const PaperSums& all) {
    const auto pass_s = [&](const PaperSums& sums) {
        return each(sums.count_s, sums.bytes / gpu.orb_passes.count_left_bytes_per_s, sums.passes);
    };
    const double blocks[2] = {few[0].blocks / few[0].levels, few[1].blocks / few[1].levels};
    gpu.orb_passes.pass_block_s = each(pass_s(few[1]), pass_s(few[0]), blocks[1] - blocks[0]);
    gpu.orb_passes.pass_s = each(pass_s(few[0]), gpu.orb_passes.pass_block_s * blocks[0], 1);
    gpu.orb_passes.pass_cell_s =
        each(all.count_s,
             all.bytes / gpu.orb_passes.count_left_bytes_per_s + all.passes * gpu.orb_passes.pass_s +
                 all.pass_blocks * gpu.orb_passes.pass_block_s,
             all.pass_cells);
}

/// Count-left alone on n keys; all steps on n and n / 16 points; and by a kernel a cell on fewer, in cells
/// that begin anywhere.
void measure_paper_orb(model::Gpu& gpu, const DeviceBenchTable& bench, DeviceOrbBench request,
                       int64_t n) {
    constexpr double some = 64, any = leaves, many = 128; // cells of a level
    const std::string sweep = orb_answer(bench, request, OrbVariant::sweep, n);
    const size_t at = sweep.find("\"threads\":256,\"items\":16");
    gpu.orb_passes.count_left_bytes_per_s = number_after(sweep, at, "warp_bytes_per_s");
    gpu.orb_passes.count_level_bytes_per_s = number_after(sweep, at, "level_bytes_per_s");
    gpu.orb_passes.count_cell_bytes_per_s = number_after(sweep, at, "cell_bytes_per_s");
    const std::string less = orb_answer(bench, request, OrbVariant::warp, n / 16),
                      more = orb_answer(bench, request, OrbVariant::warp, n);
    measure_passes(gpu, {paper_sums(less, 1, some), paper_sums(more, 1, some)}, paper_sums(less, 1, any));
    const PaperSums all = paper_sums(more, 1, any), few = paper_sums(more, 1, some / 2),
                    split = paper_sums(more, many, any);
    const double points = static_cast<double>(n);
    gpu.orb_passes.axis_bytes_per_s =
        rate(all.levels * axis_bytes * points, all.axis_s - all.levels * gpu.launch_s);
    gpu.orb_passes.partition_bytes_per_s = rate(split.levels * partition_bytes * points, split.partition_s);
    gpu.orb_passes.partition_few_bytes_per_s = rate(few.levels * partition_bytes * points, few.partition_s);
    gpu.orb_passes.block_s = each(all.rest_s, 0, all.blocks);

    request.partition = OrbPartition::cell;
    const int64_t fewer = n / 6;
    const PaperSums own = paper_sums(orb_answer(bench, request, OrbVariant::cell, fewer), 1, any);
    const double bytes = own.levels * static_cast<double>(fewer);
    gpu.orb_passes.cell_kernel_s =
        each(own.count_s,
             own.bytes / gpu.orb_passes.count_cell_bytes_per_s + own.passes * gpu.orb_passes.pass_s +
                 own.pass_blocks * gpu.orb_passes.pass_block_s + own.pass_cells * gpu.orb_passes.pass_cell_s,
             own.launches);
    const double rounds =
                     study::orb_rounds_of_cells({static_cast<double>(fewer), static_cast<double>(leaves)}),
                 launches_s = own.cells * gpu.launch_s;
    gpu.orb_passes.axis_round_s =
        each(own.axis_s, axis_bytes * bytes / gpu.orb_passes.axis_bytes_per_s + launches_s, rounds);
    gpu.orb_passes.partition_round_s = each(
        own.partition_s, partition_bytes * bytes / gpu.orb_passes.partition_bytes_per_s + launches_s, rounds);
}

/// Ours: rates from n and n / 16 points; what is left of n / 16, in few leaves and in many, is for levels and
/// cells.
void measure_own_orb(model::Gpu& gpu, const DeviceBenchTable& bench, DeviceOrbBench request,
                     int64_t n) {
    const int64_t less_n = n / 16;
    const std::string more = orb_answer(bench, request, OrbVariant::rounds, n),
                      less = orb_answer(bench, request, OrbVariant::rounds, less_n);
    request.leaves = few_leaves;
    const std::string few = orb_answer(bench, request, OrbVariant::rounds, less_n);
    const double points = static_cast<double>(n), less_points = static_cast<double>(less_n);
    const auto seconds = [](const std::string& answer, const char* step) {
        return number_after(answer, answer.find("\"time_s\""), step);
    };
    const auto slope_s = [&](const char* step) { // a point
        return each(seconds(more, step), seconds(less, step), points - less_points);
    };
    model::Machine one;
    const double count = gpu.count;
    one.gpu = gpu;
    one.gpu.count = 1;
    const auto predict = [&](double particles, double parts) {
        return study::orb_gpu_rounds({particles, parts}, one);
    };
    for (const OrbStep& step : predict(1, leaves).steps) {
        if (std::string_view(step.name) == "count")
            one.gpu.orb.count_bytes_per_s = rate(step.bytes, slope_s("count"));
        if (std::string_view(step.name) == "move")
            one.gpu.orb.move_bytes_per_s = rate(step.bytes, slope_s("move"));
    }
    one.gpu.orb.point_s = (slope_s("sample") + slope_s("bracket") + slope_s("select")) / levels;
    const auto rest_s = [&](const std::string& answer, double parts) {
        return std::max(0.0, seconds(answer, "total") - predict(less_points, parts).total_s());
    };
    const double few_levels = study::levels_of(few_leaves), few_s = rest_s(few, few_leaves),
                 share = levels / few_levels;
    one.gpu.orb.cell_s = each(rest_s(less, leaves), share * few_s, leaves - 1 - share * (few_leaves - 1));
    one.gpu.orb.level_s = each(few_s, (few_leaves - 1) * one.gpu.orb.cell_s, few_levels);
    gpu = one.gpu;
    gpu.count = count;
}

} // namespace

void calibrate_orb(model::Gpu& gpu, const DeviceBenchTable& bench, int32_t device, int64_t bytes_free,
                   CalibrationParts& parts) {
    DeviceOrbBench request;
    request.device = device;
    request.leaves = leaves;
    request.verify = 0;
    request.repeats = 1;
    const int64_t n = int64_t{1} << (bytes_free > (int64_t{16} << 30) ? 28 : 24);
    parts.time("rehmann2022's ORB on the GPU", [&] { measure_paper_orb(gpu, bench, request, n); });
    request.repeats = 5;
    parts.time("ORB on the GPU", [&] { measure_own_orb(gpu, bench, request, n); });
}

} // namespace graft::study
