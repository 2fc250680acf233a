! SPDX-License-Identifier: BSD-3-Clause
! The smallest Fortran host with MPI: every rank has particles of its own, any share, and gets their accelerations in its order.
! Against one rank one call is new, set_communicator. All ranks' particles together are a homogeneous ball of mass 1.
program minimal_mpi
    use mpi
    use graft
    implicit none
    integer, parameter :: n_all = 12000
    double precision, allocatable :: x(:), y(:), z(:), ax(:), ay(:), az(:)
    double precision :: u(3), r, c, energy, inward
    integer :: rank, ranks, n, i, error
    type(graft_t) :: gravity

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    n = (n_all + ranks - 1 - rank) / ranks
    allocate (x(n), y(n), z(n), ax(n), ay(n), az(n))
    do i = 1, n ! point number (i - 1) * ranks + rank of a sequence without a pattern
        u = modulo(((i - 1) * ranks + rank + 0.5d0) * [0.8191725134d0, 0.6710436067d0, 0.5497004779d0], 1d0)
        r = u(1)**(1 / 3d0)
        c = 2 * u(2) - 1
        x(i) = r * sqrt(1 - c**2) * cos(6.283185307d0 * u(3))
        y(i) = r * sqrt(1 - c**2) * sin(6.283185307d0 * u(3))
        z(i) = r * c
    end do

    call gravity%open()
    call gravity%set('mac.accuracy', 1d-3)
    call gravity%set_communicator(MPI_COMM_WORLD) ! comm%MPI_VAL with use mpi_f08
    call gravity%compute(n, x, y, z, ax=ax, ay=ay, az=az, mass_all=1d0 / n_all, energy=energy) ! energy: of all ranks
    call gravity%close()

    inward = -sum(ax * x + ay * y + az * z) / sum(x**2 + y**2 + z**2)
    if (rank == 0) print '(i0,2(a,f8.5))', ranks, ' ranks: acceleration / radius ', inward, ' (1 on paper), energy ', energy
    if (abs(inward - 1) > 0.05 .or. abs(energy + 0.6d0) > 0.01) error stop 'that is wrong'
    call MPI_Finalize(error)
end program minimal_mpi
