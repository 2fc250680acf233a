! SPDX-License-Identifier: BSD-3-Clause
! Module graft against a direct sum written here. Compiled once per set of compiler flags (default kinds, 8-byte
! integers, 8-byte reals), so the declarations below use default kinds on purpose. Exit status 1 names what failed.
program module_test
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    implicit none
    integer, parameter :: n = 60
    integer :: failed = 0
    real :: x(n), y(n), z(n), m(n), ax(n), ay(n), az(n), phi(n)
    real(real64) :: fx(n), fy(n), fz(n), fphi(n)
    type(graft_t) :: gravity
    character(len=400) :: errmsg
    integer :: ierr

    call missing_library()
    call make_particles()
    call direct_sum()
    call gravity%open()
    call gravity%set('method', 'direct')
    call gravity%set('precision', 'fp64')
    call separate_arrays()
    call packed_arrays()
    call assumed_size(n, x, y, z, m, ax, ay, az)
    call both_real_kinds()
    call subsets()
    call added_energy_virial()
    call strided()
    call points()
    call options_keep_their_values()
    call figures_and_text()
    call failures_leave_the_host_alive()
    call copies_share()
    call final_procedure_closes()
    call gravity%close()
    if (failed > 0) error stop 'module_test failed'
    print '(a)', 'module_test: passed'

