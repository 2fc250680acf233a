/* Which fixes there are already: those that work on the sum of all forces must come after Graft's, or they
 * never see them. LAMMPS's C interface tells no styles; `info fixes` does, into a file of rank 0. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#endif
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SHAKE's constraint forces are made from the forces of all others; the rest overwrite what they find. */
static const char* const late_styles[] = {"shake",     "rattle",     "setforce", "aveforce",
                                          "lineforce", "planeforce", "freeze"};

static int is_late(const char* style) {
    size_t i;
    for (i = 0; i < sizeof late_styles / sizeof *late_styles; ++i) {
        const size_t length = strlen(late_styles[i]);
        if (strncmp(style, late_styles[i], length) == 0 && (style[length] == '\0' || style[length] == '/'))
            return 1;
    }
    return 0;
}

/* One line of `info fixes`: "Fix[  0]:  id,  style = nve,  group = all". */
static int32_t check_line(const graft_lammps* at, const char* line, int* ours) {
    char id[128], style[128], group[128];
    if (sscanf(line, " Fix[%*d]: %127[^,], style = %127[^,], group = %127s", id, style, group) != 3 || *ours)
        return GRAFT_OK;
    *ours = strcmp(id, at->fix) == 0;
    if (*ours && strcmp(style, "external") != 0)
        return lammps_fail(GRAFT_ERROR_ARGUMENT,
                           "fix %s is there already, with style %s; give Graft another name", id, style);
    if (*ours && strcmp(group, "all") != 0)
        return lammps_fail(
            GRAFT_ERROR_ARGUMENT,
            "fix %s external acts on group %s; Graft computes forces of all atoms: use group all", id, group);
    if (!*ours && is_late(style))
        return lammps_fail(
            GRAFT_ERROR_CALL_ORDER,
            "fix %s (style %s) was defined before fix %s and would not see Graft's forces; attach Graft "
            "first, then define it",
            id, style, at->fix);
    return GRAFT_OK;
}

static int32_t check_file(const graft_lammps* at, const char* path) {
    FILE* file = fopen(path, "r");
    char line[512];
    int ours = 0; /* what comes after our fix is as it should be */
    int32_t status = GRAFT_OK;
    while (file != NULL && status == GRAFT_OK && fgets(line, (int)sizeof line, file) != NULL)
        status = check_line(at, line, &ours);
    if (file != NULL)
        fclose(file);
    return status;
}

int32_t lammps_check_fixes(graft_lammps* at) {
    const char* folder = getenv("TMPDIR");
    char path[512] = "none";
    int32_t status;
    int file = -1;
    if (at->host->extract_setting(at->lammps, "world_rank") == 0) {
        snprintf(path, sizeof path, "%s/graft_lammps_XXXXXX",
                 folder != NULL && folder[0] != '\0' ? folder : "/tmp");
        file = mkstemp(path);
        if (file >= 0)
            close(file);
    }
    status = lammps_agree(at, file < 0 && strcmp(path, "none") != 0
                                  ? lammps_fail(GRAFT_ERROR_ARGUMENT,
                                                "%s: cannot be made; set TMPDIR to a folder for "
                                                "small files",
                                                path)
                                  : GRAFT_OK);
    if (status != GRAFT_OK)
        return status;
    status = lammps_run(at->host, at->lammps, "info fixes out overwrite %s", path);
    if (file >= 0) {
        if (status == GRAFT_OK)
            status = check_file(at, path);
        unlink(path);
    }
    return lammps_agree(at, status);
}
