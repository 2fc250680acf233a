// The loops of tile.hpp for float with low parts, compiled once per SIMD target: logarithm and table.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_mixed_others.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<float> choose_mixed_others(const Variant& v) {
    return v.form == Form::logarithm ? choose_dimension<float, true, Form::logarithm>(v)
                              : choose_dimension<float, true, Form::table>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_mixed_others);

TileFunction<float> mixed_others(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_mixed_others)(variant);
}

} // namespace graft::near
#endif
