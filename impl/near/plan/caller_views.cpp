// SPDX-License-Identifier: BSD-3-Clause
// Strided arrays of either real type, copied in blocks; overlaps found exactly.
#include "near/plan/caller_views.hpp"

#include "backend/gpu_library.hpp"
#include "particles/array_items.hpp"
#include "particles/export_arrays.hpp"
#include "particles/import_arrays.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

namespace graft::near {

using core::fail;
using core::Status;
using particles::ArrayView;
using particles::ElementType;
using particles::load;
using particles::note_first;

namespace {

constexpr int64_t block = 1 << 14;
constexpr int64_t none = std::numeric_limits<int64_t>::max();

template <typename From, typename T>
void import_from(const backend::Executor& executor, const ArrayView& view, double most, T* out, double scale,
                 std::atomic<int64_t>& bad) {
    executor.for_blocks(view.n, block, [&](int64_t begin, int64_t end, int) {
        bool fine = true;
        for (int64_t i = begin; i < end; ++i) {
            const double value = load<From>(view.at(i));
            fine &= std::fabs(value) <= most; // false for NaN
            if (out != nullptr)
                out[i] = static_cast<T>(value * scale);
        }
        for (int64_t i = begin; i < end && !fine; ++i)
            if (!(std::fabs(static_cast<double>(load<From>(view.at(i)))) <= most)) {
                note_first(bad, i);
                return;
            }
    });
}

/// body(point, what it gets), by threads.
template <typename T, typename Body>
void for_results(const backend::Executor& executor, const T* value, double scale,
                 std::span<const int64_t> index, const ArrayView& view, const Body& body) {
    const int64_t n = index.empty() ? view.n : static_cast<int64_t>(index.size());
    const auto run = [&]<typename To>(To) {
        executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
            for (int64_t k = begin; k < end; ++k) {
                const int64_t point = index.empty() ? k : index[static_cast<size_t>(k)];
                const double old = view.add ? static_cast<double>(load<To>(view.at(point))) : 0;
                body(point, static_cast<To>(old + scale * static_cast<double>(value[point])));
            }
        });
    };
    view.type == ElementType::f32 ? run(float{}) : run(double{});
}

struct Bytes {
    intptr_t begin, end;
};

Bytes bytes_of(const ArrayView& view) {
    const intptr_t begin = reinterpret_cast<intptr_t>(view.data);
    return {begin, begin + (view.n - 1) * view.item_stride + particles::element_size(view.type)};
}

/// Equal strides: item i of a meets only the items of b around the same place, so one remainder tells.
bool meet_at_equal_strides(const ArrayView& a, const ArrayView& b) {
    const intptr_t stride = a.item_stride;
    intptr_t shift = (reinterpret_cast<intptr_t>(b.data) - reinterpret_cast<intptr_t>(a.data)) % stride;
    if (shift < 0)
        shift += stride;
    return shift < particles::element_size(a.type) || stride - shift < particles::element_size(b.type);
}

/// Both arrays walked in the order of their addresses.
bool meet_anywhere(const ArrayView& a, const ArrayView& b) {
    const int64_t size_a = particles::element_size(a.type), size_b = particles::element_size(b.type);
    int64_t i = 0, j = 0;
    while (i < a.n && j < b.n) {
        const char *at_a = a.at(i), *at_b = b.at(j);
        if (at_a < at_b + size_b && at_b < at_a + size_a)
            return true;
        at_a < at_b ? ++i : ++j;
    }
    return false;
}

bool overlap(const ArrayView& a, const ArrayView& b) {
    if (a.n == 0 || b.n == 0)
        return false;
    const Bytes in_a = bytes_of(a), in_b = bytes_of(b);
    if (in_a.end <= in_b.begin || in_b.end <= in_a.begin)
        return false;
    if (a.n > 1 && b.n > 1 && a.item_stride == b.item_stride && !meet_at_equal_strides(a, b))
        return false; // the usual case of members of a struct; else look closely
    return meet_anywhere(a, b);
}

} // namespace

