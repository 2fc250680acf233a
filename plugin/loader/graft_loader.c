/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds, opens and checks libgraft (graft_loader.h has the contract). One file, C99 and libdl, for hosts to
 * copy. Invariant: nothing of a library that fails a check is called except graft_get_api itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlinfo, dladdr */
#endif
#include "graft_loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef RTLD_NODELETE
#define RTLD_NODELETE 0x1000 /* glibc and musl; hidden by strict POSIX headers only */
#endif
#ifndef GRAFT_DEFAULT_LIBRARY
#define GRAFT_DEFAULT_LIBRARY ""
#endif

/* Every table begins with these: struct_size, abi_major, abi_minor, pad, capabilities. */
#define GRAFT_SMALLEST_TABLE ((uint32_t)offsetof(graft_api_v1, version))

typedef struct search {
    char* message;
    size_t capacity;
    size_t length;
    int print;
} search;

/* Appends to the report, cut at its capacity, and prints the same when asked to. */
static void report(search* at, const char* pattern, ...) {
    char line[1024];
    va_list arguments;
    size_t length, room;
    va_start(arguments, pattern);
    vsnprintf(line, sizeof line, pattern, arguments);
    va_end(arguments);
    if (at->print)
        fprintf(stderr, "graft loader: %s\n", line);
    if (at->capacity == 0)
        return;
    if (at->length > 0 && at->length + 1 < at->capacity)
        at->message[at->length++] = '\n';
    room = at->capacity - 1 - at->length;
    length = strlen(line) < room ? strlen(line) : room;
    memcpy(at->message + at->length, line, length);
    at->length += length;
    at->message[at->length] = '\0';
}

static int file_exists(const char* path) {
    struct stat status;
    return stat(path, &status) == 0;
}

/* Whether the failed dlopen of `path` means that there is no such file. A bare name is looked up by the
 * dynamic linker, whose only word on it is its text: a missing file is named as the path itself, a missing
 * dependency by another name. */
static int is_missing(const char* path, const char* error) {
    size_t length = strlen(path);
    if (strchr(path, '/') != NULL)
        return !file_exists(path);
    return strncmp(error, path, length) == 0 && error[length] == ':' && strstr(error, "No such file") != NULL;
}

/* Whether something is there that is no regular file: the dynamic linker would wait for a pipe's writer. */
static int is_no_file(const char* path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Whether the ELF file has all the bytes its headers speak of. The dynamic linker maps a file that was cut
 * short (a copy that ran out of disk) without looking, and the host dies of SIGBUS; so we look. Other files
 * are left to its judgement. */
static int is_cut_short(const char* path) {
    Elf64_Ehdr header;
    struct stat status;
    int i, cut = 0;
    FILE* file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    const uint64_t size = file != NULL ? (uint64_t)status.st_size : 0;
    if (file == NULL)
        return 0;
    if (fread(&header, sizeof header, 1, file) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr)) {
        cut = header.e_shoff > size ||
              (uint64_t)header.e_shnum * header.e_shentsize > size - header.e_shoff ||
              header.e_phoff > size || fseek(file, (long)header.e_phoff, SEEK_SET) != 0;
        for (i = 0; i < header.e_phnum && !cut; ++i) {
            Elf64_Phdr part;
            cut = fread(&part, sizeof part, 1, file) != 1 ||
                  (part.p_type == PT_LOAD && (part.p_filesz > size || part.p_offset > size - part.p_filesz));
        }
    }
    fclose(file);
    return cut;
}

/* Where a bare name is first found in the folders of LD_LIBRARY_PATH, which is what would be loaded; "" when
 * it is in none: system folders are left to the package manager. */
static void find_in_path(const char* name, char* path, size_t capacity) {
    const char* folders = getenv("LD_LIBRARY_PATH");
    while (folders != NULL && *folders != '\0') {
        const size_t length = strcspn(folders, ":;");
        if (length > 0 && length + strlen(name) + 2 <= capacity) {
            memcpy(path, folders, length);
            path[length] = '/';
            strcpy(path + length + 1, name);
            if (file_exists(path))
                return;
        }
        folders += length + (folders[length] != '\0');
    }
    path[0] = '\0';
}

