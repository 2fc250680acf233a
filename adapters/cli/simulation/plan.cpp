// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/plan.hpp"

#include "command/arguments.hpp"
#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/metadata.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace graft::cli {

namespace {

std::string text_of(const Deck& deck, const std::string& key) {
    const auto value = deck.get(key);
    if (!value || value->empty()) {
        throw Error({"key '" + key + "' is missing", "deck", key + " in the deck or --set " + key + "=...",
                     "no value", "graft deck --explain"});
    }
    return *value;
}

std::int64_t count_of(const Deck& deck, const std::string& key) {
    const auto value = parse_integer(text_of(deck, key));
    if (!value || *value < 0) {
        throw Error({"key '" + key + "' is no count", "deck", "a whole number >= 0", text_of(deck, key), ""});
    }
    return *value;
}

bool truth_of(const Deck& deck, const std::string& key) {
    return text_of(deck, key) == "true";
}

void split_output(Plan& plan, const std::string& output) {
    const std::filesystem::path path(output);
    if (format_of_extension(output)) {
        plan.extension = path.extension().string();
        plan.prefix = output.substr(0, output.size() - plan.extension.size());
    } else {
        plan.extension = ".hdf5";
        plan.prefix = output;
    }
}

/// The step of a snapshot's name, or -1.
std::int64_t step_of(const std::string& name, const std::string& start, const std::string& extension) {
    if (!name.starts_with(start) || !name.ends_with(extension) ||
        name.size() < start.size() + extension.size()) {
        return -1;
    }
    const std::string number = name.substr(start.size(), name.size() - start.size() - extension.size());
    const bool digits = number.size() >= 6 && number.find_first_not_of("0123456789") == std::string::npos;
    return digits ? parse_integer(number).value_or(-1) : -1;
}

/// Snapshots that are there under names of this run: any step may be written, since a signal ends it at any.
void append_snapshots(const Plan& plan, std::vector<std::string>& paths) {
    const std::filesystem::path prefix(plan.prefix + "_");
    const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
    std::error_code problem; // a folder that is not there is met when the lock is taken
    for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
        const std::int64_t step =
            step_of(entry.path().filename().string(), prefix.filename().string(), plan.extension);
        if (step >= 0 && step <= plan.steps) {
            paths.push_back(entry.path().string());
        }
    }
}

} // namespace

std::string Plan::snapshot_path(std::int64_t step) const {
    std::array<char, 24> number;
    std::snprintf(number.data(), number.size(), "_%06lld", static_cast<long long>(step));
    return prefix + number.data() + extension;
}

Plan read_plan(const Deck& deck) {
    if (!deck.is("interaction", "gravity") || deck.number("dimension") != 3) {
        throw Error({"graft run integrates gravity in three dimensions", "deck",
                     "interaction: gravity and dimension: 3", "other values",
                     "call Graft from a code of your own for this"});
    }
    if (deck.is("balance.cost", "given")) {
        throw Error({"graft run has no costs to give", "deck", "balance.cost: interactions, time or count",
                     "given", ""});
    }
    if (deck.is("balance.fuzzy", "true") && !deck.get("balance.method").value_or("").starts_with("orb-")) {
        throw Error({"balance.fuzzy swaps across the cuts of an ORB", "deck",
                     "balance.method: orb-central or orb-distributed with it", "a prefix method", ""});
    }
    if (deck.number("decompose.parts") != 0) {
        throw Error({"graft run makes a part for each rank", "deck", "decompose.parts: 0",
                     text_of(deck, "decompose.parts"), "mpiexec -n for another number of parts"});
    }
    Plan plan;
    plan.restart = truth_of(deck, "run.restart");
    plan.input = plan.restart ? deck.get("run.input").value_or("") : text_of(deck, "run.input");
    plan.time_step = parse_number(text_of(deck, "run.time_step")).value_or(0);
    plan.steps = count_of(deck, "run.steps");
    plan.snapshot_every = count_of(deck, "run.snapshot_every");
    plan.energy_every = count_of(deck, "run.energy_every");
    plan.progress = truth_of(deck, "run.progress");
    split_output(plan, text_of(deck, "run.output"));
    return plan;
}

void require_outputs_apart(const Plan& plan, const std::vector<std::string>& inputs) {
    std::vector<std::string> outputs = {plan.energy_path(), plan.restart_path(), plan.lock_path()};
    append_snapshots(plan, outputs);
    for (const std::string& input : inputs) {
        for (const std::string& output : outputs) {
            if (is_same_file(input, output)) {
                throw Error({"the run would overwrite what it reads", output, "an output apart from " + input,
                             "the same file", "another run.output"});
            }
        }
    }
}

bool uses_own_softening(const Deck& deck, const Snapshot& particles) {
    return !deck.is("softening.kind", "none") && deck.number("softening.length") == 0 &&
           !particles.softening.empty();
}

void require_same_constant(const Deck& deck, const Snapshot& particles, const std::string& where) {
    const double ours = deck.number("constant");
    const double theirs = particles.units.gravitational_constant;
    const bool known = particles.units.length_m > 0 && theirs > 0;
    if (known && std::abs(ours - theirs) > 1e-3 * theirs) {
        throw Error({"the snapshot's units and the deck's constant of gravity do not belong together", where,
                     "G = " + number_text(theirs) + " (" + particles.units.length + ", " +
                         particles.units.mass + ", " + particles.units.time + ")",
                     "constant = " + number_text(ours), "constant: " + number_text(theirs) + " in the deck"});
    }
}

} // namespace graft::cli
