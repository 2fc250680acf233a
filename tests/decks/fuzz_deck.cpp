// SPDX-License-Identifier: BSD-3-Clause
// Fuzzing of the deck reader: any bytes are read or refused with a deck status, a message with a place, and
// unchanged settings. Entry for libFuzzer (clang -fsanitize=fuzzer); fuzz_driver.cpp runs the same entry
// without it.
#include "deck/deck.hpp"
#include "guard.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "fuzz_deck: violated: %s\n", what);
        std::abort();
    }
}

void read_and_check(std::string_view text) {
    using graft::plugin::Settings;
    Settings settings;
    settings.set("host.kept", "1");
    const auto before = settings.all();
    try {
        graft::plugin::read_deck(settings, text, "fuzz");
    } catch (const graft::core::Error& error) {
        const int status = static_cast<int>(error.status());
        require(status >= 500 && status <= 504, "a deck status");
        require(std::string_view(error.what()).starts_with("fuzz:"), "a message that begins with the place");
        require(settings.all() == before, "nothing changed on failure");
        return;
    }
    Settings again;
    for (const auto& [key, value] : settings.all())
        again.set(key, value);
    require(again.all() == settings.all(), "values that can be set again");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    read_and_check({reinterpret_cast<const char*>(data), size});
    return 0;
}
