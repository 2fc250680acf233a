// SPDX-License-Identifier: BSD-3-Clause
// The installed C++ header: loads the library and asks its version.
#include <graft/graft.hpp>

#include <cstdio>

int main() {
    try {
        const graft::Library library = graft::Library::load();
        return library.version() != GRAFT_VERSION_STRING;
    } catch (const graft::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
