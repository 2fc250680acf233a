// SPDX-License-Identifier: BSD-3-Clause
// See layout_base_gpu.cuh.
#include "near/layouts/layout_base_gpu.cuh"

#include <algorithm>
#include <vector>

namespace graft::near {

LayoutClock::~LayoutClock() {
    for (auto& step : events_)
        for (cudaEvent_t event : step)
            if (event != nullptr)
                (void)cudaEventDestroy(event);
}

void LayoutClock::mark(Step step, int place, cudaStream_t stream) {
    if (place >= 2 * pieces)
        return;
    cudaEvent_t& event = events_[step][place];
    if (event == nullptr)
        GRAFT_CUDA(cudaEventCreate(&event));
    GRAFT_CUDA(cudaEventRecord(event, stream));
    used_[step] = std::max(used_[step], place + 1);
}

double LayoutClock::between(cudaEvent_t begin, cudaEvent_t end) {
    float time_ms = 0;
    GRAFT_CUDA(cudaEventSynchronize(end));
    GRAFT_CUDA(cudaEventElapsedTime(&time_ms, begin, end));
    return 1e-3 * static_cast<double>(time_ms);
}

double LayoutClock::seconds(Step step) {
    double sum_s = 0;
    for (int place = 0; place + 1 < used_[step]; place += 2)
        sum_s += between(events_[step][place], events_[step][place + 1]);
    return sum_s;
}

int32_t LayoutClock::ahead(Step step, Step other) {
    int32_t count = 0;
    for (int end = 3; end < std::min(used_[step], used_[other] + 2); end += 2)
        count += between(events_[total][0], events_[step][end]) <
                 between(events_[total][0], events_[other][end - 2]);
    return count;
}

template <typename Real>
DeviceConstants<Real>::DeviceConstants(const KernelOptions& kernel, backend::Queue& queue)
    : table_(queue.memory(), "near field: table of the kernel") {
    constants_.wave_number = static_cast<Real>(kernel.wave_number);
    if (kernel.kernel != Kernel::table)
        return;
    const RadialTable& t = kernel.table;
    const size_t intervals = t.value.size() - 1;
    constants_.table_begin = static_cast<Real>(t.begin);
    constants_.table_inverse_step = static_cast<Real>(1 / t.step);
    constants_.table_last = static_cast<Real>(intervals);
    constants_.least_square = t.begin > 0 ? least_normal<Real> : Real(-1);
    std::vector<Real> cubics(4 * intervals);
    for (size_t k = 0; k < intervals; ++k) {
        const double a = t.value[k], z = t.value[k + 1], da = t.step * t.derivative[k],
                     dz = t.step * t.derivative[k + 1];
        const double cubic[4] = {a, da, 3 * (z - a) - 2 * da - dz, 2 * (a - z) + da + dz};
        for (int p = 0; p < 4; ++p)
            cubics[4 * k + p] = static_cast<Real>(cubic[p]);
    }
    table_.resize(static_cast<int64_t>(cubics.size()));
    GRAFT_CUDA(cudaMemcpyAsync(table_.data(), cubics.data(), cubics.size() * sizeof(Real),
                               cudaMemcpyHostToDevice, queue.stream()));
    queue.wait();
}

template <typename Real>
Constants<Real> DeviceConstants<Real>::view() const noexcept {
    Constants<Real> view = constants_;
    view.table = table_.data();
    return view;
}

template class DeviceConstants<float>;
template class DeviceConstants<double>;

namespace {

template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make(Layout layout, const DeviceStructure& structure, const Sums& sums, const DeviceLayoutOptions& options,
     backend::Queue& queue) {
    switch (layout) {
    case Layout::ranges:
        return make_device_ranges<precision>(structure, sums, options, queue);
    case Layout::tiled:
    case Layout::tiled_split:
        return make_device_tiled<precision>(layout, structure, sums, options, queue);
    default:
        return make_device_copies<precision>(layout, structure, sums, options, queue);
    }
}

} // namespace

template <>
std::unique_ptr<DeviceLayout<float>> make_device_layout(Layout layout, const DeviceStructure& structure,
                                                        const Sums& sums, const DeviceLayoutOptions& options,
                                                        backend::Queue& queue) {
    return make<Precision::fp32>(layout, structure, sums, options, queue);
}

template <>
std::unique_ptr<DeviceLayout<double>> make_device_layout(Layout layout, const DeviceStructure& structure,
                                                         const Sums& sums, const DeviceLayoutOptions& options,
                                                         backend::Queue& queue) {
    return sums.precision == Precision::mixed
               ? make<Precision::mixed>(layout, structure, sums, options, queue)
               : make<Precision::fp64>(layout, structure, sums, options, queue);
}

} // namespace graft::near
