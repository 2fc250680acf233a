/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands before dlopen(), as UCX does in a process with MPI: who calls the real one is this library, whose run path is empty. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *dlopen(const char *path, int mode);

void *dlopen(const char *path, int mode) {
    void *(*next)(const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    void *const library = next(path, mode); /* no tail call: the caller's address is looked at */
    return library != (void *)-1 ? library : 0;
}
