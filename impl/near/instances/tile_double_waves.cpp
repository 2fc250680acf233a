// The loops of tile.hpp for double, compiled once per SIMD target: helmholtz and yukawa.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_double_waves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<double> choose_double_waves(const Variant& v) {
    return v.form == Form::helmholtz ? choose_dimension<double, false, Form::helmholtz>(v)
                              : choose_dimension<double, false, Form::yukawa>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_double_waves);

TileFunction<double> double_waves(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_double_waves)(variant);
}

} // namespace graft::near
#endif
