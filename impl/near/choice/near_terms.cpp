// SPDX-License-Identifier: BSD-3-Clause
// How many of each term of a phase there are: the layouts in numbers, see near_time.hpp.
#include "near/choice/near_terms_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace graft::near {

namespace {

constexpr double line_bytes = 64;
constexpr double usual_second_level = 1 << 20, usual_last_level = 32 << 20; // bytes, where nothing is known
// Larger blocks are fresh from the system, cleared at their first touch: the C library's usual threshold.
constexpr double fresh_bytes = 1 << 17;
constexpr double run_bytes = 8;           // of consecutive sources; as much where a box's begin
constexpr double learned_branches = 5000; // that a processor remembers
// Of the lines of a record the processor fetches some too late, at its beginning more than later: of n about
// sqrt(n) are waited for, each as long as so many numbers of the memory at random take. Measured with 6 to
// 5,000 lines in two and three dimensions (docs/lab/near.md). What has just been written comes from
// the memory where it is larger than so many times the second level.
constexpr double waited_numbers = 16, kept_levels = 8;

enum Term : size_t { call, neighbour, target, run, entry, cache, memory, random };

/// Bytes of the second and of the last level for one thread.
struct Levels {
    double second = usual_second_level, last = usual_last_level;
    const model::Cpu* cpu = nullptr; // with what arrays of each size take
};

/// One core where nobody has measured it (the processor of near_defaults.cpp).
constexpr model::ArrayReads usual_arrays[] = {{1 << 20, 0.9e-9, 0.4e-9},  {4 << 20, 0.9e-9, 0.5e-9},
                                       {8 << 20, 0.9e-9, 0.6e-9},  {16 << 20, 2e-9, 1.5e-9},
                                       {32 << 20, 5.6e-9, 2.5e-9}, {64 << 20, 6.3e-9, 3e-9},
                                       {128 << 20, 6.6e-9, 3.5e-9}};

Levels levels_of(const model::Machine& machine) {
    Levels levels;
    levels.cpu = &machine.cpu;
    const auto& caches = machine.cpu.caches;
    if (caches[1].bytes > 0)
        levels.second = levels.last = caches[1].bytes;
    for (const model::Cache& one : caches)
        if (one.bytes > 0)
            levels.last = std::max(levels.last, one.bytes);
    if (caches[1].bytes <= 0)
        levels.last = usual_last_level;
    return levels;
}

std::span<const model::ArrayReads> arrays_of(const model::Cpu& cpu) {
    std::span<const model::ArrayReads> arrays = usual_arrays;
    if (cpu.arrays[0].bytes > 0)
        arrays = cpu.arrays;
    while (arrays.size() > 1 && arrays.back().bytes <= 0)
        arrays = arrays.first(arrays.size() - 1);
    return arrays;
}

/// Seconds for an array of so many bytes, by the logarithm between those measured, beyond those of the
/// smallest.
double longer_s(double model::ArrayReads::*field, double bytes, std::span<const model::ArrayReads> arrays) {
    const double base_s = arrays[0].*field;
    double read_s = base_s;
    for (size_t k = 1; k < arrays.size() && bytes > arrays[k - 1].bytes; ++k) {
        const model::ArrayReads &below = arrays[k - 1], &above = arrays[k];
        const double share =
            std::min(1.0, std::log(bytes / below.bytes) / std::log(above.bytes / below.bytes));
        read_s = below.*field + share * (above.*field - below.*field);
    }
    return std::max(0.0, read_s - base_s);
}

/// The share of a working set's lines that a cache has not.
double missing(double working_bytes, double cache_bytes) {
    return working_bytes > cache_bytes ? 1 - cache_bytes / working_bytes : 0;
}

/// The same for the last level. Other cores use it, too: on a CPU the time that arrays of this size take says
/// what of it one core has.
double missing_last(double working_bytes, const Levels& levels) {
    const auto arrays = arrays_of(*levels.cpu);
    const double all_s = longer_s(&model::ArrayReads::line_s, arrays.back().bytes, arrays);
    return all_s > 0 ? longer_s(&model::ArrayReads::line_s, working_bytes, arrays) / all_s
                     : missing(working_bytes, levels.last);
}

double full_boxes(const NearTimeInput& p) {
    if (p.full_boxes > 0 || p.boxes <= 0)
        return p.full_boxes;
    return p.boxes * -std::expm1(-p.targets / p.boxes); // even points: occupation is Poisson's
}

double lanes_of(const NearTimeInput& p) {
    return p.simd_bytes / (p.precision == 2 ? 8 : 4);
}

double runs_of_targets(const NearTimeInput& p) {
    const double full = full_boxes(p);
    return full > 0 ? p.runs * p.targets / full : 0;
}

double row_slots(const NearTimeInput& p) {
    return p.row_slots > 0 ? p.row_slots : p.pairs + runs_of_targets(p) * 0.5 * (lanes_of(p) - 1);
}

/// Whether tiled reads the runs of an average box where they stand: the rule of layout_tiled.cpp.
bool in_place(NearLayout layout, const NearTimeInput& p) {
    const double full = full_boxes(p);
    if ((layout != NearLayout::tiled && (layout != NearLayout::tiled_split || p.same)) || full <= 0 ||
        p.targets <= 0)
        return layout == NearLayout::ranges;
    const double lanes = lanes_of(p), runs = p.runs / full, sources = p.pairs / p.targets;
    const double saved = p.targets / full * (row_slots(p) / p.targets / lanes - sources / lanes - 0.5) * 20;
    const double rows = p.dimension * (p.precision == 1 ? 2 : 1) + p.components;
    return saved < rows * 8 * (runs + sources / 8 + 0.5 * runs);
}

/// Pairs of whole records: a box' sources are rounded up to record_step.
double group_pairs(const NearTimeInput& p) {
    const double boxes = full_boxes(p);
    return boxes > 0
               ? p.pairs + p.targets * std::max(0.0, p.group_slots - p.gathered * boxes / p.boxes) / boxes
               : p.pairs;
}

double slots_of(NearLayout layout, const NearTimeInput& p) {
    switch (layout) {
    case NearLayout::replicated_interleaved:
        return std::max(p.lane_pairs, p.pairs);
    case NearLayout::replicated_group:
        return group_pairs(p);
    case NearLayout::tiled:
        return in_place(layout, p) ? row_slots(p) : p.pairs + p.targets * 0.5 * (lanes_of(p) - 1);
    case NearLayout::tiled_split:
        return p.pairs + p.targets * (lanes_of(p) - 1); // two
    case NearLayout::ranges:
        return row_slots(p);
    default:
        return p.pairs;
    }
}

/// Sources that collection (charges: of one component) writes.
double entries_of(NearLayout layout, const NearTimeInput& p) {
    switch (layout) {
    case NearLayout::indexed:
        return p.gathered;
    case NearLayout::replicated:
        return p.pairs;
    case NearLayout::replicated_interleaved:
        return std::max(p.lane_pairs, p.pairs);
    case NearLayout::replicated_group:
        return p.group_slots;
    default:
        return p.sources + (p.same ? 0 : p.targets);
    }
}

/// Records that the kernel reads one after the other.
double records_of(NearLayout layout, const NearTimeInput& p) {
    switch (layout) {
    case NearLayout::replicated:
        return p.targets;
    case NearLayout::replicated_interleaved:
        return p.lane_targets / lanes_of(p);
    default:
        return full_boxes(p);
    }
}

/// Lines that are written or streamed, and numbers that are met at random in the caller's arrays.
struct Lines {
    double streamed = 0, stream_bytes = 0, random = 0, random_bytes = 0;
};

void add_lines(model::NearTerms& terms, const Lines& lines, const Levels& levels) {
    terms[cache] += lines.streamed * missing(lines.stream_bytes, levels.second) +
                    lines.random * missing(lines.random_bytes, levels.second);
    terms[memory] += lines.streamed * missing_last(lines.stream_bytes, levels);
    terms[random] +=
        lines.random * longer_s(&model::ArrayReads::random_s, lines.random_bytes, arrays_of(*levels.cpu));
}

/// Neighbour boxes that are walked over: of each box, or of each target where each has a record.
double walked(NearLayout layout, const NearTimeInput& p) {
    return layout == NearLayout::replicated && p.boxes > 0 ? p.neighbours * p.targets / p.boxes
                                                           : p.neighbours;
}

/// Copies into records: neighbours with sources of boxes (targets) that have a record.
double filled(NearLayout layout, const NearTimeInput& p) {
    const double full = p.boxes > 0 ? full_boxes(p) / p.boxes : 0;
    return walked(layout, p) * full * (layout == NearLayout::replicated ? 1 : full);
}

/// Neighbours of which nothing tells beforehand whether they are empty: the processor guesses half of them
/// wrong. Empty boxes are walked over once, full ones twice. A short walk that is done again and again is
/// known.
double surprises(NearLayout layout, const NearTimeInput& p) {
    const double full = p.boxes > 0 ? full_boxes(p) / p.boxes : 0;
    return walked(layout, p) * missing(walked(layout, p), learned_branches) * full * (1 - full) * 0.5 *
           (1 + full);
}

/// Bytes that collection writes: all of the paper's records, in which charges stand between coordinates, of
/// the others' what is not charges.
double collected_bytes(NearLayout layout, const NearTimeInput& p) {
    if (layout == NearLayout::indexed || layout == NearLayout::replicated)
        return p.layout_bytes;
    return entries_of(layout, p) * p.dimension * p.number_bytes();
}

/// Bytes of arrays that are touched for the first time. Records and indices are one array, sorted points one
/// an axis and one a component, beside their runs.
double fresh_bytes_of(NearLayout layout, const NearTimeInput& p) {
    const auto counted = [](double bytes) { return bytes > fresh_bytes ? bytes : 0; };
    if (layout == NearLayout::indexed || near_records(layout))
        return counted(p.layout_bytes);
    const double axis = p.number_bytes() * p.sources, targets = p.same ? 0 : p.number_bytes() * p.targets;
    return (p.dimension + p.components) * counted(axis) + p.dimension * counted(targets) +
           counted(run_bytes * p.runs) + counted(run_bytes * p.boxes);
}

/// Into arrays that have been filled before, whole or by chunks: their lines are read and written at the
/// speed of the level that holds them.
model::NearTerms again_terms(NearLayout layout, const NearTimeInput& p, const NearWay& way,
                             const Levels& levels) {
    model::NearTerms terms{1, walked(layout, p), p.targets, surprises(layout, p), entries_of(layout, p), 0, 0, 0};
    if (layout != NearLayout::indexed)
        add_lines(terms, {0, 0, p.sources * p.dimension, p.sources * p.dimension * p.number_bytes()}, levels);
    const double lines = collected_bytes(layout, p) / line_bytes;
    const double held = way.most_bytes > 0 ? std::min(p.layout_bytes, way.most_bytes) : p.layout_bytes;
    terms[cache] += lines * missing(held, levels.second);
    terms[random] += 2 * lines * longer_s(&model::ArrayReads::line_s, held, arrays_of(*levels.cpu));
    return terms;
}

model::NearTerms collection_terms(NearLayout layout, const NearTimeInput& p, const NearWay& way,
                                  const Levels& levels) {
    model::NearTerms terms = again_terms(layout, p, way, levels);
    // Large blocks come from the system and are cleared, page by page, when they are first touched. Chunks
    // use theirs again and again.
    if (way.most_bytes <= 0 || p.layout_bytes <= way.most_bytes)
        terms[memory] = fresh_bytes_of(layout, p) / line_bytes;
    return terms;
}

model::NearTerms charges_terms(NearLayout layout, const NearTimeInput& p, const Levels& levels) {
    if (layout == NearLayout::indexed)
        return {1, 0, 0, 0, 0, 0, 0, 0};
    const double entries = p.components * entries_of(layout, p);
    model::NearTerms terms{1, 0, 0, 0, entries, 0, 0, 0};
    if (near_records(layout)) {
        terms[neighbour] = walked(layout, p);
        terms[run] = surprises(layout, p);
        terms[target] = filled(layout, p);
    }
    const double written = entries * p.number_bytes();
    // In the paper's records charges stand between coordinates: the whole record passes.
    const double passed = written * (layout == NearLayout::replicated ? 1 + p.dimension : 1);
    add_lines(terms,
              {passed / line_bytes, p.layout_bytes, p.components * p.sources, p.sources * p.number_bytes()},
              levels);
    return terms;
}

model::NearTerms kernel_terms(NearLayout layout, const NearTimeInput& p, double slot_s,
                              const Levels& levels) {
    const double full = p.boxes > 0 ? full_boxes(p) / p.boxes : 0;
    const bool walks = near_records(layout); // over neighbours; else runs
    model::NearTerms terms{1,
                    walks ? p.neighbours * full : full_boxes(p),
                    p.targets,
                    in_place(layout, p)    ? runs_of_targets(p)
                    : near_records(layout) ? surprises(layout, p) * full
                                           : p.runs,
                    slots_of(layout, p) * slot_s,
                    0,
                    0,
                    0};
    const double source_bytes = (p.dimension + p.components) * p.number_bytes();
    const double points_bytes = p.sources * source_bytes;
    const double sorted_bytes =
        points_bytes + run_bytes * (p.runs + p.boxes); // points, runs, where a box's begin
    Lines lines{sorted_bytes / line_bytes, sorted_bytes, 0, 0};
    if (layout == NearLayout::indexed) // the points of a neighbourhood: most of them just met
        lines = {p.gathered * 4 / line_bytes, p.gathered * 4, p.sources * (p.dimension + p.components),
                 points_bytes};
    else if (near_records(layout)) {
        lines.streamed = entries_of(layout, p) * source_bytes / line_bytes;
        lines.stream_bytes = p.layout_bytes;
    }
    add_lines(terms, lines, levels);
    if (near_records(layout)) { // arithmetic and waits go on while the next lines come: the longer, nearly
        const auto arrays = arrays_of(*levels.cpu);
        const double line_s = arrays.back().line_s;
        const double wait_s = waited_numbers * std::sqrt(records_of(layout, p) * lines.streamed) *
                              missing(p.layout_bytes, kept_levels * levels.second) *
                              longer_s(&model::ArrayReads::random_s, arrays.back().bytes, arrays);
        const double hidden = line_s > 0 ? (terms[entry] + wait_s) / line_s : 0;
        terms[memory] = std::hypot(terms[memory], hidden) - hidden;
        terms[random] += wait_s;
    }
    // Sums go to the caller's arrays in the order of the boxes.
    const double each = ((p.outputs & 1) + ((p.outputs & 2) != 0 ? p.dimension : 0)) * p.components;
    add_lines(terms, {0, 0, p.targets * each, p.targets * each * p.number_bytes()}, levels);
    return terms;
}

model::NearTerms scatter_terms(const NearTimeInput& p, const Levels& levels) {
    const double each = ((p.outputs & 1) + ((p.outputs & 2) != 0 ? p.dimension : 0)) * p.components;
    model::NearTerms terms{1, 0, p.targets * each, 0, 0, 0, 0, 0};
    const double bytes = p.targets * each * p.number_bytes();
    add_lines(terms, {0, 0, p.targets * each, bytes}, levels);
    return terms;
}

} // namespace

