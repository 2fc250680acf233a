// SPDX-License-Identifier: BSD-3-Clause
// Texts into buffers of the caller.
#pragma once

#include <cstdint>
#include <string_view>

namespace graft::capi {

/// Copies the text, with its terminator, to a buffer of `capacity` bytes; *needed, if not NULL, gets the length with
/// terminator. NULL with capacity 0 asks for the length only. Throws Error(argument) where the buffer is too small (it is
/// terminated all the same) or impossible; `what` is the text's name in the message.
void put_text(std::string_view text, const char* what, char* buffer, int64_t capacity, int64_t* needed);

} // namespace graft::capi
