// The `graft` command: errors become one line on stderr and an exit status here, and nowhere else.
#include "command/arguments.hpp"
#include "command/commands.hpp"

#include <cstdio>
#include <exception>
#include <new>

int main(int argc, char** argv) {
    try {
        return graft::cli::graft_command(graft::cli::Words(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const graft::cli::UsageError& error) {
        std::fprintf(stderr, "graft: %s\n", error.what());
        return 2;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "graft: not enough memory\n");
        return 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "graft: %s\n", error.what());
        return 1;
    }
}
