// SPDX-License-Identifier: BSD-3-Clause
// Which loop, for which instruction set: see tile.hpp.
#include "near/tiles/tile_choice.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/tiles/tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

int64_t vector_bytes() {
    return static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<uint8_t>()));
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {
namespace {

HWY_EXPORT(vector_bytes);

bool is_laplace(Form form) {
    return form == Form::laplace || form == Form::softened;
}
bool is_wave(Form form) {
    return form == Form::yukawa || form == Form::helmholtz;
}

} // namespace

template <>
TileFunction<float> tile_function<float>(const Variant& v, bool low) {
    if (is_laplace(v.form))
        return low ? mixed_laplace(v) : float_laplace(v);
    if (is_wave(v.form))
        return low ? mixed_waves(v) : float_waves(v);
    return low ? mixed_others(v) : float_others(v);
}
template <>
TileFunction<double> tile_function<double>(const Variant& v, bool) {
    return is_laplace(v.form) ? double_laplace(v) : is_wave(v.form) ? double_waves(v) : double_others(v);
}

template <>
int64_t tile_lanes<float>() {
    return std::max<int64_t>(HWY_DYNAMIC_DISPATCH(vector_bytes)() / 4, 1); // a target without vectors has one of anything
}
template <>
int64_t tile_lanes<double>() {
    return std::max<int64_t>(HWY_DYNAMIC_DISPATCH(vector_bytes)() / 8, 1);
}

} // namespace graft::near
#endif
