! SPDX-License-Identifier: BSD-3-Clause
! Phantom without MPI: a reduction over one task.
module mpiutils
    implicit none
contains
    real function reduceall_mpi(operation, value)
        character(len=*), intent(in) :: operation
        real, intent(in) :: value
        if (operation /= '+') error stop 'reduceall_mpi of the mini host knows + only'
        reduceall_mpi = value
    end function reduceall_mpi
end module mpiutils
