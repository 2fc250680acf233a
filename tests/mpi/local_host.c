/* SPDX-License-Identifier: BSD-3-Clause */
/* A host as a plugin of its own: it is opened with RTLD_LOCAL and brings its MPI with it. */
#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int host_start(void);
EXPORT int host_world(void);
EXPORT int host_finish(void);

int host_start(void) {
    return MPI_Init(0, 0);
}
int host_world(void) {
    return (int)MPI_Comm_c2f(MPI_COMM_WORLD);
}
int host_finish(void) {
    return MPI_Finalize();
}
