/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a failure is told to REBOUND and kept for who asks. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

void graft_rebound_fail(struct graft_rebound* g, const char* pattern, ...) {
    char start[256];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(g->message, sizeof g->message, pattern, arguments);
    va_end(arguments);
    snprintf(start, sizeof start, "Graft: %.240s",
             g->message); /* REBOUND keeps messages of up to 255 characters */
    g->failed = 1;
    g->host.error(g->simulation, start);
    g->simulation->status = REB_STATUS_GENERIC_ERROR;
}
