! SPDX-License-Identifier: BSD-3-Clause
! A Phantom in small, 3: derivs, energies and evolution in Phantom's order, with the two calls that phantom.patch adds, or a
! direct sum in their place, and Phantom's own check of the energy. Runs Evrard's collapse (Evrard 1988): a cold gas sphere, rho ~
! 1/r.
module run
    use part
    use sph, only: densityiterate, force
    use graft_phantom, only: graft_add_selfgravity, graft_potential_energy, graft_seconds, graft_forget
    use timestep, only: C_force, dtcourant, dtforce
    implicit none
    logical :: summed = .false.  ! gravity by direct sum, not by Graft
    real :: fixed_length = 0     ! support of the softening of all particles; 0: 2h of each
    real :: own_energy = 0, largest_drift, calls_s = 0, inside_s = 0 ! of Graft

contains

    ! Points of a cubic grid in the unit sphere, drawn in so that rho ~ 1/r; G = M = R = 1, u = 0.05.
    subroutine evrard(cells)
        integer, intent(in) :: cells
        integer :: i, j, k
        real :: p(3), r
        npart = 0
        do i = 1, 2 * cells
            do j = 1, 2 * cells
                do k = 1, 2 * cells
                    p = ([i, j, k] - 0.5) / cells - 1
                    r = norm2(p)
                    if (r >= 1) cycle
                    npart = npart + 1
                    xyzh(1:3, npart) = p * sqrt(r)
                    xyzh(4, npart) = r**1.5
                end do
            end do
        end do
        massoftype(igas) = 1. / npart
        xyzh(4, 1:npart) = 1.2 * (massoftype(igas) * 2 * 3.14159265 * xyzh(4, 1:npart))**(1. / 3.)
        vxyzu = 0
        vxyzu(4, 1:npart) = 0.05
        iphase = int(igas, kind=1)
        call bury_three()
        call graft_forget()
    end subroutine evrard

    ! Particles that are dead (h = 0) or accreted (h < 0): they stay in the arrays, and must not count.
    subroutine bury_three()
        xyzh(:, npart + 1) = [0.1, 0.1, 0.1, 0.]
        xyzh(:, npart + 2) = [100., 0., 0., -0.5]
        xyzh(:, npart + 3) = [0., 0.2, 0., 0.]
        vxyzu(:, npart + 1:npart + 3) = 0
        npart = npart + 3
    end subroutine bury_three

    subroutine derivs(dtnew)
        real, intent(out) :: dtnew
        integer(kind=8) :: before, after, rate
        call densityiterate(npart)
        call force(npart, fxyzu)
        if (summed) then
            call add_direct_sum()
        else
            call system_clock(before, rate)
            call graft_add_selfgravity(npart, xyzh, fxyzu)
            call system_clock(after)
            calls_s = calls_s + real(after - before) / rate
            inside_s = inside_s + graft_seconds()
        end if
        dtnew = min(dtforce, dtcourant)
    end subroutine derivs

    ! Force and potential of a softened pair over its masses: of the cubic spline with support h (Springel 2005, eq. 4 and
    ! appendix, which is Price & Monaghan 2007, appendix A, with h = 2 h of theirs), integrated here from the density kernel.
    pure subroutine softened(r, h, pull, phi)
        real, intent(in) :: r, h
        real, intent(out) :: pull, phi
        real :: q, m
        q = 2 * r / h
        if (q >= 2) then
            pull = 1 / r**3
            phi = -1 / r
        else if (q >= 1) then ! mass within q of the kernel, in closed form
            m = 8. / 3. * q**3 - 3 * q**4 + 6. / 5. * q**5 - q**6 / 6 - 1. / 15.
            pull = m / r**3
            phi = -2 / h * (-4. / 3. * q**2 + q**3 - 3. / 10. * q**4 + q**5 / 30 + 8. / 5. - 1 / (15 * q))
        else
            pull = (4. / 3. - 6. / 5. * q**2 + 0.5 * q**3) * 8 / h**3
            phi = -2 / h * (-2. / 3. * q**2 + 3. / 10. * q**4 - q**5 / 10 + 7. / 5.)
        end if
    end subroutine softened

    subroutine add_direct_sum()
        integer :: i, j
        real :: d(3), r, pull, phi, m
        m = massoftype(igas)
        own_energy = 0
        do i = 1, npart
            if (isdead_or_accreted(xyzh(4, i))) cycle
            do j = 1, npart
                if (isdead_or_accreted(xyzh(4, j)) .or. j == i) cycle
                d = xyzh(1:3, j) - xyzh(1:3, i)
                r = norm2(d)
                call softened(r, merge(fixed_length, 2 * max(xyzh(4, i), xyzh(4, j)), fixed_length > 0), pull, phi)
                fxyzu(1:3, i) = fxyzu(1:3, i) + m * pull * d
                own_energy = own_energy + 0.5 * m**2 * phi
            end do
            dtforce = min(dtforce, C_force * sqrt(xyzh(4, i) / norm2(fxyzu(1:3, i))))
        end do
    end subroutine add_direct_sum

    ! Kinetic, thermal and potential energy, as compute_energies adds them up.
    subroutine compute_energies(ekin, etherm, epot)
        real, intent(out) :: ekin, etherm, epot
        integer :: i
        ekin = 0
        etherm = 0
        epot = 0
        do i = 1, npart
            if (isdead_or_accreted(xyzh(4, i))) cycle
            ekin = ekin + 0.5 * massoftype(igas) * sum(vxyzu(1:3, i)**2)
            etherm = etherm + massoftype(igas) * vxyzu(4, i)
            if (.not. summed) epot = epot + graft_potential_energy(i)
        end do
        if (summed) epot = own_energy
    end subroutine compute_energies

    ! Velocity Verlet with predicted velocities and energies; stops as Phantom does when a tenth of the energy is lost.
    subroutine evolve(tmax, energies)
        real, intent(in) :: tmax
        real, intent(out) :: energies(3)
        real :: t, dt, start, f(4, npart), v(4, npart)
        integer :: n
        n = npart
        call derivs(dt)
        call compute_energies(energies(1), energies(2), energies(3))
        start = sum(energies)
        largest_drift = 0
        t = 0
        do while (t < tmax * (1 - 1e-12))
            dt = min(dt, tmax - t)
            f = fxyzu(:, 1:n)
            v = vxyzu(:, 1:n) + 0.5 * dt * f
            xyzh(1:3, 1:n) = xyzh(1:3, 1:n) + dt * v(1:3, :)
            vxyzu(:, 1:n) = v + 0.5 * dt * f
            t = t + dt
            f(1, 1) = dt
            call derivs(dt)
            vxyzu(:, 1:n) = v + 0.5 * f(1, 1) * fxyzu(:, 1:n)
            call compute_energies(energies(1), energies(2), energies(3))
            largest_drift = max(largest_drift, abs(sum(energies) / start - 1))
            if (largest_drift > 0.1) error stop 'Conservation errors too large to continue simulation'
        end do
    end subroutine evolve
end module run
