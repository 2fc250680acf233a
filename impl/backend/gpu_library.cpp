// Finds, opens and checks libgraft_cuda.so, see gpu_library.hpp.
#include "backend/gpu_library.hpp"

#include "backend/build_id.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

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

void* open_library(std::string& tried) {
    const char* given = std::getenv("GRAFT_CUDA_LIBRARY");
    const std::string folder = own_folder();
    const std::string places[] = {given != nullptr ? given : "", folder + "libgraft_cuda.so",
                                  folder + "../lib/libgraft_cuda.so", "libgraft_cuda.so"};
    for (const std::string& place : places) {
        if (place.empty())
            continue;
        if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
            return library;
        const char* text = dlerror();
        tried += (tried.empty() ? "" : "; ") + std::string(text != nullptr ? text : place);
        if (given != nullptr && place == given) // the host's word: nothing else is tried
            break;
    }
    return nullptr;
}

Search search() {
    Search result;
    std::string tried;
    void* library = open_library(tried);
    if (library == nullptr) {
        result.why = "libgraft_cuda.so was not found (" + tried +
                     "); build Graft where nvcc is, or set GRAFT_CUDA_LIBRARY to its path";
        return result;
    }
    const auto function = reinterpret_cast<TableFunction>(dlsym(library, "graft_cuda_get_table"));
    const CudaTable* table = function != nullptr ? function() : nullptr;
    if (table == nullptr || table->struct_size != sizeof(CudaTable) ||
        std::strcmp(table->build_id, build_id) != 0) {
        result.why = std::string("libgraft_cuda.so is not of this build of Graft: expected build ") +
                     build_id + ", found " + (table != nullptr ? table->build_id : "no table") +
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

const Search& found() {
    static const Search result = search();
    known.store(result.table, std::memory_order_release);
    return result;
}

} // namespace

const CudaTable* find_cuda(std::string* why) {
    const Search& result = found();
    if (why != nullptr)
        *why = result.why;
    return result.table;
}

const CudaTable* known_cuda() noexcept {
    return known.load(std::memory_order_acquire);
}

const CudaTable& require_cuda() {
    const Search& result = found();
    if (result.table == nullptr)
        core::fail(core::Status::device, "backend gpu: %s; backend: auto falls back to the CPU",
                   result.why.c_str());
    return *result.table;
}

} // namespace graft::backend
