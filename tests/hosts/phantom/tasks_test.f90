! SPDX-License-Identifier: BSD-3-Clause
! Phantom in small with MPI: every task has particles of its own, one of them dead; forces, potential energy and the time step are
! those of all tasks' particles, by direct sum.
program tasks_test
    use mpi
    use part
    use mpiutils, only: reduceall_mpi
    use timestep, only: C_force, dtforce
    use graft_phantom, only: graft_add_selfgravity, graft_potential_energy, graft_forget
    implicit none
    integer, parameter :: n_all = 2400
    real :: all(3, n_all), d(3), a(3), r2, local(4), total(4), dt
    real, parameter :: length = 0.1 ! support of the softening, beyond the nearest neighbours
    integer :: task, tasks, i, j, error

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, task, error)
    call MPI_Comm_size(MPI_COMM_WORLD, tasks, error)
    do i = 1, n_all
        all(:, i) = modulo(i * [0.8191725133961645, 0.6710436067037893, 0.5497004779019703], 1.)
        if (mod(i, tasks) /= task) cycle
        npart = npart + 1
        xyzh(:, npart) = [all(:, i), 0.5 * length]
    end do
    npart = npart + 1
    xyzh(:, npart) = [0.5, 0.5, 0.5, -1.] ! accreted
    massoftype(igas) = 1. / n_all
    dtforce = 1e30
    call graft_add_selfgravity(npart, xyzh, fxyzu)

    local = 0 ! error and size of the forces squared, energies of Graft and of the sum
    dt = 1e30
    do i = 1, npart - 1
        a = 0
        do j = 1, n_all
            d = all(:, j) - xyzh(1:3, i)
            r2 = sum(d**2)
            if (r2 == 0) cycle
            a = a + massoftype(igas) * d * pull(sqrt(r2))
            local(4) = local(4) + 0.5 * massoftype(igas)**2 * potential(sqrt(r2))
        end do
        local(1:2) = local(1:2) + [sum((fxyzu(1:3, i) - a)**2), sum(a**2)]
        local(3) = local(3) + graft_potential_energy(i)
        dt = min(dt, C_force * sqrt(xyzh(4, i) / norm2(a)))
    end do
    call MPI_Allreduce(local, total, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    dt = reduceall_mpi('min', dt)
    if (task == 0) print '(i0,a,es9.2,a,2f9.5,a,f7.4)', tasks, ' tasks: force error ', sqrt(total(1) / total(2)), &
        ', potential energy and that of the sum ', total(3:4), ', dtforce over that of the sum ', dtforce / dt
    if (sqrt(total(1) / total(2)) > 5e-4 .or. abs(dtforce / dt - 1) > 1e-3) error stop 'forces or time step are wrong'
    if (abs(total(3) / total(4) - 1) > 1e-4 .or. any(fxyzu(:, npart) /= 0)) error stop 'energies are wrong, or the dead moved'
    call graft_forget()
    call MPI_Finalize(error)

contains

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
