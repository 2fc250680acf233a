/* SPDX-License-Identifier: BSD-3-Clause */
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

typedef struct info {
    int ours;          /* our fix has been met: what comes after it is as it should be */
    int external;      /* note_fix: it has this style */
    int kspace;        /* there is a kspace style */
    double special[4]; /* the three factors, and 1 if they were found */
} info;

/* What to do with a line. */
typedef int32_t (*line_check)(const graft_lammps* at, const char* line, info* told);

typedef struct fix_line {
    char id[128], style[128], group[128];
} fix_line;

/* A line of `info fixes`: "Fix[  0]:  id,  style = nve,  group = all". */
static int is_fix(const char* line, fix_line* fix) {
    return sscanf(line, " Fix[%*d]: %127[^,], style = %127[^,], group = %127s", fix->id, fix->style, fix->group) == 3;
}

/* The line "Kspace style = NAME" with a style that is one. */
static int is_kspace(const char* line, char style[128]) {
    return sscanf(line, " Kspace style = %127s", style) == 1 && strcmp(style, "none") != 0;
}

/* Of our fix, and of the kspace style; where the fix has another style nothing is wrong. */
static int32_t note_fix(const graft_lammps* at, const char* line, info* told) {
    fix_line fix;
    char style[128];
    told->kspace = told->kspace || is_kspace(line, style);
    if (is_fix(line, &fix) && strcmp(fix.id, at->fix) == 0)
        told->external = strcmp(fix.style, "external") == 0;
    return GRAFT_OK;
}

static int32_t check_fix(const graft_lammps* at, const char* line, info* told) {
    fix_line fix;
    const char *const id = fix.id, *const style = fix.style, *const group = fix.group;
    if (!is_fix(line, &fix))
        return GRAFT_OK;
    if (strcmp(style, "external") == 0 && lammps_counts_twice(at, id))
        return lammps_fail(GRAFT_ERROR_ARGUMENT,
                           "Graft computes %s through fix %s already; fix %s would count them twice. Detach the first, or "
                           "give the second deck another interaction",
                           at->coulomb ? "Coulomb forces" : "gravity", id, at->fix);
    if (told->ours)
        return GRAFT_OK;
    told->ours = strcmp(id, at->fix) == 0;
    if (told->ours && strcmp(style, "external") != 0)
        return lammps_fail(GRAFT_ERROR_ARGUMENT,
                           "fix %s is there already, with style %s; give Graft another name", id, style);
    if (told->ours && strcmp(group, "all") != 0)
        return lammps_fail(
            GRAFT_ERROR_ARGUMENT,
            "fix %s external acts on group %s; Graft computes forces of all atoms: use group all", id, group);
    if (!told->ours && is_late(style))
        return lammps_fail(
            GRAFT_ERROR_CALL_ORDER,
            "fix %s (style %s) was defined before fix %s and would not see Graft's forces; attach Graft "
            "first, then define it",
            id, style, at->fix);
    return GRAFT_OK;
}

/* Pairs of these styles leave more than erf(alpha r) / r to the kspace style, or another law. */
static const char* const other_kspace[] = {"disp", "dipole", "spin", "tip4p", "msm", "electrode", "scafacos"};

/* Of ewald.part long_range: a kspace style must be there, for the pairs take their alpha from it, and leave its part to Graft. */
static int32_t check_kspace(const char* style, info* told) {
    size_t i;
    for (i = 0; i < sizeof other_kspace / sizeof *other_kspace; ++i)
        if (strstr(style, other_kspace[i]) != NULL)
            return lammps_fail(
                GRAFT_ERROR_UNSUPPORTED,
                "LAMMPS has kspace_style %s, whose long-range part is not that of charges alone, split by erfc; expected "
                "`kspace_style ewald` or `pppm` and a pair_style with coul/long",
                style);
    told->kspace = 1;
    return GRAFT_OK;
}

/* Lines of `info system`: "Atoms = 9, types = 2, style = PAIR", "Kspace style = NAME", "Special bond factors
 * coul = 0 0 1". */
