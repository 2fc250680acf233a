! SPDX-License-Identifier: BSD-3-Clause
! A Fortran code with domains of its own, slabs in x, and `use mpi_f08`: every rank gets the forces of all ranks' particles
! on its own, in its own order. Nothing but set_communicator is new against one rank. Checked against a direct sum.
program mpi_slabs
    use mpi_f08
    use graft
    implicit none
    integer, parameter :: n_all = 6000
    double precision :: all(3, n_all), softening, energy, energy_exact, worst
    double precision, allocatable :: x(:), y(:), z(:), m(:), ax(:), ay(:), az(:)
    integer :: rank, ranks, n, i
    type(MPI_Comm) :: comm
    type(graft_t) :: gravity

    call MPI_Init()
    call MPI_Comm_dup(MPI_COMM_WORLD, comm) ! any communicator will do
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    call make_galaxy()
    call keep_own_slab()

    softening = 0.01d0
    call gravity%open()
    call gravity%set('mac.accuracy', 1d-4)
    call gravity%set('softening.kind', 'plummer')
    call gravity%set('softening.length', softening)
    call gravity%set_communicator(comm%MPI_VAL)
    call gravity%compute(n, x, y, z, m, ax, ay, az, energy=energy) ! the energy is that of all ranks
    call gravity%close()

    call compare_with_direct_sum()
    if (rank == 0) print '(i0,a,es9.2,a,es9.2)', ranks, ' ranks, own slabs: worst force error ', worst, &
        ', energy off by ', abs(energy / energy_exact - 1)
    if (worst > 2d-3 .or. abs(energy / energy_exact - 1) > 1d-4) error stop 'that is wrong'
    call MPI_Finalize()

contains

    ! The same points on every rank: a dense middle and a wide rim, from an additive recurrence.
    subroutine make_galaxy()
        double precision :: u(3), r
        do i = 1, n_all
            u = modulo(i * [0.8191725133961645d0, 0.6710436067037893d0, 0.5497004779019703d0], 1d0)
            r = u(1) / (1.05d0 - u(1))
            u(3) = 2 * u(3) - 1
            all(1:2, i) = r * sqrt(1 - u(3)**2) * [cos(6.2831853d0 * u(2)), sin(6.2831853d0 * u(2))]
            all(3, i) = 0.3d0 * r * u(3)
        end do
    end subroutine make_galaxy

    subroutine keep_own_slab()
        logical :: mine(n_all)
        double precision :: width
        width = 4d0 / ranks ! from -2 to 2; the ends reach to infinity
        mine = min(max(floor((all(1, :) + 2) / width), 0), ranks - 1) == rank
        n = count(mine)
        x = pack(all(1, :), mine)
        y = pack(all(2, :), mine)
        z = pack(all(3, :), mine)
        allocate (m(n), ax(n), ay(n), az(n))
        m = 1d0 / n_all
    end subroutine keep_own_slab

    subroutine compare_with_direct_sum()
        double precision :: d(3, n_all), s(n_all), phi(n_all), a(3), potential
        worst = 0
        potential = 0
        do i = 1, n
            d(1, :) = all(1, :) - x(i)
            d(2, :) = all(2, :) - y(i)
            d(3, :) = all(3, :) - z(i)
            s = sum(d**2, dim=1)
            where (s > 0) phi = -1 / sqrt(s + softening**2)
            where (s == 0) phi = 0
            a = -matmul(d, phi**3) / n_all
            worst = max(worst, norm2([ax(i), ay(i), az(i)] - a) / norm2(a))
            potential = potential + 0.5d0 * sum(phi) / n_all**2
        end do
        call MPI_Allreduce(potential, energy_exact, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
        call MPI_Allreduce(MPI_IN_PLACE, worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm)
    end subroutine compare_with_direct_sum
end program mpi_slabs
