/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions by name in one process: argv[1] chooses the situation (each needs a fresh process). Exit status 0: as
 * expected. GRAFT_REAL and GRAFT_FAKES are defined by CMake. */
#include <graft/functions.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char *what) {
    if (!condition) {
        printf("violated: %s; last error: %s\n", what, graft_last_error());
        ++failures;
    }
}

static void missing(void) {
    graft_options *options = NULL;
    expect(strcmp(graft_last_error(), "") == 0, "no error before any call");
    expect(graft_options_create(&options) == GRAFT_ERROR_LOAD_NOT_FOUND, "not found");
    expect(strstr(graft_last_error(), "/no/such/library.so") != NULL, "the path tried is named");
    expect(strcmp(graft_version(), "") == 0, "no version without a library");
    expect(graft_table() == NULL, "no table without a library");
    expect(strcmp(graft_status_text(GRAFT_ERROR_LOAD_NOT_FOUND), "library not found") == 0, "own status text");
    setenv("GRAFT_LIBRARY", GRAFT_REAL, 1);
    expect(graft_options_create(&options) == GRAFT_OK, "a later call tries again");
    expect(graft_options_destroy(&options) == GRAFT_OK && options == NULL, "destroy nulls");
}

static void older(void) {
    graft_options *options = NULL;
    expect(graft_open(GRAFT_FAKES "/libfake_older.so") == GRAFT_OK, "the older library loads");
    expect(graft_options_set(options, "order", "2") == GRAFT_ERROR_ABSENT, "an absent entry");
    expect(strstr(graft_last_error(), "graft_options_set: the loaded library") != NULL, "the absent entry is named");
    expect(graft_options_create(&options) == GRAFT_ERROR_MEMORY, "the fake's status passes through");
    expect(strcmp(graft_last_error(), "the fake's own words") == 0, "and its message replaces ours");
    expect(strcmp(graft_version(), "9.8.7") == 0, "its version");
}

static void real(void) {
    graft_options *options = NULL;
    char value[32];
    expect(graft_open(GRAFT_REAL) == GRAFT_OK, "open by path");
    expect(graft_open(GRAFT_REAL) == GRAFT_OK, "open again");
    expect(graft_open(NULL) == GRAFT_OK, "open without a path when loaded");
    expect(graft_open(GRAFT_FAKES "/libfake_newer.so") == GRAFT_ERROR_CALL_ORDER, "another library is refused");
    expect(strcmp(graft_version(), GRAFT_VERSION) == 0, "version");
    expect(graft_options_create(&options) == GRAFT_OK, "create");
    expect(graft_options_set(options, "mac.theat", "1") == GRAFT_ERROR_DECK_KEY, "unknown key");
    expect(strstr(graft_last_error(), "mac.theta") != NULL, "the library's message");
    expect(graft_options_set(options, "mac.theta", "0.25") == GRAFT_OK, "set");
    expect(graft_options_get(options, "mac.theta", value, sizeof value, NULL) == GRAFT_OK &&
               strcmp(value, "0.25") == 0, "get");
    expect(graft_options_destroy(&options) == GRAFT_OK, "destroy");
}

static void *first_use(void *unused) {
    graft_options *options = NULL;
    int i;
    (void)unused;
    for (i = 0; i < 100; ++i)
        if (graft_options_create(&options) != GRAFT_OK || graft_options_destroy(&options) != GRAFT_OK)
            return (void *)1;
    return NULL;
}

static void threads(void) {
    pthread_t thread[8];
    int i;
    for (i = 0; i < 8; ++i)
        pthread_create(&thread[i], NULL, first_use, NULL);
    for (i = 0; i < 8; ++i) {
        void *result = NULL;
        pthread_join(thread[i], &result);
        expect(result == NULL, "every thread finds the library");
    }
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    if (strcmp(which, "missing") == 0)
        missing();
    else if (strcmp(which, "older") == 0)
        older();
    else if (strcmp(which, "real") == 0)
        real();
    else if (strcmp(which, "threads") == 0)
        threads();
    else
        return 2;
    return failures != 0;
}
