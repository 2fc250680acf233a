! SPDX-License-Identifier: BSD-3-Clause
! Phantom in small, with MPI or on one task: every task has particles of its own, one of them dead. Forces and potentials are
! those of all tasks' particles, by direct sum; the sum of all forces is zero; inactive particles are sources alone.
program tasks_test
#ifdef MPI
    use mpi
#endif
    use part
    use mpiutils, only: reduceall_mpi
    use graft_phantom, only: graft_selfgravity, graft_field, graft_forget
    implicit none
    integer, parameter :: n_all = 2400
    real, parameter :: length = 0.1 ! support of the softening, beyond the nearest neighbours
    real :: all(3, n_all)
    integer :: task = 0, tasks = 1, i
#ifdef MPI
    integer :: error
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, task, error)
    call MPI_Comm_size(MPI_COMM_WORLD, tasks, error)
#endif
    do i = 1, n_all
        all(:, i) = modulo(i * [0.8191725133961645, 0.6710436067037893, 0.5497004779019703], 1.)
        if (mod(i, tasks) /= task) cycle
        npart = npart + 1
        xyzh(:, npart) = [all(:, i), 0.5 * length]
    end do
    npart = npart + 1
    xyzh(:, npart) = [0.5, 0.5, 0.5, -1.] ! accreted
    massoftype(igas) = 1. / n_all
    call graft_selfgravity(npart, xyzh)
    call compare(1)
    iphase(1:npart:2) = -iphase(1:npart:2)
    call graft_selfgravity(npart, xyzh)
    call compare(2)
    call graft_forget()
#ifdef MPI
    call MPI_Finalize(error)
#endif

contains

    ! Of particles first, first + step ...
    subroutine compare(step)
        integer, intent(in) :: step
        real :: d(3), a(3), f(3), r2, phi, sums(8)
        integer :: i, j, k
        sums = 0 ! error and size of the forces squared, potentials of Graft and of the sum, forces, number
        do i = step, npart - 1, step
            a = 0
            do j = 1, n_all
                d = all(:, j) - xyzh(1:3, i)
                r2 = sum(d**2)
                if (r2 == 0) cycle
                a = a + massoftype(igas) * d * pull(sqrt(r2))
                sums(4) = sums(4) + massoftype(igas) * potential(sqrt(r2))
            end do
            call graft_field(i, f(1), f(2), f(3), phi)
            sums(1:2) = sums(1:2) + [sum((f - a)**2), sum(a**2)]
            sums(3) = sums(3) + phi
            sums(5:8) = sums(5:8) + [f, 1.]
        end do
        do k = 1, 8
            sums(k) = reduceall_mpi('+', sums(k))
        end do
        if (task == 0) print '(i0,a,es9.2,a,2f11.6,a,es9.2)', tasks, ' tasks: force error ', sqrt(sums(1) / sums(2)), &
            ', potentials and those of the sum ', sums(3:4) / sums(8), ', mean acceleration ', norm2(sums(5:7)) / sums(8)
        if (sqrt(sums(1) / sums(2)) > 5e-4 .or. abs(sums(3) / sums(4) - 1) > 1e-4) error stop 'forces or potentials are wrong'
        if (step == 1 .and. norm2(sums(5:7)) / sums(8) > 1e-14) error stop 'momentum is not conserved'
    end subroutine compare

    ! Force of the cubic spline over mass and distance (Springel 2005).
    real function pull(r)
        real, intent(in) :: r
        real :: u
        u = r / length
        if (u >= 1) then
            pull = 1 / r**3
        else if (u >= 0.5) then
            pull = (64. / 3. - 48 * u + 38.4 * u**2 - 32. / 3. * u**3 - 1 / (15 * u**3)) / length**3
        else
            pull = (32. / 3. - 38.4 * u**2 + 32 * u**3) / length**3
        end if
    end function pull

    ! And its potential over mass.
    real function potential(r)
        real, intent(in) :: r
        real :: u
        u = r / length
        if (u >= 1) then
            potential = -1 / r
        else if (u >= 0.5) then
            potential = (1 / (15 * u) - 3.2 + 32. / 3. * u**2 - 16 * u**3 + 9.6 * u**4 - 32. / 15. * u**5) / length
        else
            potential = (-2.8 + 16. / 3. * u**2 - 9.6 * u**4 + 6.4 * u**5) / length
        end if
    end function potential
end program tasks_test
