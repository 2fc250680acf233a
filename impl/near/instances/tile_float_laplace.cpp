// The loops of tile.hpp for float, compiled once per SIMD target: laplace and softened.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_float_laplace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<float> choose_float_laplace(const Variant& v) {
    return v.form == Form::laplace ? choose_dimension<float, false, Form::laplace>(v)
                              : choose_dimension<float, false, Form::softened>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_float_laplace);

TileFunction<float> float_laplace(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_float_laplace)(variant);
}

} // namespace graft::near
#endif
