// graft_options: settings behind the ABI, used by one thread at a time.
#include "options.hpp"

#include "deck/deck.hpp"
#include "deck/machine_file.hpp"
#include "deck/quantity.hpp"
#include "entries.hpp"
#include "guard.hpp"
#include "living.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

using graft::core::fail;
using graft::core::Status;

struct graft_options {
    graft::plugin::Settings settings;
    mutable std::atomic_flag in_use = ATOMIC_FLAG_INIT;
    graft::capi::Alive alive{this};
};

namespace graft::plugin {

using capi::guard;

namespace {

void require(const void* pointer, const char* name, const char* expected) {
    if (pointer == nullptr)
        fail(Status::argument, "%s is NULL; expected %s", name, expected);
}

/// Of destroyed ones, or of none, not a byte may be read.
void require_alive(const graft_options* options) {
    require(options, "options", "an object made by options_create");
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

constexpr uint32_t smallest_values = offsetof(graft_options_values, decompose_shape); // minor 0
constexpr uint32_t largest_struct = 1u << 16u; // a larger struct_size is not a size but garbage

uint32_t checked_size(const graft_options_values* values) {
    require(values, "values", "a graft_options_values");
    uint32_t size = 0;
    std::memcpy(&size, values, sizeof size);
    if (size < smallest_values || size > largest_struct)
        fail(Status::abi,
             "values.struct_size is %u; expected sizeof(graft_options_values), %zu here. Set it before "
             "the call",
             size, sizeof(graft_options_values));
    return size;
}

void refuse_unknown(const graft_options_values* values, uint32_t size) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values);
    for (size_t i = offsetof(graft_options_values, reserved); i < size; ++i)
        if (bytes[i] != 0)
            fail(Status::abi,
                 "values: byte %zu is not 0, but this library knows nothing there. Zero the struct before "
                 "setting its fields, or use a newer library",
                 i);
    if (values->flags != 0)
        fail(Status::abi, "values.flags is 0x%x; this library knows no flags", values->flags);
    if (size >= offsetof(graft_options_values, near_devices) + sizeof values->near_devices &&
        (values->near_devices < 0 || values->near_devices > 64))
        fail(Status::abi, "values.near_devices is %d; expected 0 to 64", values->near_devices);
}

capi::OptionTexts texts_of(const Settings& settings) {
    capi::OptionTexts texts;
    texts.machine_file = machine_file_of(settings);
    if (!texts.machine_file.empty())
        texts.machine = read_machine_file(texts.machine_file);
    texts.tree_sizes = settings.get("tree.sizes");
    texts.cuda_buffer = static_cast<int32_t>(parse_integer(settings.get("cuda.buffer")));
    return texts;
}

} // namespace

int32_t options_create(graft_options** options) noexcept {
    return guard([&] {
        require(options, "options", "where to put the new options");
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
    return guard([&] {
        const Use use(options);
        require(key, "key", "a deck key such as \"mac.theta\"");
        require(value, "value", "the value in deck spelling");
        Settings changed = options->settings;
        changed.set(key, value);
        options->settings = std::move(changed);
    });
}

int32_t options_get(const graft_options* options, const char* key, char* buffer, int64_t capacity,
                    int64_t* needed) noexcept {
    return guard([&] {
        const Use use(options);
        require(key, "key", "a deck key such as \"mac.theta\"");
        if (capacity < 0 || (buffer == nullptr && capacity > 0))
            fail(Status::argument,
                 "buffer is %p with capacity %lld; expected room for text, or NULL with capacity 0 "
                 "to ask for the length",
                 static_cast<void*>(buffer), static_cast<long long>(capacity));
        if (capacity > 0)
            buffer[0] = '\0';
        const std::string text = options->settings.get(key);
        const int64_t length = static_cast<int64_t>(text.size()) + 1;
        if (needed != nullptr)
            *needed = length;
        if (buffer == nullptr)
            return;
        if (capacity < length)
            fail(Status::argument, "the value of '%s' needs a buffer of %lld bytes; found %lld", key,
                 static_cast<long long>(length), static_cast<long long>(capacity));
        std::memcpy(buffer, text.c_str(), static_cast<size_t>(length));
    });
}

int32_t options_read_struct(const graft_options* options, graft_options_values* values) noexcept {
    return guard([&] {
        const Use use(options);
        const uint32_t size = checked_size(values);
        graft_options_values copy = options->settings.values();
        copy.struct_size = size;
        std::memcpy(values, &copy, std::min<size_t>(size, sizeof copy));
        if (size > sizeof copy)
            std::memset(reinterpret_cast<char*>(values) + sizeof copy, 0, size - sizeof copy);
    });
}

int32_t options_write_struct(graft_options* options, const graft_options_values* values) noexcept {
    return guard([&] {
        const Use use(options);
        const uint32_t size = checked_size(values);
        refuse_unknown(values, size);
        graft_options_values copy = options->settings.values(); // what an older caller's struct lacks stays
        std::memcpy(&copy, values, std::min<size_t>(size, sizeof copy));
        copy.struct_size = sizeof copy;
        Settings changed = options->settings;
        changed.set_values(copy);
        options->settings = std::move(changed);
    });
}

int32_t options_read_file(graft_options* options, const char* path) noexcept {
    return guard([&] {
        const Use use(options);
        require(path, "path", "the name of a deck");
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

int32_t options_explain(int32_t json, graft_sink sink, void* user) noexcept {
    return guard([&] {
        if (sink == nullptr)
            fail(Status::argument, "sink is NULL; expected a function that takes the text");
        const std::string text = json != 0 ? explain_json() : explain_text();
        sink(user, text.data(), static_cast<int64_t>(text.size()));
    });
}

int32_t context_create(const graft_options* options, const graft_allocator* allocator,
                       graft_context** context) noexcept {
    int32_t status = 0;
    const int32_t guarded = guard([&] {
        const Use use(options);
        options->settings.check_units();
        options->settings.check_buffer();
        status =
            capi::context_create(options->settings.values(), allocator, context, texts_of(options->settings));
    });
    return guarded != 0 ? guarded : status;
}

} // namespace graft::plugin
