// SPDX-License-Identifier: BSD-3-Clause
#include "backend/thread_limits.hpp"

#include "core/error.hpp"

#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace graft::backend {

using core::fail;
using core::Status;

namespace {

/// Where trial threads wait until all are there.
struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;

    static void* wait(void* gate) {
        auto& self = *static_cast<Gate*>(gate);
        std::unique_lock lock(self.mutex);
        self.opened.wait(lock, [&] { return self.open; });
        return nullptr;
    }
    void let_go() {
        const std::lock_guard lock(mutex);
        open = true;
        opened.notify_all();
    }
};

/// How many of `wanted` threads live at a time; `problem`: the reason for the first that did not.
int threads_that_start(int wanted, int& problem) {
    Gate gate;
    std::vector<pthread_t> started;
    started.reserve(static_cast<size_t>(wanted));
    for (pthread_t thread; static_cast<int>(started.size()) < wanted; started.push_back(thread)) {
        problem = pthread_create(&thread, nullptr, Gate::wait, &gate);
        if (problem != 0)
            break;
    }
    gate.let_go();
    for (const pthread_t thread : started)
        pthread_join(thread, nullptr);
    return static_cast<int>(started.size());
}

/// What the environment asks of the run time for its workers' stacks; 0: nothing that it would follow. Asked
/// by text: a look at a worker would start the run time's threads, and a host that forks could not use any.
int64_t stack_asked_for() {
    const char* text = std::getenv("OMP_STACKSIZE");
    text = text != nullptr ? text : std::getenv("GOMP_STACKSIZE");
    if (text == nullptr)
        return 0;
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    end += std::strspn(end, " \t");
    const char unit = *end == '\0' ? 'K' : static_cast<char>(std::toupper(static_cast<unsigned char>(*end)));
    const double size = unit == 'B'   ? 1
                        : unit == 'K' ? 0x1p10
                        : unit == 'M' ? 0x1p20
                        : unit == 'G' ? 0x1p30
                                      : 0;
    const double bytes = number * size;
    return bytes >= static_cast<double>(sysconf(_SC_THREAD_STACK_MIN)) && bytes < 0x1p62
               ? static_cast<int64_t>(bytes)
               : 0;
}

int threads_of_openmp() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

} // namespace

void require_threads(int threads) {
    static std::atomic<int> good{1};
    const int wanted = threads > 0 ? threads : threads_of_openmp();
    if (wanted <= good.load())
        return;
    if (wanted > most_threads)
        fail(Status::argument,
             "OpenMP would use %d threads (OMP_NUM_THREADS, omp_set_num_threads); expected at most %d. Set "
             "OMP_NUM_THREADS to the number of cores, or the key threads",
             wanted, most_threads);
    int problem = 0;
    const int started = threads_that_start(wanted - 1, problem) + 1;
    if (started < wanted)
        fail(Status::argument,
             "%d threads are asked for, but the system gives this process %d (%s); expected a number it can "
             "start. Set OMP_NUM_THREADS or the key threads, or raise the limit (ulimit -u)",
             wanted, started, std::strerror(problem));
    const int64_t stack = stack_asked_for();
    if (stack > 0 && stack < least_stack_bytes)
        fail(Status::argument,
             "OpenMP's threads have stacks of %lld KiB (OMP_STACKSIZE); expected at least %lld KiB. Set "
             "OMP_STACKSIZE=64K or more before the program starts, or leave it out",
             static_cast<long long>(stack >> 10u), static_cast<long long>(least_stack_bytes >> 10u));
    good.store(wanted);
}

} // namespace graft::backend