NearLayout near_measured_as(NearLayout layout) {
    switch (layout) {
    case NearLayout::replicated_packed:
        return NearLayout::replicated;
    case NearLayout::replicated_group_padded:
        return NearLayout::replicated_group;
    default:
        return layout;
    }
}

NearLayout near_form(NearLayout layout, const NearWay& way) {
    const bool once = way.backend == NearBackend::cuda && way.pairs_once && layout == NearLayout::tiled;
    return once ? NearLayout::tiled_once : layout;
}

bool near_scalar(NearLayout layout) {
    layout = near_measured_as(layout);
    return layout == NearLayout::indexed || layout == NearLayout::replicated;
}

bool near_records(NearLayout layout) {
    layout = near_measured_as(layout);
    return layout == NearLayout::replicated || layout == NearLayout::replicated_interleaved ||
           layout == NearLayout::replicated_group;
}

model::NearTerms near_terms(NearLayout layout, NearPhaseName phase, const NearTimeInput& problem,
                            const NearWay& way, const model::Machine& machine) {
    if (way.backend == NearBackend::cuda) {
        constexpr double usual_slots_per_s = 29.3e12, usual_multiprocessors = 132; // an H200's
        constexpr double multiprocessor_warps = 16;                                // mutual_kernel_gpu.cuh
        const model::Gpu& device = machine.gpu;
        NearGpuSeconds gpu;
        gpu.kept_bytes = near_kept_bytes(machine);
        gpu.once_slot_s = 1 / (device.flops > 0 ? device.flops / 2 : usual_slots_per_s);
        gpu.once_warps = multiprocessor_warps *
                         (device.multiprocessors > 0 ? device.multiprocessors : usual_multiprocessors);
        if (machine.cpu.cores > 0)
            gpu.host_threads = machine.cpu.cores;
        if (phase == NearPhaseName::kernel) {
            gpu.slot_s = near_slot_s(problem, way, machine, false);
            gpu.chain_s = near_slot_s(problem, way, machine, true);
        }
        return near_gpu_terms(near_form(layout, way), phase, problem, gpu);
    }
    layout = near_measured_as(layout);
    const Levels levels = levels_of(machine);
    switch (phase) {
    case NearPhaseName::collection:
        return collection_terms(layout, problem, way, levels);
    case NearPhaseName::again:
        return again_terms(layout, problem, way, levels);
    case NearPhaseName::charges:
        return charges_terms(layout, problem, levels);
    case NearPhaseName::kernel: {
        return kernel_terms(layout, problem, near_slot_s(problem, way, machine, near_scalar(layout)), levels);
    }
    default:
        return scatter_terms(problem, levels);
    }
}

double near_sum(const model::NearTerms& terms, const model::NearPhase& phase) {
    return terms[call] * phase.call_s + terms[neighbour] * phase.neighbour_s +
           terms[target] * phase.target_s + terms[run] * phase.run_s + terms[entry] * phase.entry +
           terms[cache] * phase.cache_s + terms[memory] * phase.memory_s + terms[random] * phase.random;
}

} // namespace graft::near
