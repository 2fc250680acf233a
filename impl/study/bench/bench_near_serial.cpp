// SPDX-License-Identifier: BSD-3-Clause
// The paper's serial baseline: sources of the neighbourhood are extracted for each target, then the kernel
// once for each of them. Plain numbers, one thread; kernels with one real charge and the potential only.
#include "study/bench/bench_near.hpp"

#include "core/error.hpp"
#include "core/median.hpp"
#include "near/thread_clock.hpp"

#include <cmath>

namespace graft::study {

namespace {

double term(const near::Sums& sums, double r2) {
    if (r2 == 0)
        return 0;
    switch (sums.kernel.kernel) {
    case near::Kernel::laplace:
        return 1 / std::sqrt(r2);
    case near::Kernel::logarithm:
        return -0.5 * std::log(r2);
    case near::Kernel::yukawa:
        return std::exp(-sums.kernel.wave_number * std::sqrt(r2)) / std::sqrt(r2);
    default:
        core::fail(core::Status::unsupported, "the serial baseline has laplace, logarithm and yukawa only");
    }
}

struct Source {
    double x, y, z, charge;
};

double target_sum(const BenchCase& one, const near::Sums& sums, size_t box, size_t target,
                  std::vector<Source>& near) {
    const bool deep = one.dimension == 3;
    const auto point_of = [&](size_t slot) {
        return one.index.empty() ? slot : static_cast<size_t>(one.index[slot]);
    };
    const auto slot_of = [](int64_t slot) { return static_cast<size_t>(slot); };
    near.clear();
    for (size_t k = slot_of(one.neighbour_offset[box]); k < slot_of(one.neighbour_offset[box + 1]); ++k) {
        const auto b = static_cast<size_t>(one.neighbour[k]);
        for (size_t s = slot_of(one.offset[b]); s < slot_of(one.offset[b + 1]); ++s) {
            const size_t j = point_of(s);
            near.push_back({one.x[j], one.y[j], deep ? one.z[j] : 0, one.charge[j]});
        }
    }
    const double x = one.x[target], y = one.y[target], z = deep ? one.z[target] : 0;
    double sum = 0;
    for (const Source& s : near) {
        const double dx = s.x - x, dy = s.y - y, dz = s.z - z;
        sum += s.charge * term(sums, dx * dx + dy * dy + dz * dz);
    }
    return sum;
}

} // namespace

double bench_serial_s(const BenchCase& one, const near::Sums& sums, int32_t repeats) {
    std::vector<double> seconds, out(one.x.size());
    std::vector<Source> near;
    for (int32_t r = 0; r < repeats; ++r) {
        near::Stopwatch watch(true);
        for (size_t box = 0; box + 1 < one.offset.size(); ++box)
            for (auto s = static_cast<size_t>(one.offset[box]); s < static_cast<size_t>(one.offset[box + 1]);
                 ++s) {
                const size_t i = one.index.empty() ? s : static_cast<size_t>(one.index[s]);
                out[i] = sums.kernel.factor * target_sum(one, sums, box, i, near);
            }
        seconds.push_back(watch.lap());
    }
    return core::median(seconds);
}

} // namespace graft::study
