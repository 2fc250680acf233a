! SPDX-License-Identifier: BSD-3-Clause
! The near field of a two-dimensional MLFMA, in the paper's setting: points scattered at random over a square, the
! logarithmic potential, a quadtree whose height grows from 3 until no box holds more than CT = 15 points, and the
! interactions of each box with itself and the (up to 8) boxes that touch it. An iterative solver asks for them again and
! again with new charges. First with boxes that Graft makes, then with the code's own boxes and lists (counted from 1); both
! against the serial loop, whose time is compared. The layout of the data is Graft's choice; the deck key near_field.layout
! names one, and docs/lab/near.md ("CPU layouts") and docs/lab/gpu/near.md ("How it works") say what each is.
program mlfma_near_field
    use, intrinsic :: iso_fortran_env, only: real64, int64
    use graft
    use graft_near
    implicit none
    integer, parameter :: n = 20000, threshold = 15, iterations = 5
    type(graft_t) :: g
    type(graft_near_t) :: near, own
    real(real64), target :: x(n), y(n), q(n), phi(n), phi_own(n)
    real(real64) :: expected(n), largest, density, height, t, pairs, seconds(2)
    integer, allocatable, target :: first(:), order(:), list_first(:), list(:)
    character(len=:), allocatable :: layout
    integer :: side, iteration, ierr
    integer(int64) :: clock(3), rate
    character(len=200) :: message
    logical :: good

    call scatter()
    call g%open()
    call g%set('near_field.precision', 'fp64')
    call g%set('near_field.expected_executes', iterations)
    call near%create(g, dimension=2, kernel=GRAFT_NEAR_LOGARITHM, boxes=GRAFT_NEAR_BOXES_LEVEL, most=threshold, &
        x=graft_view(x), y=graft_view(y))
    q = 1
    call near%execute([graft_view(q)], potential=[graft_view(phi)]) ! the first one also warms up
    call system_clock(clock(1), rate)
    do iteration = 1, iterations
        q = cos(0.1_real64 * iteration * x) + iteration
        call near%execute([graft_view(q)], potential=[graft_view(phi)])
    end do
    call system_clock(clock(2))

    call g%query('near.height', height)
    call g%query('near.largest', t)
    call g%query('near.density', density)
    call g%query('near.pairs', pairs)
    call g%query_text(layout, 'near.layout')
    side = 2**(nint(height) - 1)
    call make_boxes()
    call serial_loop()
    call system_clock(clock(3))
    seconds = real(clock(2:3) - clock(1:2), real64) / real(rate, real64)
    seconds(1) = seconds(1) / iterations
    largest = maxval(abs(phi - expected)) / maxval(abs(expected))
    print '(a,i0,a,i0,a,i0,a,f6.3,a,f9.0,a)', 'N = ', n, ', L = ', nint(height), ', t = ', nint(t), ', D = ', density, ', ', &
        pairs, ' pairs'
    print '(3a,es9.2,a,es9.2,a)', 'layout ', layout, ':', seconds(1), ' s an execution, the serial loop with its boxes', &
        seconds(2), ' s'
    good = largest < 1e-12_real64 .and. t <= threshold .and. height >= 3

    call own%create(g, dimension=2, kernel=GRAFT_NEAR_LOGARITHM, x=graft_view(x), y=graft_view(y), &
        offset=graft_view(first), neighbour_offset=graft_view(list_first), neighbour=graft_view(list), &
        target_index=graft_view(order))
    call own%execute([graft_view(q)], potential=[graft_view(phi_own)])
    print '(a,es9.2,a,es9.2)', 'largest error: boxes made by Graft', largest, ', own boxes', &
        maxval(abs(phi_own - expected)) / maxval(abs(expected))
    good = good .and. maxval(abs(phi_own - expected)) < 1e-12_real64 * maxval(abs(expected))

    x(17) = sqrt(-abs(x(17)) - 1) ! not a number
    call own%update(x=graft_view(x), y=graft_view(y), ierr=ierr, errmsg=message)
    print '(2a)', 'as it should: ', trim(message)
    good = good .and. ierr == GRAFT_ERROR_VALUE
    call own%destroy()
    call near%destroy()
    call g%close()
    if (.not. good) error stop '22_mlfma_near_field failed'

contains

    subroutine scatter()
        integer :: size_of_seed
        call random_seed(size=size_of_seed)
        call random_seed(put=spread(2022, 1, size_of_seed))
        call random_number(x)
        call random_number(y)
        x(1:2) = [0.0_real64, 1.0_real64] ! so that the square is [0, 1]^2
        y(1:2) = [0.0_real64, 1.0_real64]
    end subroutine scatter

    integer function box_of(i)
        integer, intent(in) :: i
        box_of = 1 + min(int(x(i) * side), side - 1) + side * min(int(y(i) * side), side - 1)
    end function box_of

    ! Points sorted by box, row by row, and each box's neighbours in ascending order.
    subroutine make_boxes()
        integer :: box, column, row, i, j, k
        integer, allocatable :: next(:)
        allocate (first(side * side + 1), order(n), list_first(side * side + 1), list(9 * side * side))
        first = 0
        do i = 1, n
            first(box_of(i) + 1) = first(box_of(i) + 1) + 1
        end do
        first(1) = 1
        do box = 1, side * side
            first(box + 1) = first(box + 1) + first(box)
        end do
        next = first
        do i = 1, n
            order(next(box_of(i))) = i
            next(box_of(i)) = next(box_of(i)) + 1
        end do
        k = 0
        do box = 1, side * side
            list_first(box) = k + 1
            column = mod(box - 1, side)
            row = (box - 1) / side
            do j = max(0, row - 1), min(side - 1, row + 1)
                do i = max(0, column - 1), min(side - 1, column + 1)
                    k = k + 1
                    list(k) = 1 + i + side * j
                end do
            end do
        end do
        list_first(side * side + 1) = k + 1
        list = list(1:k)
    end subroutine make_boxes

    subroutine serial_loop()
        integer :: box, k, i, j, at, other
        real(real64) :: square
        do box = 1, side * side
            do i = first(box), first(box + 1) - 1
                at = order(i)
                expected(at) = 0
                do k = list_first(box), list_first(box + 1) - 1
                    do j = first(list(k)), first(list(k) + 1) - 1
                        other = order(j)
                        square = (x(at) - x(other))**2 + (y(at) - y(other))**2
                        if (square > 0) expected(at) = expected(at) - 0.5_real64 * q(other) * log(square)
                    end do
                end do
            end do
        end do
    end subroutine serial_loop
end program mlfma_near_field
