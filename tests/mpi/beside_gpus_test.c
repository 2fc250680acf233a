/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks with a GPU and ranks without in one computation, over MPI, by the C interface: rank 1 asks for a GPU, the others for
 * the CPU. GRAFT_CUDA_LIBRARY names the library of the GPU, a stand-in. Forces against direct sums; what the two kinds do
 * not do together is the same error on all ranks. */
#include <graft/functions.h>
#include <graft/views.h>

#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n_all = 1200 };
static const double untouched = -77;
static int failures = 0;

static void expect(int good, const char* what) {
    if (!good) {
        fprintf(stderr, "not so: %s; last error: %s\n", what, graft_last_error());
        ++failures;
    }
}

static void take_words(void* user, const char* text, int64_t length) {
    char* words = user;
    const size_t n = length < 31 ? (size_t)length : 31;
    memcpy(words, text, n);
    words[n] = 0;
}

static void make_point(int i, double* p) {
    const double u = fmod(i * 0.8191725133961645, 1), v = fmod(i * 0.6710436067037893, 1);
    const double w = 2 * fmod(i * 0.5497004779019703, 1) - 1, r = u / (1.1 - u);
    p[0] = r * sqrt(1 - w * w) * cos(6.283185307179586 * v);
    p[1] = r * sqrt(1 - w * w) * sin(6.283185307179586 * v);
    p[2] = r * w;
}

static double relative_error(int at, const double* a) {
    double own[3], exact[3] = {0, 0, 0}, off = 0, size = 0;
    int i, k;
    make_point(at, own);
    for (i = 0; i < n_all; ++i) {
        double p[3], r2 = 0;
        make_point(i, p);
        for (k = 0; k < 3; ++k)
            r2 += (p[k] - own[k]) * (p[k] - own[k]);
        for (k = 0; k < 3 && r2 > 0; ++k)
            exact[k] += (p[k] - own[k]) / (r2 * sqrt(r2));
    }
    for (k = 0; k < 3; ++k) {
        off += (a[k] - exact[k]) * (a[k] - exact[k]);
        size += exact[k] * exact[k];
    }
    return sqrt(off / size);
}

/* Points rank, rank + size, ... */
static void compute(graft_comm_v1* comm, const char* method, const char* theta, double most) {
    const int rank = comm->rank, size = comm->size, n = (n_all - rank + size - 1) / size;
    graft_options* options = NULL;
    graft_context* context = NULL;
    graft_particles particles = {0};
    graft_results results = {0};
    graft_array position, field;
    double *x = malloc((size_t)(3 * n) * sizeof *x), *a = malloc((size_t)(3 * n) * sizeof *a), worst = 0;
    char kind[32] = "";
    int32_t status;
    int i;
    particles.struct_size = sizeof particles;
    results.struct_size = sizeof results;
    for (i = 0; i < n; ++i)
        make_point(rank + i * size, x + 3 * i);
    for (i = 0; i < 3 * n; ++i)
        a[i] = untouched;
    expect(graft_options_create(&options) == GRAFT_OK, "options");
    expect(graft_options_set(options, "backend", rank == 1 ? "gpu" : "cpu") == GRAFT_OK, "backend");
    expect(graft_options_set(options, "method", method) == GRAFT_OK, "method");
    expect(graft_options_set(options, "mac.theta", theta) == GRAFT_OK, "mac.theta");
    expect(graft_options_set(options, "precision", "fp64") == GRAFT_OK, "precision");
    expect(graft_context_create(options, NULL, &context) == GRAFT_OK, "context");
    expect(graft_context_set_communicator(context, comm) == GRAFT_OK, "communicator");
    position = graft_rows_f64(x, n, 3, 3);
    field = graft_rows_f64(a, n, 3, 3);
    particles.n = n;
    particles.position[0] = &position;
    particles.charge_all = 1;
    results.acceleration[0] = &field;
    status = graft_compute(context, &particles, &results);
    if (strcmp(method, "tree") == 0) {
        expect(status == GRAFT_OK, "compute");
        for (i = 0; i < n; ++i)
            worst = fmax(worst, relative_error(rank + i * size, a + 3 * i));
        expect(worst <= most, "forces are those of direct sums");
        expect(graft_query_text(context, "backend", take_words, kind) == GRAFT_OK, "query");
        expect(strcmp(kind, rank == 1 ? "gpu" : "cpu") == 0, "backend as asked for");
        printf("rank %d, %s: worst force error %.2e\n", rank, kind, worst);
    } else {
        expect(status == GRAFT_ERROR_UNSUPPORTED, "the status is UNSUPPORTED on all ranks");
        expect(strstr(graft_last_error(), "GPUs do the tree method only") != NULL,
               "the text says what is not done");
        for (i = 0; i < 3 * n; ++i)
            expect(a[i] == untouched, "nothing is written");
    }
    expect(graft_context_destroy(&context) == GRAFT_OK, "destroy");
    expect(graft_options_destroy(&options) == GRAFT_OK, "destroy");
    free(x);
    free(a);
}

int main(int argc, char** argv) {
    graft_comm_v1* comm = NULL;
    int all;
    MPI_Init(&argc, &argv);
    expect(graft_mpi_comm((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), &comm) == GRAFT_OK, "communicator");
    if (comm == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    compute(comm, "tree", "0", 1e-12);
    compute(comm, "direct", "0", 0);
    compute(comm, "tree", "0.6", 2e-2);
    expect(graft_mpi_comm_destroy(&comm) == GRAFT_OK, "destroy");
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
