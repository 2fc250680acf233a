/* SPDX-License-Identifier: BSD-3-Clause */
/* One force evaluation, called by LAMMPS within a run: atoms where they lie -> Graft -> fix external's
 * arrays.
 *
 * On several ranks all of them come here together. What can go wrong on one rank alone is agreed on before
 * and after Graft's own collective call, so that all raise LAMMPS's error or none does. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L /* clock_gettime */
#endif
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct step_atoms {
    int32_t n;
    void* id;
    double** x;
    double** f;
    const double* charge;
} step_atoms;

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- what goes in ---- */

static int32_t reserve(graft_lammps* at, int64_t n) {
    const int64_t capacity = n + n / 4 + 64;
    if (n < at->per_atom.capacity)
        return GRAFT_OK;
    free(at->per_atom.charge);
    free(at->per_atom.energy);
    at->per_atom.charge = malloc((size_t)capacity * sizeof *at->per_atom.charge);
    at->per_atom.energy = malloc((size_t)capacity * sizeof *at->per_atom.energy);
    at->per_atom.capacity = at->per_atom.charge != NULL && at->per_atom.energy != NULL ? capacity : 0;
    if (at->per_atom.capacity == 0)
        return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for charges and energies of %lld atoms",
                           (long long)n);
    return GRAFT_OK;
}

static int32_t find_masses(graft_lammps* at, step_atoms* atoms) {
    const double* each = at->host->extract_atom(at->lammps, "rmass");
    const double* per_type = at->host->extract_atom(at->lammps, "mass");
    const int* type = at->host->extract_atom(at->lammps, "type");
    int32_t i;
    atoms->charge = each != NULL ? each : at->per_atom.charge;
    if (each != NULL)
        return GRAFT_OK;
    if (per_type == NULL || type == NULL)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "LAMMPS's atoms have no masses, neither their own nor by type");
    for (i = 0; i < atoms->n; ++i)
        at->per_atom.charge[i] = per_type[type[i]];
    return GRAFT_OK;
}

static int32_t find_charges(graft_lammps* at, step_atoms* atoms) {
    int32_t status = reserve(at, atoms->n);
    if (status != GRAFT_OK)
        return status;
    if (!at->coulomb)
        return find_masses(at, atoms);
    if (at->host->extract_setting(at->lammps, "q_flag") != 1)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "LAMMPS's atoms have no charge; use `atom_style charge`, `full` or "
                           "another one that has, or `interaction: gravity` in Graft's deck");
    atoms->charge = at->host->extract_atom(at->lammps, "q");
    if (atoms->charge == NULL)
        atoms->charge = at->per_atom.charge; /* a rank without atoms */
    return GRAFT_OK;
}

/* ---- Graft ---- */

/* Without f the energy alone; virial NULL then. */
static int32_t compute(graft_lammps* at, const step_atoms* atoms, double* energy, double* virial) {
    double nothing[3] = {0};
    const int forces = virial != NULL;
    const graft_array x = graft_rows_const_f64(atoms->n > 0 ? atoms->x[0] : nothing, atoms->n, 3, 3);
    const graft_array f = graft_rows_f64(forces && atoms->n > 0 ? atoms->f[0] : nothing, atoms->n, 3, 3);
    const graft_array charge = graft_view_const_f64(atoms->charge, atoms->n);
    const graft_array id =
        graft_view_const(atoms->id, at->id_bytes == 8 ? GRAFT_I64 : GRAFT_I32, atoms->n, 1, 0, 0);
    const graft_array potential = graft_view_f64(at->per_atom.energy, atoms->n);
    const graft_array total = graft_view_f64(energy, 1), stress = graft_rows_f64(virial, 1, 6, 6);
    graft_particles particles = {0};
    graft_results results = {0};
    const double start = now_s();
    int32_t status;
    particles.struct_size = sizeof particles;
    particles.n = atoms->n;
    particles.position[0] = &x;
    particles.charge = &charge;
    particles.id = &id;
    results.struct_size = sizeof results;
    results.flags = GRAFT_RESULTS_FORCE;
    results.acceleration[0] = forces ? &f : NULL;
    results.potential = forces ? &potential : NULL;
    results.energy = &total;
    results.virial = forces ? &stress : NULL;
    status = at->graft->compute(at->context, &particles, &results);
    at->spent.graft_s += now_s() - start;
    return status == GRAFT_OK ? status : lammps_fail(status, "%s", at->graft->last_error());
}

/* ---- what comes out ---- */

