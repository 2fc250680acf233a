// SPDX-License-Identifier: BSD-3-Clause
// printf-style construction of error messages.
#include "core/error.hpp"

#include <cstdio>

namespace graft::core {

static std::string vformat(const char* pattern, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, copy);
    va_end(copy);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    return text;
}

std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    std::string text = vformat(pattern, arguments);
    va_end(arguments);
    return text;
}

void fail(Status status, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    std::string text = vformat(pattern, arguments);
    va_end(arguments);
    throw Error(status, std::move(text));
}

} // namespace graft::core
