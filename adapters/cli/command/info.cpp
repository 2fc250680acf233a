// SPDX-License-Identifier: BSD-3-Clause
// `graft info`: which library, which ABI, what this machine gives it, how many ranks.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/engine.hpp"
#include "command/json.hpp"
#include "ranks/ranks.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

JsonObject table_of(const graft_api_v1& api) {
    JsonArray capabilities;
    if ((api.capabilities & GRAFT_CAPABILITY_OPENMP) != 0) {
        capabilities.add(json_string("openmp"));
    }
    if ((api.capabilities & GRAFT_CAPABILITY_GPU) != 0) {
        capabilities.add(json_string("gpu"));
    }
    return JsonObject()
        .add("major", api.abi_major)
        .add("minor", api.abi_minor)
        .add("table_bytes", api.struct_size)
        .add("capabilities", capabilities);
}

} // namespace

int info_command(const Words& words) {
    Arguments arguments(
        "info", "[options]",
        "Tells which libgraft this command loads, its version and ABI, and what it found here\n"
        "(SIMD, threads, GPUs, or why there is none). GRAFT_LOAD_DEBUG=1 shows the search for the library.");
    if (!arguments.parse(words)) {
        return 0;
    }
    const Engine engine(arguments.text("library").value_or(""));
    const graft_api_v1& api = engine.api();
    const Ranks& ranks = Ranks::here();
    const std::string machine = engine.run_tool("info", "{}");
    if (arguments.json()) {
        std::printf("%s\n", JsonObject()
                                .add("version", api.version())
                                .add("library", engine.path())
                                .add("abi", table_of(api))
                                .add("ranks", JsonObject().add("size", ranks.size()).add("mpi", ranks.mpi()))
                                .add_raw("machine", machine)
                                .text()
                                .c_str());
        return 0;
    }
    std::printf(
        "graft %s\nlibrary  %s\nABI      %u.%u, table of %u bytes%s\nranks    %d (MPI: %s)\nmachine  %s\n",
        api.version(), engine.path().c_str(), api.abi_major, api.abi_minor, api.struct_size,
        (api.capabilities & GRAFT_CAPABILITY_OPENMP) != 0 ? ", openmp" : "", ranks.size(),
        ranks.mpi().c_str(), machine.c_str());
    return 0;
}

} // namespace graft::cli