static int32_t check_system(const graft_lammps* at, const char* line, info* told) {
    char style[128];
    if (sscanf(line, " Special bond factors coul = %lf %lf %lf", told->special, told->special + 1,
               told->special + 2) == 3)
        told->special[3] = 1;
    if (!at->coulomb)
        return GRAFT_OK;
    if (at->long_range)
        return is_kspace(line, style) ? check_kspace(style, told) : GRAFT_OK;
    if (is_kspace(line, style))
        return lammps_fail(
            GRAFT_ERROR_ARGUMENT,
            "LAMMPS has kspace_style %s, and Graft computes all of the Coulomb interaction: it would count "
            "twice; use `kspace_style none` and a pair_style without coul, or `ewald: {part: long_range}` in Graft's deck",
            style);
    if (sscanf(line, " Atoms = %*s types = %*s style = %127s", style) == 1 && strstr(style, "coul") != NULL &&
        strstr(style, "coul/exclude") == NULL)
        return lammps_fail(
            GRAFT_ERROR_ARGUMENT,
            "LAMMPS has pair_style %s, and Graft computes all of the Coulomb interaction: it would count "
            "twice; use a pair_style without coul, or one with coul/long, a kspace_style, and `ewald: {part: long_range}` in "
            "Graft's deck",
            style);
    return GRAFT_OK;
}

static int32_t check_all(const graft_lammps* at, const char* line, info* told) {
    const int32_t status = check_fix(at, line, told);
    return status == GRAFT_OK ? check_system(at, line, told) : status;
}

static int32_t read_lines(const graft_lammps* at, const char* path, line_check check, info* told) {
    FILE* file = fopen(path, "r");
    char line[512];
    int32_t status = GRAFT_OK;
    while (file != NULL && status == GRAFT_OK && fgets(line, (int)sizeof line, file) != NULL)
        status = check(at, line, told);
    if (file != NULL)
        fclose(file);
    return status;
}

/* A file of its own for rank 0; the others give a name that nobody opens. */
static int32_t make_file(const graft_lammps* at, char* path, size_t capacity, int* mine) {
    const char* folder = getenv("TMPDIR");
    int file;
    *mine = 0;
    snprintf(path, capacity, "none");
    if (at->host->extract_setting(at->lammps, "world_rank") != 0)
        return GRAFT_OK;
    snprintf(path, capacity, "%s/graft_lammps_XXXXXX", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    file = mkstemp(path);
    if (file < 0)
        return lammps_fail(GRAFT_ERROR_ARGUMENT, "%s cannot be made; set TMPDIR to a folder for small files",
                           path);
    close(file);
    *mine = 1;
    return GRAFT_OK;
}

/* What LAMMPS tells of these categories, on rank 0; the same status on all ranks. */
static int32_t ask(graft_lammps* at, const char* categories, line_check check, info* told) {
    char path[512];
    int mine;
    int32_t status = lammps_agree(at, make_file(at, path, sizeof path, &mine));
    if (status == GRAFT_OK)
        status = lammps_run(at->host, at->lammps, "info %s out overwrite %s", categories, path);
    if (status == GRAFT_OK && mine)
        status = read_lines(at, path, check, told);
    if (mine)
        unlink(path);
    status = lammps_agree(at, status);
    if (status == GRAFT_OK && at->comm != NULL &&
        at->comm->comm_bcast(at->comm->self, told, (int64_t)sizeof *told, 0) != GRAFT_OK)
        status =
            lammps_fail(GRAFT_ERROR_COMMUNICATION, "the ranks could not tell each other what LAMMPS says");
    return status;
}

int32_t lammps_look_around(graft_lammps* at) {
    info told = {0};
    int32_t status = ask(at, "system fixes", check_all, &told);
    if (status == GRAFT_OK && at->long_range && !told.kspace)
        status =
            lammps_fail(GRAFT_ERROR_CALL_ORDER,
                        "ewald.part is long_range, and LAMMPS has no kspace_style, by which its pairs know where to stop; give a "
                        "pair_style with coul/long and `kspace_style ewald 0.1` before Graft is attached");
    memcpy(at->special, told.special, sizeof at->special);
    at->special_known = told.special[3] != 0;
    return status;
}

int32_t lammps_find_fix(graft_lammps* at, int* is_there, int* has_kspace) {
    info told = {0};
    const int32_t status = ask(at, "system fixes", note_fix, &told);
    *is_there = told.external;
    *has_kspace = told.kspace;
    return status;
}
