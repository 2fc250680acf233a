// SPDX-License-Identifier: BSD-3-Clause
// Gathering particles into frames, see gather.hpp. The loop over an array is compiled once per SIMD target.
#include "forces/p2p/gather.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/p2p/gather.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out[i] = (in[i] - centre) * scale. Reads whole vectors up to `readable` items, writes whole vectors past
/// `count`.
template <typename T>
HWY_INLINE void transform(const double* HWY_RESTRICT in, int64_t count, int64_t readable, double centre,
                          double scale, T* HWY_RESTRICT out) {
    const hn::ScalableTag<double> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto c = hn::Set(d, centre), s = hn::Set(d, scale);
    int64_t i = 0;
    for (; i < count && i + lanes <= readable; i += lanes) {
        const auto v = hn::Mul(hn::Sub(hn::LoadU(d, in + i), c), s);
        if constexpr (sizeof(T) == 4) {
            const hn::Rebind<float, decltype(d)> narrow;
            hn::StoreU(hn::DemoteTo(narrow, v), narrow, out + i);
        } else {
            hn::StoreU(v, d, out + i);
        }
    }
    for (; i < count; ++i)
        out[i] = static_cast<T>((in[i] - centre) * scale);
}

/// x, y, z and, if q is not NULL, the charges.
template <typename T>
HWY_INLINE void transform_all(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame, T* x,
                              T* y, T* z, T* q) {
    const int64_t readable = p.count - first;
    transform(p.x + first, count, readable, frame.centre[0], frame.scale, x);
    transform(p.y + first, count, readable, frame.centre[1], frame.scale, y);
    transform(p.z + first, count, readable, frame.centre[2], frame.scale, z);
    if (q != nullptr)
        transform(p.charge + first, count, readable, 0.0, 1.0, q);
}
void transform_float(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame, float* x,
                     float* y, float* z, float* q) {
    transform_all(p, first, count, frame, x, y, z, q);
}
void transform_double(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame, double* x,
                      double* y, double* z, double* q) {
    transform_all(p, first, count, frame, x, y, z, q);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {
namespace {

HWY_EXPORT(transform_float);
HWY_EXPORT(transform_double);

void transform(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame, float* x, float* y,
               float* z, float* q) {
    HWY_DYNAMIC_DISPATCH(transform_float)(p, first, count, frame, x, y, z, q);
}
void transform(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame, double* x,
               double* y, double* z, double* q) {
    HWY_DYNAMIC_DISPATCH(transform_double)(p, first, count, frame, x, y, z, q);
}

template <typename T>
void softening_terms(const ParticleArrays& p, int64_t first, int64_t count, const Frame& frame,
                     const PairVariant& variant, T* out) {
    for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(p.softening != nullptr
                                    ? softening_term(variant.softening, p.softening[first + i] * frame.scale)
                                    : 0.0);
}

int64_t padded(int64_t count) {
    return (count + source_pad - 1) / source_pad * source_pad;
}

} // namespace

template <typename T>
void SourceBuffer<T>::reserve(int64_t count) {
    const int64_t wanted = padded(count) + source_pad; // room for the last whole vector
    if (wanted <= x_.capacity() && wanted <= s_.capacity())
        return;
    for (core::Buffer<T>* buffer : {&x_, &y_, &z_, &q_, &s_}) {
        buffer->resize(std::min(buffer->capacity(), padded(count_) + source_pad)); // what resize_keep keeps
        buffer->resize_keep(std::max(wanted, int64_t{2048}));
    }
}

template <typename T>
void SourceBuffer<T>::append(const ParticleArrays& particles, int64_t first, int64_t count,
                             const Frame& frame, const PairVariant& variant) {
    reserve(count_ + count);
    transform(particles, first, count, frame, x_.data() + count_, y_.data() + count_, z_.data() + count_,
              q_.data() + count_);
    if (variant.per_particle)
        softening_terms(particles, first, count, frame, variant, s_.data() + count_);
    count_ += count;
}

template <typename T>
Sources<T> SourceBuffer<T>::view() {
    reserve(count_);
    const int64_t end = padded(count_);
    for (core::Buffer<T>* buffer : {&x_, &y_, &z_, &q_, &s_})
        std::fill(buffer->data() + count_, buffer->data() + end, T(0));
    return {x_.data(), y_.data(), z_.data(), q_.data(), s_.data(), end};
}

template <typename T>
void TargetBuffer<T>::fill(const ParticleArrays& targets, int64_t first, int64_t count, const Frame& frame,
                           const PairVariant& variant) {
    const int64_t room = padded(count) + source_pad;
    for (core::Buffer<T>* buffer : {&x_, &y_, &z_, &s_})
        buffer->resize(room);
    for (core::Buffer<double>* buffer : {&ax_, &ay_, &az_, &potential_}) {
        buffer->resize(room);
        std::fill(buffer->begin(), buffer->end(), 0.0);
    }
    transform(targets, first, count, frame, x_.data(), y_.data(), z_.data(), static_cast<T*>(nullptr));
    if (variant.per_particle)
        softening_terms(targets, first, count, frame, variant, s_.data());
    for (core::Buffer<T>* buffer : {&x_, &y_, &z_, &s_})
        std::fill(buffer->data() + count, buffer->data() + room, T(0));
    count_ = count;
}

template class SourceBuffer<float>;
template class SourceBuffer<double>;
template class TargetBuffer<float>;
template class TargetBuffer<double>;

} // namespace graft::forces
#endif
