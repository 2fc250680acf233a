! SPDX-License-Identifier: BSD-3-Clause
! Three bodies on a line through the installed modules; exit status 1 when the forces differ from those on paper.
program consumer
    use graft
    use graft_sections
    implicit none
    integer, parameter :: n = 3
    double precision, target :: x(n) = [0d0, 1d0, 3d0], y(n) = 0, z(n) = 0, m(n) = [1d0, 2d0, 4d0], a(3, n)
    double precision, parameter :: expected(n) = [2 + 4d0 / 9, 0d0, -11d0 / 18]
    double precision :: ax(n), ay(n), az(n)
    type(graft_t) :: gravity
    integer :: ierr
    character(len=500) :: errmsg
    call gravity%open(ierr=ierr, errmsg=errmsg)
    if (ierr /= 0) then
        print '(a)', trim(errmsg)
        error stop 1
    end if
    call gravity%compute(n, x, y, z, m, ax, ay, az)
    call graft_compute_sections(gravity, x=graft_section(x), y=graft_section(y), z=graft_section(z), &
        m=graft_section(m), acceleration=graft_section(a))
    print '(3f12.7)', ax, a(1, :)
    if (any(abs(ax - expected) > 1d-5) .or. any(abs(a(1, :) - expected) > 1d-5)) error stop 'wrong forces'
end program consumer
