/* SPDX-License-Identifier: BSD-3-Clause */
/* A ScaFaCoS handle that Graft serves. */
#ifndef GRAFT_SCAFACOS_INTERNAL_H
#define GRAFT_SCAFACOS_INTERNAL_H

#include <fcs.h>
#include <graft/graft.h>

#include <stdbool.h>

enum { box_vectors = 3, has_origin = 8, has_periodicity = 16, has_total = 32, fcs_most_sums = 4 };

/* What is taken and has no effect. */
struct fcs_unused {
    fcs_int max_local_particles, redistribute, resort;
};

/* The near field; where it is the host's: erfc(alpha r) / r of pairs within r_cut. */
struct fcs_near {
    fcs_int flag;        /* 0: it is */
    double asked_r_cut;  /* 0: fcs_tune chooses */
    double r_cut, alpha; /* of fcs_tune; alpha 0: not tuned */
};

struct _FCS_t {
    MPI_Comm communicator;
    const char* method; /* one of ScaFaCoS's names */
    int method_number;
    unsigned given; /* bit k: box vector k; has_... */
    double box[box_vectors][3], origin[3];
    fcs_int periodicity[3], total_particles;
    fcs_int compute_virial, last_particles, tolerance_type;
    double tolerance, virial[9];
    struct fcs_unused unused;
    struct fcs_near near;
    bool virial_known;

    const graft_api_v1* api;
    graft_options* options;
    graft_comm_v1* comm;    /* NULL: one rank */
    graft_context* context; /* NULL: none yet */
    bool tuned;             /* `accuracy` keeps the tolerance of `tuned_particles` */
    double tuned_particles; /* of all ranks */
    double accuracy;        /* of mac and ewald; 0: the options' own */
    double told_box[15];    /* what the context knows */
    bool box_is_told;
};

/* A result object with a text in printf's way. */
FCSResult fcs_fail(int code, const char* function, const char* format, ...) __attribute__((format(printf, 3, 4)));
FCSResult fcs_null(const char* function, const char* what);
/* Graft's own text, with the code that fits its status best. */
FCSResult fcs_graft_failed(const struct _FCS_t* handle, const char* function, int32_t status);
/* Collective. What one rank was refused for, all ranks learn before any of them waits for the others. On the way `count` numbers
 * are added up over all ranks. */
FCSResult fcs_agree(MPI_Comm communicator, const char* function, FCSResult result, double* sums, int count);
/* Forgets the context: options have changed. */
void fcs_renew(FCS handle);
/* What fcs_tune has found holds no longer, unless `same`. */
void fcs_keep_tuning(FCS handle, bool same);
/* Whether the handle's method leaves the near field to the host. */
bool fcs_delegates(const struct _FCS_t* handle);

#endif
