// The loops of tile.hpp for float with low parts, compiled once per SIMD target: laplace and softened.
#include "near/tiles/tile_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "near/instances/tile_mixed_laplace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "near/tiles/tile_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

static TileFunction<float> choose_mixed_laplace(const Variant& v) {
    return v.form == Form::laplace ? choose_dimension<float, true, Form::laplace>(v)
                              : choose_dimension<float, true, Form::softened>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::near {

HWY_EXPORT(choose_mixed_laplace);

TileFunction<float> mixed_laplace(const Variant& variant) {
    return HWY_DYNAMIC_DISPATCH(choose_mixed_laplace)(variant);
}

} // namespace graft::near
#endif
