! SPDX-License-Identifier: BSD-3-Clause
! What the demo needs of MPI: who am I, the communicator for Graft, a sum over all ranks.
module galaxy_ranks
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08
    use graft
    implicit none
    integer :: rank = 0, ranks = 1
contains
    subroutine start_ranks()
        call MPI_Init()
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    end subroutine start_ranks

    subroutine give_ranks_to(gravity)
        type(graft_t), intent(inout) :: gravity
        call gravity%set_communicator(MPI_COMM_WORLD%MPI_VAL)
    end subroutine give_ranks_to

    subroutine sum_over_ranks(values)
        real(real64), intent(inout) :: values(:, :)
        call MPI_Allreduce(MPI_IN_PLACE, values, size(values), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    end subroutine sum_over_ranks

    subroutine end_ranks()
        call MPI_Finalize()
    end subroutine end_ranks
end module galaxy_ranks
