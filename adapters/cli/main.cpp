// The `graft` command: errors become one line on stderr and an exit status here, and nowhere else.
#include "command/arguments.hpp"
#include "command/commands.hpp"

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace {

int fail(const char* message, int status) {
    const bool named = std::strncmp(message, "graft", 5) == 0; // "graft check: ..."
    std::fprintf(stderr, "%s%s\n", named ? "" : "graft: ", message);
    return status;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return graft::cli::graft_command(graft::cli::Words(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const graft::cli::UsageError& error) {
        return fail(error.what(), 2);
    } catch (const std::bad_alloc&) {
        return fail("not enough memory", 1);
    } catch (const std::exception& error) {
        return fail(error.what(), 1);
    }
}
