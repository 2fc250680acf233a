// The loops of tile.hpp for float, compiled once per SIMD target: helmholtz and yukawa.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_float_waves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<float> choose_float_waves(const Variant& v) {
    return v.form == Form::helmholtz ? choose_dimension<float, false, Form::helmholtz>(v)
                              : choose_dimension<float, false, Form::yukawa>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_float_waves);

TileFunction<float> float_waves(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_float_waves)(variant);
}

} // namespace graft::near
#endif
