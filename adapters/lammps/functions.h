/* SPDX-License-Identifier: BSD-3-Clause */
/* LAMMPS's C library interface (library.h) as a table of functions found in this process. Nothing of LAMMPS
 * is included or linked: types that depend on how LAMMPS was compiled (bigint, tagint) are asked for at run
 * time. */
#ifndef GRAFT_LAMMPS_FUNCTIONS_H
#define GRAFT_LAMMPS_FUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The callback of fix external; `id` points to tagints, 4 or 8 bytes (extract_setting "tagint"). */
typedef void (*lammps_callback)(void* self, int64_t step, int count, void* id, double** x, double** f);

typedef struct lammps_functions {
    int (*version)(void* lammps);
    int (*extract_setting)(void* lammps, const char* name);
    void* (*extract_global)(void* lammps, const char* name);
    void* (*extract_atom)(void* lammps, const char* name);
    void* (*extract_compute)(void* lammps, const char* id, int style, int type);
    void (*extract_box)(void* lammps, double* lower, double* upper, double* xy, double* yz, double* xz,
                        int* periodic, int* changes);
    void* (*extract_pair)(void* lammps, const char* name); /* NULL before 2025 */
    int (*get_mpi_comm)(void* lammps);
    char* (*command)(void* lammps, const char* text);
    int (*has_id)(void* lammps, const char* category, const char* id);
    void (*set_callback)(void* lammps, const char* fix, lammps_callback function, void* self);
    void (*set_energy)(void* lammps, const char* fix, double energy);
    void (*set_energy_peratom)(void* lammps, const char* fix, double* energy);
    void (*set_virial)(void* lammps, const char* fix, double* virial);
    int (*has_exceptions)(void);
    int (*has_error)(void* lammps);
    int (*last_error)(void* lammps, char* buffer, int capacity);
    void (*force_timeout)(void* lammps);
    void (*error)(void* lammps, int type, const char* text); /* NULL before 3Nov2022 */
    void (*error_all)(void); /* LAMMPS_NS::Error::all, for raise.cpp: with a file, a line and a text */
    void (*error_all_word)(void); /* the same, with a word of the input besides, since 2025; each NULL where it is not found */
} lammps_functions;

/* The table; filled once. LOAD_NOT_FOUND (no LAMMPS in this process) or UNSUPPORTED (one without a function
 * that is needed, which is named), text in lammps_fail's place. */
int32_t lammps_find(const lammps_functions** table);

/* Runs a command. On failure ARGUMENT with LAMMPS's text - or no return, when LAMMPS has no exceptions. */
int32_t lammps_run(const lammps_functions* table, void* lammps, const char* pattern, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes `text` LAMMPS's error within a run, on all ranks at once, and does not return: without exceptions the
 * process ends by LAMMPS's hand, as it does for lmp with them; a host that began the run through the C library
 * has the text as that call's error and lives on. Where LAMMPS's own function for this is not found it returns, the run
 * stops after this step, and the process ends at the next of these if the host has not looked at this one. */
void lammps_raise(const lammps_functions* table, void* lammps, const char* text);

/* Keeps the text for graft_lammps_error and returns the status. */
int32_t lammps_fail(int32_t status, const char* pattern, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
