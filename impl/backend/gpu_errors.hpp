// SPDX-License-Identifier: BSD-3-Clause
// Exceptions to statuses at the edge of libgraft_cuda.so. Plain host code: libraries that stand in for it in
// tests use it.
#pragma once

#include "backend/gpu_library.hpp"

#include <cstdio>
#include <new>

namespace graft::backend {

/// Runs `body`; what it throws becomes a status and a message.
template <typename Body>
int32_t as_status(DeviceError* error, Body&& body) noexcept {
    const auto report = [&](core::Status status, const char* text) {
        error->status = static_cast<int32_t>(status);
        std::snprintf(error->message, sizeof error->message, "%s", text);
        return error->status;
    };
    try {
        body();
        return 0;
    } catch (const core::Error& caught) {
        return report(caught.status(), caught.what());
    } catch (const std::bad_alloc&) {
        return report(core::Status::memory, "no host memory for control data");
    } catch (const std::exception& caught) {
        return report(core::Status::internal, caught.what());
    } catch (...) {
        return report(core::Status::internal, "an unknown exception in an engine");
    }
}

} // namespace graft::backend
