/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader compiled into the host, with the library's path given. */
#include "graft_loader.h"

#include <stdio.h>
#include <string.h>

int main(void) {
    const graft_api_v1 *api = NULL;
    char why[1024];
    if (graft_load(LIBRARY, &api, why, sizeof why) != GRAFT_OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    return strcmp(api->version(), GRAFT_VERSION_STRING) != 0 || !GRAFT_HAS(api, run_tool);
}