contains

    subroutine expect(what, condition)
        character(len=*), intent(in) :: what
        logical, intent(in) :: condition
        if (condition) return
        failed = failed + 1
        print '(2a)', 'FAILED: ', what
    end subroutine expect

    logical function close_to(a, b)
        real, intent(in) :: a(:)
        real(real64), intent(in) :: b(:)
        close_to = maxval(abs(real(a, real64) - b)) <= 1e-5_real64 * maxval(abs(b))
    end function close_to

    ! First of all, while nothing is loaded; then the right library must still be found.
    subroutine missing_library()
        type(graft_t) :: lost
        call graft_load('/no/such/libgraft.so', ierr, errmsg)
        call expect('a missing library', ierr == GRAFT_ERROR_LOAD_NOT_FOUND .and. index(errmsg, '/no/such') > 0)
        call lost%open(library='/no/such/libgraft.so', ierr=ierr, errmsg=errmsg)
        call expect('open of a missing library', ierr == GRAFT_ERROR_LOAD_NOT_FOUND .and. .not. lost%is_open())
    end subroutine missing_library

    subroutine make_particles()
        integer :: i
        do i = 1, n
            x(i) = real(sin(1.7d0 * i))
            y(i) = real(cos(2.3d0 * i) * 0.8d0)
            z(i) = real(sin(0.9d0 * i + 1.0d0) * 0.5d0)
            m(i) = real((1.0d0 + mod(i, 3)) / n)
        end do
    end subroutine make_particles

    subroutine direct_sum()
        integer :: i, j
        real(real64) :: d(3), r
        fx = 0; fy = 0; fz = 0; fphi = 0
        do i = 1, n
            do j = 1, n
                if (i == j) cycle
                d = [real(x(j), real64) - x(i), real(y(j), real64) - y(i), real(z(j), real64) - z(i)]
                r = sqrt(sum(d**2))
                fx(i) = fx(i) + m(j) * d(1) / r**3
                fy(i) = fy(i) + m(j) * d(2) / r**3
                fz(i) = fz(i) + m(j) * d(3) / r**3
                fphi(i) = fphi(i) - m(j) / r
            end do
        end do
    end subroutine direct_sum

    subroutine separate_arrays()
        real :: bx(n)
        call gravity%compute(n, x, y, z, m, ax, ay, az, phi)
        call expect('x, y, z: acceleration', close_to(ax, fx) .and. close_to(ay, fy) .and. close_to(az, fz))
        call expect('x, y, z: potential', close_to(phi, fphi))
        call gravity%compute(n, x, y, z, m, ax, ay, az, force=.true., ierr=ierr)
        call expect('force = mass * acceleration', ierr == 0 .and. close_to(ax, fx * m))
        call gravity%compute(n, x, y, z, 0 * m + 2, ax, ay, az)
        call gravity%compute(n, x, y, z, ax=bx, ay=ay, az=az, mass_all=2.0)
        call expect('one mass for all', all(abs(bx - ax) <= 0.0))
        call gravity%compute(n, x, y, z, ax=bx, ay=ay, az=az, mass_all=0.0, ierr=ierr, errmsg=errmsg)
        call expect('no mass for all', ierr == GRAFT_ERROR_ARGUMENT .and. index(errmsg, 'charge_all') > 0)
    end subroutine separate_arrays

    subroutine packed_arrays()
        real :: xyz(3, n), xyzh(4, n), acceleration(3, n), wide(5, n), bx(n)
        xyz(1, :) = x; xyz(2, :) = y; xyz(3, :) = z
        xyzh(1:3, :) = xyz; xyzh(4, :) = 0
        acceleration = -1
        call gravity%compute(n, xyz, 3, m, acceleration, 3)
        call expect('xyz(3,n)', close_to(acceleration(1, :), fx) .and. close_to(acceleration(3, :), fz))
        wide = 77
        call gravity%set('softening.kind', 'plummer')
        call gravity%compute(n, xyzh, 4, m, wide, 5, potential=phi, softening=xyzh(4, :))
        call gravity%set('softening.kind', 'none')
        call gravity%compute(n, x, y, z, m, ax, ay, az) ! a context that lives takes no length without a kind
        call gravity%set('softening.length', 0.1, ierr)
        call gravity%set('softening.kind', 'plummer')
        call gravity%compute(n, x, y, z, m, bx, ay, az)
        call expect('length, then kind', ierr == 0 .and. .not. close_to(bx, fx))
        call gravity%set('softening.length', 0.0)
        call gravity%set('softening.kind', 'none')
        call expect('xyzh(4,n)', close_to(wide(1, :), fx) .and. close_to(wide(2, :), fy) .and. close_to(phi, fphi))
        call expect('nothing beside the three components', all(wide(4:5, :) == 77))
        call gravity%compute(n, xyz, 2, m, acceleration, 3, ierr=ierr, errmsg=errmsg)
        call expect('leading dimension below 3', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, 'leading') > 0)
    end subroutine packed_arrays

    ! As a legacy code has them: no bounds, through the generic procedure.
    subroutine assumed_size(count, ux, uy, uz, um, gx, gy, gz)
        integer :: count
        real :: ux(*), uy(*), uz(*), um(*), gx(*), gy(*), gz(*)
        gx(1:count) = 0
        call graft_compute(gravity, count, ux, uy, uz, um, gx, gy, gz)
        call expect('assumed-size arrays', close_to(gx(1:count), fx) .and. close_to(gz(1:count), fz))
    end subroutine assumed_size

    subroutine both_real_kinds()
        real(real32) :: a32(n), b32(n), c32(n), p32(3, n), q32(3, n)
        real(real64) :: a64(n), b64(n), c64(n), p64(3, n), q64(3, n)
        call gravity%compute(n, real(x, real32), real(y, real32), real(z, real32), real(m, real32), a32, b32, c32)
        call gravity%compute(n, real(x, real64), real(y, real64), real(z, real64), real(m, real64), a64, b64, c64)
        call expect('real32', maxval(abs(a32 - fx)) <= 1e-5 * maxval(abs(fx)))
        call expect('real64', maxval(abs(a64 - fx)) <= 1e-5 * maxval(abs(fx)))
        p64(1, :) = x; p64(2, :) = y; p64(3, :) = z
        p32 = real(p64, real32)
        call gravity%compute(n, p32, 3, real(m, real32), q32, 3)
        call gravity%compute(n, p64, 3, real(m, real64), q64, 3)
        call expect('real32, packed', maxval(abs(q32(2, :) - fy)) <= 1e-5 * maxval(abs(fy)))
        call expect('real64, packed', maxval(abs(q64(2, :) - fy)) <= 1e-5 * maxval(abs(fy)))
        call gravity%compute(int(n, int64), p64, 3_int64, real(m, real64), q64, 3_int64)
        call gravity%compute(int(n, int32), p64, 3_int32, real(m, real64), q64, 3_int32)
    end subroutine both_real_kinds

    subroutine subsets()
        integer :: active(n), i
        integer, parameter :: targets(3) = [n, 1, 7]
        active = [(merge(1, 0, mod(i, 4) == 0), i=1, n)]
        ax = 5
        call gravity%compute(n, x, y, z, m, ax, ay, az, active=active)
        call expect('active: computed', close_to(pack(ax, active == 1), pack(fx, active == 1)))
        call expect('active: the others untouched', all(pack(ax, active == 0) == 5))
        ax = 5
        call gravity%compute(n, x, y, z, m, ax, ay, az, target_index=targets)
        call expect('targets count from 1', close_to(ax(targets), fx(targets)))
        call expect('targets: the others untouched', count(ax == 5) == n - 3)
        ax = 5
        call gravity%compute(n, x, y, z, m, ax, ay, az, target_index=targets(1:0))
        call expect('no targets', all(ax == 5))
        call gravity%compute(n, x, y, z, m, ax, ay, az, target_index=targets(1:3:2))
        call expect('every second target of a list', close_to(ax(targets(1:3:2)), fx(targets(1:3:2))) .and. ax(1) == 5)
        ax = 5
        call gravity%compute(n, x, y, z, m, ax, ay, az, target_index=[n + 1], ierr=ierr, errmsg=errmsg)
        call expect('a target beyond n', ierr /= 0 .and. all(ax == 5))
    end subroutine subsets

    subroutine added_energy_virial()
        real(real64) :: energy, virial(6)
        ax = 1
        energy = 0; virial = 0
        call gravity%compute(n, x, y, z, m, ax, ay, az, add=.true., energy=energy, virial=virial)
        call expect('add', close_to(ax, fx + 1))
        call expect('energy', abs(energy - 0.5d0 * sum(m * fphi)) <= 1d-5 * abs(energy))
        call expect('trace of the virial is the energy', abs(sum(virial(1:3)) - energy) <= 1d-5 * abs(energy))
    end subroutine added_energy_virial

    subroutine strided()
        real :: sx(2 * n), sy(2 * n), sz(2 * n), gx(3 * n), gy(3 * n), gz(3 * n)
        sx = 99; sy = 99; sz = 99; gx = 3; gy = 3; gz = 3
        sx(1::2) = x; sy(1::2) = y; sz(1::2) = z
        call gravity%compute(n, sx, sy, sz, m, gx, gy, gz, stride=2, stride_out=3)
        call expect('strides', close_to(gx(1::3), fx) .and. close_to(gz(1::3), fz) .and. all(gx(2::3) == 3))
    end subroutine strided

    subroutine points()
        real :: px(2), py(2), pz(2), gx(2), gy(2), gz(2), phi2(2), pxyz(3, 2), gxyz(4, 2), xyz(3, n)
        real(real64) :: d(3), expected(2)
        integer :: i, j
        px = [3.0, -2.0]; py = [0.5, 1.0]; pz = [1.0, 0.25]
        expected = 0
        do i = 1, 2
            do j = 1, n
                d = [real(x(j), real64) - px(i), real(y(j), real64) - py(i), real(z(j), real64) - pz(i)]
                expected(i) = expected(i) + m(j) * d(1) / sqrt(sum(d**2))**3
            end do
        end do
        call gravity%field_at(n, x, y, z, m, 2, px, py, pz, gx, gy, gz, phi2)
        call expect('field at points', close_to(gx, expected) .and. all(phi2 < 0))
        pxyz(1, :) = px; pxyz(2, :) = py; pxyz(3, :) = pz
        xyz(1, :) = x; xyz(2, :) = y; xyz(3, :) = z
        call gravity%field_at(n, xyz, 3, m, 2, pxyz, 3, gxyz, 4, ierr=ierr)
        call expect('field at packed points', ierr == 0 .and. close_to(gxyz(1, :), expected))
    end subroutine points

    subroutine options_keep_their_values()
        character(len=20) :: text
        character(len=2) :: short
        real :: theta
        integer :: leaf
        call gravity%set('mac.theta', 0.375)
        call gravity%get('mac.theta', theta)
        call expect('real option', theta == 0.375)
        call gravity%set('tree.leaf', 24)
        call gravity%get('tree.leaf', leaf)
        call expect('integer option', leaf == 24)
        call gravity%get('method', text)
        call expect('text option', text == 'direct')
        call gravity%get('method', short, ierr, errmsg)
        call expect('text too short', ierr == GRAFT_ERROR_ARGUMENT .and. short /= 'di')
        call gravity%get('mac.theta', leaf, ierr, errmsg)
        call expect('a real value is no integer', ierr == GRAFT_ERROR_DECK_TYPE .and. leaf == 24)
        call gravity%get('method', theta, ierr, errmsg)
        call expect('a word is no number', ierr == GRAFT_ERROR_DECK_TYPE .and. theta == 0.375)
        call gravity%set('order', 2.5, ierr, errmsg)
        call expect('half an order', ierr == GRAFT_ERROR_DECK_TYPE .or. ierr == GRAFT_ERROR_DECK_RANGE)
        call gravity%set('mac.theat', 0.5, ierr, errmsg)
        call expect('a key misspelt', ierr == GRAFT_ERROR_DECK_KEY .and. index(errmsg, 'mac.theta') > 0)
        call gravity%set('constant', 2.0_real64)
        call gravity%compute(n, x, y, z, m, ax, ay, az)
        call expect('an option set after open counts', close_to(ax, 2 * fx))
        call gravity%set('constant', 1)
        call gravity%set_units(constant=3.0_real64)
        call gravity%compute(n, x, y, z, m, ax, ay, az)
        call expect('units', close_to(ax, 3 * fx))
        call gravity%set('constant', 0.5)
        call gravity%compute(n, x, y, z, m, ax, ay, az)
        call expect('the constant after units', close_to(ax, 0.5 * fx))
        call gravity%set('precision', 'fp32')
        call gravity%set('precision', 'fp64')
        call gravity%compute(n, x, y, z, m, ax, ay, az)
        call expect('and in a new context', close_to(ax, 0.5 * fx))
        call gravity%set_units(constant=1.0_real64)
        call gravity%set_box([-2.0_real64, -2.0_real64, -2.0_real64], [2.0_real64, 2.0_real64, 2.0_real64], ierr)
        call expect('a box', ierr == 0)
        call periodic_box()
    end subroutine options_keep_their_values

    ! A charge of 1 alone in a periodic cube of edge 1: -2.837297479/2, the energy of the Wigner crystal.
    subroutine periodic_box()
        type(graft_t) :: lattice
        real(real64) :: at(1), unit(1), along_x(1), along_y(1), along_z(1), energy, zero(3), one(3)
        zero = 0
        one = 1
        at = 0.25_real64
        unit = 1
        call lattice%open()
        call lattice%set('interaction', 'coulomb')
        call lattice%set('precision', 'fp64')
        call lattice%set('method', 'direct')
        call lattice%set_box(zero, zero, ierr, periodic=[.true., .false., .false.])
        call expect('a box without extent is refused', ierr == GRAFT_ERROR_ARGUMENT)
        call lattice%set_box(zero, one, periodic=[.true., .true., .true.], tilt=zero)
        call lattice%compute(1, at, at, at, unit, along_x, along_y, along_z, energy=energy)
        call expect('a periodic box', abs(energy + 0.5_real64 * 2.837297479480619_real64) < 1e-9_real64)
        call lattice%close()
    end subroutine periodic_box

    subroutine figures_and_text()
        real :: seconds
        character(len=:), allocatable :: json
        seconds = -1
        call gravity%compute(n, x, y, z, m, ax, ay, az)
        call gravity%query('time_s.total', seconds)
        call expect('time_s.total', seconds >= 0)
        call gravity%query('model.time_s', seconds, ierr, errmsg)
        call expect('a figure that does not exist', ierr == GRAFT_ERROR_ABSENT .and. len_trim(errmsg) > 0)
        call gravity%query_text(json)
        call expect('all figures are JSON', len(json) > 4 .and. json(1:1) == '{' .and. index(json, '}') > 0)
        call expect('version', graft_version_text() == GRAFT_VERSION_STRING)
        call expect('status name', len(graft_status_name(GRAFT_ERROR_BUSY)) > 0)
        call expect('explain', index(graft_explanation(), 'mac.theta') > 0)
        call expect('studies are not explained', index(graft_explanation(GRAFT_EXPLAIN_JSON), '"study.') == 0)
        call expect('unless asked for', index(graft_explanation(GRAFT_EXPLAIN_JSON + GRAFT_EXPLAIN_STUDY), '"study.') > 0)
        call graft_tool('no such tool', '', json, ierr, errmsg)
        call expect('an unknown tool', ierr == GRAFT_ERROR_ARGUMENT)
    end subroutine figures_and_text

    subroutine failures_leave_the_host_alive()
        type(graft_t) :: other
        real :: bad(n)
        character(len=:), allocatable :: told
        call other%open('/no/such/deck.yaml', ierr=ierr, errmsg=errmsg)
        call expect('missing deck', ierr == GRAFT_ERROR_DECK_FILE .and. index(errmsg, '/no/such/deck.yaml') > 0)
        call expect('a failed open is not open', .not. other%is_open())
        call other%compute(n, x, y, z, m, ax, ay, az, ierr=ierr, errmsg=errmsg)
        call expect('compute before open', ierr == GRAFT_ERROR_CALL_ORDER .and. index(errmsg, 'open') > 0)
        call other%close(ierr)
        call expect('close before open', ierr == 0)
        bad = x
        bad(17) = 0
        bad(17) = bad(17) / bad(17)
        ax = 5
        call gravity%compute(n, bad, y, z, m, ax, ay, az, ierr=ierr, errmsg=errmsg)
        call expect('NaN is refused, outputs untouched', ierr == GRAFT_ERROR_VALUE .and. all(ax == 5))
        call gravity%error_text(told)
        call expect('the context keeps the text', told == trim(errmsg))
        call gravity%compute(-1, x, y, z, m, ax, ay, az, ierr=ierr, errmsg=errmsg)
        call expect('negative n', ierr == GRAFT_ERROR_ARGUMENT .and. index(errmsg, '-1') > 0)
        call gravity%compute(0, x, y, z, m, ax, ay, az, ierr=ierr)
        call expect('n = 0', ierr == 0)
        call gravity%release_memory(ierr, errmsg)
        call expect('memory is given back', ierr == 0)
        errmsg = 'as before'
        call gravity%compute(n, x, y, z, m, ax, ay, az, ierr=ierr, errmsg=errmsg)
        call expect('errmsg keeps its value on success', ierr == 0 .and. errmsg == 'as before')
    end subroutine failures_leave_the_host_alive

    subroutine copies_share()
        type(graft_t) :: copy
        copy = gravity
        copy = copy
        call copy%compute(n, x, y, z, m, ax, ay, az)
        call expect('a copy computes', close_to(ax, fx))
        call copy%close()
        call expect('closing a copy leaves the other open', gravity%is_open() .and. .not. copy%is_open())
        call gravity%compute(n, x, y, z, m, ax, ay, az, ierr=ierr)
        call expect('and working', ierr == 0)
    end subroutine copies_share

    ! Leaks or double frees here are for the address sanitizer to see.
    subroutine final_procedure_closes()
        integer :: i
        do i = 1, 100
            call open_and_leave()
        end do
    end subroutine final_procedure_closes

    subroutine open_and_leave()
        type(graft_t) :: local
        call local%open(ierr=ierr)
        call expect('open in a scope that ends', ierr == 0)
    end subroutine open_and_leave
end program module_test
