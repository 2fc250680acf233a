! SPDX-License-Identifier: BSD-3-Clause
! A Phantom in small, 2: density and pressure forces of an adiabatic gas. Variable h with its correction terms, artificial
! viscosity for shocks, M4 cubic spline. Price 2012 (JCP 231, 759): eqs. 10, 27-35; the sums are symmetric, so that momentum and
! energy are conserved by construction.
module sph
    use part, only: xyzh, vxyzu, massoftype, igas, isdead_or_accreted
    implicit none
    private
    public :: densityiterate, force
    real, parameter :: pi = 3.14159265358979324, hfact = 1.2, gamma = 5. / 3., alpha = 1., beta = 2.
    integer, allocatable :: first(:), neighbour(:)
    real, allocatable :: rho(:), omega(:), pressure(:), sound(:)

contains

    ! W and dW/dr of the M4 spline with support 2h.
    pure subroutine kernel(r, h, w, dw)
        real, intent(in) :: r, h
        real, intent(out) :: w, dw
        real :: q
        q = r / h
        if (q < 1) then
            w = 1 - 1.5 * q**2 + 0.75 * q**3
            dw = -3 * q + 2.25 * q**2
        else if (q < 2) then
            w = 0.25 * (2 - q)**3
            dw = -0.75 * (2 - q)**2
        else
            w = 0
            dw = 0
        end if
        w = w / (pi * h**3)
        dw = dw / (pi * h**4)
    end subroutine kernel

    ! Pairs closer than 1.3 times the larger support, i itself included.
    subroutine find_neighbours(n)
        integer, intent(in) :: n
        integer :: i, j, at
        real :: reach
        if (.not. allocated(first)) allocate (first(n + 1), neighbour(400 * n), rho(n), omega(n), pressure(n), sound(n))
        at = 1
        do i = 1, n
            first(i) = at
            if (isdead_or_accreted(xyzh(4, i))) cycle
            do j = 1, n
                reach = 2.6 * max(xyzh(4, i), xyzh(4, j))
                if (sum((xyzh(1:3, i) - xyzh(1:3, j))**2) > reach**2 .or. isdead_or_accreted(xyzh(4, j))) cycle
                if (at > size(neighbour)) error stop 'the mini host has too many neighbours'
                neighbour(at) = j
                at = at + 1
            end do
        end do
        first(n + 1) = at
    end subroutine find_neighbours

    ! h = hfact (m / rho)^(1/3) by Newton's method within the neighbours found; they are found again when h has left them.
    subroutine densityiterate(n)
        integer, intent(in) :: n
        logical :: again
        integer :: i
        real :: h
        again = .true.
        do while (again)
            call find_neighbours(n)
            again = .false.
            do i = 1, n
                if (isdead_or_accreted(xyzh(4, i))) cycle
                h = xyzh(4, i)
                call solve_density(i, h)
                if (h > 1.25 * xyzh(4, i)) again = .true.
                xyzh(4, i) = min(h, 1.25 * xyzh(4, i))
            end do
        end do
        where (xyzh(4, 1:n) > 0) pressure = (gamma - 1) * rho * vxyzu(4, 1:n)
        where (xyzh(4, 1:n) > 0) sound = sqrt(gamma * pressure / rho)
    end subroutine densityiterate

    subroutine solve_density(i, h)
        integer, intent(in) :: i
        real, intent(inout) :: h
        real :: r, w, dw, slope, change, m
        integer :: k, step
        m = massoftype(igas)
        do step = 1, 30
            rho(i) = 0
            slope = 0 ! d rho / dh at fixed positions
            do k = first(i), first(i + 1) - 1
                r = norm2(xyzh(1:3, i) - xyzh(1:3, neighbour(k)))
                call kernel(r, h, w, dw)
                rho(i) = rho(i) + m * w
                slope = slope - m * (3 * w + r * dw) / h
            end do
            omega(i) = 1 + h * slope / (3 * rho(i))
            change = (m * (hfact / h)**3 - rho(i)) / (3 * m * hfact**3 / h**4 + slope)
            h = h + min(max(change, -0.2 * h), 0.2 * h)
            if (abs(change) < 1e-10 * h) exit
        end do
    end subroutine solve_density

    ! Accelerations and heating of the gas, and the time steps that it allows.
    subroutine force(n, fxyzu)
        use timestep, only: C_cour, C_force, dtcourant, dtforce
        integer, intent(in) :: n
        real, intent(inout) :: fxyzu(:, :)
        integer :: i
        dtcourant = huge(dtcourant)
        dtforce = huge(dtforce)
        do i = 1, n
            fxyzu(:, i) = 0
            if (isdead_or_accreted(xyzh(4, i))) cycle
            call force_on(i, fxyzu(:, i), dtcourant)
            if (any(fxyzu(1:3, i) /= 0)) dtforce = min(dtforce, C_force * sqrt(xyzh(4, i) / norm2(fxyzu(1:3, i))))
        end do
        dtcourant = C_cour * dtcourant
    end subroutine force

    subroutine force_on(i, f, dt)
        integer, intent(in) :: i
        real, intent(inout) :: f(4), dt
        real :: d(3), r, m, w, dwi, dwj, approach, qi, qj
        integer :: j, k
        m = massoftype(igas)
        do k = first(i), first(i + 1) - 1
            j = neighbour(k)
            if (j == i) cycle
            d = xyzh(1:3, i) - xyzh(1:3, j)
            r = norm2(d)
            call kernel(r, xyzh(4, i), w, dwi)
            call kernel(r, xyzh(4, j), w, dwj)
            dwi = dwi / (omega(i) * rho(i)**2)
            dwj = dwj / (omega(j) * rho(j)**2)
            approach = min(dot_product(vxyzu(1:3, i) - vxyzu(1:3, j), d) / r, 0.)
            qi = -0.5 * rho(i) * (alpha * sound(i) - beta * approach) * approach
            qj = -0.5 * rho(j) * (alpha * sound(j) - beta * approach) * approach
            f(1:3) = f(1:3) - m * ((pressure(i) + qi) * dwi + (pressure(j) + qj) * dwj) * d / r
            f(4) = f(4) + m * pressure(i) * dwi * dot_product(vxyzu(1:3, i) - vxyzu(1:3, j), d) / r &
                + 0.5 * m * (qi * dwi + qj * dwj) * approach
            dt = min(dt, xyzh(4, i) / (sound(i) - beta * approach))
        end do
    end subroutine force_on
end module sph