/* What of the file can be seen to be wrong before the dynamic linker has it; NULL: nothing. */
static const char* wrong_with(const char* path) {
    char found[4096];
    if (strchr(path, '/') == NULL) {
        find_in_path(path, found, sizeof found);
        path = found;
    }
    if (is_no_file(path))
        return "it is no regular file but a folder, a pipe or a device; give the path of the library itself";
    if (is_cut_short(path))
        return "the file is cut short: it has fewer bytes than its own headers speak of; install it again";
    return NULL;
}

static int32_t open_failed(search* at, const char* path, const char* origin) {
    const char* error = dlerror();
    error = error != NULL ? error : "no reason given";
    if (is_missing(path, error)) {
        report(at, "%s: %s: not found (%s)", origin, path, error);
        return GRAFT_ERROR_LOAD_NOT_FOUND;
    }
    report(at,
           "%s: %s: the file is there but cannot be loaded (%s); it is no shared library for this machine, "
           "is damaged or cut short, or needs a library that is missing",
           origin, path, error);
    return GRAFT_ERROR_LOAD_FOREIGN;
}

static int32_t check_table(search* at, const char* path, const char* origin, const graft_api_v1* table) {
    if (table == NULL) {
        report(
            at,
            "%s: %s: this Graft does not speak ABI major %u, which this host was built for; install a Graft "
            "with that ABI or rebuild the host",
            origin, path, (unsigned)GRAFT_ABI_MAJOR);
        return GRAFT_ERROR_LOAD_VERSION;
    }
    if (table->struct_size < GRAFT_SMALLEST_TABLE) {
        report(at, "%s: %s: its table claims %u bytes where at least %u are needed: not Graft", origin, path,
               (unsigned)table->struct_size, (unsigned)GRAFT_SMALLEST_TABLE);
        return GRAFT_ERROR_LOAD_FOREIGN;
    }
    if (table->abi_major != GRAFT_ABI_MAJOR) {
        report(at, "%s: %s: speaks Graft ABI major %u, this host was built for %u", origin, path,
               (unsigned)table->abi_major, (unsigned)GRAFT_ABI_MAJOR);
        return GRAFT_ERROR_LOAD_VERSION;
    }
    return GRAFT_OK;
}

