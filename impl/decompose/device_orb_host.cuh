// The entries of DeviceOrbTable that solve for host arrays.
#pragma once

#include "decompose/device_orb.hpp"

namespace graft::decompose {

int32_t orb_create(int32_t device, void** orb, backend::DeviceError* error);
void orb_release(void* orb);
int32_t orb_solve(void* orb, DeviceOrbCall* call, backend::DeviceError* error);

} // namespace graft::decompose
