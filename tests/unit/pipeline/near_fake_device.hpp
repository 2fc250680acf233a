// A GPU for tests of what the host does with one: this host's layouts behind libgraft_cuda's table of the
// near field. Tests tell what each layout's kernel takes (as events would), and when memory is refused.
#pragma once

#include "kernels/near/device_near.hpp"
#include "near_scene.hpp"

#include <cstring>
#include <map>
#include <set>

namespace graft::test {

struct FakeDevice {
    std::set<int32_t> used;                      // devices
    std::map<near::Layout, double> kernel_s;     // that end() reports
    std::vector<near::Layout> made;              // in their order
    std::set<near::Layout> too_large;            // not created while another plan lives
    std::set<near::Layout> too_large_for_points; // the same of set_points
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
    made->layout =
        near::make_layout<double>(options->layout, made->structure, made->sums, {0, 1}, made->memory);
    made->nowhere.resize(static_cast<size_t>(structure->targets()));
    device.used.insert(options->device);
    device.made.push_back(options->layout);
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
inline int32_t fake_begin(void* plan, const particles::ArrayView* charges, const near::DeviceNearOutputs* out,
                          void*, backend::DeviceError*) {
    auto& one = *static_cast<FakePlan*>(plan);
    const auto to = [&](const particles::ArrayView& view) {
        return view.present() ? const_cast<double*>(data_of(view)) : one.nowhere.data();
    };
    near::Charges<double> q;
    near::Fields<double> f;
    for (size_t c = 0; c < static_cast<size_t>(one.sums.components); ++c) {
        q.component[c] = data_of(charges[c]);
        f.potential[c] = to(out->potential[c]);
        for (size_t axis = 0; axis < 3; ++axis)
            f.gradient[c][axis] = to(out->gradient[c][axis]);
    }
    one.layout->set_charges(q);
    one.layout->run(f);
    return 0;
}
inline int32_t fake_end(void* plan, near::DeviceNearReport* report, backend::DeviceError*) {
    *report = {};
    const auto& times = FakeDevice::the().kernel_s;
    const auto found = times.find(static_cast<FakePlan*>(plan)->name);
    report->times.kernel_s = found != times.end() ? found->second : 0;
    std::strcpy(report->device_name, "this host");
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
