// SPDX-License-Identifier: BSD-3-Clause
// Exceptions to statuses. The message buffer is fixed, so that reporting "out of memory" needs no memory.
#include "guard.hpp"

#include <graft/types.h>

#include <cstdio>
#include <new>

namespace graft::capi {

using core::Error;
using core::Status;

namespace {

thread_local char message_buffer[2048] = "";

struct StatusName {
    int32_t status;
    const char* text;
};

constexpr StatusName status_names[] = {
    {GRAFT_OK, "ok"},
    {GRAFT_ERROR_ARGUMENT, "bad argument"},
    {GRAFT_ERROR_ARRAY, "bad array layout"},
    {GRAFT_ERROR_VALUE, "bad value in the data"},
    {GRAFT_ERROR_CALL_ORDER, "call in the wrong order"},
    {GRAFT_ERROR_UNSUPPORTED, "unsupported option"},
    {GRAFT_ERROR_ABI, "ABI mismatch"},
    {GRAFT_ERROR_BUSY, "object in use by another thread"},
    {GRAFT_ERROR_ABSENT, "no such value"},
    {GRAFT_ERROR_AGAIN, "a buffer was too small: make the same call again"},
    {GRAFT_ERROR_MEMORY, "out of memory"},
    {GRAFT_ERROR_DEVICE, "device failure"},
    {GRAFT_ERROR_COMMUNICATION, "communication failure"},
    {GRAFT_ERROR_DECK_SYNTAX, "deck: bad syntax"},
    {GRAFT_ERROR_DECK_KEY, "deck: unknown key"},
    {GRAFT_ERROR_DECK_TYPE, "deck: wrong type"},
    {GRAFT_ERROR_DECK_RANGE, "deck: value out of range"},
    {GRAFT_ERROR_DECK_FILE, "deck: file cannot be read"},
    {GRAFT_ERROR_LOAD_NOT_FOUND, "library not found"},
    {GRAFT_ERROR_LOAD_FOREIGN, "library is not Graft"},
    {GRAFT_ERROR_LOAD_VERSION, "library of another ABI major"},
    {GRAFT_ERROR_INTERNAL, "internal error"},
};

static_assert(static_cast<int32_t>(Status::argument) == GRAFT_ERROR_ARGUMENT);
static_assert(static_cast<int32_t>(Status::array) == GRAFT_ERROR_ARRAY);
static_assert(static_cast<int32_t>(Status::value) == GRAFT_ERROR_VALUE);
static_assert(static_cast<int32_t>(Status::call_order) == GRAFT_ERROR_CALL_ORDER);
static_assert(static_cast<int32_t>(Status::unsupported) == GRAFT_ERROR_UNSUPPORTED);
static_assert(static_cast<int32_t>(Status::abi) == GRAFT_ERROR_ABI);
static_assert(static_cast<int32_t>(Status::busy) == GRAFT_ERROR_BUSY);
static_assert(static_cast<int32_t>(Status::absent) == GRAFT_ERROR_ABSENT);
static_assert(static_cast<int32_t>(Status::again) == GRAFT_ERROR_AGAIN);
static_assert(static_cast<int32_t>(Status::memory) == GRAFT_ERROR_MEMORY);
static_assert(static_cast<int32_t>(Status::device) == GRAFT_ERROR_DEVICE);
static_assert(static_cast<int32_t>(Status::communication) == GRAFT_ERROR_COMMUNICATION);
static_assert(static_cast<int32_t>(Status::deck_syntax) == GRAFT_ERROR_DECK_SYNTAX);
static_assert(static_cast<int32_t>(Status::deck_key) == GRAFT_ERROR_DECK_KEY);
static_assert(static_cast<int32_t>(Status::deck_type) == GRAFT_ERROR_DECK_TYPE);
static_assert(static_cast<int32_t>(Status::deck_range) == GRAFT_ERROR_DECK_RANGE);
static_assert(static_cast<int32_t>(Status::deck_file) == GRAFT_ERROR_DECK_FILE);
static_assert(static_cast<int32_t>(Status::internal) == GRAFT_ERROR_INTERNAL);

} // namespace

int32_t record_failure(int32_t status, const char* message) noexcept {
    std::snprintf(message_buffer, sizeof message_buffer, "%s", message);
    return status;
}

int32_t record_current_exception() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        return record_failure(static_cast<int32_t>(error.status()), error.what());
    } catch (const std::bad_alloc&) {
        return record_failure(GRAFT_ERROR_MEMORY, core::no_memory_text);
    } catch (const std::exception& error) {
        return record_failure(GRAFT_ERROR_INTERNAL, error.what());
    } catch (...) {
        return record_failure(GRAFT_ERROR_INTERNAL, core::unknown_exception_text);
    }
}

void require(bool given, const char* name, const char* expected) {
    if (!given)
        core::fail(Status::argument, "%s is NULL; expected %s", name, expected);
}

const char* last_error() noexcept {
    return message_buffer;
}

const char* status_text(int32_t status) noexcept {
    for (const StatusName& name : status_names)
        if (name.status == status)
            return name.text;
    return "unknown status";
}

} // namespace graft::capi
