// SPDX-License-Identifier: BSD-3-Clause
// Layouts timed, see bench_near.hpp.
#include "study/bench/bench_near.hpp"

#include "core/error.hpp"
#include "near/thread_clock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace graft::study {

namespace {

/// The caller's arrays in the precision's type, and where its sums go.
template <typename T>
struct Arrays {
    std::vector<T> x, y, z, charge, out;
    near::Coordinates<T> coordinates;
    near::Charges<T> charges;
    near::Fields<T> fields;

    Arrays(const BenchCase& one, const near::Sums& sums)
        : x(one.x.begin(), one.x.end()), y(one.y.begin(), one.y.end()), z(one.z.begin(), one.z.end()),
          charge(one.charge.begin(), one.charge.end()) {
        coordinates = {x.data(), y.data(), one.dimension == 3 ? z.data() : nullptr};
        const auto n = x.size();
        const bool value = (sums.outputs & near::potential) != 0, slope = (sums.outputs & near::gradient) != 0;
        const auto components = static_cast<size_t>(sums.components),
                   axes = static_cast<size_t>(sums.dimension);
        out.resize(components * n * ((value ? 1u : 0u) + (slope ? axes : 0u)));
        T* next = out.data();
        const auto take = [&] { return std::exchange(next, next + n); };
        for (size_t c = 0; c < components; ++c) {
            charges.component[c] = charge.data() + c * n;
            if (value)
                fields.potential[c] = take();
            for (size_t axis = 0; slope && axis < axes; ++axis)
                fields.gradient[c][axis] = take();
        }
    }
};

/// By the stopwatch; where run() collects in chunks, its time is divided as the layout itself divides it.
template <typename T>
near::Times execute(near::HostLayout<T>& layout, Arrays<T>& arrays, near::Stopwatch& watch) {
    near::Times times;
    watch.lap();
    layout.set_charges(arrays.charges);
    times.charges_s = watch.lap();
    layout.run(arrays.fields);
    times.kernel_s = watch.lap();
    times.total_s = times.charges_s + times.kernel_s;
    if (layout.chunks() > 1) {
        const near::Times own = layout.times();
        const double scale = times.kernel_s / (own.collection_s + own.charges_s + own.kernel_s);
        times.collection_s = own.collection_s * scale;
        times.charges_s += own.charges_s * scale;
        times.kernel_s = own.kernel_s * scale;
    }
    return times;
}

/// What chunks are made of; the others hold sorted points.
bool in_records(near::Layout layout) {
    return layout == near::Layout::indexed || near::near_records(static_cast<near::NearLayout>(layout));
}

template <typename T>
void repeat(near::Layout name, const near::Structure& structure, const near::Sums& sums, const near::LayoutOptions& options,
            Arrays<T>& arrays, bool again, BenchTimes& times) {
    core::Memory memory;
    near::Stopwatch watch(options.threads == 1);
    const auto layout = near::make_layout<T>(name, structure, sums, options, memory);
    layout->set_points(arrays.coordinates, arrays.coordinates);
    const double collection_s = watch.lap();
    const near::Times first = execute(*layout, arrays, watch);
    times.second.push_back(execute(*layout, arrays, watch));
    times.once_s.push_back(collection_s + std::max(0.0, first.total_s - times.second.back().total_s));
    times.bytes = layout->bytes();
    times.chunks = layout->chunks();
    if (again) {
        watch.lap();
        layout->set_points(arrays.coordinates, arrays.coordinates);
        times.again_s.push_back(watch.lap());
    }
}

template <typename T>
std::vector<BenchTimes> bench_as(const std::vector<near::Layout>& names, const BenchCase& one, const near::Sums& sums,
                                 const near::LayoutOptions& options, int32_t repeats, bool again) {
    const near::Structure structure = one.structure();
    Arrays<T> arrays(one, sums);
    std::vector<BenchTimes> times(names.size());
    for (int32_t r = 0; r < repeats; ++r)
        for (size_t k = 0; k < names.size(); ++k) {
            if (r > 0 && times[k].second.empty())
                continue; // refused before
            try {
                repeat<T>(names[k], structure, sums, options, arrays, again && in_records(names[k]),
                          times[k]);
            } catch (const core::Error& error) {
                if (error.status() != core::Status::memory && error.status() != core::Status::unsupported)
                    throw;
                times[k] = {};
            }
        }
    return times;
}

template <typename T>
near::Choice choice_as(const BenchCase& one, const near::Sums& sums, const model::Machine& machine,
                 const near::ChoiceOptions& options) {
    core::Memory memory;
    near::Learned learned;
    const near::Structure structure = one.structure();
    Arrays<T> arrays(one, sums);
    return near::choose_tried<T>(structure, sums, arrays.coordinates, arrays.coordinates, machine, options, memory,
                           learned);
}

} // namespace

std::vector<BenchTimes> bench_layouts(const std::vector<near::Layout>& names, const BenchCase& one,
                                      const near::Sums& sums, const near::NearWay& way, int32_t repeats,
                                      bool again) {
    near::LayoutOptions options;
    options.most_bytes = static_cast<int64_t>(way.most_bytes);
    options.threads = static_cast<int32_t>(way.threads);
    return sums.precision == near::Precision::fp32 ? bench_as<float>(names, one, sums, options, repeats, again)
                                             : bench_as<double>(names, one, sums, options, repeats, again);
}

near::Choice bench_choice(const BenchCase& one, const near::Sums& sums, const model::Machine& machine,
                    const near::ChoiceOptions& options) {
    return sums.precision == near::Precision::fp32 ? choice_as<float>(one, sums, machine, options)
                                             : choice_as<double>(one, sums, machine, options);
}

} // namespace graft::study
