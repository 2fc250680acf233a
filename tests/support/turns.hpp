// SPDX-License-Identifier: BSD-3-Clause
// Threads of a test that work one at a time where GRAFT_TEST_TURNS is set: for compute-sanitizer, whose
// initcheck and racecheck lose what threads write and launch while others allocate or launch
// (docs/lab/gpu/sanitizers.md). The threads, their contexts and what passes between them stay; only that
// several work at the same moment goes.
#pragma once

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace graft::test {

inline bool in_turns() {
    return std::getenv("GRAFT_TEST_TURNS") != nullptr;
}

/// The turn among threads that share a mutex, until it goes; in no turns, nothing.
inline std::unique_lock<std::mutex> take_turn(std::mutex& turn) {
    return in_turns() ? std::unique_lock<std::mutex>(turn) : std::unique_lock<std::mutex>();
}

/// Gives it to one that waits for it, and waits for the next.
inline void pass_turn(std::unique_lock<std::mutex>& mine) {
    if (!mine)
        return;
    mine.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // a mutex is not fair
    mine.lock();
}

} // namespace graft::test
