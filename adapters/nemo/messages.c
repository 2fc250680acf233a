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

/* glibc has an error() of another type: NEMO's is the
 * one that lives in the same file as warning(), which glibc does not have. */
graft_nemo_message graft_nemo_function(const char* name) {
    void* const warning = dlsym(RTLD_DEFAULT, "warning");
    void* const wanted = dlsym(RTLD_DEFAULT, name);
    Dl_info of_warning, of_wanted;
    graft_nemo_message function = NULL;
    if (warning != NULL && wanted != NULL && dladdr(warning, &of_warning) != 0 &&
        dladdr(wanted, &of_wanted) != 0 && of_warning.dli_fbase == of_wanted.dli_fbase)
        memcpy(&function, &wanted, sizeof function); /* ISO C has no cast from object to function pointer */
    return function;
}

void graft_nemo_fail(const char* pattern, ...) {
    const graft_nemo_message error = graft_nemo_function("error");
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(error_text, sizeof error_text, pattern, arguments);
    va_end(arguments);
    if (error != NULL)
        error("graft_acc: %s\n", error_text); /* does not return */
}
