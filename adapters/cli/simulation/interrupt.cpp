// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/interrupt.hpp"

#include <csignal>

namespace graft::cli {

namespace {

volatile std::sig_atomic_t received = 0;
struct sigaction old_interrupt, old_terminate;

void remember(int signal) {
    received = signal;
}

} // namespace

InterruptGuard::InterruptGuard() {
    received = 0;
    struct sigaction action {};
    action.sa_handler = remember;
    sigemptyset(&action.sa_mask);
    // RESETHAND: the second signal finds the default action. RESTART: file writes are not cut short.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &old_interrupt);
    sigaction(SIGTERM, &action, &old_terminate);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &old_interrupt, nullptr);
    sigaction(SIGTERM, &old_terminate, nullptr);
}

int InterruptGuard::signal_received() noexcept {
    return received;
}

} // namespace graft::cli
