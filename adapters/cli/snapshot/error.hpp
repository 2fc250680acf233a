// SPDX-License-Identifier: BSD-3-Clause
// The one exception type of the command's files, initial conditions and pictures.
// Invariant: every error says what is wrong and where; the other parts may be empty, and what() holds them
// all.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace graft::cli {

/// The parts of a message, so that a caller (`--json`) can show them apart.
struct ErrorParts {
    std::string what;     ///< what is wrong
    std::string where;    ///< file, line, field
    std::string expected; ///< what would have been right
    std::string found;    ///< what was there
    std::string hint;     ///< what to try
};

/// Thrown by everything in graft::cli for bad input, unreadable files and failed writes.
class Error : public std::runtime_error {
  public:
    explicit Error(ErrorParts parts) : std::runtime_error(compose(parts)), parts_(std::move(parts)) {}

    const ErrorParts& parts() const noexcept { return parts_; }

  private:
    static std::string compose(const ErrorParts& parts) {
        std::string text = parts.where.empty() ? parts.what : parts.where + ": " + parts.what;
        if (!parts.expected.empty()) {
            text += "; expected " + parts.expected;
        }
        if (!parts.found.empty()) {
            text += "; found " + parts.found;
        }
        if (!parts.hint.empty()) {
            text += "; try: " + parts.hint;
        }
        return text;
    }

    ErrorParts parts_;
};

} // namespace graft::cli
