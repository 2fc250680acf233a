// SPDX-License-Identifier: BSD-3-Clause
// `graft`: which subcommand, help and version.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "ranks/ranks.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

struct Entry {
    const char* name;
    const char* help;
    int (*run)(const Words&);
    bool on_ranks; ///< every rank takes part; else rank 0 does the work and the others are done at once
};

constexpr Entry entries[] = {
    {"run", "integrate a snapshot in time, as a deck says", run_command, true},
    {"ic", "make initial conditions: plummer, galaxy, belt...", ic_command, false},
    {"convert", "turn a snapshot into another format, or into a picture", convert_command, false},
    {"check", "errors against direct summation, times and counts of one force evaluation", check_command,
     true},
    {"bench", "measure the kernels of this machine", bench_command, true},
    {"simulate", "what balancing would cost on thousands of ranks", simulate_command, false},
    {"model", "what a machine can do: predictions, and measuring its numbers", model_command, false},
    {"deck", "explain every deck key, or check a deck", deck_command, false},
    {"info", "the library that is loaded, and what it can do", info_command, true},
    {"selftest", "whether this installation computes right on this machine", selftest_command, true},
};

std::string help() {
    std::string text = "graft: gravity and Coulomb forces for simulation codes, from the shell\n\n"
                       "usage: graft COMMAND [options]      graft COMMAND --help tells more\n\n";
    for (const Entry& entry : entries) {
        text += "  " + std::string(entry.name) + std::string(10 - std::string(entry.name).size(), ' ') +
                entry.help + "\n";
    }
    return text +
           "\nA first run:\n"
           "  graft ic plummer --n 10000 -o plummer.hdf5\n"
           "  graft check --file plummer.hdf5\n"
           "  graft convert plummer.hdf5 plummer.png\n"
           "On many ranks: mpiexec -n 4 graft run deck.yaml (run, check and bench orb share the work; MPICH\n"
           "or Open MPI is found by who started it, or say --mpi mpich, openmpi or none).\n"
           "Every command takes --json; bench and model answer in JSON without it, too. Exit status: 0 "
           "done,\n"
           "1 failed, 2 not understood.\n";
}

std::string names() {
    std::string list;
    for (const Entry& entry : entries) {
        list += (list.empty() ? "" : ", ") + std::string(entry.name);
    }
    return list;
}

} // namespace

int graft_command(const Words& words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        std::fputs(help().c_str(), words.empty() ? stderr : stdout);
        return words.empty() ? 2 : 0;
    }
    if (words[0] == "--version") {
        return info_command({});
    }
    for (const Entry& entry : entries) {
        if (words[0] == entry.name) {
            if (!entry.on_ranks && !Ranks::here().first()) {
                return 0;
            }
            return entry.run(Words(words.begin() + 1, words.end()));
        }
    }
    throw UsageError({"no command '" + words[0] + "'", "graft", "one of " + names(), "", "graft --help"});
}

} // namespace graft::cli
