// SPDX-License-Identifier: BSD-3-Clause
// What the library says into a host's sink, as a string.
#pragma once

#include <graft/api.h>

#include <gtest/gtest.h>

#include <string>

namespace support {

/// A graft_sink: adds to the std::string `user`.
inline void append(void* user, const char* text, int64_t bytes) {
    static_cast<std::string*>(user)->append(text, static_cast<size_t>(bytes));
}

/// query_text's answer.
inline std::string text_of(const graft_api_v1* api, graft_context* context, const char* key) {
    std::string text;
    EXPECT_EQ(api->query_text(context, key, append, &text), GRAFT_OK) << api->last_error();
    return text;
}

} // namespace support
