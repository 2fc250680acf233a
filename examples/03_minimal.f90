! SPDX-License-Identifier: BSD-3-Clause
! The smallest Fortran host: open from a deck, compute, close. Accelerations in a homogeneous ball grow with the radius.
program minimal
    use graft
    implicit none
    integer, parameter :: n = 20000
    double precision :: x(n), y(n), z(n), m(n), ax(n), ay(n), az(n), r, inward
    character(len=200) :: deck = 'examples/decks/minimal.yaml'
    type(graft_t) :: gravity
    integer :: i, found

    if (command_argument_count() > 0) call get_command_argument(1, deck)
    found = 0
    do while (found < n)
        call random_number(r); x(found + 1) = 2 * r - 1
        call random_number(r); y(found + 1) = 2 * r - 1
        call random_number(r); z(found + 1) = 2 * r - 1
        if (x(found + 1)**2 + y(found + 1)**2 + z(found + 1)**2 <= 1) found = found + 1
    end do
    m = 1d0 / n

    call gravity%open(deck)
    call gravity%compute(n, x, y, z, m, ax, ay, az)
    call gravity%close()

    inward = 0
    do i = 1, n
        inward = inward - (ax(i) * x(i) + ay(i) * y(i) + az(i) * z(i)) / (x(i)**2 + y(i)**2 + z(i)**2) / n
    end do
    print '(a,f8.5,a)', 'acceleration / radius: ', inward, ', 1 in a ball of mass 1 and radius 1'
    if (abs(inward - 1) > 0.02) error stop 'that is wrong'
end program minimal