static exclusion_atoms all_atoms(graft_lammps* at, const step_atoms* atoms) {
    exclusion_atoms all = {0};
    int i;
    all.id = atoms->id;
    all.id_bytes = at->id_bytes;
    all.local = atoms->n;
    all.all = at->host->extract_setting(at->lammps, "nall");
    all.x = atoms->x;
    all.charge = atoms->charge;
    all.constant = at->constant;
    for (i = 0; i < 3 && at->told_box.box.struct_size > 0; ++i) {
        all.lower_to_upper[i] = at->told_box.box.upper[i] - at->told_box.box.lower[i];
        all.tilt[i] = at->told_box.tilt[i];
        all.periodic[i] = at->told_box.box.periodic[i];
    }
    return all;
}

/* Takes bonded pairs off; energy and virial of all ranks. */
static int32_t exclude(graft_lammps* at, const step_atoms* atoms, int64_t step, double sums[7]) {
    const exclusion_atoms all = all_atoms(at, atoms);
    double own[7] = {0}, every[7], factor[3];
    int32_t status = lammps_find_bonds(at, step, factor), i;
    if (status != GRAFT_OK || !at->excluding)
        return status;
    status = lammps_agree(at, exclusions_find_pairs(&at->excluded, &all, factor));
    if (status != GRAFT_OK)
        return status;
    exclusions_apply(&at->excluded, &all, atoms->f, at->per_atom.energy, &own[0], own + 1);
    memcpy(every, own, sizeof every);
    if (at->comm != NULL &&
        at->comm->comm_allreduce(at->comm->self, own, every, 7, GRAFT_F64, GRAFT_COMM_SUM) != GRAFT_OK)
        return lammps_fail(GRAFT_ERROR_COMMUNICATION,
                           "the ranks could not add up what bonded pairs take off");
    for (i = 0; i < 7; ++i)
        sums[i] += every[i];
    return GRAFT_OK;
}

static int32_t evaluate(graft_lammps* at, step_atoms* atoms, int64_t step) {
    double sums[7] = {0}; /* energy, virial */
    int32_t status = find_charges(at, atoms), i;
    if (status == GRAFT_OK)
        status = lammps_tell_box(at);
    status = lammps_agree(at, status);
    if (status == GRAFT_OK)
        status = compute(at, atoms, &sums[0], sums + 1);
    for (i = 0; status == GRAFT_OK && i < atoms->n; ++i)
        at->per_atom.energy[i] *= 0.5 * atoms->charge[i];
    if (status == GRAFT_OK && at->coulomb && !at->long_range)
        status = exclude(at, atoms, step, sums);
    if (status != GRAFT_OK)
        return status;
    at->host->set_energy(at->lammps, at->fix, sums[0]);
    at->host->set_virial(at->lammps, at->fix, sums + 1);
    at->host->set_energy_peratom(at->lammps, at->fix, at->per_atom.energy);
    return GRAFT_OK;
}

int32_t lammps_choose_alpha(graft_lammps* at, double* alpha) {
    step_atoms atoms = {at->host->extract_setting(at->lammps, "nlocal"), at->host->extract_atom(at->lammps, "id"),
                        at->host->extract_atom(at->lammps, "x"), NULL, NULL};
    double energy = 0;
    char text[40];
    int32_t status = lammps_agree(at, find_charges(at, &atoms));
    if (status == GRAFT_OK)
        status = compute(at, &atoms, &energy, NULL);
    if (status == GRAFT_OK && at->graft->query(at->context, "ewald.alpha", alpha) != GRAFT_OK)
        status = lammps_fail(GRAFT_ERROR_CALL_ORDER,
                             "there are no atoms that an alpha could be chosen for; attach Graft when they are there");
    snprintf(text, sizeof text, "%.15g", *alpha);
    if (status == GRAFT_OK && at->graft->context_set(at->context, "ewald.alpha", text) != GRAFT_OK)
        status = lammps_fail(GRAFT_ERROR_ARGUMENT, "%s", at->graft->last_error());
    *alpha = strtod(text, NULL);
    return status;
}

void lammps_on_forces(void* attached, int64_t step, int count, void* id, double** x, double** f) {
    graft_lammps* at = attached;
    step_atoms atoms = {count, id, x, f, NULL};
    const double start = now_s();
    int32_t status;
    status = evaluate(at, &atoms, step);
    ++at->spent.calls;
    at->spent.call_s += now_s() - start;
    if (status != GRAFT_OK) {
        char text[1500];
        snprintf(text, sizeof text, "Graft, fix %s, step %lld: %s", at->fix, (long long)step,
                 graft_lammps_error());
        if (count > 0)
            memset(f[0], 0, 3 * (size_t)count * sizeof(double)); /* no forces rather than half of them */
        lammps_raise(at->host, at->lammps, text);
    }
}
