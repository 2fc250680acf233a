! SPDX-License-Identifier: BSD-3-Clause
! Module graft_sections: sections of derived types and strided sections give what module graft gives on plain
! copies, and are not copied (the results arrive in the section). Fortran 2018.
program sections_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft_c, only: graft_array, GRAFT_ARRAY_READ_ONLY, GRAFT_F32, GRAFT_F64, GRAFT_I32, GRAFT_I64
    use graft
    use graft_sections
    implicit none
    type :: particle_t ! an odd mix, as hosts have it
        real(real64) :: x, y, z
        integer(int32) :: id
        real(real32) :: m
        real(real64) :: vx, vy, vz, ax, ay, az
        logical(int32) :: alive
    end type particle_t
    integer, parameter :: n = 50
    integer :: failed = 0, i, ierr
    type(particle_t), target :: p(n)
    type(graft_t) :: gravity
    real(real64), target :: place(3, 1) = 0, ax(n), ay(n), az(n), xyz(3, n), a(3, n), by_axis(n, 3), &
        a_axis(n, 3), wide(2 * n, 2), phi(n)
    real(real64) :: energy, energy_plain
    character(len=300) :: errmsg

    do i = 1, n
        p(i)%x = sin(1.7d0 * i)
        p(i)%y = cos(2.3d0 * i)
        p(i)%z = sin(0.9d0 * i + 1)
        p(i)%m = real(mod(i, 3) + 1)
        p(i)%id = i
        p(i)%vx = 11
        p(i)%alive = .true.
    end do
    xyz(1, :) = p%x; xyz(2, :) = p%y; xyz(3, :) = p%z
    by_axis = transpose(xyz)
    place(1, 1) = 4
    call gravity%open()
    call gravity%set('method', 'direct')
    call gravity%set('precision', 'fp64')
    call gravity%compute(n, xyz, 3, real(p%m, real64), a, 3, energy=energy_plain)

    call graft_compute_sections(gravity, x=graft_section(p%x), y=graft_section(p%y), &
        z=graft_section(p%z), m=graft_section(p%m), ax=graft_section(p%ax), ay=graft_section(p%ay), &
        az=graft_section(p%az), energy=energy)
    call expect('components of an array of derived type', same(p%ax, a(1, :)) .and. same(p%az, a(3, :)))
    call expect('energy', abs(energy - energy_plain) <= 1d-12 * abs(energy_plain))
    call expect('the rest of the type is as before', all(p%id == [(i, i=1, &
        n)]) .and. all(p%vx == 11) .and. all(p%alive))

    wide = -7
    call graft_compute_sections(gravity, position=graft_section(xyz), m=graft_section(p%m), &
        ax=graft_section(wide(1::2, 1)), ay=graft_section(wide(2::2, 1)), az=graft_section(wide(1::2, 2)), &
        potential=graft_section(phi))
    call expect('every second element', same(wide(1::2, 1), a(1, :)) .and. same(wide(2::2, 1), a(2, :)))
    call expect('nothing between', all(wide(2::2, 2) == -7))

    call graft_compute_sections(gravity, position=graft_section_by_axis(by_axis), m=graft_section(p%m), &
        acceleration=graft_section_by_axis(a_axis))
    call expect('(n, 3)', same(a_axis(:, 2), a(2, :)))

    ! The first 3 components of every second particle of a (3, n).
    call gravity%compute(n / 2, xyz(:, 1::2), 3, mass_all=1d0, acceleration=a, ld_out=3)
    call graft_compute_sections(gravity, position=graft_section(xyz(:, 1::2)), &
        ax=graft_section(ax(1:n / 2)), ay=graft_section(ay(1:n / 2)), az=graft_section(az(1:n / 2)))
    call expect('every second particle', same(ax(1:n / 2), a(1, 1:n / 2)))

    call gravity%field_at(n, xyz, 3, real(p%m, real64), 1, place, 3, a, 3)
    call graft_field_at_sections(gravity, position=graft_section(xyz), m=graft_section(p%m), &
        points=graft_section(place), &
        acceleration=graft_section(wide(1:3, 1:1)))
    call expect('field at points', same(wide(1:3, 1), a(:, 1)))

    call graft_compute_sections(gravity, position=graft_section(xyz), m=graft_section(p%m), &
        acceleration=graft_section_const(a), potential=graft_section(phi), ierr=ierr, errmsg=errmsg)
    call expect('a read-only result', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, 'acceleration') > 0)
    wide(1:n, 1) = 1
    call graft_compute_sections(gravity, position=graft_section(xyz), m=graft_section(p%m), &
        ax=graft_add(graft_section(wide(1:n, 1))), ay=graft_section(ay), az=graft_section(az))
    call graft_compute_sections(gravity, position=graft_section(xyz), m=graft_section(p%m), &
        ax=graft_section(ax), ay=graft_section(ay), az=graft_section(az))
    call expect('one result added to', same(wide(1:n, 1), ax + 1))

    call graft_compute_sections(gravity, x=graft_section(p(n:1:-1)%x), y=graft_section(p%y), &
        z=graft_section(p%z), ax=graft_section(ax), ay=graft_section(ay), az=graft_section(az), &
        ierr=ierr, errmsg=errmsg)
    call expect('reversed', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, 'array x') > 0)
    call graft_compute_sections(gravity, x=graft_section(p%x), y=graft_section(p%y), &
        z=graft_section(p%z), ax=graft_section(p%alive), ay=graft_section(ay), az=graft_section(az), &
        ierr=ierr, errmsg=errmsg)
    call expect('a logical array', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, 'array ax') > 0)
    call descriptions()
    call gravity%close()
    if (failed > 0) error stop 'sections_test failed'
    print '(a)', 'sections_test: passed'

contains

    subroutine expect(what, condition)
        character(len=*), intent(in) :: what
        logical, intent(in) :: condition
        if (condition) return
        failed = failed + 1
        print '(2a)', 'FAILED: ', what
    end subroutine expect

    logical function same(left, right)
        real(real64), intent(in) :: left(:), right(:)
        same = size(left) == size(right) .and. maxval(abs(left - right)) <= 1d-12 * maxval(abs(right))
    end function same

    ! Addresses and strides, not only results: a hidden copy would have another address.
    subroutine descriptions()
        type(particle_t), target :: q(9)
        real(real32), target :: r(10)
        integer(int64) :: long(4)
        type(graft_array) :: array
        array = graft_section(q%y)
        call expect('address of q%y', c_associated(array%data, c_loc(q(1)%y)))
        call expect('stride of q%y', array%item_stride == storage_size(q) / 8 .and. array%n == 9)
        call expect('type of q%y', array%dtype == GRAFT_F64)
        array = graft_section(r(2:10:4))
        call expect('r(2:10:4)', c_associated(array%data, &
        c_loc(r(2))) .and. array%item_stride == 16 .and. array%n == 3)
        call expect('real32', array%dtype == GRAFT_F32 .and. array%bytes == 36)
        array = graft_section(long)
        call expect('int64', array%dtype == GRAFT_I64)
        array = graft_section(q%id)
        call expect('int32', array%dtype == GRAFT_I32 .and. array%flags == 0)
        array = graft_section_const(q%id)
        call expect('read-only', array%flags == GRAFT_ARRAY_READ_ONLY .and. c_associated(array%data, c_loc(q(1)%id)))
        array = graft_section_const(['text'])
        call expect('characters are refused', .not. c_associated(array%data))
    end subroutine descriptions
end program sections_test
