// The loops of tile.hpp for float with low parts, compiled once per SIMD target: helmholtz and yukawa.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_mixed_waves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<float> choose_mixed_waves(const Variant& v) {
    return v.form == Form::helmholtz ? choose_dimension<float, true, Form::helmholtz>(v)
                              : choose_dimension<float, true, Form::yukawa>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_mixed_waves);

TileFunction<float> mixed_waves(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_mixed_waves)(variant);
}

} // namespace graft::near
#endif
