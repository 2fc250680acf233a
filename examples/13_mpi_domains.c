/* SPDX-License-Identifier: BSD-3-Clause */
/* A C code that leaves the domains to Graft: new owners by bisection, its own arrays moved there, forces, and the forces
 * brought back to where the particles came from. Checked against a direct sum in the original order. */
#include <graft/functions.h>
#include <graft/views.h>

#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n_all = 5000 };

/* Any failure is the same on all ranks: they leave together. */
static void check(int32_t status, const char *what) {
    if (status != GRAFT_OK) {
        fprintf(stderr, "%s: %s\n", what, graft_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void make_point(int i, double *p) {
    const double u = fmod(i * 0.8191725133961645, 1), v = fmod(i * 0.6710436067037893, 1);
    const double w = 2 * fmod(i * 0.5497004779019703, 1) - 1, r = u / (1.1 - u);
    p[0] = r * sqrt(1 - w * w) * cos(6.283185307179586 * v);
    p[1] = r * sqrt(1 - w * w) * sin(6.283185307179586 * v);
    p[2] = r * w;
}

static double relative_error(const double *all, int64_t at, const double *a) {
    double exact[3] = {0, 0, 0}, off = 0, size = 0;
    int i, k;
    for (i = 0; i < n_all; ++i) {
        double d[3], r2 = 0, w;
        for (k = 0; k < 3; ++k) {
            d[k] = all[3 * i + k] - all[3 * at + k];
            r2 += d[k] * d[k];
        }
        w = r2 > 0 ? 1 / (n_all * r2 * sqrt(r2)) : 0;
        for (k = 0; k < 3; ++k)
            exact[k] += w * d[k];
    }
    for (k = 0; k < 3; ++k) {
        off += (a[k] - exact[k]) * (a[k] - exact[k]);
        size += exact[k] * exact[k];
    }
    return sqrt(off / size);
}

int main(int argc, char **argv) {
    graft_comm_v1 *comm = NULL;
    graft_options *options = NULL;
    graft_context *context = NULL;
    graft_particles particles = {0};
    graft_decomposition wanted = {0};
    graft_results results = {0};
    graft_array position, owners, moved, field, back;
    const graft_array *from, *to;
    double *x, *y, *a, *a_home, error = 0, worst, imbalance = 0;
    int32_t *owner;
    int64_t n, n_after = 0, i;
    int rank, size, wrong;

    particles.struct_size = sizeof particles;
    wanted.struct_size = sizeof wanted;
    results.struct_size = sizeof results;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = rank == 0 ? n_all : 0; /* all of them on one rank, as read from a file */
    x = malloc((size_t)(3 * n + 1) * sizeof *x);
    a_home = malloc((size_t)(3 * n + 1) * sizeof *a_home);
    owner = malloc((size_t)(n + 1) * sizeof *owner);
    for (i = 0; i < n; ++i)
        make_point((int)i, x + 3 * i);

    check(graft_mpi_comm((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), &comm), "communicator");
    check(graft_options_create(&options), "options");
    check(graft_options_set_double(options, "mac.accuracy", 1e-4), "options");
    check(graft_context_create(options, NULL, &context), "context");
    check(graft_context_set_communicator(context, comm), "communicator");

    position = graft_rows_f64(x, n, 3, 3);
    owners = graft_view_i32(owner, n);
    particles.n = n;
    particles.position[0] = &position;
    particles.charge_all = 1.0 / n_all;
    wanted.owner = &owners;
    check(graft_decompose(context, &particles, &wanted), "decompose");
    check(graft_migrate_plan(context, &owners, &n_after), "migrate_plan");
    y = malloc((size_t)(3 * n_after + 1) * sizeof *y);
    a = malloc((size_t)(3 * n_after + 1) * sizeof *a);
    moved = graft_rows_f64(y, n_after, 3, 3);
    from = &position;
    to = &moved;
    check(graft_migrate(context, 1, &from, &to), "migrate");

    field = graft_rows_f64(a, n_after, 3, 3);
    particles.n = n_after;
    particles.position[0] = &moved;
    results.acceleration[0] = &field;
    check(graft_compute(context, &particles, &results), "compute");
    check(graft_query(context, "decompose.imbalance_count", &imbalance), "query");

    back = graft_rows_f64(a_home, n, 3, 3);
    from = &field;
    to = &back;
    check(graft_migrate_back(context, 1, &from, &to), "migrate_back");
    for (i = 0; i < n; ++i)
        error = fmax(error, relative_error(x, i, a_home + 3 * i));
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    wrong = !(worst < 1e-2) || imbalance > 1.001 || llabs((long long)n_after * size - n_all) > size;
    if (rank == 0)
        printf("%d ranks, Graft's domains: imbalance %.4f, worst force error %.2e\n", size, imbalance, worst);

    check(graft_context_destroy(&context), "destroy");
    check(graft_options_destroy(&options), "destroy");
    check(graft_mpi_comm_destroy(&comm), "destroy");
    free(x);
    free(y);
    free(a);
    free(a_home);
    free(owner);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
