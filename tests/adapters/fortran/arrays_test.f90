! SPDX-License-Identifier: BSD-3-Clause
! Arrays described by their address: host memory here (a GPU's is examples/19_device.f90), in one call and in two halves.
program arrays_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    implicit none
    integer, parameter :: n = 40
    integer :: failed = 0, i, ierr
    type(graft_t) :: gravity
    real(real64), target :: xyz(4, n), m(n), a(3, n), b(3, n), ax(n), ay(n), az(n), energy(1)
    real(real64) :: energy_plain
    real(real32), target :: x4(n), y4(n), z4(n)
    character(len=300) :: errmsg
    logical :: done
    type(c_ptr) :: event

    do i = 1, n
        xyz(:, i) = [sin(1.7_real64 * i), cos(2.3_real64 * i), sin(0.9_real64 * i + 1), 77.0_real64]
        m(i) = mod(i, 3) + 1
    end do
    x4 = real(xyz(1, :), real32); y4 = real(xyz(2, :), real32); z4 = real(xyz(3, :), real32)
    call gravity%open()
    call gravity%set('backend', 'cpu')
    call gravity%set('method', 'direct')
    call gravity%set('precision', 'fp64')
    call gravity%compute(n, xyz, 4, m, a, 3, energy=energy_plain)

    call gravity%compute_arrays(position=host(c_loc(xyz), n, 3, 4), m=host(c_loc(m), n, 1, 1), &
        acceleration=host(c_loc(b), n, 3, 3), energy=host(c_loc(energy), 1, 1, 1))
    call expect('compute_arrays gives what compute gives', all(a == b) .and. energy(1) == energy_plain)
    call expect('nothing else is touched', all(xyz(4, :) == 77))
    call gravity%set_stream(c_null_ptr, ierr)
    call expect('a stream can be set', ierr == 0)
    b = -1
    call gravity%compute_begin(position=host(c_loc(xyz), n, 3, 4), m=host(c_loc(m), n, 1, 1), &
        acceleration=host(c_loc(b), n, 3, 3), no_repair=.true.)
    done = .false.
    call gravity%compute_poll(done)
    event = c_loc(xyz)
    call gravity%compute_event(event)
    call expect('a CPU has done the work, and has no event', done .and. .not. c_associated(event))
    call gravity%set('mac.theta', 0.5, ierr, errmsg)
    call expect('no option is set meanwhile', ierr == GRAFT_ERROR_CALL_ORDER .and. index(errmsg, 'compute_end') > 0)
    call gravity%compute_begin(position=host(c_loc(xyz), n, 3, 4), acceleration=host(c_loc(b), n, 3, 3), ierr=ierr, &
        errmsg=errmsg)
    call expect('one computation in flight', ierr == GRAFT_ERROR_CALL_ORDER .and. index(errmsg, 'compute_end') > 0)
    call gravity%compute_end(ierr, errmsg)
    call expect('two halves give what one call gives', ierr == 0 .and. all(a == b))
    call gravity%compute_poll(done, ierr, errmsg)
    call expect('nothing to ask for', ierr == GRAFT_ERROR_CALL_ORDER)
    b = 1
    ax = 1
    call gravity%compute_arrays(position=host(c_loc(xyz), n, 3, 4), m=host(c_loc(m), n, 1, 1), &
        acceleration=graft_add(host(c_loc(b), n, 3, 3)), potential=host(c_loc(ax), n, 1, 1))
    call expect('one result added to', maxval(abs(b - a - 1)) < 1e-13 .and. all(ax < 0))
    ay = ax
    call gravity%compute_arrays(position=host(c_loc(xyz), n, 3, 4), m=host(c_loc(m), n, 1, 1), &
        acceleration=host(c_loc(b), n, 3, 3), potential=host(c_loc(ax), n, 1, 1), add=.true.)
    call expect('all added to', maxval(abs(b - 2 * a - 1)) < 1e-13 .and. all(ax == 2 * ay))
    call gravity%compute_end(ierr, errmsg)
    call expect('an end without a beginning', ierr == GRAFT_ERROR_CALL_ORDER .and. index(errmsg, 'compute_begin') > 0)

    call gravity%compute_arrays(x=graft_device_array(c_loc(x4), n, GRAFT_F32, memory=GRAFT_MEMORY_AUTO), &
        y=graft_device_array(c_loc(y4), n, GRAFT_F32, memory=GRAFT_MEMORY_AUTO), &
        z=graft_device_array(c_loc(z4), n, GRAFT_F32, memory=GRAFT_MEMORY_AUTO), m=host(c_loc(m), n, 1, 1), &
        ax=host(c_loc(ax), n, 1, 1), ay=host(c_loc(ay), n, 1, 1), az=host(c_loc(az), n, 1, 1))
    call expect('arrays of several kinds', maxval(abs(ax - a(1, :))) < 1e-3 * maxval(abs(a)))
    call gravity%compute_arrays(position=graft_device_array(c_loc(xyz), int(n, int64), GRAFT_F64, 3_int64, 4_int64), &
        acceleration=host(c_loc(b), n, 3, 3), ierr=ierr, errmsg=errmsg)
    call expect('the CPU takes no device array', ierr == GRAFT_ERROR_UNSUPPORTED .and. &
        index(errmsg, 'particles.position[0]') > 0)
    call gravity%compute_arrays(x=graft_device_array(c_loc(xyz), n, 99_c_int32_t), ierr=ierr, errmsg=errmsg)
    call expect('no such type', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, 'dtype is 99') > 0)
    call gravity%close()
    call gravity%compute_end(ierr, errmsg)
    call expect('not open', ierr == GRAFT_ERROR_CALL_ORDER)
    if (failed > 0) error stop 'arrays_test failed'

contains

    function host(address, n, components, stride) result(array)
        type(c_ptr), intent(in) :: address
        integer, intent(in) :: n, components, stride
        type(graft_array) :: array
        array = graft_device_array(address, n, GRAFT_F64, components, stride, memory=GRAFT_MEMORY_HOST)
    end function host

    subroutine expect(what, holds)
        character(len=*), intent(in) :: what
        logical, intent(in) :: holds
        if (holds) return
        print '(a)', 'wrong: '//what//'; ierr'
        print *, ierr, trim(errmsg)
        failed = failed + 1
    end subroutine expect
end program arrays_test
