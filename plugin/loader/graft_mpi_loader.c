/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds, opens and calls the MPI shim (graft_mpi_loader.h has the contract). Invariant: no MPI function of
 * this process is called but MPI_Get_library_version and MPI_Initialized, which take no handle and may be
 * called at any time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, dl_iterate_phdr */
#endif
#include "graft_mpi_loader.h"

#include <graft/types.h>

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef GRAFT_DEFAULT_LIBRARY
#define GRAFT_DEFAULT_LIBRARY ""
#endif
#define PATH_CAPACITY 4096

typedef struct search {
    char* message;
    size_t capacity;
    size_t length;
    int print;
} search;

typedef int (*version_function)(char*, int*);
typedef int (*flag_function)(int*);
typedef int32_t (*comm_function)(int32_t, graft_comm_v1**);
typedef const char* (*text_function)(void);

/* Appends a line to the report, cut at its capacity, and prints the same when asked to. */
static void report(search* at, const char* pattern, ...) {
    char line[PATH_CAPACITY + 1024];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(line, sizeof line, pattern, arguments);
    va_end(arguments);
    if (at->print)
        fprintf(stderr, "graft MPI loader: %s\n", line);
    if (at->capacity > at->length + 1)
        snprintf(at->message + at->length, at->capacity - at->length, "%s%s", at->length > 0 ? "\n" : "",
                 line);
    if (at->capacity > 0)
        at->length = strlen(at->message);
}

static search begin(char* message, int64_t capacity) {
    const char* debug = getenv("GRAFT_LOAD_DEBUG");
    search at;
    at.message = message;
    at.capacity = message != NULL && capacity > 0 ? (size_t)capacity : 0;
    at.length = 0;
    at.print = debug != NULL && strcmp(debug, "1") == 0;
    if (at.capacity > 0)
        message[0] = '\0';
    return at;
}

/* ---- which MPI ---- */

typedef struct found_mpi {
    char version[16384]; /* larger than any MPI's MPI_MAX_LIBRARY_VERSION_STRING */
    int found;           /* an MPI is in the process */
    int running;         /* and has been initialised */
} found_mpi;

/* Looks at the MPI in `library` (dlopen's, or RTLD_DEFAULT); one that is running wins over one that is only
 * loaded. */
static void ask(found_mpi* mpi, void* library) {
    void *version = dlsym(library, "MPI_Get_library_version"),
         *initialized = dlsym(library, "MPI_Initialized");
    version_function describe;
    flag_function is_initialized;
    int flag = 0, length = 0;
    if (version == NULL || initialized == NULL)
        return;
    memcpy(&describe, &version, sizeof describe); /* ISO C has no cast from object to function pointer */
    memcpy(&is_initialized, &initialized, sizeof is_initialized);
    is_initialized(&flag);
    if (!mpi->found || (flag && !mpi->running)) {
        memset(mpi->version, 0, sizeof mpi->version);
        describe(mpi->version, &length);
        mpi->version[strcspn(mpi->version, "\n")] = '\0';
        mpi->found = 1;
        mpi->running = flag;
    }
}

/* A host that was itself opened with RTLD_LOCAL keeps its MPI out of the global scope. */
static int ask_loaded(struct dl_phdr_info* object, size_t size, void* mpi) {
    const char* name = object->dlpi_name != NULL ? strrchr(object->dlpi_name, '/') : NULL;
    void* library;
    (void)size;
    if (name == NULL || strncmp(name, "/libmpi", 7) != 0)
        return 0;
    library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        ask(mpi, library);
        dlclose(library);
    }
    return 0;
}

static int find_mpi(found_mpi* mpi) {
    memset(mpi, 0, sizeof *mpi);
    ask(mpi, RTLD_DEFAULT);
    if (!mpi->running)
        dl_iterate_phdr(ask_loaded, mpi);
    return mpi->found;
}

/* ---- where its shim is ---- */

static int find_libgraft(struct dl_phdr_info* object, size_t size, void* folder) {
    const char* name = object->dlpi_name != NULL ? strrchr(object->dlpi_name, '/') : NULL;
    (void)size;
    if (name == NULL || strncmp(name, "/libgraft.so", 12) != 0 ||
        (size_t)(name - object->dlpi_name) >= PATH_CAPACITY)
        return 0;
    memcpy(folder, object->dlpi_name, (size_t)(name - object->dlpi_name));
    return 1;
}

