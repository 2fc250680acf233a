! SPDX-License-Identifier: BSD-3-Clause
! Module graft_near: arrays of every kind and stride, complex numbers, own boxes counted from 1, boxes made by the library, a
! plan's life and its ends.
program near_test
    use, intrinsic :: iso_c_binding, only: c_int32_t
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    use graft_near
    implicit none
    integer, parameter :: n = 4
    type(graft_t) :: g
    type(graft_near_t) :: near
    real(real64), target :: xyz(3, n), q(n), phi(n), grad(3, n), wide(2 * n)
    real(real32), target :: x4(n), y4(n), z4(n), q4(n), phi4(n)
    complex(real64), target :: cq(n), cphi(n)
    integer(int32), target :: first(3) = [1, 3, 5], list(4) = [1, 2, 1, 2]
    integer(int64), target :: list_first(3) = [1_int64, 3_int64, 5_int64]
    integer(int32) :: ierr
    character(len=200) :: message
    character(len=:), allocatable :: text
    integer :: failures = 0

    xyz = 0
    xyz(1, 2) = 3
    xyz(2, 3) = 4
    xyz(3, 4) = 12
    q = [1, 2, -1, 5]
    call g%open()

    call near%execute([graft_view(q)], potential=[graft_view(phi)], ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_CALL_ORDER, 'execute without a plan: '//message)

    call near%create(g, outputs=GRAFT_NEAR_POTENTIAL + GRAFT_NEAR_GRADIENT, precision=GRAFT_PRECISION_FP64, &
        x=graft_view(xyz), offset=graft_view(first), neighbour_offset=graft_view(list_first), neighbour=graft_view(list))
    call near%execute([graft_view(q)], potential=[graft_view(phi)], gradient=[graft_view(grad)])
    call expect(abs(phi(1) - (2 / 3.0_real64 - 0.25_real64 + 5 / 12.0_real64)) < 1e-14_real64, 'potential')
    call expect(abs(grad(2, 1) + 4 / 64.0_real64) < 1e-14_real64, 'gradient')

    wide = 7
    wide(1::2) = q
    call near%begin([graft_view(wide(1::2))], potential=[graft_view(wide(2::2))])
    call near%finish()
    call expect(all(abs(wide(2::2) - phi) < 1e-14_real64) .and. all(wide(1::2) == q), 'strides')
    call near%execute([graft_view(q)], potential=[graft_view(phi)], add=.true.)
    call expect(abs(phi(1) - 2 * wide(2)) < 1e-14_real64, 'add')
    call near%execute([graft_view_const(q)], potential=[graft_add(graft_view(phi))])
    call expect(abs(phi(1) - 3 * wide(2)) < 1e-14_real64, 'add to one')
    call near%execute([graft_view(q)], potential=[graft_view_const(phi)], ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_ARRAY .and. abs(phi(1) - 3 * wide(2)) < 1e-14_real64, 'a read-only sum: '//message)
    call g%set('near_field.expected_executes', 20) ! a living context takes this one: the plan goes on
    xyz(3, 4) = 6
    call near%update(x=graft_view(xyz))
    call near%execute([graft_view(q)], potential=[graft_view(phi)])
    call expect(abs(phi(1) - (2 / 3.0_real64 - 0.25_real64 + 5 / 6.0_real64)) < 1e-14_real64, 'update')

    list(2) = 3
    call near%create(g, x=graft_view(xyz), offset=graft_view(first), neighbour_offset=graft_view(list_first), &
        neighbour=graft_view(list), ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_VALUE .and. index(message, 'is 3; expected a source box, 1 to 2') > 0, message)

    call near%create(g, boxes=GRAFT_NEAR_BOXES_LEAVES, ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_ARGUMENT .and. index(message, 'x is absent') > 0, message)
    call near%create(g, dimension=2_c_int32_t, boxes=GRAFT_NEAR_BOXES_LEAVES, x=graft_view(xyz(1, n:1:-1)), &
        y=graft_view(xyz(2, :)), ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_ARRAY .and. index(message, 'before data; expected offsets >= 0') > 0, message)
    call near%create(g, boxes=GRAFT_NEAR_BOXES_LEAVES, x=graft_view(xyz(:, 1:0)))
    call near%execute([graft_view(q(1:0))], potential=[graft_view(phi(1:0))]) ! of nothing

    call near%create(g, kernel=GRAFT_NEAR_HELMHOLTZ, wave_number=2.0_real64, precision=GRAFT_PRECISION_FP64, &
        boxes=GRAFT_NEAR_BOXES_LEVEL, height=1_c_int32_t, x=graft_view(xyz(1, :)), y=graft_view(xyz(2, :)), &
        z=graft_view(xyz(3, :)))
    cq = (0, 0)
    cq(2) = (3.0_real64, 4.0_real64)
    call near%execute([graft_view(cq)], potential=[graft_view(cphi)])
    call expect(abs(cphi(1) - cq(2) * exp((0.0_real64, 6.0_real64)) / 3) < 1e-14_real64, 'helmholtz')

    call waves_in_two_dimensions()

    x4 = real(xyz(1, :), real32)
    y4 = real(xyz(2, :), real32)
    z4 = 0
    q4 = 1
    call near%create(g, dimension=2_c_int32_t, kernel=GRAFT_NEAR_LOGARITHM, precision=GRAFT_PRECISION_FP32, &
        boxes=GRAFT_NEAR_BOXES_GRID, cells=[2_c_int32_t, 2_c_int32_t], lower=[0.0_real64, 0.0_real64], &
        upper=[8.0_real64, 8.0_real64], x=graft_view(x4), y=graft_view(y4), source_x=graft_view(z4(1:1)), &
        source_y=graft_view(z4(1:1)))
    call near%execute([graft_view(q4(1:1))], potential=[graft_view(phi4)])
    call expect(abs(phi4(2) + log(3.0_real32)) < 1e-6_real32 .and. abs(phi4(3) + log(4.0_real32)) < 1e-6_real32, 'real32')
    call g%query_text(text, 'near.kernel')
    call expect(text == 'logarithm', 'query: '//text)

    call g%set('precision', 'fp64') ! the context is made anew: its plans are gone
    call near%execute([graft_view(q4(1:1))], potential=[graft_view(phi4)], ierr=ierr, errmsg=message)
    call expect(ierr == GRAFT_ERROR_CALL_ORDER, 'after a changed option: '//message)
    call near%destroy()
    call near%destroy()
    call g%close()
    if (failures > 0) error stop 'near_test failed'

contains

    ! H0(kr) = J0(kr) + i Y0(kr) is no kernel of its own: two tables, two plans, complex charges as two components.
    subroutine waves_in_two_dimensions()
        integer, parameter :: knots = 2001
        real(real64), parameter :: k = 2, from = 2, step = 0.0025_real64
        real(real64), target :: table(2, knots)
        complex(real64), target :: part(n, 2)
        complex(real64) :: expected
        real(real64) :: kr(knots)
        integer :: i
        kr = [(k * (from + (i - 1) * step), i=1, knots)]
        cq = [(1.0_real64, 0.0_real64), (3.0_real64, 4.0_real64), (-1.0_real64, 2.0_real64), (5.0_real64, 0.0_real64)]
        do i = 1, 2
            table(1, :) = merge(bessel_j0(kr), bessel_y0(kr), i == 1)
            table(2, :) = -k * merge(bessel_j1(kr), bessel_y1(kr), i == 1)
            call near%create(g, dimension=2_c_int32_t, kernel=GRAFT_NEAR_TABLE, components=2_c_int32_t, &
                precision=GRAFT_PRECISION_FP64, table_begin=from, table_step=step, table=graft_view(table), &
                boxes=GRAFT_NEAR_BOXES_LEVEL, height=1_c_int32_t, x=graft_view(xyz(1, :)), y=graft_view(xyz(2, :)))
            call near%execute([graft_view(cq)], potential=[graft_view(part(:, i))])
        end do
        ! Points 1 and 4 are at one place of the plane: nothing.
        expected = cq(2) * cmplx(bessel_j0(3 * k), bessel_y0(3 * k), real64) &
            + cq(3) * cmplx(bessel_j0(4 * k), bessel_y0(4 * k), real64)
        call expect(abs(part(1, 1) + (0, 1) * part(1, 2) - expected) < 1e-11_real64, 'H0(kr)')
    end subroutine waves_in_two_dimensions

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what
        if (good) return
        failures = failures + 1
        print '(2a)', 'not as expected: ', trim(what)
    end subroutine expect
end program near_test
