// SPDX-License-Identifier: BSD-3-Clause
// Terms times seconds, see near_time.hpp.
#include "near/choice/near_terms_gpu.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>

namespace graft::near {

namespace {

constexpr double built_in_error = 0.5;

/// Instructions of one pair, for kernels that nobody has measured: relative to each other only.
double instructions(int32_t kernel, int32_t dimension, int32_t outputs, int32_t components,
                    int32_t precision) {
    constexpr double radial[] = {5, 24, 28, 50, 14}; // laplace, logarithm, yukawa, helmholtz, table
    const double wide = precision == 2 ? 1.4 : 1;    // more Newton steps, longer polynomials
    const double value = (outputs & 1) != 0 ? 1 : 0, slope = (outputs & 2) != 0 ? 1 : 0;
    const double distance = 2.0 * dimension * (precision == 1 ? 1.5 : 1);
    const auto which = static_cast<size_t>(std::clamp(kernel, 0, 4));
    return distance + radial[which] * wide + 2 * slope + components * (value + slope * (1 + dimension));
}

double instructions(const NearTimeInput& p) {
    return instructions(p.kernel, p.dimension, p.outputs, p.components, p.precision);
}

/// How unlike two kernels are; 0: the same. Lanes and precision weigh most.
double distance(const model::NearKernelCosts& have, const NearTimeInput& want) {
    const auto differ = [](double a, double b) { return a == b ? 0.0 : 1.0; };
    return 8 * differ(have.precision, want.precision) + 4 * differ(have.kernel, want.kernel) +
           2 * differ(have.outputs, want.outputs) + differ(have.dimension, want.dimension);
}

const model::NearKernelCosts* nearest(const model::NearMachine& near, const NearTimeInput& problem,
                                      NearBackend backend) {
    const model::NearKernelCosts* best = nullptr;
    for (const model::NearKernelCosts& one : near.kernels)
        if (one.dimension > 0 && one.backend == static_cast<double>(backend) &&
            (best == nullptr || distance(one, problem) < distance(*best, problem)))
            best = &one;
    return best;
}

double scaled(const model::NearKernelCosts& have, double seconds, const NearTimeInput& want) {
    const double lanes = (have.precision == 2 ? 8.0 : 4.0) / (want.precision == 2 ? 8.0 : 4.0);
    const double from =
        instructions(static_cast<int32_t>(have.kernel), static_cast<int32_t>(have.dimension),
                     static_cast<int32_t>(have.outputs), 1, static_cast<int32_t>(have.precision));
    return seconds * instructions(want) / from / lanes;
}

/// An H200's (PCIe 5) where nobody has measured.
model::Link link_of(const model::Machine& machine) {
    model::Link link = machine.link;
    if (link.bandwidth_bytes_per_s <= 0 && link.by_size[0].bytes <= 0) {
        link.bandwidth_bytes_per_s = 50e9;
        link.pageable_bandwidth_bytes_per_s = 10e9;
        link.latency_s = 1e-5;
    }
    return link;
}

const model::NearMachine& built_in(NearBackend backend) {
    return backend == NearBackend::cuda ? near_gpu_defaults() : near_defaults();
}

/// Before a GPU's calls and waits were told from its kernels the other phases multiplied other things:
/// numbers of such a file count as if nobody had measured.
bool outdated(const model::NearLayoutCosts& one, NearBackend backend) {
    return backend == NearBackend::cuda && one.scatter == model::NearPhase{};
}

/// Of the problem's size of number where there are such, then of its dimension, then of both.
const model::NearLayoutCosts* find_own(const model::NearMachine& near, NearLayout layout,
                                       const NearTimeInput& problem, NearBackend backend) {
    const auto rank = [&](const model::NearLayoutCosts& one) {
        const int dimension = one.dimension == problem.dimension ? 2 : (one.dimension == 0 ? 1 : 0);
        return dimension + (one.number_bytes == problem.number_bytes() ? 3 : 0);
    };
    const model::NearLayoutCosts* found = nullptr;
    for (const model::NearLayoutCosts& one : near.layouts)
        if (one.number_bytes > 0 && one.backend == static_cast<double>(backend) &&
            one.layout == static_cast<double>(layout) && !outdated(one, backend) &&
            (found == nullptr || rank(one) > rank(*found)))
            found = &one;
    return found;
}

const model::NearLayoutCosts* find(const model::NearMachine& near, NearLayout layout,
                                   const NearTimeInput& problem, NearBackend backend) {
    const model::NearLayoutCosts* own = find_own(near, layout, problem, backend);
    return own != nullptr ? own : find_own(near, near_measured_as(layout), problem, backend);
}

/// Cores share the work, but not more of the memory than it has.
double parallel(const NearWay& way, const model::Machine& machine) {
    if (way.backend == NearBackend::cuda)
        return 1;
    const double cores = machine.cpu.cores > 0 ? machine.cpu.cores : way.threads;
    return std::max(1.0, std::min(way.threads, cores));
}

double phase_s(NearLayout layout, NearPhaseName name, const model::NearPhase& phase,
               const NearTimeInput& problem, const NearWay& way, const model::Machine& machine) {
    const model::NearTerms terms = near_terms(layout, name, problem, way, machine);
    const double call_s = terms[0] * phase.call_s;
    return call_s + (near_sum(terms, phase) - call_s) / parallel(way, machine);
}

double gpu_transfer_s(NearLayout layout, const NearTimeInput& p, const NearWay& way,
                      const model::Link& link) {
    if (!way.host_arrays)
        return 0;
    const bool records = near_records(layout);
    const double each = ((p.outputs & 1) + ((p.outputs & 2) != 0 ? p.dimension : 0)) * p.components;
    const double out = transfer_s(link, p.targets * each * p.number_bytes(), way.pageable, false);
    // Collected on the host, records cross the link; their charges with every execution.
    const double in =
        way.collect_on_host && records ? p.layout_bytes : p.sources * p.components * p.number_bytes();
    return out + transfer_s(link, in, way.pageable, true);
}

} // namespace

double near_kept_bytes(const model::Machine& machine) {
    constexpr double least = 64 * 1048576.0, share = 1.0 / 128;
    return std::max(least, share * machine.gpu.memory_bytes);
}

double near_slot_s(const NearTimeInput& problem, const NearWay& way, const model::Machine& machine,
                   bool scalar) {
    const model::NearKernelCosts* one = nearest(machine.near, problem, way.backend);
    if (one == nullptr)
        one = nearest(built_in(way.backend), problem, way.backend);
    // A GPU's file from before steps were measured counts them in slots.
    return scaled(*one, scalar && one->scalar_s > 0 ? one->scalar_s : one->vector_s, problem);
}

model::NearLayoutCosts near_costs(NearLayout layout, const NearTimeInput& problem, const NearWay& way,
                                  const model::Machine& machine, bool* measured) {
    layout = near_form(layout, way);
    const model::NearLayoutCosts* found = find(machine.near, layout, problem, way.backend);
    *measured = found != nullptr;
    if (found != nullptr)
        return *found;
    found = find(built_in(way.backend), layout, problem, way.backend);
    if (found == nullptr)
        core::fail(core::Status::internal, "near_costs: no built-in numbers of layout %d",
                   static_cast<int>(layout));
    model::NearLayoutCosts costs = *found;
    costs.error = built_in_error;
    return costs;
}

NearPrediction near_time(NearLayout layout, const NearTimeInput& problem, const NearWay& way,
                         const model::Machine& machine) {
    NearPrediction prediction;
    prediction.layout = layout;
    const model::NearLayoutCosts costs = near_costs(layout, problem, way, machine, &prediction.measured);
    const auto seconds = [&](NearPhaseName name, const model::NearPhase& phase) {
        return phase_s(layout, name, phase, problem, way, machine);
    };
    prediction.chunked = way.most_bytes > 0 && problem.layout_bytes > way.most_bytes;
    const bool again = prediction.chunked && costs.again != model::NearPhase{};
    prediction.collection_s = again ? seconds(NearPhaseName::again, costs.again)
                                    : seconds(NearPhaseName::collection, costs.collection);
    prediction.charges_s = seconds(NearPhaseName::charges, costs.charges);
    prediction.kernel_s = seconds(NearPhaseName::kernel, costs.kernel);
    prediction.scatter_s = seconds(NearPhaseName::scatter, costs.scatter);
    if (way.backend == NearBackend::cuda)
        prediction.transfer_s = gpu_transfer_s(layout, problem, way, link_of(machine));
    prediction.bytes = problem.layout_bytes;
    prediction.error = costs.error;
    return prediction;
}

double transfer_s(const model::Link& link, double bytes, bool pageable, bool to_device) {
    if (bytes <= 0)
        return 0;
    const auto rate = [&](const model::LinkSize& one) {
        if (pageable)
            return to_device ? one.pageable_to_device_bytes_per_s : one.pageable_to_host_bytes_per_s;
        return to_device ? one.pinned_to_device_bytes_per_s : one.pinned_to_host_bytes_per_s;
    };
    const model::LinkSize* below = nullptr;
    for (const model::LinkSize& one : link.by_size) {
        if (one.bytes <= 0 || rate(one) <= 0)
            continue;
        const double one_s = one.bytes / rate(one);
        if (bytes <= one.bytes) {
            if (below == nullptr)
                return one_s; // the latency
            const double below_s = below->bytes / rate(*below);
            return below_s + (one_s - below_s) * (bytes - below->bytes) / (one.bytes - below->bytes);
        }
        below = &one;
    }
    if (below != nullptr)
        return bytes / rate(*below);
    const double all = pageable && link.pageable_bandwidth_bytes_per_s > 0
                           ? link.pageable_bandwidth_bytes_per_s
                           : link.bandwidth_bytes_per_s;
    return link.latency_s + bytes / model::known(all, "link.bandwidth_bytes_per_s", "the near field's model");
}

} // namespace graft::near
