! SPDX-License-Identifier: BSD-3-Clause
! Block time steps: most particles move with a long step, the few that need it with a fourth of it, and forces are
! computed only at the active ones. A tight binary among field stars: its energy must hold.
program block_steps
    use, intrinsic :: iso_fortran_env, only: real64
    use graft
    implicit none
    integer, parameter :: n = 502, substeps = 4, steps = 250
    real(real64), parameter :: long_step = 4e-4_real64
    real(real64) :: x(3, n), v(3, n), a(3, n), m(n), dt(n), energy(2), evaluated
    integer :: active(n), step, sub, i
    type(graft_t) :: gravity

    call make_stars()
    call gravity%open()
    call gravity%set('precision', 'fp64')
    call gravity%set('mac.theta', 0.3)
    evaluated = n
    call gravity%compute(n, x, 3, m, a, 3)
    energy(1) = binary_energy()
    dt = long_step
    dt(1:2) = long_step / substeps
    do step = 1, steps
        do sub = 1, substeps
            active = merge(1, 0, dt < long_step .or. sub == 1)
            do i = 1, n
                if (active(i) == 1) v(:, i) = v(:, i) + 0.5_real64 * dt(i) * a(:, i) ! opening kicks
            end do
            x = x + long_step / substeps * v ! everyone drifts
            active = merge(1, 0, dt < long_step .or. sub == substeps)
            call gravity%compute(n, x, 3, m, a, 3, active=active) ! only the active ones get a new a
            evaluated = evaluated + sum(active)
            do i = 1, n
                if (active(i) == 1) v(:, i) = v(:, i) + 0.5_real64 * dt(i) * a(:, i) ! closing kicks
            end do
        end do
    end do
    energy(2) = binary_energy()
    call gravity%close()
    print '(a,es10.2,a,f6.1,a)', 'binary energy changed by ', energy(2) / energy(1) - 1, '; ', &
        100 * evaluated / (real(n, real64) * steps * substeps), ' % of the forces of equal short steps'
    if (abs(energy(2) / energy(1) - 1) > 1e-3_real64) error stop 'the binary was not followed'

contains

    ! Particles 1 and 2: masses 1/2 at separation 0.02 on a circle; the others: light, in a cube of edge 2 around it.
    subroutine make_stars()
        integer :: k
        v = 0
        m = 1e-5_real64
        m(1:2) = 0.5_real64
        do k = 3, n
            x(:, k) = [sin(1.7_real64 * k), cos(2.3_real64 * k), sin(0.9_real64 * k + 1)]
            x(:, k) = x(:, k) + 0.3_real64 * sign([1.0_real64, 1.0_real64, 1.0_real64], x(:, k))
        end do
        x(:, 1) = [-0.01_real64, 0.0_real64, 0.0_real64]
        x(:, 2) = -x(:, 1)
        v(2, 1) = -0.5_real64 * sqrt(1 / 0.02_real64)
        v(2, 2) = -v(2, 1)
    end subroutine make_stars

    real(real64) function binary_energy()
        binary_energy = 0.5_real64 * sum(m(1:2) * sum(v(:, 1:2)**2, dim=1)) - m(1) * m(2) / norm2(x(:, 1) - x(:, 2))
    end function binary_energy
end program block_steps