static int32_t try_path(search* at, const char* path, const char* origin, const graft_api_v1** api) {
    graft_get_api_function get_api;
    const graft_api_v1* table;
    const char* wrong = wrong_with(path);
    int32_t status;
    void *symbol, *library;
    if (wrong != NULL) {
        report(at, "%s: %s: %s", origin, path, wrong);
        return GRAFT_ERROR_LOAD_FOREIGN;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return open_failed(at, path, origin);
    symbol = dlsym(library, "graft_get_api");
    if (symbol == NULL) {
        report(at, "%s: %s: a shared library, but not Graft: it has no symbol graft_get_api", origin, path);
        dlclose(library);
        return GRAFT_ERROR_LOAD_FOREIGN;
    }
    memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from object to function pointer */
    table = get_api(GRAFT_ABI_MAJOR, (uint32_t)sizeof(graft_api_v1));
    status = check_table(at, path, origin, table);
    if (status != GRAFT_OK)
        return status;
    if (at->print)
        fprintf(stderr, "graft loader: %s: %s: loaded, ABI %u.%u, table of %u bytes (this host knows %u)\n",
                origin, path, (unsigned)table->abi_major, (unsigned)table->abi_minor,
                (unsigned)table->struct_size, (unsigned)sizeof(graft_api_v1));
    *api = table;
    return GRAFT_OK;
}

#ifdef __GLIBC__
/* The folders that the linker searches for the program or library that this file is part of; NULL: unknown. */
static Dl_serinfo* own_folders(void) {
    static const char here = 0;
    Dl_info of;
    Dl_serinfo size, *folders = NULL;
    void* self = dladdr(&here, &of) != 0 ? dlopen(of.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (self == NULL)
        self = dlopen(NULL, RTLD_LAZY); /* the program */
    if (self == NULL)
        return NULL;
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0 && (folders = (Dl_serinfo*)malloc(size.dls_size)) != NULL) {
        memcpy(folders, &size, offsetof(Dl_serinfo, dls_serpath)); /* what the next call reads */
        if (dlinfo(self, RTLD_DI_SERINFO, folders) != 0) {
            free(folders);
            folders = NULL;
        }
    }
    dlclose(self);
    return folders;
}
#endif

/* By name. dlopen() searches for its caller, and that is another library where one has put itself between (UCX does, which
 * MPICH brings along): the run path of this file's own program is asked for then, too. */
static int32_t try_search(search* at, const char* name, const graft_api_v1** api) {
    const char* origin = "dynamic linker's search";
    int32_t status = try_path(at, name, origin, api);
#ifdef __GLIBC__
    if (status == GRAFT_ERROR_LOAD_NOT_FOUND) {
        Dl_serinfo* folders = own_folders();
        unsigned int k;
        for (k = 0; folders != NULL && k < folders->dls_cnt; ++k) {
            char path[4096];
            const int length = snprintf(path, sizeof path, "%s/%s", folders->dls_serpath[k].dls_name, name);
            if (length > 0 && (size_t)length < sizeof path && file_exists(path)) {
                status = try_path(at, path, origin, api);
                break;
            }
        }
        free(folders);
    }
#endif
    return status;
}

/* The places that stand in for an explicit path, until one has a file. */
static int32_t try_all(search* at, const graft_api_v1** api) {
    const char* variable = getenv("GRAFT_LIBRARY");
    int32_t status;
    if (variable != NULL && variable[0] != '\0')
        return try_path(at, variable, "environment variable GRAFT_LIBRARY", api);
    if (GRAFT_DEFAULT_LIBRARY[0] != '\0') {
        status = try_path(at, GRAFT_DEFAULT_LIBRARY, "compiled-in default", api);
        if (status != GRAFT_ERROR_LOAD_NOT_FOUND)
            return status;
    }
    return try_search(at, "libgraft.so.1", api);
}

int32_t graft_load(const char* path, const graft_api_v1** api, char* message, int64_t capacity) {
    const char* debug = getenv("GRAFT_LOAD_DEBUG");
    search at;
    int32_t status;
    at.message = message;
    at.capacity = message != NULL && capacity > 0 ? (size_t)capacity : 0;
    at.length = 0;
    at.print = debug != NULL && strcmp(debug, "1") == 0;
    if (at.capacity > 0)
        message[0] = '\0';
    if (api == NULL) {
        report(&at, "graft_load: api is NULL; give the address of a table pointer");
        return GRAFT_ERROR_ARGUMENT;
    }
    *api = NULL;
    if (path != NULL && path[0] != '\0')
        status = try_path(&at, path, "explicit path", api);
    else
        status = try_all(&at, api);
    if (status == GRAFT_ERROR_LOAD_NOT_FOUND)
        report(&at,
               "libgraft was not found: give its path, set GRAFT_LIBRARY=/path/to/libgraft.so.1, or add its "
               "folder to LD_LIBRARY_PATH");
    else if (status == GRAFT_OK && at.capacity > 0)
        message[0] = '\0';
    return status;
}

int32_t graft_table_complete(const graft_api_v1* api, char* message, int64_t capacity) {
    search at;
    at.message = message;
    at.capacity = message != NULL && capacity > 0 ? (size_t)capacity : 0;
    at.length = 0;
    at.print = 0;
    if (at.capacity > 0)
        message[0] = '\0';
    if (api == NULL) {
        report(&at, "graft_table_complete: api is NULL; load the library first");
        return GRAFT_ERROR_ARGUMENT;
    }
    if (api->struct_size >= sizeof(graft_api_v1))
        return GRAFT_OK;
    report(
        &at,
        "the loaded Graft (ABI %u.%u) is older than this host (ABI %u.%u): its table has %u bytes of the %u "
        "known here; install a newer Graft, or ask GRAFT_HAS(api, entry) before each newer entry",
        (unsigned)api->abi_major, (unsigned)api->abi_minor, (unsigned)GRAFT_ABI_MAJOR,
        (unsigned)GRAFT_ABI_MINOR, (unsigned)api->struct_size, (unsigned)sizeof(graft_api_v1));
    return GRAFT_ERROR_ABSENT;
}