static void* try_path(search* at, const char* path, const char* origin, int32_t* status) {
    struct stat file;
    void* library;
    *status = GRAFT_ERROR_LOAD_NOT_FOUND;
    if (strchr(path, '/') != NULL && access(path, F_OK) != 0) {
        report(at, "%s: %s: no such file", origin, path);
        return NULL;
    }
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode)) { /* the dynamic linker would wait for a pipe */
        report(at, "%s: %s: no regular file but a folder, a pipe or a device", origin, path);
        *status = GRAFT_ERROR_LOAD_FOREIGN;
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        const char* error = dlerror();
        const size_t length = strlen(path);
        const int missing = strncmp(error, path, length) == 0 && strstr(error, "No such file") != NULL &&
                            strchr(path, '/') == NULL;
        report(at, "%s: %s: %s", origin, path, error);
        *status = missing ? GRAFT_ERROR_LOAD_NOT_FOUND : GRAFT_ERROR_LOAD_FOREIGN;
        return NULL;
    }
    *status = GRAFT_ERROR_LOAD_FOREIGN;
    if (dlsym(library, "graft_mpi_comm_from_fortran") == NULL || dlsym(library, "graft_mpi_error") == NULL) {
        report(at,
               "%s: %s: a shared library, but not Graft's MPI shim: it has no graft_mpi_comm_from_fortran",
               origin, path);
        dlclose(library);
        return NULL;
    }
    if (at->print)
        fprintf(stderr, "graft MPI loader: %s: %s: loaded\n", origin, path);
    *status = GRAFT_OK;
    return library;
}

static void* try_folder(search* at, const char* folder, size_t length, const char* name, const char* origin,
                        int32_t* status) {
    char path[PATH_CAPACITY + 64];
    snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    return try_path(at, path, origin, status);
}

static void* open_shim(search* at, const char* family, int32_t* status) {
    const char *variable = getenv("GRAFT_MPI_LIBRARY"), *installed = strrchr(GRAFT_DEFAULT_LIBRARY, '/');
    char name[64], folder[PATH_CAPACITY];
    void* library = NULL;
    if (variable != NULL && variable[0] != '\0')
        return try_path(at, variable, "environment variable GRAFT_MPI_LIBRARY", status);
    snprintf(name, sizeof name, "libgraft_mpi_%s.so", family);
    memset(folder, 0, sizeof folder);
    *status = GRAFT_ERROR_LOAD_NOT_FOUND;
    if (dl_iterate_phdr(find_libgraft, folder) != 0)
        library = try_folder(at, folder, strlen(folder), name, "beside libgraft", status);
    if (*status == GRAFT_ERROR_LOAD_NOT_FOUND && installed != NULL)
        library = try_folder(at, GRAFT_DEFAULT_LIBRARY, (size_t)(installed - GRAFT_DEFAULT_LIBRARY), name,
                             "compiled-in default", status);
    if (*status == GRAFT_ERROR_LOAD_NOT_FOUND)
        library = try_path(at, name, "dynamic linker's search", status);
    if (*status == GRAFT_ERROR_LOAD_NOT_FOUND)
        report(at,
               "%s was not found: build Graft with that MPI (GRAFT_MPICC=/path/to/mpicc), install the shim "
               "beside "
               "libgraft.so.1, or set GRAFT_MPI_LIBRARY=/path/to/%s",
               name, name);
    return library;
}

void* graft_open_mpi_shim(const char* family, int32_t* status, char* message, int64_t capacity) {
    search at = begin(message, capacity);
    void* library = open_shim(&at, family, status);
    if (library != NULL && at.capacity > 0)
        message[0] = '\0';
    return library;
}

static int32_t call_shim(search* at, void* library, int32_t handle, graft_comm_v1** comm) {
    void *symbol = dlsym(library, "graft_mpi_comm_from_fortran"), *error = dlsym(library, "graft_mpi_error");
    comm_function from_fortran;
    text_function text;
    int32_t status;
    memcpy(&from_fortran, &symbol, sizeof from_fortran);
    memcpy(&text, &error, sizeof text);
    status = from_fortran(handle, comm);
    if (status != GRAFT_OK)
        report(at, "%s", text());
    return status;
}

int32_t graft_load_mpi_comm(int32_t fortran_handle, graft_comm_v1** comm, char* message, int64_t capacity) {
    search at = begin(message, capacity);
    const char* variable = getenv("GRAFT_MPI_LIBRARY");
    found_mpi mpi;
    void* library;
    int32_t status;
    if (comm == NULL) {
        report(&at, "graft_load_mpi_comm: comm is NULL; give the address of a table pointer");
        return GRAFT_ERROR_ARGUMENT;
    }
    *comm = NULL;
    if (!find_mpi(&mpi) && (variable == NULL || variable[0] == '\0')) {
        report(&at, "no MPI library is loaded in this process (looked for MPI_Get_library_version, and for "
                    "libmpi*); a "
                    "program linked with a static MPI can export its symbols (-rdynamic), or set "
                    "GRAFT_MPI_LIBRARY to a "
                    "shim built for it");
        return GRAFT_ERROR_LOAD_NOT_FOUND;
    }
    if (at.print)
        fprintf(stderr, "graft MPI loader: this process has %s%s\n", mpi.found ? mpi.version : "no MPI",
                mpi.found && !mpi.running ? ", not initialised" : "");
    library = open_shim(&at, strstr(mpi.version, "Open MPI") != NULL ? "openmpi" : "mpich", &status);
    if (library != NULL)
        status = call_shim(&at, library, fortran_handle, comm);
    if (status == GRAFT_OK && at.capacity > 0)
        message[0] = '\0';
    return status;
}
