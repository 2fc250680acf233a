// SPDX-License-Identifier: BSD-3-Clause
#include "mini_nemo.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>
#include <unistd.h>

std::vector<std::string> mini::warnings;

// The functions that NEMO's programs export to the files they open: its headers rename what is written error and warning.
#ifndef OLD_SPELLING
#define error nemo_error
#define warning nemo_warning
#endif
extern "C" {
__attribute__((visibility("default"))) void error(const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    std::fprintf(stderr, "### Fatal error [mini]: ");
    std::vfprintf(stderr, pattern, arguments);
    va_end(arguments);
    std::exit(1);
}

__attribute__((visibility("default"))) void warning(const char* pattern, ...) {
    std::array<char, 1024> text{};
    std::va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text.data(), text.size(), pattern, arguments);
    va_end(arguments);
    mini::warnings.emplace_back(text.data());
}
}

namespace mini {

namespace {

void* handle = nullptr; // of the file opened last, never closed

void load_object(const std::string& path) {
    handle = dlopen(path.c_str(), RTLD_LAZY);
    if (handle == nullptr)
        error("loadobj: error from dlopen: %s", dlerror());
}

void* find_function(std::string name) {
    void* found = dlsym(handle, name.c_str());
    for (int tries = 0; found == nullptr && tries < 2; ++tries)
        found = dlsym(handle, (name += '_').c_str());
    return found;
}

std::string find_in_path(const std::string& file) {
    const char* path = std::getenv("ACCPATH");
    if (path == nullptr)
        path = std::getenv("POTPATH");
    std::istringstream folders(path != nullptr ? path : ".");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access((folder + "/" + file).c_str(), R_OK) == 0)
            return folder + "/" + file;
    error("get_acceleration: cannot find file \"%s\"", file.c_str());
    return {};
}

} // namespace

Field get_acceleration(const std::string& name, const std::string& parameters, const std::string& file) {
    using Initialise = void (*)(const double*, int, const char*, AccelerationFunction*, bool*, bool*);
    std::array<double, 64> numbers{};
    int count = 0;
    std::istringstream words(parameters);
    for (std::string word; std::getline(words, word, ',') && count < 64;)
        numbers[static_cast<std::size_t>(count++)] = std::strtod(word.c_str(), nullptr);
    load_object(find_in_path(name + ".so"));
    const auto initialise = reinterpret_cast<Initialise>(find_function("iniacceleration"));
    if (initialise == nullptr)
        error("get_acceleration: no iniacceleration");
    Field field;
    initialise(numbers.data(), count, file.empty() ? nullptr : file.c_str(), &field.function,
               &field.need_masses, &field.need_velocities);
    return field;
}

} // namespace mini
