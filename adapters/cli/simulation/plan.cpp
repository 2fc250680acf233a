#include "simulation/plan.hpp"

#include "command/arguments.hpp"
#include "snapshot/error.hpp"
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
