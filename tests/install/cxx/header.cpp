// The installed C++ header: loads the library and asks its version.
#include <graft/graft.hpp>

#include <cstdio>
#include <cstring>

int main() {
    try {
        const graft::Library library = graft::Library::load();
        return std::strcmp(library.api().version(), "0.1.0") != 0;
    } catch (const graft::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
