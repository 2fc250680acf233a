! SPDX-License-Identifier: BSD-3-Clause
! The demo without MPI: one rank. galaxy_ranks_mpi.f90 has the same procedures for many.
module galaxy_ranks
    use, intrinsic :: iso_fortran_env, only: real64
    use graft
    implicit none
    integer :: rank = 0, ranks = 1
contains
    subroutine start_ranks()
    end subroutine start_ranks

    subroutine give_ranks_to(gravity)
        type(graft_t), intent(inout) :: gravity
        if (.not. gravity%is_open()) error stop 'open it first'
    end subroutine give_ranks_to

    subroutine sum_over_ranks(values)
        real(real64), intent(inout) :: values(:, :)
        if (size(values) < 0) values = 0 ! one rank's sum is the sum
    end subroutine sum_over_ranks

    subroutine end_ranks()
    end subroutine end_ranks
end module galaxy_ranks
