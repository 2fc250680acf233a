! SPDX-License-Identifier: BSD-3-Clause
! Module graft on ranks: one rank here (its communicator is an in-process one); many in the MPI tests. Compiled once per
! set of compiler flags, so the declarations use default kinds on purpose.
program ranks_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    use graft_c, only: graft_comm_create_threads
    implicit none
    integer, parameter :: n = 240, parts = 6
    integer :: failed = 0
    real :: x(n), y(n), z(n), cost(n)
    integer :: ids(n), owner(n), ierr
    type(graft_t) :: domains
    type(c_ptr) :: comms(1)
    character(len=400) :: errmsg

    call make_particles()
    if (graft_comm_create_threads(1_c_int32_t, comms) /= GRAFT_OK) error stop 'no communicator'
    call domains%open()
    call domains%set_communicator(comms(1))
    call domains%set('decompose.parts', parts)
    call domains%set('precision', 'fp64') ! makes a new context, on the same ranks
    call domains_of_particles()
    call points_find_their_parts()
    call moves_in_any_shape()
    call many_fields_at_once()
    call balance_on_one_rank()
    call failures()
    call domains%close()
    if (failed > 0) error stop 'ranks_test failed'
    print '(a)', 'ranks_test: passed'

contains

    subroutine expect(what, condition)
        character(len=*), intent(in) :: what
        logical, intent(in) :: condition
        if (condition) return
        failed = failed + 1
        print '(2a)', 'FAILED: ', what
    end subroutine expect

    subroutine make_particles()
        integer :: i
        do i = 1, n
            x(i) = real(sin(1.7d0 * i))
            y(i) = real(cos(2.3d0 * i) * 0.8d0)
            z(i) = real(sin(0.9d0 * i + 1.0d0) * 0.5d0)
            cost(i) = 1
            ids(i) = 7 * i
        end do
    end subroutine make_particles

    subroutine domains_of_particles()
        integer :: order(n), offset(parts + 1), part, k, i
        real :: boxes(6, parts)
        real(real64) :: imbalance
        logical :: seen(n), inside
        owner = -1
        call domains%decompose(n, x, y, z, owner, cost=cost, ids=ids, permutation=order, part_offset=offset, &
            boxes=boxes)
        call expect('parts count from 0', minval(owner) == 0 .and. maxval(owner) == parts - 1)
        call expect('offsets count from 1', offset(1) == 1 .and. offset(parts + 1) == n + 1)
        seen = .false.
        inside = .true.
        do part = 0, parts - 1
            call expect('equal parts', count(owner == part) == n / parts)
            do k = offset(part + 1), offset(part + 2) - 1
                i = order(k)
                seen(i) = owner(i) == part
                inside = inside .and. all([x(i), y(i), z(i)] >= boxes(1:3, part + 1)) .and. &
                    all([x(i), y(i), z(i)] <= boxes(4:6, part + 1))
            end do
        end do
        call expect('a permutation, sorted by part', all(seen))
        call expect('particles lie in the boxes of their parts', inside)
        call domains%query('decompose.imbalance_count', imbalance)
        call expect('imbalance of counts', imbalance == 1)
    end subroutine domains_of_particles

    subroutine points_find_their_parts()
        integer :: found(n)
        found = -1
        call domains%owner_of(n, x, y, z, found, ids=ids)
        call expect('owner_of', all(found == owner))
        call assumed_size(x, y, z, found)
        call expect('graft_owner_of', all(found == owner))
    end subroutine points_find_their_parts

    subroutine assumed_size(px, py, pz, found)
        real, intent(in) :: px(*), py(*), pz(*)
        integer, intent(inout) :: found(*)
        found(1:n) = -1
        call graft_owner_of(domains, n, px, py, pz, found)
    end subroutine assumed_size

    subroutine moves_in_any_shape()
        integer :: home(n), n_after, moved(n), back(n)
        real(real64) :: position(3, n), new_position(3, n), wide(5, n)
        real(real32) :: small(2 * n), new_small(n)
        integer(int64) :: long(n), new_long(n)
        integer :: i
        home = 0
        n_after = -1
        call domains%migrate_plan(n, home, n_after)
        call expect('all stay on one rank', n_after == n)
        do i = 1, n
            position(:, i) = [1.0d0 * i, 2.0d0 * i, 3.0d0 * i]
            small(2 * i - 1:2 * i) = [real(i, real32), -1.0_real32]
            long(i) = 10000000000_int64 * i
        end do
        wide = -1
        call domains%migrate(ids, moved)
        call expect('rank 1, default integers', all(moved == ids))
        call domains%migrate(position, new_position)
        call expect('rank 2', all(new_position == position))
        call domains%migrate(position, wide(2:4, :))
        call expect('a section of rows', all(wide(2:4, :) == position) .and. all(wide(1, :) == -1) &
            .and. all(wide(5, :) == -1))
        call domains%migrate(small(1::2), new_small)
        call expect('every second item', all(nint(new_small) == [(i, i = 1, n)]))
        call domains%migrate(long, new_long, ierr, errmsg)
        call expect('int64', ierr == GRAFT_OK .and. all(new_long == long))
        call domains%migrate_back(moved, back)
        call expect('the way back', all(back == ids))
    end subroutine moves_in_any_shape

    subroutine many_fields_at_once()
        type(graft_fields_t) :: fields
        real(real64), target :: a(n), b(n)
        real, target :: new_x(n, 12)
        integer, target :: new_ids(n)
        integer :: k
        a = [(sqrt(1.0d0 * k), k = 1, n)]
        b = 0
        do k = 1, 12 ! more than the list holds at first
            call fields%add(x, new_x(:, k))
        end do
        call fields%add(a, b)
        call fields%add(ids, new_ids)
        call domains%migrate(fields)
        call expect('fields of several kinds together', all(b == a) .and. all(new_ids == ids) .and. &
            all(new_x(:, 1) == x) .and. all(new_x(:, 12) == x))
        call fields%clear()
        call domains%migrate(fields, ierr)
        call expect('no fields', ierr == GRAFT_OK)
        b = 0
        call fields%add(a, b)
        call domains%migrate_back(fields, ierr)
        call expect('fields on the way back', ierr == GRAFT_OK .and. all(b == a))
    end subroutine many_fields_at_once

    subroutine balance_on_one_rank()
        character(len=:), allocatable :: decision
        call domains%balance(n, x, y, z, owner, cost, ids, ierr=ierr, errmsg=errmsg)
        call expect('interactions before any compute', ierr == GRAFT_ERROR_CALL_ORDER .and. &
            index(errmsg, 'compute') > 0)
        call domains%set('balance.cost', 'given')
        owner = -1
        call domains%balance(n, x, y, z, owner, cost, ids, step_s=1.0_real64, bytes_per_item=100.0_real64)
        call expect('one rank is balanced', all(owner == 0))
        call domains%query_text(decision, 'balance.decision')
        call expect('the decision in words', decision == 'balanced')
    end subroutine balance_on_one_rank

    subroutine failures()
        integer :: n_after, too_few(n - 1), wrong_owner(n), empty(0)
        real :: none(0), six(5, parts)
        type(graft_t) :: closed
        call domains%decompose(-1, x, y, z, owner, ierr=ierr)
        call expect('n = -1', ierr == GRAFT_ERROR_ARGUMENT)
        call domains%set('precision', 'mixed') ! a new context: no domains, no plan
        call domains%decompose(n, x, y, z, owner, boxes=six, ierr=ierr, errmsg=errmsg)
        call expect('boxes of 5 rows', ierr == GRAFT_ERROR_ARRAY .and. index(errmsg, '6 rows') > 0)
        call domains%owner_of(n, x, y, z, owner, ierr=ierr)
        call expect('no domains yet', ierr == GRAFT_ERROR_CALL_ORDER)
        wrong_owner = 0
        wrong_owner(5) = 1
        n_after = -3
        call domains%migrate_plan(n, wrong_owner, n_after, ierr, errmsg)
        call expect('rank 1 of one', ierr == GRAFT_ERROR_VALUE .and. n_after == -3 .and. index(errmsg, 'item 4') > 0)
        call domains%migrate(ids, too_few, ierr, errmsg)
        call expect('no plan', ierr == GRAFT_ERROR_CALL_ORDER)
        call domains%migrate_plan(n, owner, n_after)
        call domains%migrate(ids, too_few, ierr, errmsg)
        call expect('too few items', ierr == GRAFT_ERROR_ARRAY)
        call domains%migrate_plan(0, empty, n_after)
        call domains%decompose(0, none, none, none, empty)
        call domains%balance(0, none, none, none, empty, none)
        call expect('a rank without particles', n_after == 0)
        call closed%set_communicator(comms(1), ierr)
        call expect('not open', ierr == GRAFT_ERROR_CALL_ORDER)
        call closed%migrate(ids, too_few, ierr)
        call expect('not open either', ierr == GRAFT_ERROR_CALL_ORDER)
    end subroutine failures
end program ranks_test
