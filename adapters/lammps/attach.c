/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an attachment: ranks, and what is added to LAMMPS and removed again (graft_lammps.h). */
#include "internal.h"

#include <graft/graft_loader.h>
#include <graft/graft_mpi_loader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_LAMMPS 20210728 /* fix external takes energies and virials from then on */

static int32_t fail_in_graft(graft_lammps* at, int32_t status) {
    return lammps_fail(status, "%s", at->graft->last_error());
}

/* ---- ranks ---- */

static int32_t set_ranks(graft_lammps* at) {
    const int ranks = at->host->extract_setting(at->lammps, "world_size");
    char why[1024] = "";
    int32_t status;
    if (ranks <= 1)
        return GRAFT_OK;
    status =
        graft_load_mpi_comm((int32_t)at->host->get_mpi_comm(at->lammps), &at->comm, why, (int64_t)sizeof why);
    if (status == GRAFT_OK)
        return status;
    return lammps_fail(status,
                       "LAMMPS runs on %d ranks, and Graft has no way between them; each would see only its own "
                       "atoms. Install the shim libgraft_mpi_mpich.so or libgraft_mpi_openmpi.so for this MPI "
                       "beside libgraft.so, or name it in GRAFT_MPI_LIBRARY. %s",
                       ranks, why);
}

/* ---- LAMMPS's side ---- */

static int32_t check_host(graft_lammps* at) {
    const int version = at->host->version(at->lammps);
    if (version < OLDEST_LAMMPS)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED, "this is LAMMPS %d; Graft needs %d or later", version,
                           OLDEST_LAMMPS);
    if (at->host->extract_setting(at->lammps, "bigint") != 8)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "this LAMMPS was compiled with LAMMPS_SMALLSMALL; Graft needs "
                           "LAMMPS_SMALLBIG (the default) or LAMMPS_BIGBIG");
    at->id_bytes = at->host->extract_setting(at->lammps, "tagint");
    if (at->host->extract_setting(at->lammps, "box_exist") != 1)
        return lammps_fail(GRAFT_ERROR_CALL_ORDER,
                           "LAMMPS has no simulation box yet; attach Graft after create_box, "
                           "read_data or read_restart");
    return GRAFT_OK;
}

/* LAMMPS's pairs take Graft's alpha, and its kspace style stands still. */
static int32_t take_kspace(graft_lammps* at) {
    double alpha = 0;
    int32_t status = lammps_choose_alpha(at, &alpha);
    if (status == GRAFT_OK)
        status = lammps_run(at->host, at->lammps, "kspace_modify gewald %.15g compute no", alpha);
    at->kspace_is_ours = status == GRAFT_OK;
    return status;
}

/* Where it is not ours to say more, as the fix is gone, a kspace style may be another one, whose alpha is the deck's. */
static int32_t give_kspace_back(graft_lammps* at, int fix_is_there) {
    at->kspace_is_ours = 0;
    return lammps_run(at->host, at->lammps, fix_is_there ? "kspace_modify gewald 0 compute yes" : "kspace_modify compute yes");
}

/* Collective. What one before it through this fix took, perhaps in a LAMMPS that is no more: then not all ranks know of it. */
static int32_t give_back_of_another(graft_lammps* at) {
    int is_there = 0, has_kspace = 0;
    int32_t status = GRAFT_OK, ours = at->kspace_is_ours;
    if (at->comm != NULL && at->comm->comm_allreduce(at->comm->self, &ours, &ours, 1, GRAFT_I32, GRAFT_COMM_MAX) != GRAFT_OK)
        return lammps_fail(GRAFT_ERROR_COMMUNICATION, "the ranks could not tell each other whether a kspace style stands still");
    if (ours)
        status = lammps_find_fix(at, &is_there, &has_kspace);
    if (status == GRAFT_OK && has_kspace)
        status = give_kspace_back(at, is_there);
    at->kspace_is_ours = 0;
    return status;
}

