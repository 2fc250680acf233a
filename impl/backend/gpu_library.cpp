// SPDX-License-Identifier: BSD-3-Clause
// Finds, opens and checks libgraft_cuda.so, see gpu_library.hpp.
#include "backend/gpu_library.hpp"

#include "backend/build_id.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

namespace graft::backend {

namespace {

using TableFunction = const CudaTable* (*)();

struct Search {
    const CudaTable* table = nullptr;
    std::string why;
};

/// The folder of the library (or program) this code is in.
std::string own_folder() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&find_cuda), &info) == 0 || info.dli_fname == nullptr)
        return "";
    const std::string path = info.dli_fname;
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

struct Names {
    const char *file, *variable, *without;
};

constexpr Names names[] = {
    {"libgraft_cuda.so", "GRAFT_CUDA_LIBRARY", "backend: auto falls back to the CPU"},
    {"libgraft_cuda_study.so", "GRAFT_CUDA_STUDY_LIBRARY",
     "it has the papers' kernels (study.kernel block, pairs-1d, tiles-2d; study.direct_stage 0 to 2) and what measures GPUs"}};

const Names& names_of(GpuLibrary which) {
    return names[static_cast<size_t>(which)];
}

void* open_library(const Names& name, std::string& tried) {
    const char* given = std::getenv(name.variable);
    const std::string folder = own_folder(), file = name.file;
    const std::string places[] = {given != nullptr ? given : "", folder + file, folder + "../lib/" + file, file};
    for (const std::string& place : places) {
        if (place.empty())
            continue;
        struct stat found {};
        const bool no_file = stat(place.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
        if (no_file) { // the dynamic linker would wait for a pipe
            tried += (tried.empty() ? "" : "; ") + place + ": no regular file";
            if (given != nullptr && place == given)
                break;
            continue;
        }
        if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
            return library;
        const char* text = dlerror();
        tried += (tried.empty() ? "" : "; ") + std::string(text != nullptr ? text : place);
        if (given != nullptr && place == given) // the host's word: nothing else is tried
            break;
    }
    return nullptr;
}

Search search(GpuLibrary which) {
    const Names& name = names_of(which);
    Search result;
    std::string tried;
    void* library = open_library(name, tried);
    if (library == nullptr) {
        result.why = std::string(name.file) + " was not found (" + tried + "); build Graft where nvcc is, or set " +
                     name.variable + " to its path";
        return result;
    }
    const auto function = reinterpret_cast<TableFunction>(dlsym(library, "graft_cuda_get_table"));
    const CudaTable* table = function != nullptr ? function() : nullptr;
    if (table == nullptr || table->struct_size != sizeof(CudaTable) ||
        std::strcmp(table->build_id, build_id) != 0) {
        result.why = std::string(name.file) + " is not of this build of Graft: expected build " + build_id +
                     ", found " + (table != nullptr ? table->build_id : "no table") +
                     "; install both libraries from one build";
        return result;
    }
    int32_t count = 0;
    DeviceError error;
    if (table->device_count(&count, &error) != 0 || count == 0) {
        result.why = std::string("no CUDA device can be used: ") +
                     (error.message[0] != 0 ? error.message : "the driver reports none");
        return result;
    }
    result.table = table;
    return result;
}

std::atomic<const CudaTable*> known{nullptr};

Search search_and_tell(GpuLibrary which) {
    const Search result = search(which);
    if (result.table != nullptr)
        known.store(result.table, std::memory_order_release);
    return result;
}

const Search& found(GpuLibrary which) {
    if (which == GpuLibrary::study) {
        static const Search more = search_and_tell(which);
        return more;
    }
    static const Search own = search_and_tell(which);
    return own;
}

} // namespace

const CudaTable* find_cuda(std::string* why, GpuLibrary which) {
    const Search& result = found(which);
    if (why != nullptr)
        *why = result.why;
    return result.table;
}

const CudaTable* known_cuda() noexcept {
    return known.load(std::memory_order_acquire);
}

const CudaTable& require_cuda(GpuLibrary which) {
    const Search& result = found(which);
    if (result.table == nullptr)
        core::fail(core::Status::device, "backend gpu: %s; %s", result.why.c_str(), names_of(which).without);
    return *result.table;
}

} // namespace graft::backend
