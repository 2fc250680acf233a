/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the MPI shim that fits the MPI of this process. With graft_loader.{c,h} four C99 files without any dependency but
 * libdl, made to be copied into a host's source tree; no mpi.h is needed.
 *
 *     graft_comm_v1 *comm = NULL;
 *     char why[1024];
 *     status = graft_load_mpi_comm((int32_t)MPI_Comm_c2f(my_comm), &comm, why, sizeof why);
 *
 * Hosts that link libgraft_api.a call graft_mpi_comm (graft/functions.h), and Fortran hosts the procedure of that name. */
#ifndef GRAFT_MPI_LOADER_H
#define GRAFT_MPI_LOADER_H

#include <graft/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table over the communicator with this Fortran handle: MPI_Comm_c2f(comm) in C; `comm` with `use mpi` or mpif.h,
 * comm%MPI_VAL with `use mpi_f08`. Collective over the communicator; between MPI_Init and MPI_Finalize. Free the table with
 * comm->free(comm), at any time, after the contexts that use it.
 *
 * The shim is libgraft_mpi_mpich.so or libgraft_mpi_openmpi.so, whichever was built for the MPI that this process has
 * started. Order of the search: the environment variable GRAFT_MPI_LIBRARY (when set and not empty; then nothing else is
 * tried), the folder of the libgraft that is loaded, that of GRAFT_DEFAULT_LIBRARY, the dynamic linker's rules. A shim
 * that is there but cannot be used is an error, never silently passed over. It stays loaded (RTLD_NODELETE).
 *
 * message   receives what was tried and what went wrong (always terminated when capacity > 0); "" on success. May be NULL
 *           with capacity 0.
 * Returns GRAFT_OK; GRAFT_ERROR_ARGUMENT (comm is NULL, or the handle is no intracommunicator of this process);
 * GRAFT_ERROR_CALL_ORDER (before MPI_Init or after MPI_Finalize); GRAFT_ERROR_LOAD_NOT_FOUND (no MPI in this process, or no
 * shim for it at any place); GRAFT_ERROR_LOAD_FOREIGN (a file, but no shim, or one that cannot be loaded);
 * GRAFT_ERROR_UNSUPPORTED (a shim for another MPI; both are named); GRAFT_ERROR_MEMORY, GRAFT_ERROR_COMMUNICATION.
 * *comm is NULL on failure. Never exits. Prints only when the environment has GRAFT_LOAD_DEBUG=1. */
int32_t graft_load_mpi_comm(int32_t fortran_handle, graft_comm_v1 **comm, char *message, int64_t capacity);

/* Opens the shim for programs without MPI of their own: `family` is "mpich" or "openmpi". NULL and the message on failure;
 * else what dlsym takes. With GRAFT_MPI_LIBRARY set the family is ignored. */
void *graft_open_mpi_shim(const char *family, int32_t *status, char *message, int64_t capacity);

#ifdef __cplusplus
}
#endif
#endif
