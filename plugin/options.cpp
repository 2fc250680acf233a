// SPDX-License-Identifier: BSD-3-Clause
// graft_options: settings behind the ABI, used by one thread at a time.
#include "options.hpp"

#include "deck/deck.hpp"
#include "deck/machine_file.hpp"
#include "entries.hpp"
#include "guard.hpp"
#include "living.hpp"
#include "text_out.hpp"

#include <atomic>
#include <cmath>

using graft::core::fail;
using graft::core::Status;

struct graft_options {
    graft::plugin::Settings settings;
    mutable std::atomic_flag in_use = ATOMIC_FLAG_INIT;
    graft::capi::Alive alive{this};
};

namespace graft::plugin {

using capi::guard;
using capi::require;

namespace {

/// Of destroyed ones, or of none, not a byte may be read.
void require_alive(const graft_options* options) {
    require(options != nullptr, "options", "an object made by options_create");
    if (!capi::Living::here().has(options))
        fail(Status::argument, "options %p were destroyed, or never made by options_create",
             static_cast<const void*>(options));
}

/// Holds the options for one call; a second thread gets Error(busy) instead of a race.
class Use {
  public:
    explicit Use(const graft_options* options) : options_(options) {
        require_alive(options);
        if (options->in_use.test_and_set(std::memory_order_acquire))
            fail(Status::busy, "these options are in use by another thread; expected one thread at a time");
    }
    ~Use() { options_->in_use.clear(std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

  private:
    const graft_options* options_;
};

constexpr const char* a_key = "a deck key such as \"mac.theta\"";

/// Sets a key in a copy first: all or nothing.
template <typename Change>
int32_t changed(graft_options* options, const char* key, const Change& change) noexcept {
    return guard([&] {
        const Use use(options);
        require(key != nullptr, "key", a_key);
        Settings settings = options->settings;
        change(settings);
        options->settings = std::move(settings);
    });
}

/// The value, which must be a whole number that 64 bits hold.
int64_t whole_of(const char* key, double value) {
    constexpr double limit = 9223372036854775808.0; // 2^63
    if (value != std::floor(value) || !(std::abs(value) < limit))
        fail(Status::deck_type, "key '%s': its value, %.17g, is no whole number; ask for a double", key,
             value);
    return static_cast<int64_t>(value);
}

/// The options as a context takes them: checked together, the machine file read.
capi::Options values_of(const Settings& settings) {
    settings.check_units();
    settings.check_buffer();
    capi::Options values = settings.values();
    values.machine_file = machine_file_of(settings);
    if (!values.machine_file.empty())
        values.machine = read_machine_file(values.machine_file);
    return values;
}

} // namespace

int32_t options_create(graft_options** options) noexcept {
    return guard([&] {
        require(options != nullptr, "options", "where to put the new options");
        *options = new graft_options();
    });
}

int32_t options_destroy(graft_options** options) noexcept {
    return guard([&] {
        if (options == nullptr || *options == nullptr)
            return;
        require_alive(*options);
        if ((*options)->in_use.test_and_set(std::memory_order_acquire))
            fail(Status::busy,
                 "these options are in use by another thread; destroy them after that call has returned");
        delete *options;
        *options = nullptr;
    });
}

int32_t options_set(graft_options* options, const char* key, const char* value) noexcept {
    return changed(options, key, [&](Settings& settings) {
        require(value != nullptr, "value", "the value in deck spelling");
        settings.set(key, value);
    });
}

int32_t options_set_int64(graft_options* options, const char* key, int64_t value) noexcept {
    return changed(options, key, [&](Settings& settings) {
        if (std::abs(static_cast<double>(value)) > largest_count)
            fail(Status::deck_range, "key '%s': %lld is out of range; numbers of options are at most 2^53",
                 key, static_cast<long long>(value));
        settings.set_number(key, static_cast<double>(value));
    });
}

int32_t options_set_double(graft_options* options, const char* key, double value) noexcept {
    return changed(options, key, [&](Settings& settings) { settings.set_number(key, value); });
}

int32_t options_get(const graft_options* options, const char* key, char* buffer, int64_t capacity,
                    int64_t* needed) noexcept {
    return guard([&] {
        const Use use(options);
        require(key != nullptr, "key", a_key);
        if (buffer != nullptr && capacity > 0)
            buffer[0] = '\0';
        capi::put_text(options->settings.get(key), "the value", buffer, capacity, needed);
    });
}

int32_t options_get_int64(const graft_options* options, const char* key, int64_t* value) noexcept {
    return guard([&] {
        const Use use(options);
        require(key != nullptr, "key", a_key);
        require(value != nullptr, "value", "where to put the number");
        *value = whole_of(key, options->settings.get_number(key));
    });
}

int32_t options_get_double(const graft_options* options, const char* key, double* value) noexcept {
    return guard([&] {
        const Use use(options);
        require(key != nullptr, "key", a_key);
        require(value != nullptr, "value", "where to put the number");
        *value = options->settings.get_number(key);
    });
}

int32_t options_read_file(graft_options* options, const char* path) noexcept {
    return guard([&] {
        const Use use(options);
        require(path != nullptr, "path", "the name of a deck");
        read_deck_file(options->settings, path);
    });
}

int32_t options_read_text(graft_options* options, const char* text, int64_t bytes,
                          const char* name) noexcept {
    return guard([&] {
        const Use use(options);
        if (bytes < 0 || (text == nullptr && bytes > 0))
            fail(Status::argument, "text is %p with %lld bytes; expected a deck's text and its length",
                 static_cast<const void*>(text), static_cast<long long>(bytes));
        const std::string_view deck(text != nullptr ? text : "", static_cast<size_t>(bytes));
        read_deck(options->settings, deck, name != nullptr && *name != '\0' ? name : "deck");
    });
}

int32_t options_explain(int32_t format, graft_sink sink, void* user) noexcept {
    return guard([&] {
        require(sink != nullptr, "sink", "a function that takes the text");
        const bool study = (format & GRAFT_EXPLAIN_STUDY) != 0;
        const int32_t form = format & ~GRAFT_EXPLAIN_STUDY;
        if (form < GRAFT_EXPLAIN_TEXT || form > GRAFT_EXPLAIN_SCHEMA)
            fail(Status::argument,
                 "format is %d; expected GRAFT_EXPLAIN_TEXT (1), GRAFT_EXPLAIN_JSON (2) or GRAFT_EXPLAIN_SCHEMA (3), with "
                 "GRAFT_EXPLAIN_STUDY (16) added to have the studies' keys, too",
                 format);
        const std::string text = form == GRAFT_EXPLAIN_TEXT   ? explain_text(study)
                                 : form == GRAFT_EXPLAIN_JSON ? explain_json(study)
                                                              : explain_schema(study);
        sink(user, text.data(), static_cast<int64_t>(text.size()));
    });
}

int32_t context_create(const graft_options* options, const graft_allocator* allocator,
                       graft_context** context) noexcept {
    int32_t status = 0;
    const int32_t guarded = guard([&] {
        const Use use(options);
        status = capi::context_create(values_of(options->settings), allocator, context);
    });
    return guarded != 0 ? guarded : status;
}

int32_t context_set(graft_context* context, const char* key, const char* value) noexcept {
    return capi::context_change(context, [&](capi::Options& values) {
        require(key != nullptr, "key", a_key);
        require(value != nullptr, "value", "the value in deck spelling");
        const Key* known = find_key(key);
        if (known == nullptr && !is_host(key))
            fail_unknown_key(key);
        if (known == nullptr || !known->is_live())
            fail(Status::call_order,
                 "key '%s': a living context does not take a new value of it; set it in options and make a "
                 "new "
                 "context. Keys that are live are marked so by options_explain",
                 key);
        Settings settings(values);
        settings.set(key, value);
        values = settings.values();
    });
}

int32_t context_get(graft_context* context, const char* key, char* buffer, int64_t capacity,
                    int64_t* needed) noexcept {
    return capi::context_read(context, [&](const capi::Options& values) {
        require(key != nullptr, "key", a_key);
        if (buffer != nullptr && capacity > 0)
            buffer[0] = '\0';
        capi::put_text(Settings(values).get(key), "the value", buffer, capacity, needed);
    });
}

} // namespace graft::plugin