ArrayName sum_name(int32_t output, int32_t component) {
    static constexpr const char* names[4] = {"potential", "gradient x", "gradient y", "gradient z"};
    return {names[output], component};
}

std::string ArrayName::text() const {
    return index < 0 ? what : core::format("%s[%d]", what, index);
}

template <typename T>
void import_values(const backend::Executor& executor, const ArrayView& view, ArrayName name, double most,
                   T* out, double scale) {
    std::atomic<int64_t> bad{none};
    if (view.type == ElementType::f32)
        import_from<float>(executor, view, most, out, scale, bad);
    else
        import_from<double>(executor, view, most, out, scale, bad);
    if (const int64_t i = bad.load(); i != none) {
        const double value = view.type == ElementType::f32 ? static_cast<double>(load<float>(view.at(i)))
                                                           : load<double>(view.at(i));
        particles::refuse_real(name.text().c_str(), i, value, -most, most);
    }
}

template <typename T>
void check_values(const backend::Executor& executor, const T* value, double scale,
                  std::span<const int64_t> index, const ArrayView& view, ArrayName name) {
    std::atomic<int64_t> bad{none};
    for_results(executor, value, scale, index, view, [&](int64_t point, auto result) {
        if (!std::isfinite(result))
            note_first(bad, point);
    });
    if (const int64_t point = bad.load(); point != none)
        particles::refuse_result(name.text().c_str(), point, scale * static_cast<double>(value[point]));
}

template <typename T>
void export_values(const backend::Executor& executor, const T* value, double scale,
                   std::span<const int64_t> index, const ArrayView& view) {
    for_results(executor, value, scale, index, view,
                [&](int64_t point, auto result) { std::memcpy(view.at(point), &result, sizeof result); });
}

template void import_values(const backend::Executor&, const ArrayView&, ArrayName, double, float*, double);
template void import_values(const backend::Executor&, const ArrayView&, ArrayName, double, double*, double);
template void check_values(const backend::Executor&, const float*, double, std::span<const int64_t>,
                           const ArrayView&, ArrayName);
template void check_values(const backend::Executor&, const double*, double, std::span<const int64_t>,
                           const ArrayView&, ArrayName);
template void export_values(const backend::Executor&, const float*, double, std::span<const int64_t>, const ArrayView&);
template void export_values(const backend::Executor&, const double*, double, std::span<const int64_t>, const ArrayView&);

ArrayView on_host(const ArrayView& view, core::Buffer<char>& bytes) {
    if (view.on_host() || view.n == 0)
        return view;
    const int64_t last = (view.n - 1) * view.item_stride, before = std::min<int64_t>(0, last);
    bytes.resize(std::max(bytes.capacity(), std::abs(last) + particles::element_size(view.type)));
    backend::DeviceError error;
    backend::raise(backend::require_cuda().copy(bytes.data(), view.data + before,
                                                std::abs(last) + particles::element_size(view.type), &error),
                   error);
    ArrayView copy = view;
    copy.data = bytes.data() - before;
    copy.memory = particles::MemorySpace::host;
    return copy;
}

void widen(const backend::Executor& executor, const ArrayView& view, double& least, double& most) {
    std::mutex mutex;
    executor.for_blocks(view.n, block, [&](int64_t begin, int64_t end, int) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (int64_t i = begin; i < end; ++i) {
            const double value = view.type == ElementType::f32 ? static_cast<double>(load<float>(view.at(i)))
                                                               : load<double>(view.at(i));
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        least = std::min(least, low);
        most = std::max(most, high);
    });
}

void refuse_overlaps(std::span<const NamedView> views) {
    for (size_t i = 0; i < views.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if ((views[i].written || views[j].written) && overlap(views[i].view, views[j].view))
                fail(Status::array,
                     "%s and %s overlap in memory; expected each output in memory of its own",
                     views[j].name.text().c_str(), views[i].name.text().c_str());
}

} // namespace graft::near
