! SPDX-License-Identifier: BSD-3-Clause
! Phantom with MPI: a reduction over all tasks.
module mpiutils
    implicit none
contains
    real function reduceall_mpi(operation, value)
        use mpi
        character(len=*), intent(in) :: operation
        real, intent(in) :: value
        integer :: error
        if (operation /= '+') error stop 'reduceall_mpi of the mini host knows + only'
        call MPI_Allreduce(value, reduceall_mpi, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end function reduceall_mpi
end module mpiutils
