// SPDX-License-Identifier: BSD-3-Clause
// See text_out.hpp.
#include "text_out.hpp"

#include "core/error.hpp"

#include <cstring>

namespace graft::capi {

using core::fail;
using core::Status;

void put_text(std::string_view text, const char* what, char* buffer, int64_t capacity, int64_t* needed) {
    if (capacity < 0 || (buffer == nullptr && capacity > 0))
        fail(Status::argument,
             "buffer is %p with capacity %lld; expected room for text, or NULL with capacity 0 "
             "to ask for the length",
             static_cast<void*>(buffer), static_cast<long long>(capacity));
    const int64_t length = static_cast<int64_t>(text.size()) + 1;
    if (needed != nullptr)
        *needed = length;
    if (buffer == nullptr)
        return;
    if (capacity > 0)
        buffer[0] = '\0';
    if (capacity < length)
        fail(Status::argument, "%s needs a buffer of %lld bytes; found %lld", what,
             static_cast<long long>(length), static_cast<long long>(capacity));
    std::memcpy(buffer, text.data(), text.size());
    buffer[text.size()] = '\0';
}

} // namespace graft::capi
