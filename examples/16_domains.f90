! SPDX-License-Identifier: BSD-3-Clause
! Domains without ranks: one process cuts its particles into 8 parts of equal work, takes them part by part (in an order
! that keeps neighbours together in memory), finds the part of other points, and brings results back.
! On MPI ranks the same calls follow set_communicator (11_mpi_slabs.f90); migrate then moves arrays between them.
program domains
    use, intrinsic :: iso_fortran_env, only: real64
    use graft
    implicit none
    integer, parameter :: n = 4000, parts = 8
    type(graft_t) :: cutter
    real(real64) :: x(n), y(n), z(n), work(n), boxes(6, parts), imbalance, total
    integer :: owner(n), order(n), first(parts + 1), found(n), i, part
    logical :: good

    do i = 1, n ! a disc, denser towards its centre; the work of a particle grows with the density
        x(i) = sqrt(real(i, real64) / n)**2 * cos(2.399963229728653_real64 * i)
        y(i) = sqrt(real(i, real64) / n)**2 * sin(2.399963229728653_real64 * i)
        z(i) = 0.05_real64 * sin(real(i, real64))
        work(i) = 1 + 10 * exp(-3 * real(i, real64) / n)
    end do
    call cutter%open()
    call cutter%set('decompose.parts', parts)
    call cutter%decompose(n, x, y, z, owner, cost=work, permutation=order, part_offset=first, boxes=boxes)
    call cutter%query('decompose.imbalance_weight', imbalance)

    good = imbalance < 1.01_real64
    total = 0
    do part = 0, parts - 1 ! parts count from 0, as MPI ranks do; places in order count from 1
        associate (mine => order(first(part + 1):first(part + 2) - 1))
            print '(a,i0,a,i5,a,f8.1,a,3f7.3,a,3f7.3)', 'part ', part, ':', size(mine), ' particles, work', &
                sum(work(mine)), ', from', boxes(1:3, part + 1), ' to', boxes(4:6, part + 1)
            total = total + sum(work(mine))
            good = good .and. all(owner(mine) == part)
            good = good .and. all(x(mine) >= boxes(1, part + 1) .and. x(mine) <= boxes(4, part + 1))
        end associate
    end do
    print '(a,f7.4)', 'max / mean of the work:', imbalance
    good = good .and. abs(total - sum(work)) < 1e-9_real64 * total

    call cutter%owner_of(n, x, y, z, found) ! any points; here the particles themselves
    good = good .and. all(found == owner)
    call cutter%close()
    if (.not. good) error stop '16_domains failed'
end program domains
