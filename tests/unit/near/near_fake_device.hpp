// SPDX-License-Identifier: BSD-3-Clause
// A GPU for tests of what the host does with one: this host's layouts behind libgraft_cuda's table of the
// near field. Tests tell what each layout's kernel takes (as events would), and when memory is refused.
#pragma once

#include "near/plan/near_table.hpp"
#include "near_scene.hpp"

#include <cstring>
#include <map>
#include <set>

namespace graft::test {

struct FakeDevice {
    std::set<int32_t> used;                      // devices
    std::map<near::Layout, double> kernel_s;     // that end() reports
    std::vector<near::Layout> made;              // in their order
    std::vector<int32_t> pairs_once;             // as they were told
    std::set<near::Layout> too_large;            // not created while another plan lives
    std::set<near::Layout> too_large_for_points; // the same of set_points
    std::set<double> extents;                    // of all points, as parts are told
    int alive = 0, most_alive = 0;
    std::vector<const void*> waited; // for these streams

    static FakeDevice& the() {
        static FakeDevice one;
        return one;
    }
};

struct FakePlan {
    core::Memory memory;
    near::Sums sums;
    near::Structure structure;
    near::Layout name = near::Layout::ranges;
    std::unique_ptr<near::HostLayout<double>> layout;
    std::vector<double> nowhere; // sums that nobody wants
    // Of a part: its points of the caller's, and its own arrays.
    bool is_part = false;
    std::vector<int64_t> targets, sources;
    int64_t own = 0;
    std::vector<std::vector<double>> in, out; // 3 axes of both sets, charges; 4 fields a component
    near::DeviceNearOutputs wanted;
};

inline const double* data_of(const particles::ArrayView& view) {
    return reinterpret_cast<const double*>(view.data);
}

inline int32_t refuse(backend::DeviceError* error) {
    std::strcpy(error->message, "the device's memory is full");
    error->status = static_cast<int32_t>(core::Status::memory);
    return error->status;
}

inline int32_t fake_create(const near::DeviceNearOptions* options, const near::Structure* structure,
                           const near::Sums* sums, void** plan, backend::DeviceError* error) {
    FakeDevice& device = FakeDevice::the();
    if (device.alive > 0 && device.too_large.count(options->layout) > 0)
        return refuse(error);
    auto made = std::make_unique<FakePlan>();
    made->sums = *sums, made->structure = *structure, made->name = options->layout;
    if (sums->precision != near::Precision::fp32) // of floats plans are made, not executed
        made->layout =
            near::make_layout<double>(options->layout, made->structure, made->sums, {0, 1}, made->memory);
    made->nowhere.resize(static_cast<size_t>(structure->targets()));
    if (options->part != nullptr) {
        const near::PartPoints& part = *options->part;
        made->is_part = true;
        made->targets.assign(part.targets.begin(), part.targets.end());
        made->sources.assign(part.sources.begin(), part.sources.end());
        made->own = part.own;
        made->in.resize(6 + static_cast<size_t>(sums->components));
        made->out.assign(4 * static_cast<size_t>(sums->components),
                         std::vector<double>(static_cast<size_t>(structure->targets())));
    }
    device.used.insert(options->device);
    device.made.push_back(options->layout), device.pairs_once.push_back(options->pairs_once);
    device.most_alive = std::max(device.most_alive, ++device.alive);
    *plan = made.release();
    return 0;
}
inline void fake_destroy(void* plan) {
    FakeDevice::the().alive -= plan != nullptr ? 1 : 0;
    delete static_cast<FakePlan*>(plan);
}
inline int32_t fake_set_points(void* plan, const particles::ArrayView* t, const particles::ArrayView* s,
                               void*, backend::DeviceError* error) {
    auto& one = *static_cast<FakePlan*>(plan);
    if (FakeDevice::the().alive > 1 && FakeDevice::the().too_large_for_points.count(one.name) > 0)
        return refuse(error);
    const bool deep = one.sums.dimension == 3;
    one.layout->set_points({data_of(t[0]), data_of(t[1]), deep ? data_of(t[2]) : nullptr},
                           {data_of(s[0]), data_of(s[1]), deep ? data_of(s[2]) : nullptr});
    return 0;
}
/// The part's items of the caller's array.
inline const double* pick(FakePlan& one, size_t place, const particles::ArrayView& view,
                          const std::vector<int64_t>& points) {
    one.in[place].clear();
    for (const int64_t point : points)
        one.in[place].push_back(data_of(view)[point]);
    return one.in[place].data();
}
inline const std::vector<int64_t>& sources_of(const FakePlan& one) {
    return one.structure.same ? one.targets : one.sources;
}

inline int32_t fake_send_charges(void* plan, const particles::ArrayView* charges,
                                 const near::DeviceNearOutputs*, void*, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    near::Charges<double> q;
    for (size_t c = 0; c < static_cast<size_t>(one.sums.components); ++c)
        q.component[c] = one.is_part ? pick(one, 6 + c, charges[c], sources_of(one)) : data_of(charges[c]);
    one.layout->set_charges(q);
    return 0;
}
inline int32_t fake_sum(void* plan, const near::DeviceNearOutputs* out, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    one.wanted = *out;
    const auto to = [&](const particles::ArrayView& view, size_t place) {
        if (one.is_part)
            return one.out[place].data();
        return view.present() ? const_cast<double*>(data_of(view)) : one.nowhere.data();
    };
    near::Fields<double> f;
    for (size_t c = 0; c < static_cast<size_t>(one.sums.components); ++c) {
        f.potential[c] = to(out->potential[c], 4 * c);
        for (size_t axis = 0; axis < 3; ++axis)
            f.gradient[c][axis] = to(out->gradient[c][axis], 4 * c + 1 + axis);
    }
    one.layout->run(f);
    return 0;
}
inline int32_t fake_begin(void* plan, const particles::ArrayView* charges, const near::DeviceNearOutputs* out,
                          void* stream, backend::DeviceError* error) {
    (void)fake_send_charges(plan, charges, out, stream, error);
    return fake_sum(plan, out, error);
}
inline int32_t fake_end(void* plan, near::DeviceNearReport* report, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    if (report == nullptr)
        return 0;
    *report = {};
    const auto& times = FakeDevice::the().kernel_s;
    const auto found = times.find(one.name);
    report->times.kernel_s = found != times.end() ? found->second : 0;
    std::strcpy(report->device_name, "this host");
    for (size_t k = 0; k < one.out.size(); ++k) { // of a part
        const particles::ArrayView& view =
            k % 4 == 0 ? one.wanted.potential[k / 4] : one.wanted.gradient[k / 4][k % 4 - 1];
        auto* const to = const_cast<double*>(data_of(view));
        for (size_t at = 0; at < static_cast<size_t>(one.own); ++at) {
            if (view.present())
                to[one.targets[at]] = (view.add ? to[one.targets[at]] : 0) + one.out[k][at];
        }
    }
    return 0;
}
inline int32_t fake_send_points(void* plan, const particles::ArrayView* t, const particles::ArrayView* s,
                                void*, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    for (size_t axis = 0; axis < static_cast<size_t>(one.sums.dimension); ++axis) {
        pick(one, axis, t[axis], one.targets);
        if (!one.structure.same)
            pick(one, 3 + axis, s[axis], one.sources);
    }
    return 0;
}
inline int32_t fake_see_points(void* plan, near::PointBounds* all, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    for (int axis = 0; axis < one.sums.dimension; ++axis)
        for (const size_t set : {0, 3})
            for (const double x : one.in[set + static_cast<size_t>(axis)])
                all->widen(axis, x, x);
    return 0;
}
inline int32_t fake_take_points(void* plan, const near::PointBounds* all, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    FakeDevice::the().extents.insert(all->extent(one.sums.dimension));
    one.layout->set_points({one.in[0].data(), one.in[1].data(), one.in[2].data()},
                           {one.in[3].data(), one.in[4].data(), one.in[5].data()});
    return 0;
}
inline int32_t fake_see_sums(void* plan, backend::DeviceError* error) {
    const auto& one = *static_cast<FakePlan*>(plan);
    for (size_t k = 6; k < one.in.size(); ++k)
        for (size_t i = 0; i < one.in[k].size(); ++i)
            if (!std::isfinite(one.in[k][i])) {
                std::snprintf(error->message, sizeof error->message, "charge component %zu[%lld]", k - 6,
                              static_cast<long long>(sources_of(one)[i]));
                return error->status = static_cast<int32_t>(core::Status::value);
            }
    return 0;
}

inline int32_t fake_wait(const void*, void* stream, backend::DeviceError*) {
    FakeDevice::the().waited.push_back(stream);
    return 0;
}

inline const near::DeviceNearTable fake_near_table{sizeof(near::DeviceNearTable),
                                                   0,
                                                   fake_create,
                                                   fake_destroy,
                                                   fake_set_points,
                                                   fake_begin,
                                                   fake_end,
                                                   fake_send_points,
                                                   fake_see_points,
                                                   fake_take_points,
                                                   fake_send_charges,
                                                   fake_sum,
                                                   fake_see_sums,
                                                   fake_wait};

inline near::Structure spans_of(const NearScene& scene) {
    near::Structure s;
    const size_t of_sources = scene.same ? 0 : 1;
    s.target_offset = scene.offset[0], s.source_offset = scene.offset[of_sources];
    s.neighbour_offset = scene.list_offset, s.neighbour = scene.list;
    s.target_index = scene.index[0], s.source_index = scene.index[of_sources];
    s.same = scene.same;
    return s;
}

} // namespace graft::test
