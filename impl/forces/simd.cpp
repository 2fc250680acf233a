// SPDX-License-Identifier: BSD-3-Clause
// Choice of the SIMD instruction set: a thin layer over Highway's.
#include "forces/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

long long target_in_use() {
    return HWY_TARGET;
}
int float_lanes() {
    return static_cast<int>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<float>()));
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(target_in_use);
HWY_EXPORT(float_lanes);

const char* simd_name() {
    return hwy::TargetName(HWY_DYNAMIC_DISPATCH(target_in_use)());
}

int simd_float_lanes() {
    return HWY_DYNAMIC_DISPATCH(float_lanes)();
}

std::vector<std::string> simd_names() {
    std::vector<std::string> names;
    hwy::SetSupportedTargetsForTest(0);
    for (const int64_t target : hwy::SupportedAndGeneratedTargets())
        names.push_back(hwy::TargetName(target));
    return names;
}

bool set_simd_limit(const std::string& name) {
    hwy::SetSupportedTargetsForTest(0);
    int64_t chosen = 0;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets())
        if (name == hwy::TargetName(target))
            chosen = target;
    if (!name.empty() && chosen == 0)
        return false;
    hwy::SetSupportedTargetsForTest(chosen); // 0: all that the machine has
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
}

} // namespace graft::forces
#endif
