// SPDX-License-Identifier: BSD-3-Clause
// Messages to the host: the library prints nothing, it calls back.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>

namespace graft::core {

/// The numbers are those that the host's function is called with (GRAFT_LOG_*).
enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };

struct Log {
    void (*callback)(void* user, int32_t level, const char* message) = nullptr;
    void* user = nullptr;
    LogLevel level = LogLevel::warning;

    bool wants(LogLevel message_level) const noexcept {
        return callback != nullptr && message_level <= level;
    }
    void write(LogLevel message_level, const std::string& message) const {
        if (wants(message_level))
            callback(user, static_cast<int32_t>(message_level), message.c_str());
    }
};

} // namespace graft::core
