/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI shim: fills graft_comm_v1 from a communicator of the host. One C99 source, compiled once per MPI:
 * libgraft_mpi_mpich.so and libgraft_mpi_openmpi.so export the functions below and nothing else.
 *
 * Hosts do not call these; they call graft_mpi_comm (graft_mpi_loader.h), which finds the shim that fits
 * their MPI. Our traffic runs on duplicates of the host's communicator and never meets the host's. Nothing
 * here aborts: MPI's errors become GRAFT_ERROR_COMMUNICATION with MPI's own text. */
#ifndef GRAFT_MPI_H
#define GRAFT_MPI_H

#include <graft/comm.h>

#define GRAFT_MPI_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* A table over the communicator with this Fortran handle (MPI_Comm_c2f(comm); `comm` with mpif.h and use mpi,
 * comm%MPI_VAL with mpi_f08). Collective over that communicator, which may be freed afterwards; all ranks get
 * the same status. Free the table with its own `free` (not collective).
 *   GRAFT_ERROR_ARGUMENT       comm is NULL, or the handle is no intracommunicator of this process
 *   GRAFT_ERROR_CALL_ORDER     MPI_Init has not been called yet, or MPI_Finalize has
 *   GRAFT_ERROR_UNSUPPORTED    the process runs another MPI than the one this shim was built for (both are
 *                              named); or its thread level does not allow calls from this thread
 *   GRAFT_ERROR_MEMORY, GRAFT_ERROR_COMMUNICATION
 * On failure *comm is NULL and graft_mpi_error() has the text.
 * Cost: two MPI_Comm_dup and one MPI_Allreduce. */
GRAFT_MPI_EXPORT int32_t graft_mpi_comm_from_fortran(int32_t handle, graft_comm_v1** comm);

/* For programs that have no MPI of their own (the graft command): MPI_Init_thread where nobody has called it,
 * a table over all ranks, MPI_Finalize where graft_mpi_start had begun it. CALL_ORDER, UNSUPPORTED,
 * COMMUNICATION as above. */
GRAFT_MPI_EXPORT int32_t graft_mpi_start(void);
GRAFT_MPI_EXPORT int32_t graft_mpi_world(graft_comm_v1** comm);
GRAFT_MPI_EXPORT int32_t graft_mpi_finish(void);

/* What the last failing call of this thread had to say; "" before any failure. */
GRAFT_MPI_EXPORT const char* graft_mpi_error(void);
/* "MPICH" or "Open MPI": what this shim was built for; static. */
GRAFT_MPI_EXPORT const char* graft_mpi_built_for(void);

#ifdef __cplusplus
}
#endif
#endif
