// SPDX-License-Identifier: BSD-3-Clause
// `graft run DECK`.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/json.hpp"
#include "simulation/progress.hpp"
#include "simulation/simulation.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

Arguments declare() {
    Arguments arguments(
        "run", "DECK [options]",
        "Integrates a snapshot with kick-drift-kick leapfrog and Graft's forces, as the deck's run\n"
        "section says (graft deck --explain lists the keys). Paths are relative to where you are.");
    arguments.positional("deck")
        .list("set", "KEY=VALUE", "change a deck key, e.g. --set run.steps=200 (repeatable)")
        .flag("restart", "continue from the restart file, as run.restart: true")
        .flag("restart-with-changes",
              "the same, with other keys of the deck or another input than the run began with")
        .flag("quiet", "no progress bar, no summary");
    return arguments.epilogue(
        "With run.output: out/galaxy it writes out/galaxy_000000.hdf5 and so on (output with an extension,\n"
        "galaxy.tipsy, chooses the format), out/galaxy_energy.csv (step, time, energies, dE/E, angular "
        "momentum,\n"
        "virial ratio) and out/galaxy.restart, each whole or not at all. A restart goes on bit by bit as if "
        "the\n"
        "run had never stopped, for any number of threads (on several ranks: to rounding). The restart file "
        "keeps\n"
        "the keys that forces depend on, and what the input was: a restart with others is refused, or taken "
        "with\n"
        "--restart-with-changes. A run does not overwrite its input, and one run at a time writes an output "
        "(.lock).\n"
        "Ctrl-C ends after "
        "the present step with snapshot "
        "and\n"
        "restart file (exit status 130; 143 for SIGTERM); a second Ctrl-C ends at once.\n\n"
        "A deck:\n"
        "  mac: {type: error, accuracy: 0.001}\n"
        "  softening: {kind: plummer, length: 0.03}\n"
        "  run: {input: galaxy.hdf5, output: out/galaxy, time_step: 0.02, steps: 100, snapshot_every: 50}");
}

/// Splits KEY=VALUE and sets it.
void apply(Deck& deck, const Arguments& arguments) {
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a key and a value", "KEY=VALUE", in_quotes(pair));
        }
        deck.set(pair.substr(0, equals), pair.substr(equals + 1));
    }
    if (arguments.has("restart") || arguments.has("restart-with-changes")) {
        deck.set("run.restart", "true");
    }
    if (arguments.has("quiet")) {
        deck.set("run.progress", "false");
    }
    // The error criterion may remember the last call's accelerations; a restarted run could not.
    if (deck.is("mac.history", "true")) {
        if (Ranks::here().first()) {
            std::fprintf(stderr,
                         "graft run: mac.history is left off, so that restarts continue bit by bit\n");
        }
        deck.set("mac.history", "false");
    }
}

std::string summary_json(const RunSummary& s) {
    return JsonObject()
        .add("n", s.n)
        .add("step", s.step)
        .add("steps_taken", s.steps_taken)
        .add("time", s.time)
        .add("wall_s", s.wall_s)
        .add("energy_error", s.energy_error)
        .add("max_energy_error", s.max_energy_error)
        .add("virial_ratio", s.virial_ratio)
        .add("snapshot", s.last_snapshot)
        .add("signal", s.signal)
        .text();
}

void print_summary(const RunSummary& s) {
    std::printf("%s at step %lld, time %.9g: %lld steps of %zu particles in %s\n",
                s.signal == 0 ? "done" : "stopped by a signal", static_cast<long long>(s.step), s.time,
                static_cast<long long>(s.steps_taken), s.n, duration_text(s.wall_s).c_str());
    std::printf("dE/E %.2e (largest %.2e), virial ratio %.4f; last snapshot %s\n", s.energy_error,
                s.max_energy_error, s.virial_ratio, s.last_snapshot.c_str());
}

} // namespace

int run_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const std::string path = arguments.required("deck");
    const Engine engine(arguments.text("library").value_or(""));
    Deck deck(engine);
    deck.read_file(path);
    apply(deck, arguments);
    Plan plan = read_plan(deck);
    plan.with_changes = arguments.has("restart-with-changes");
    require_outputs_apart(plan, {path, plan.input});
    const RunSummary summary = Simulation(deck, plan, Ranks::here()).run();
    if (arguments.json()) {
        std::printf("%s\n", summary_json(summary).c_str());
    } else if (!arguments.has("quiet")) {
        print_summary(summary);
    }
    return summary.signal == 0 ? 0 : 128 + summary.signal;
}

} // namespace graft::cli
