// SPDX-License-Identifier: BSD-3-Clause
// How far a run is and when it will end: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace graft::cli {

class Progress {
  public:
    /// Counts from `first` to `last`; writes to stderr unless `quiet`.
    Progress(std::int64_t first, std::int64_t last, bool quiet);
    /// Ends the bar's line.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Reports that `done` is reached; draws at most ten times a second (terminal) or every tenth of the way.
    void report(std::int64_t done, const std::string& note);

  private:
    using Clock = std::chrono::steady_clock;

    void draw_bar(std::int64_t done, double eta_s, const std::string& note);
    void draw_line(std::int64_t done, double eta_s, const std::string& note);

    std::int64_t first_, last_;
    bool quiet_, terminal_;
    bool drawn_ = false;
    std::int64_t next_line_;
    Clock::time_point start_, last_draw_{};
};

/// "1:02:03", or "0:07".
std::string duration_text(double seconds);

} // namespace graft::cli
