// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/launcher.hpp"

#include "command/arguments.hpp"

#include <cstdlib>

namespace graft::cli {

namespace {

bool has_variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

/// MPICH's hydra speaks PMI, and srun imitates it; Open MPI's launcher sets variables of its own name. PMIx
/// alone is Open MPI under another launcher.
std::string family_by_environment() {
    if (has_variable("OMPI_COMM_WORLD_SIZE")) {
        return "openmpi";
    }
    if (has_variable("PMI_RANK") || has_variable("PMI_ID") || has_variable("PMI_SIZE")) {
        return "mpich";
    }
    return has_variable("PMIX_RANK") ? "openmpi" : "";
}

} // namespace

std::string mpi_family(const std::string& choice) {
    if (choice == "auto") {
        return family_by_environment();
    }
    if (choice != "none" && choice != "mpich" && choice != "openmpi") {
        throw UsageError({"--mpi is not understood", "graft", "auto, none, mpich or openmpi", in_quotes(choice),
                          "graft --help"});
    }
    return choice == "none" ? "" : choice;
}

int rank_by_environment() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PMI_ID"}) {
        if (has_variable(name)) {
            return static_cast<int>(std::strtol(std::getenv(name), nullptr, 10));
        }
    }
    return 0;
}

std::string take_mpi_choice(std::vector<std::string>& words) {
    std::string choice = "auto";
    for (auto word = words.begin(); word != words.end();) {
        const bool separate = *word == "--mpi" && word + 1 != words.end();
        if (separate || word->rfind("--mpi=", 0) == 0) {
            choice = separate ? *(word + 1) : word->substr(6);
            word = words.erase(word, word + (separate ? 2 : 1));
        } else {
            ++word;
        }
    }
    return choice;
}

} // namespace graft::cli
