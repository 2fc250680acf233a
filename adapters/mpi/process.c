/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI this process runs. The shim's MPI calls bind to whatever the process has in its global scope, so
 * in a host of another MPI they would go there with our MPI's handles and crash. MPI_Get_library_version
 * takes no handle and may be called at any time: it is asked before anything else. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, dladdr */
#endif
#include "internal.h"

#include "graft_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#if defined(OPEN_MPI)
#define BUILT_FOR "Open MPI"
#define OTHER_SHIM "libgraft_mpi_mpich.so"
#else
#define BUILT_FOR "MPICH"
#define OTHER_SHIM "libgraft_mpi_openmpi.so"
#endif

typedef int (*version_function)(char*, int*);
typedef int (*flag_function)(int*);

const char* graft_mpi_built_for(void) {
    return BUILT_FOR;
}

/* MPICH's family (Intel MPI, MVAPICH, Cray) shares its binary interface; Open MPI does not. */
static int is_ours(const char* version) {
    const int open_mpi = strstr(version, "Open MPI") != NULL;
    return open_mpi == (strcmp(BUILT_FOR, "Open MPI") == 0);
}

/* The first line of an MPI's own description, without tabs. */
static void describe(version_function ask, char* text, size_t capacity) {
    char whole[MPI_MAX_LIBRARY_VERSION_STRING > 8192 ? MPI_MAX_LIBRARY_VERSION_STRING + 1 : 8193];
    int length = 0;
    size_t i, kept;
    whole[0] = '\0';
    ask(whole, &length);
    whole[sizeof whole - 1] = '\0';
    kept = strcspn(whole, "\n");
    if (kept >= capacity)
        kept = capacity - 1;
    for (i = 0; i < kept; ++i)
        text[i] = whole[i] == '\t' ? ' ' : whole[i];
    text[kept] = '\0';
}

int32_t shim_check_library(char* why, size_t capacity) {
    char version[256];
    describe(MPI_Get_library_version, version, sizeof version);
    if (is_ours(version))
        return GRAFT_OK;
    snprintf(why, capacity,
             "this process runs another MPI (%s), but this shim was built for %s; load %s, or the shim built "
             "with the "
             "program's own mpicc",
             version, BUILT_FOR, OTHER_SHIM);
    return GRAFT_ERROR_UNSUPPORTED;
}

typedef struct running {
    const void* own_base; /* of the library that our calls go to */
    char path[512];
    char version[256];
} running;

/* A loaded libmpi* other than ours that has been initialised (by a host that was itself opened with
 * RTLD_LOCAL). */
static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
    running* found = data;
    const char* name = strrchr(object->dlpi_name, '/');
    void *library, *initialized, *version;
    flag_function is_initialized;
    version_function ask;
    int flag = 0;
    (void)size;
    if (name == NULL || strncmp(name, "/libmpi", 7) != 0 || (const void*)object->dlpi_addr == found->own_base)
        return 0;
    library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL)
        return 0;
    initialized = dlsym(library, "MPI_Initialized");
    version = dlsym(library, "MPI_Get_library_version");
    memcpy(&is_initialized, &initialized, sizeof is_initialized);
    memcpy(&ask, &version, sizeof ask);
    if (initialized != NULL && version != NULL && is_initialized(&flag) == MPI_SUCCESS && flag) {
        snprintf(found->path, sizeof found->path, "%s", object->dlpi_name);
        describe(ask, found->version, sizeof found->version);
    }
    dlclose(library);
    return found->path[0] != '\0';
}

static int32_t not_initialized(char* why, size_t capacity) {
    running other = {NULL, "", ""};
    Dl_info own;
    int (*bound)(int*) = MPI_Initialized;
    void* address;
    memcpy(&address, &bound, sizeof address);
    memset(&own, 0, sizeof own);
    if (dladdr(address, &own) != 0)
        other.own_base = own.dli_fbase;
    dl_iterate_phdr(look_at, &other);
    if (other.path[0] == '\0') {
        snprintf(why, capacity, "MPI_Init has not been called yet (%s); call it before making a communicator",
                 own.dli_fname != NULL ? own.dli_fname : BUILT_FOR);
        return GRAFT_ERROR_CALL_ORDER;
    }
    snprintf(why, capacity,
             "this process runs another MPI (%s, %s), but this shim was built for %s and uses %s; load the "
             "shim that "
             "was built with the program's own mpicc",
             other.version, other.path, BUILT_FOR, own.dli_fname != NULL ? own.dli_fname : "another library");
    return GRAFT_ERROR_UNSUPPORTED;
}

int32_t shim_check_running(char* why, size_t capacity) {
    int initialized = 0, finalized = 0, level = 0, main_thread = 0;
    int32_t status = shim_check_library(why, capacity);
    if (status != GRAFT_OK)
        return status;
    MPI_Initialized(&initialized);
    if (!initialized)
        return not_initialized(why, capacity);
    MPI_Finalized(&finalized);
    if (finalized) {
        snprintf(why, capacity, "MPI_Finalize has been called; communicators are made before that");
        return GRAFT_ERROR_CALL_ORDER;
    }
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&main_thread);
    if (level < MPI_THREAD_SERIALIZED && !main_thread) {
        snprintf(why, capacity,
                 "MPI was started with a thread level that allows calls from its main thread only, and "
                 "this is another one; start MPI with MPI_Init_thread(MPI_THREAD_SERIALIZED)");
        return GRAFT_ERROR_UNSUPPORTED;
    }
    return GRAFT_OK;
}
