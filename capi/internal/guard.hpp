// SPDX-License-Identifier: BSD-3-Clause
// The one place where C++ exceptions become statuses, and the text of the last failure on this thread.
#pragma once

#include "core/error.hpp" // IWYU pragma: export
#include "core/float_environment.hpp"

#include <cstdint>

namespace graft::capi {

/// Remembers the message of the failure on this thread and returns its status. Never throws.
int32_t record_failure(int32_t status, const char* message) noexcept;
/// Turns the exception in flight into a recorded status; call only inside a catch block.
int32_t record_current_exception() noexcept;
/// The message of the last failure on this thread; "" before any.
const char* last_error() noexcept;
const char* status_text(int32_t status) noexcept;

/// Error(argument): a pointer of the caller's is NULL.
void require(bool given, const char* name, const char* expected);

/// Runs the body of one ABI entry: 0 on success, the status of whatever it threw otherwise. The host's
/// floating-point environment is set aside meanwhile.
template <typename Body>
int32_t guard(Body&& body) noexcept {
    const core::DefaultFloatEnvironment held;
    try {
        body();
        return 0;
    } catch (...) {
        return record_current_exception();
    }
}

} // namespace graft::capi
