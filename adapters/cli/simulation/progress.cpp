// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace graft::cli {

std::string duration_text(double seconds) {
    const auto whole = static_cast<long long>(std::llround(std::min(seconds, 3.6e9)));
    std::array<char, 48> text;
    if (whole >= 3600) {
        std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                      whole % 60);
    } else {
        std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
    }
    return text.data();
}

Progress::Progress(std::int64_t first, std::int64_t last, bool quiet)
    : first_(first), last_(last), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0),
      next_line_(first + std::max<std::int64_t>(1, (last - first + 9) / 10)), start_(Clock::now()) {}

Progress::~Progress() {
    if (drawn_ && terminal_) {
        std::fputc('\n', stderr);
    }
}

void Progress::report(std::int64_t done, const std::string& note) {
    if (quiet_ || done <= first_) {
        return;
    }
    const auto now = Clock::now();
    const double elapsed_s = std::chrono::duration<double>(now - start_).count();
    const double eta_s = elapsed_s * static_cast<double>(last_ - done) / static_cast<double>(done - first_);
    const bool due = std::chrono::duration<double>(now - last_draw_).count() > 0.1 || done == last_;
    if (terminal_ && due) {
        last_draw_ = now;
        draw_bar(done, eta_s, note);
    } else if (!terminal_ && (done >= next_line_ || done == last_)) {
        next_line_ = done + std::max<std::int64_t>(1, (last_ - first_ + 9) / 10);
        draw_line(done, eta_s, note);
    }
}

void Progress::draw_bar(std::int64_t done, double eta_s, const std::string& note) {
    constexpr int width = 32;
    const int filled = static_cast<int>(width * done / std::max<std::int64_t>(1, last_));
    const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                            std::string(static_cast<std::size_t>(width - filled), '.');
    std::fprintf(stderr, "\r[%s] %lld/%lld, %s left  %s\033[K", bar.c_str(), static_cast<long long>(done),
                 static_cast<long long>(last_), duration_text(eta_s).c_str(), note.c_str());
    std::fflush(stderr);
    drawn_ = true;
}

void Progress::draw_line(std::int64_t done, double eta_s, const std::string& note) {
    std::fprintf(stderr, "step %lld of %lld, %s left  %s\n", static_cast<long long>(done),
                 static_cast<long long>(last_), duration_text(eta_s).c_str(), note.c_str());
}

} // namespace graft::cli
