// SPDX-License-Identifier: BSD-3-Clause
// The layouts of a GPU timed through libgraft_cuda's table, see bench_near.hpp.
#include "study/bench/bench_near.hpp"

#include "backend/gpu_library.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "near/choice/layout_trial_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

namespace graft::study {

namespace {

using particles::ArrayView;
using particles::ElementType;

/// The caller's arrays as views of pageable host memory.
struct Views {
    std::vector<float> single_x, single_y, single_z, single_charge;
    std::vector<double> out;
    ArrayView points[3], charges[near::most_components];
    near::DeviceNearOutputs outputs;

    Views(const BenchCase& one, const near::Sums& sums)
        : single_x(one.x.begin(), one.x.end()), single_y(one.y.begin(), one.y.end()),
          single_z(one.z.begin(), one.z.end()), single_charge(one.charge.begin(), one.charge.end()) {
        const auto n = static_cast<size_t>(one.points()), components = static_cast<size_t>(sums.components);
        const bool single = sums.precision == near::Precision::fp32;
        const auto view = [&](const std::vector<double>& wide, const std::vector<float>& narrow,
                              size_t from) {
            return single ? view_of(narrow.data() + from, n, ElementType::f32)
                          : view_of(wide.data() + from, n, ElementType::f64);
        };
        points[0] = view(one.x, single_x, 0);
        points[1] = view(one.y, single_y, 0);
        if (one.dimension == 3)
            points[2] = view(one.z, single_z, 0);
        const auto axes = static_cast<size_t>(sums.dimension);
        out.resize(components * n * (1 + axes));
        double* next = out.data();
        for (size_t c = 0; c < components; ++c) {
            charges[c] = view(one.charge, single_charge, c * n);
            if ((sums.outputs & near::potential) != 0) {
                outputs.potential[c] = view_of(next, n, ElementType::f64);
                next += n;
            }
            for (size_t axis = 0; (sums.outputs & near::gradient) != 0 && axis < axes; ++axis) {
                outputs.gradient[c][axis] = view_of(next, n, ElementType::f64);
                next += n;
            }
        }
    }

    /// Inputs are not written to.
    template <typename T>
    static ArrayView view_of(const T* data, size_t n, ElementType type) {
        ArrayView view;
        view.data = const_cast<char*>(reinterpret_cast<const char*>(data));
        view.type = type;
        view.n = static_cast<int64_t>(n);
        view.item_stride = view.component_stride = sizeof(T);
        return view;
    }
};

const near::DeviceNearTable& require_table() {
    const near::DeviceNearTable* table = backend::require_cuda().near;
    if (table == nullptr)
        core::fail(core::Status::unsupported, "bench p2p: this libgraft_cuda has no near field");
    return *table;
}

near::Times execute(const near::DeviceNearTable& table, void* plan, const Views& views, near::DeviceNearReport& report) {
    backend::DeviceError error;
    const core::Timer timer;
    backend::raise(table.begin(plan, views.charges, &views.outputs, nullptr, &error), error);
    backend::raise(table.end(plan, &report, &error), error);
    near::Times times = report.times;
    times.total_s = timer.seconds();
    times.collection_s = report.chunks > 1 ? report.times.collection_s : 0;
    return times;
}

void repeat(const near::DeviceNearTable& table, const near::DeviceNearOptions& options, const near::Structure& structure,
            const near::Sums& sums, const Views& views, BenchTimes& times) {
    backend::DeviceError error;
    void* made = nullptr;
    const core::Timer timer;
    backend::raise(table.create(&options, &structure, &sums, &made, &error), error);
    const std::unique_ptr<void, void (*)(void*)> plan(made, table.destroy);
    times.create_s.push_back(timer.seconds());
    backend::raise(table.set_points(made, views.points, views.points, nullptr, &error), error);
    const double collection_s = timer.seconds(); // what is still in the queue counts in the first execution
    near::DeviceNearReport report;
    const near::Times first = execute(table, made, views, report);
    times.second.push_back(execute(table, made, views, report));
    times.first_s.push_back(std::max(0.0, first.total_s - times.second.back().total_s));
    times.once_s.push_back(collection_s + times.first_s.back());
    times.bytes = report.bytes;
    times.chunks = report.chunks;
}

/// What a plan of many bytes gave back is cleared while the next one is made, which is then up to three times
/// as late (docs/lab/gpu/near.md): no property of that one. Waits until it is over.
void settle(double bytes) {
    constexpr double kept_bytes = 6e7, bytes_per_s = 2e11; // less stays with the library
    if (bytes > kept_bytes)
        std::this_thread::sleep_for(std::chrono::duration<double>(bytes / bytes_per_s));
}

} // namespace

std::vector<BenchTimes> bench_layouts_on_device(const std::vector<near::Layout>& names, const BenchCase& one,
                                                const near::Sums& sums, const near::NearWay& way, int32_t device,
                                                int32_t repeats) {
    const near::DeviceNearTable& table = require_table();
    const near::Structure structure = one.structure();
    const Views views(one, sums);
    near::DeviceNearOptions options;
    options.device = device;
    options.most_bytes = static_cast<int64_t>(way.most_bytes);
    options.collect_on_host = way.collect_on_host ? 1 : 0;
    options.host_threads = static_cast<int32_t>(way.threads);
    options.pairs_once = way.pairs_once ? 0 : -1; // 0: the plan looks at the lists, as any does
    std::vector<BenchTimes> times(names.size());
    std::vector<size_t> order(names.size());
    std::iota(order.begin(), order.end(), size_t{0});
    // In another order every round: a plan is made late after one that held much memory, or ran for long.
    std::mt19937 random(static_cast<unsigned>(structure.targets() + structure.target_boxes()));
    for (int32_t r = -1; r < repeats; ++r) { // the first round warms up
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t k : order) {
            if (r > 0 && times[k].second.empty())
                continue; // refused before
            options.layout = names[k];
            if (r <= 0)
                times[k] = {};
            try {
                repeat(table, options, structure, sums, views, times[k]);
                settle(static_cast<double>(times[k].bytes));
            } catch (const core::Error& error) {
                if (error.status() != core::Status::memory && error.status() != core::Status::unsupported)
                    throw;
                times[k] = {};
            }
        }
    }
    return times;
}

near::Choice bench_choice_on_device(const BenchCase& one, const near::Sums& sums, const model::Machine& machine,
                              const near::ChoiceOptions& options, int32_t device) {
    const near::Structure structure = one.structure();
    const Views views(one, sums);
    near::Learned learned;
    near::DeviceNearOptions made;
    made.device = device;
    made.most_bytes = static_cast<int64_t>(options.way.most_bytes);
    made.collect_on_host = options.way.collect_on_host ? 1 : 0;
    made.host_threads = static_cast<int32_t>(options.way.threads);
    return near::choose_tried_on_device(
               {require_table(), made, structure, sums, views.points, views.points, nullptr},
               near::shape_of(structure, sums, made.host_threads), machine, options, learned)
        .choice;
}

} // namespace graft::study
