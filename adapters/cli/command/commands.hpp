// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of `graft`. Each takes the words after its name and returns the exit status; failures are
// exceptions (Error: 1, UsageError: 2), which main turns into one line on stderr.
#pragma once

#include <string>
#include <vector>

namespace graft::cli {

using Words = std::vector<std::string>;

int run_command(const Words& words);
int ic_command(const Words& words);
int convert_command(const Words& words);
int check_command(const Words& words);
int bench_command(const Words& words);
int simulate_command(const Words& words);
int model_command(const Words& words);
int deck_command(const Words& words);
int info_command(const Words& words);
int selftest_command(const Words& words);

/// The whole command line without the program's name.
int graft_command(const Words& words);

} // namespace graft::cli