static int32_t add_to_host(graft_lammps* at) {
    const lammps_functions* host = at->host;
    const int bonds = !at->long_range && host->extract_setting(at->lammps, "molecule_flag") == 1 &&
                      host->extract_setting(at->lammps, "nbondtypes") > 0;
    char compute[FIX_CAPACITY + 16];
    int32_t status = lammps_look_around(at);
    if (status == GRAFT_OK && !host->has_id(at->lammps, "fix", at->fix)) {
        status = lammps_run(host, at->lammps, "fix %s all external pf/callback 1 1", at->fix);
        at->fix_is_ours = status == GRAFT_OK;
    }
    if (status == GRAFT_OK)
        status = lammps_run(host, at->lammps, "fix_modify %s energy yes virial yes", at->fix);
    if (status == GRAFT_OK && bonds && at->coulomb) {
        snprintf(compute, sizeof compute, BONDS_COMPUTE,
                 at->fix); /* an earlier attachment may have left it */
        if (!host->has_id(at->lammps, "compute", compute))
            status = lammps_run(host, at->lammps, "compute %s all property/local batom1 batom2", compute);
        at->has_bonds = status == GRAFT_OK;
    }
    if (status == GRAFT_OK && at->long_range)
        status = take_kspace(at);
    if (status == GRAFT_OK)
        host->set_callback(at->lammps, at->fix, lammps_on_forces, at);
    if (status == GRAFT_OK)
        status = lammps_run(host, at->lammps, "print \"Graft %s computes %s through fix %s: constant %.10g, %d ranks\"",
                            at->graft->version(),
                            at->long_range ? "the long-range part of Coulomb forces"
                            : at->coulomb  ? "Coulomb forces"
                                           : "gravity",
                            at->fix, at->constant, at->comm != NULL ? at->comm->size : 1);
    return status;
}

static int32_t make_context(graft_lammps* at, const char* deck) {
    graft_options* options = NULL;
    graft_units units = {0};
    int32_t status = at->graft->options_create(&options);
    if (status != GRAFT_OK)
        return fail_in_graft(at, status);
    status = lammps_read_deck(at, deck, options);
    if (status == GRAFT_OK) {
        units.struct_size = sizeof units;
        units.constant = at->constant;
        status = at->graft->context_create(options, NULL, &at->context);
        if (status == GRAFT_OK)
            status = at->graft->context_set_units(at->context, &units);
        if (status != GRAFT_OK)
            fail_in_graft(at, status);
    }
    at->graft->options_destroy(&options);
    return status;
}

/* The ranks first: a deck that one of them cannot read is a failure of all. */
static int32_t set_up(graft_lammps* at, const char* deck) {
    int32_t status = set_ranks(at);
    if (status == GRAFT_OK)
        status = lammps_agree(at, make_context(at, deck));
    if (status == GRAFT_OK && at->comm != NULL &&
        (status = at->graft->context_set_communicator(at->context, at->comm)) != GRAFT_OK)
        fail_in_graft(at, status);
    if (status == GRAFT_OK)
        status = lammps_tell_box(at); /* what no run could use is better said now */
    return status == GRAFT_OK ? add_to_host(at) : status;
}

static void release(graft_lammps* at) {
    if (at->context != NULL)
        at->graft->context_destroy(&at->context);
    if (at->comm != NULL)
        at->comm->comm_free(at->comm);
    exclusions_free(&at->excluded);
    free(at->per_atom.charge);
    free(at->per_atom.energy);
    free(at);
}

