/* SPDX-License-Identifier: BSD-3-Clause */
/* What watching for failures costs: the table's allreduce and barrier against MPI's own, in turn, the best of
 * ten rounds. usage: latency SHIM   prints one JSON line on rank 0. A measurement, not a test of speed: ranks
 * may outnumber cores. */
#include "support.h"

enum { calls = 2000, rounds = 10 };

static double best(double a, double b) {
    return a < b ? a : b;
}

int main(int argc, char** argv) {
    shim_library shim;
    graft_comm_v1* t;
    int64_t in = 1, out = 0;
    double value = 1, sum = 0, start, ours = 1e9, ours_f64 = 1e9, theirs = 1e9, theirs_f64 = 1e9,
           nonblocking = 1e9;
    MPI_Request request;
    int i, round;
    MPI_Init(&argc, &argv);
    shim = open_shim(argv[1]);
    t = table_over(&shim, MPI_COMM_WORLD);
    for (round = 0; round < rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (i = 0; i < calls; ++i)
            MPI_Allreduce(&in, &out, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        theirs = best(theirs, MPI_Wtime() - start);
        start = MPI_Wtime();
        for (i = 0; i < calls; ++i)
            CHECK_OK(t, t->comm_allreduce(t->self, &in, &out, 1, GRAFT_I64, GRAFT_COMM_SUM));
        ours = best(ours, MPI_Wtime() - start);
        start = MPI_Wtime();
        for (i = 0; i < calls; ++i) {
            MPI_Iallreduce(&in, &out, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        nonblocking = best(nonblocking, MPI_Wtime() - start);
        start = MPI_Wtime();
        for (i = 0; i < calls; ++i)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        theirs_f64 = best(theirs_f64, MPI_Wtime() - start);
        start = MPI_Wtime();
        for (i = 0; i < calls; ++i)
            CHECK_OK(t, t->comm_allreduce(t->self, &value, &sum, 1, GRAFT_F64, GRAFT_COMM_SUM));
        ours_f64 = best(ours_f64, MPI_Wtime() - start);
    }
    if (t->rank == 0)
        printf("{\"ranks\": %d, \"us\": {\"mpi\": %.3f, \"mpi_nonblocking\": %.3f, \"table\": %.3f, "
               "\"mpi_f64\": %.3f, "
               "\"table_f64\": %.3f}, \"ratio\": %.2f, \"ratio_f64\": %.2f}\n",
               (int)t->size, theirs / calls * 1e6, nonblocking / calls * 1e6, ours / calls * 1e6,
               theirs_f64 / calls * 1e6, ours_f64 / calls * 1e6, ours / theirs, ours_f64 / theirs_f64);
    t->comm_free(t);
    i = result();
    MPI_Finalize();
    return i;
}
