// SPDX-License-Identifier: BSD-3-Clause
// The `graft` command: MPI where mpiexec started us; errors become one line on stderr and an exit status
// here, and nowhere else. Only rank 0 prints.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "ranks/launcher.hpp"
#include "ranks/ranks.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

using graft::cli::Ranks;
using graft::cli::Words;

struct Outcome {
    int status = 0;
    std::string error;
};

Outcome run(Words words) {
    try {
        Ranks::here().start(graft::cli::take_mpi_choice(words));
        if (!Ranks::here().first() && std::freopen("/dev/null", "w", stdout) == nullptr) {
            return {1, "cannot silence the output of this rank"};
        }
        return {graft::cli::graft_command(words), ""};
    } catch (const graft::cli::UsageError& error) {
        return {2, error.what()};
    } catch (const std::bad_alloc&) {
        return {1, "not enough memory"};
    } catch (const std::exception& error) {
        return {1, error.what()};
    }
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on file sizes then fails, and says so
    Outcome outcome = run(Words(argv + (argc > 0 ? 1 : 0), argv + argc));
    const bool first = Ranks::here().first() && graft::cli::rank_by_environment() == 0;
    if (outcome.error.empty() && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
        outcome = {1, "cannot write to standard output: no space, or its reader has gone"};
    }
    outcome.error = Ranks::here().agree(outcome.error);
    if (!outcome.error.empty()) {
        outcome.status = outcome.status == 0 ? 1 : outcome.status;
        if (first) {
            const bool named = outcome.error.starts_with("graft"); // "graft check: ..."
            std::fprintf(stderr, "%s%s\n", named ? "" : "graft: ", outcome.error.c_str());
        }
    }
    Ranks::here().finish();
    return outcome.status;
}
