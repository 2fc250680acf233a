// SPDX-License-Identifier: BSD-3-Clause
// `graft selftest`: does this installation compute right on this machine?
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/json.hpp"
#include "command/selftest_checks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace graft::cli {

namespace {

struct Finding {
    std::string name, kind, result, text; ///< result: ok, failed or not here
    double time_s = 0;
};

Finding find(const SelfCheck& check, const Engine& engine) {
    const auto start = std::chrono::steady_clock::now();
    Finding finding{check.name, Ranks::here().table() != nullptr ? "mpi" : check.kind, "ok", "", 0};
    try {
        finding.text = check.run(engine);
    } catch (const NotHere& error) {
        finding.result = "not here";
        finding.text = error.what();
    } catch (const std::exception& error) {
        finding.result = "failed";
        finding.text = error.what();
    }
    std::replace(finding.text.begin(), finding.text.end(), '\n', ' ');
    finding.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return finding;
}

/// Without one that is ok, those of this name or kind have failed, and be it that there are none.
void require(const std::string& word, std::vector<Finding>& findings) {
    std::vector<Finding*> meant;
    for (Finding& finding : findings) {
        if (finding.name == word || finding.kind == word) {
            meant.push_back(&finding);
        }
    }
    if (meant.empty()) {
        findings.push_back({word, word, "failed", "required, but not looked at under mpiexec", 0});
    } else if (std::none_of(meant.begin(), meant.end(), [](const Finding* finding) { return finding->result == "ok"; })) {
        for (Finding* finding : meant) {
            finding->text = (finding->result == "failed" ? "" : "required, but not here: ") + finding->text;
            finding->result = "failed";
        }
    }
}

void print(const std::vector<Finding>& findings, std::size_t failed, bool as_json) {
    JsonArray checks;
    double time_s = 0;
    for (const Finding& f : findings) {
        time_s += f.time_s;
        checks.add(JsonObject().add("name", f.name).add("result", f.result).add("text", f.text).add("time_s", f.time_s).text());
        const bool cut = f.result == "not here" && f.text.size() > 120; // JSON and --require have all that was tried
        if (!as_json) {
            std::printf("%-8s  %-9s  %s (%.2f s)\n", f.result.c_str(), f.name.c_str(),
                        (cut ? f.text.substr(0, 117) + "..." : f.text).c_str(), f.time_s);
        }
    }
    if (as_json) {
        std::printf("%s\n", JsonObject().add("ok", failed == 0).add("checks", checks).add("time_s", time_s).text().c_str());
    } else if (failed == 0) {
        std::printf("this installation computes right (%.1f s)\n", time_s);
    } else {
        std::printf("this installation is not in order: %zu of %zu failed (%.1f s)\n", failed, findings.size(), time_s);
    }
}

} // namespace

int selftest_command(const Words& words) {
    Arguments arguments("selftest", "[--require cpu,mpi,gpu]",
                        "Computes small systems whose forces are known, and says of each ok, failed or not here (an MPI, a\n"
                        "GPU: no failure). Exit status 0: nothing failed. Among ranks (mpiexec -n 4 graft selftest): theirs.");
    arguments.value("require", "WORDS", "what must be here: cpu, mpi (any), mpich, openmpi, gpu");
    if (!arguments.parse(words)) {
        return 0;
    }
    std::vector<std::string> required;
    std::istringstream list(arguments.text("require").value_or(""));
    for (std::string word; std::getline(list, word, ',');) {
        if (word != "cpu" && word != "mpi" && word != "mpich" && word != "openmpi" && word != "gpu") {
            arguments.fail("--require is not understood", "some of cpu,mpi,mpich,openmpi,gpu", in_quotes(word));
        }
        required.push_back(word);
    }
    const Engine engine(arguments.text("library").value_or(""));
    if (const auto library = arguments.text("library")) {
        setenv("GRAFT_LIBRARY", library->c_str(), 1); // for the ranks that are started
    }
    std::vector<Finding> findings;
    for (const SelfCheck& check : self_checks(Ranks::here().table() != nullptr)) {
        findings.push_back(find(check, engine));
    }
    for (const std::string& word : required) {
        require(word, findings);
    }
    const auto failed = static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(), [](const Finding& finding) { return finding.result == "failed"; }));
    print(findings, failed, arguments.json());
    return failed == 0 ? 0 : 1;
}

} // namespace graft::cli