static int32_t remove_from_host(graft_lammps* at) {
    const lammps_functions* host = at->host;
    int32_t status = GRAFT_OK;
    int is_there = 0, has_kspace = 0;
    char compute[FIX_CAPACITY + 16];
    snprintf(compute, sizeof compute, BONDS_COMPUTE, at->fix);
    if (at->has_bonds && host->has_id(at->lammps, "compute", compute))
        status = lammps_run(host, at->lammps, "uncompute %s", compute);
    if (status == GRAFT_OK)
        status = lammps_find_fix(at, &is_there, &has_kspace); /* after `clear` one of that name may be the deck's */
    if (status == GRAFT_OK && is_there) {
        host->set_callback(at->lammps, at->fix, NULL, NULL);
        if (at->fix_is_ours)
            status = lammps_run(host, at->lammps, "unfix %s", at->fix);
    }
    if (status == GRAFT_OK && at->kspace_is_ours && has_kspace)
        status = give_kspace_back(at, is_there);
    return status;
}

int32_t graft_lammps_attach(void* lammps, const char* fix, const char* deck, graft_lammps** attached) {
    static const char of_a_name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    graft_lammps* at;
    char why[1024] = "";
    int32_t status;
    if (attached == NULL)
        return lammps_fail(GRAFT_ERROR_ARGUMENT, "attached is NULL");
    *attached = NULL;
    if (lammps == NULL || fix == NULL || fix[0] == '\0' || strlen(fix) >= FIX_CAPACITY ||
        strspn(fix, of_a_name) != strlen(fix)) /* else LAMMPS would end the process */
        return lammps_fail(GRAFT_ERROR_ARGUMENT,
                           "%s; expected a LAMMPS instance and a fix's name of 1 to %d letters, digits or _",
                           lammps == NULL
                               ? "lammps is NULL"
                               : "the name of the fix is missing, too long or has other characters",
                           FIX_CAPACITY - 1);
    at = calloc(1, sizeof *at);
    if (at == NULL)
        return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for an attachment");
    at->lammps = lammps;
    memcpy(at->fix, fix, strlen(fix));
    status = lammps_find(&at->host);
    if (status == GRAFT_OK && (status = graft_load(NULL, &at->graft, why, (int64_t)sizeof why)) != GRAFT_OK)
        lammps_fail(status, "%s", why);
    if (status == GRAFT_OK)
        status = check_host(at);
    if (status == GRAFT_OK)
        status = set_up(at, deck);
    if (status != GRAFT_OK) {
        char text[1500]; /* taking back may have its own to say */
        snprintf(text, sizeof text, "%s", graft_lammps_error());
        if (at->fix_is_ours)
            remove_from_host(at);
        else if (at->kspace_is_ours)
            give_kspace_back(at, 1);
        release(at);
        return lammps_fail(status, "%s", text);
    }
    lammps_put_on(at);
    *attached = at;
    return at->long_range ? GRAFT_OK : give_back_of_another(at);
}

int32_t graft_lammps_detach(graft_lammps** attached) {
    int32_t status = GRAFT_OK;
    if (attached == NULL || *attached == NULL)
        return GRAFT_OK;
    if (lammps_take_off(*attached)) /* else the fix is another attachment's */
        status = remove_from_host(*attached);
    release(*attached);
    *attached = NULL;
    return status;
}

int32_t graft_lammps_query(graft_lammps* at, const char* key, double* value) {
    const struct {
        const char* key;
        double value;
    } own[] = {{"adapter.calls", at != NULL ? (double)at->spent.calls : 0},
               {"adapter.time_s.call", at != NULL ? at->spent.call_s : 0},
               {"adapter.time_s.graft", at != NULL ? at->spent.graft_s : 0},
               {"adapter.exclusions", at != NULL ? (double)at->excluded.pair_count : 0}};
    int32_t status;
    size_t i;
    if (at == NULL || key == NULL || value == NULL)
        return lammps_fail(GRAFT_ERROR_ARGUMENT, "attached, key or value is NULL");
    for (i = 0; i < sizeof own / sizeof *own; ++i)
        if (strcmp(key, own[i].key) == 0) {
            *value = own[i].value;
            return GRAFT_OK;
        }
    status = at->graft->query(at->context, key, value);
    return status == GRAFT_OK ? status : fail_in_graft(at, status);
}
