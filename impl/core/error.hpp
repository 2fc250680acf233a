// SPDX-License-Identifier: BSD-3-Clause
// The one exception type and the status numbers it carries.
//
// Statuses are stable and never reused; the C header repeats them and capi checks that both agree. A message
// says what is wrong, what was expected, what was found and what to try.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <exception>
#include <string>

namespace graft::core {

enum class Status : int32_t {
    ok = 0,
    // 100-199: the caller
    argument = 100,    // a null pointer, an unknown name, a value out of range
    array = 101,       // a graft_array whose layout cannot be right
    value = 102,       // particle data that no force can be made of (NaN, infinity, negative softening)
    call_order = 103,  // a call that needs another one first
    unsupported = 104, // an option of a working entry that this build or input cannot serve
    abi = 105,         // a struct of unknown size or with unknown non-zero fields
    busy = 106,        // a context used by two threads at once
    absent = 107,      // the value asked for does not exist (a model's prediction without a model)
    again = 108,       // a buffer was too small; the same call will fit
    // 200-299: memory
    memory = 200,
    // 300-399: devices
    device = 300,
    // 400-499: communication
    communication = 400,
    // 500-599: decks and files
    deck_syntax = 500,
    deck_key = 501,
    deck_type = 502,
    deck_range = 503,
    deck_file = 504,
    // 600-699: the loader (used by plugin/loader only)
    // 900-999: our own mistakes
    internal = 900,
};

// Texts of exceptions that have none of their own.
inline constexpr const char* no_memory_text = "out of memory: a small allocation was refused by the system";
inline constexpr const char* unknown_exception_text = "an exception of unknown type";

class Error : public std::exception {
  public:
    Error(Status status, std::string message) : status_(status), message_(std::move(message)) {}
    Status status() const noexcept { return status_; }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    Status status_;
    std::string message_;
};

/// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

/// Throws Error with a printf message.
[[noreturn, gnu::format(printf, 2, 3)]] void fail(Status status, const char* pattern, ...);

} // namespace graft::core
