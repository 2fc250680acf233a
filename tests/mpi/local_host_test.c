/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without MPI asks for a communicator; then it opens a host (local_host.c) whose MPI stays out of
 * the global scope. The shim of the other MPI is refused although none of its functions are bound to the
 * host's; its own is found. usage: local_host_test HOST OTHER_SHIM OTHER_NAME */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* setenv */
#endif
#include <graft/functions.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*host_function)(void);

static int failures = 0;

static host_function function_of(void* library, const char* name) {
    host_function function;
    void* symbol = dlsym(library, name);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static graft_comm_v1* expect(int handle, int32_t status, const char* part) {
    graft_comm_v1* t = NULL;
    const int32_t got = graft_mpi_comm(handle, &t);
    if (got != status || (got != GRAFT_OK && strstr(graft_last_error(), part) == NULL)) {
        fprintf(stderr, "status %d, expected %d and '%s': %s\n", (int)got, (int)status, part,
                graft_last_error());
        ++failures;
    }
    return t;
}

int main(int argc, char** argv) {
    void* library;
    graft_comm_v1* t;
    (void)argc;
    expect(0, GRAFT_ERROR_LOAD_NOT_FOUND, "no MPI library is loaded");
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    expect(0, GRAFT_ERROR_CALL_ORDER, "MPI_Init has not been called");
    if (function_of(library, "host_start")() != 0)
        return 1;
    if (argv[2][0] != '\0') {
        setenv("GRAFT_MPI_LIBRARY", argv[2], 1);
        expect(function_of(library, "host_world")(), GRAFT_ERROR_UNSUPPORTED, argv[3]);
        unsetenv("GRAFT_MPI_LIBRARY");
    }
    t = expect(function_of(library, "host_world")(), GRAFT_OK, "");
    if (t != NULL && t->comm_barrier(t->self) != GRAFT_OK) {
        fprintf(stderr, "barrier: %s\n", t->comm_error_text(t->self));
        ++failures;
    }
    function_of(library, "host_finish")();
    if (t != NULL)
        t->comm_free(t); /* after MPI_Finalize */
    return failures != 0;
}
