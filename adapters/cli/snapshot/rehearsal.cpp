// SPDX-License-Identifier: BSD-3-Clause
// fork, run, wait. The child leaves by _exit, so that nothing of the parent's is flushed or destroyed twice.
#include "snapshot/rehearsal.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace graft::cli {

namespace {

constexpr unsigned time_limit_s = 30;

[[noreturn]] void run_child(const std::function<void()>& action) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM}) {
        std::signal(signal, SIG_DFL); // whatever the parent does with them, here they end the process
    }
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::alarm(time_limit_s);
    try {
        action();
    } catch (const std::exception&) {
        ::_exit(0); // an orderly refusal: the parent will meet it again
    }
    ::_exit(0);
}

} // namespace

bool survives_rehearsal(const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child < 0) {
        return true;
    }
    if (child == 0) {
        run_child(action);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return true;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace graft::cli
