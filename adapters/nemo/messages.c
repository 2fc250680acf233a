/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures and warnings by NEMO's own functions, which its programs export to the files they open. */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include "internal.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char error_text[2048];

const char* graft_nemo_last_error(void) {
    return error_text;
}

static graft_nemo_message as_function(void* symbol) {
    graft_nemo_message function = NULL;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function pointer */
    return function;
}

/* NEMO's headers make nemo_error and nemo_warning of these names. Older NEMOs have them as they are written, and glibc has an
 * error() of another type: NEMO's is the one that lives in the same file as warning(), which glibc does not have. */
graft_nemo_message graft_nemo_function(const char* name) {
    char full[32];
    Dl_info of_warning, of_wanted;
    void *wanted, *warning;
    snprintf(full, sizeof full, "nemo_%s", name);
    wanted = dlsym(RTLD_DEFAULT, full);
    if (wanted != NULL)
        return as_function(wanted);
    wanted = dlsym(RTLD_DEFAULT, name);
    warning = dlsym(RTLD_DEFAULT, "warning");
    if (warning != NULL && wanted != NULL && dladdr(warning, &of_warning) != 0 && dladdr(wanted, &of_wanted) != 0 &&
        of_warning.dli_fbase == of_wanted.dli_fbase)
        return as_function(wanted);
    return NULL;
}

void graft_nemo_fail(const char* pattern, ...) {
    const graft_nemo_message error = graft_nemo_function("error");
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(error_text, sizeof error_text, pattern, arguments);
    va_end(arguments);
    if (error != NULL)
        error("graft_acc: %s\n", error_text); /* does not return */
    fprintf(stderr, "graft_acc: %s; this host has no error() of NEMO, so results are NaN from here on\n", error_text);
}
