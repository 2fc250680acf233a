// SPDX-License-Identifier: BSD-3-Clause
// See near_points_gpu.cuh.
#include "near/near_points_gpu.cuh"

#include <algorithm>
#include <span>

namespace graft::near {

namespace {

constexpr int threads = 256;

template <typename T>
__global__ void gather_points(Coordinates<T> from, const int32_t* index, int32_t n, Point<T>* to) {
    const int32_t s = blockIdx.x * threads + threadIdx.x;
    if (s >= n)
        return;
    const int32_t i = index != nullptr ? index[s] : s;
    const auto scaled = [&](T value) { return static_cast<T>(static_cast<double>(value) * from.scale); };
    to[s] = {scaled(from.x[i]), scaled(from.y[i]), from.z != nullptr ? scaled(from.z[i]) : T(0), T(0)};
}

template <typename T>
__global__ void gather_charges(Charges<T> from, int32_t components, const int32_t* index, int32_t n,
                               Point<T>* point, T* charge) {
    const int32_t s = blockIdx.x * threads + threadIdx.x;
    if (s >= n)
        return;
    const int32_t i = index != nullptr ? index[s] : s;
    const auto scaled = [&](int32_t c) {
        const T value = from.component[c][i];
        return from.scale[c] != nullptr ? static_cast<T>(static_cast<double>(value) * *from.scale[c]) : value;
    };
    point[s].charge = scaled(0);
    if (components > 1)
        for (int32_t c = 0; c < components; ++c)
            charge[int64_t{c} * n + s] = scaled(c);
}

/// Entries of an array in slots or, unsorted, in the caller's order: an index may leave points out.
int64_t places(std::span<const int64_t> index, int64_t slots, bool sorted) {
    if (sorted || index.empty())
        return slots;
    return 1 + *std::max_element(index.begin(), index.end());
}

} // namespace

template <typename T>
DevicePoints<T>::DevicePoints(const DeviceStructure& structure, const Sums& sums, bool sorted,
                              backend::Queue& queue)
    : structure_(structure), queue_(queue), components_(sums.components), sorted_(sorted),
      flat_(sums.dimension == 2),
      targets_(places(structure.host().target_index, structure.host().targets(), sorted)),
      sources_(structure.host().same
                   ? targets_
                   : places(structure.host().source_index, structure.host().sources(), sorted)),
      target_(queue.memory(), "near field: targets"), source_(queue.memory(), "near field: sources"),
      charge_(queue.memory(), "near field: charges") {
    source_.resize(std::max<int64_t>(1, sources_));
    if (!structure.host().same)
        target_.resize(std::max<int64_t>(1, targets_));
    if (components_ > 1)
        charge_.resize(std::max<int64_t>(1, sources_ * components_));
}

template <typename T>
double DevicePoints<T>::bytes_of(const Structure& structure, int32_t components, bool sorted) {
    const auto targets = static_cast<double>(places(structure.target_index, structure.targets(), sorted));
    const auto sources =
        structure.same ? targets
                       : static_cast<double>(places(structure.source_index, structure.sources(), sorted));
    const double points = sources + (structure.same ? 0.0 : targets);
    return points * sizeof(Point<T>) + (components > 1 ? sources * components * sizeof(T) : 0.0);
}

template <typename T>
void DevicePoints<T>::set_points(const Coordinates<T>& targets, const Coordinates<T>& sources) {
    const StructureView s = structure_.view();
    const bool same = structure_.host().same;
    const auto gather = [&](Coordinates<T> from, const int32_t* index, int64_t count, Point<T>* to) {
        const auto n = static_cast<int32_t>(count);
        if (n == 0)
            return;
        if (flat_)
            from.z = nullptr;
        gather_points<<<backend::blocks_for(n, threads), threads, 0, queue_.stream()>>>(
            from, sorted_ ? index : nullptr, n, to);
        GRAFT_CUDA_LAUNCHED("gather_points");
        ++queue_.launches;
    };
    gather(same ? targets : sources, s.source_index, sources_, source_.data());
    if (!same)
        gather(targets, s.target_index, targets_, target_.data());
}

template <typename T>
void DevicePoints<T>::set_charges(const Charges<T>& charges) {
    const StructureView s = structure_.view();
    if (sources_ == 0)
        return;
    gather_charges<<<backend::blocks_for(sources_, threads), threads, 0, queue_.stream()>>>(
        charges, components_, sorted_ ? s.source_index : nullptr, static_cast<int32_t>(sources_),
        source_.data(), charge_.data());
    GRAFT_CUDA_LAUNCHED("gather_charges");
    ++queue_.launches;
}

template <typename T>
int64_t DevicePoints<T>::bytes() const noexcept {
    return (target_.size() + source_.size()) * static_cast<int64_t>(sizeof(Point<T>)) +
           charge_.size() * static_cast<int64_t>(sizeof(T));
}

template class DevicePoints<float>;
template class DevicePoints<double>;

} // namespace graft::near
