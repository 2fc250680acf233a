! SPDX-License-Identifier: BSD-3-Clause
! A whole N-body code in Fortran that gets its forces from Graft: reads a galaxy (tipsy), integrates it by kick-drift-kick
! leapfrog, and checks energy, angular momentum, virial ratio, half-mass radii and force errors.
!     galaxy_demo [DECK]        (examples/decks/galaxy.yaml; exit status 1 when the galaxy did not stay in equilibrium)
! Built with galaxy_ranks_mpi.f90 it runs on any number of ranks (mpiexec -n 4 galaxy_demo_mpich): Graft makes domains of
! equal count, later of equal work, and the host's arrays move there.
program galaxy_demo
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    use galaxy_ranks
    implicit none
    integer, parameter :: part_count = 3
    character(len=5), parameter :: parts(part_count) = ['disc ', 'bulge', 'halo ']
    type(graft_t) :: gravity
    character(len=512) :: deck, input, output
    real(real32), allocatable :: dark(:, :), star(:, :) ! records of the file: mass, position, velocity, ...
    real(real64), allocatable :: x(:, :), v(:, :), a(:, :), m(:) ! this rank's particles
    integer, allocatable :: place(:)                             ! and where each stands in the arrays of all
    real(real64), allocatable :: x_all(:, :), v_all(:, :), m_all(:)
    real(real64) :: time_step, time, spent(6), radius(part_count, 2), energy(2), momentum(3, 2), ratio(2), moved
    integer(int64) :: begin, finish, rate
    integer :: steps, step, n, n_all, n_halo, n_disc, i
    integer, parameter :: balance_every = 25
    logical :: good

    deck = 'examples/decks/galaxy.yaml'
    if (command_argument_count() > 0) call get_command_argument(1, deck)
    call gravity%open(deck)
    call gravity%get('run.input', input)
    call gravity%get('run.output', output)
    call gravity%get('run.time_step', time_step)
    call gravity%get('run.steps', steps)
    call start_ranks()
    call read_tipsy()
    if (rank == 0) print '(a,i0,3a,i0,a,f0.4,a,i0)', 'galaxy: ', n_all, ' particles from ', trim(input), ', ', steps, &
        ' steps of ', time_step, ', ranks: ', ranks
    call give_ranks_to(gravity)
    call make_domains(.false.)

    call measure(1)
    spent = 0
    call system_clock(begin, rate)
    do step = 1, steps
        v = v + 0.5_real64 * time_step * a
        x = x + time_step * v
        call gravity%compute(n, x, 3, m, a, 3)
        v = v + 0.5_real64 * time_step * a
        call add_times()
        if (rank == 0) call progress()
        if (mod(step, balance_every) == 0) call make_domains(.true.)
    end do
    call system_clock(finish)
    call measure(2)
    good = .true.
    if (rank == 0) then
        call report_run(real(finish - begin, real64) / real(rate, real64))
        call write_tipsy()
    end if
    call report_force_errors(1000)
    call gravity%close()
    call end_ranks()
    if (.not. good) error stop 'galaxy_demo: the galaxy did not stay in equilibrium'
    if (rank == 0) print '(a)', 'galaxy_demo: passed'

contains

    ! Tipsy, little-endian, single precision: dark records have 9 numbers, star records 11. `graft ic galaxy` writes the
    ! disc as the first half of the stars, the bulge as the second, the halo as dark. Here: disc, bulge, halo. Every
    ! rank reads the file and keeps a block.
    subroutine read_tipsy()
        integer :: unit
        integer(int32) :: counts(6) ! all, dimensions, gas, dark, star, pad
        open (newunit=unit, file=input, access='stream', form='unformatted', status='old', action='read')
        read (unit) time, counts
        if (counts(2) /= 3 .or. counts(3) /= 0 .or. counts(1) /= counts(4) + counts(5)) error stop 'no such tipsy file'
        n_all = counts(1); n_halo = counts(4); n_disc = counts(5) / 2
        allocate (dark(9, n_halo), star(11, n_all - n_halo))
        read (unit) dark, star
        close (unit)
        m_all = [star(1, :), dark(1, :)]
        x_all = reshape([star(2:4, :), dark(2:4, :)], [3, n_all])
        v_all = reshape([star(5:7, :), dark(5:7, :)], [3, n_all])
        place = [(i, i=1 + int(int(n_all, int64) * rank / ranks), int(int(n_all, int64) * (rank + 1) / ranks))]
        n = size(place)
        x = x_all(:, place)
        v = v_all(:, place)
        m = m_all(place)
        allocate (a(3, n), source=0.0_real64)
    end subroutine read_tipsy

    ! New owners from Graft, by count at first and later by the work of the last step; then the particles move there.
    subroutine make_domains(by_work)
        logical, intent(in) :: by_work
        real(real64), allocatable :: new_x(:, :), new_v(:, :), new_a(:, :), new_m(:)
        integer, allocatable :: new_place(:), owner(:)
        type(graft_fields_t) :: fields
        integer :: n_new
        if (ranks == 1) return
        allocate (owner(n))
        if (by_work) call gravity%balance(n, x(1, :), x(2, :), x(3, :), owner, ids=place)
        if (.not. by_work) call gravity%decompose(n, x(1, :), x(2, :), x(3, :), owner, ids=place)
        call gravity%migrate_plan(n, owner, n_new)
        allocate (new_x(3, n_new), new_v(3, n_new), new_a(3, n_new), new_m(n_new), new_place(n_new))
        call fields%add(x, new_x)
        call fields%add(v, new_v)
        call fields%add(a, new_a)
        call fields%add(m, new_m)
        call fields%add(place, new_place)
        call gravity%migrate(fields)
        n = n_new
        call move_alloc(new_x, x)
        call move_alloc(new_v, v)
        call move_alloc(new_a, a)
        call move_alloc(new_m, m)
        call move_alloc(new_place, place)
    end subroutine make_domains

    ! The values of all ranks' particles, in the order of the file.
    function of_all(values) result(all)
        real(real64), intent(in) :: values(:, :)
        real(real64), allocatable :: all(:, :)
        allocate (all(3, n_all), source=0.0_real64)
        all(:, place) = values
        call sum_over_ranks(all)
    end function of_all

    subroutine write_tipsy()
        integer :: unit, stars
        stars = n_all - n_halo
        star(2:4, :) = real(x_all(:, :stars), real32); star(5:7, :) = real(v_all(:, :stars), real32)
        dark(2:4, :) = real(x_all(:, stars + 1:), real32); dark(5:7, :) = real(v_all(:, stars + 1:), real32)
        open (newunit=unit, file=output, access='stream', form='unformatted', status='replace', action='write')
        write (unit) time + steps * time_step, int([n_all, 3, 0, n_halo, stars, 0], int32), dark, star
        close (unit)
    end subroutine write_tipsy

    ! Energy, angular momentum, virial ratio 2 K / |W| and half-mass radii, before (1) or after (2).
    subroutine measure(when)
        integer, intent(in) :: when
        real(real64) :: kinetic, potential, virial(6)
        call gravity%compute(n, x, 3, m, a, 3, energy=potential, virial=virial) ! sums over all ranks
        x_all = of_all(x)
        v_all = of_all(v)
        kinetic = 0.5_real64 * sum(m_all * sum(v_all**2, dim=1))
        energy(when) = kinetic + potential
        ratio(when) = 2 * kinetic / abs(sum(virial(1:3)))
        momentum(:, when) = [sum(m_all * (x_all(2, :) * v_all(3, :) - x_all(3, :) * v_all(2, :))), &
            sum(m_all * (x_all(3, :) * v_all(1, :) - x_all(1, :) * v_all(3, :))), &
            sum(m_all * (x_all(1, :) * v_all(2, :) - x_all(2, :) * v_all(1, :)))]
        radius(1, when) = half_mass_radius(x_all(:, 1:n_disc))
        radius(2, when) = half_mass_radius(x_all(:, n_disc + 1:n_all - n_halo))
        radius(3, when) = half_mass_radius(x_all(:, n_all - n_halo + 1:n_all))
    end subroutine measure

    ! The particles of one part have equal masses: the median distance from their centre of mass.
    real(real64) function half_mass_radius(part)
        real(real64), intent(in) :: part(:, :)
        real(real64) :: distance(size(part, 2))
        integer :: axis
        distance = 0
        do axis = 1, 3
            distance = distance + (part(axis, :) - sum(part(axis, :)) / size(part, 2))**2
        end do
        half_mass_radius = sqrt(percentile(distance, 0.5_real64))
    end function half_mass_radius

    ! The value below which the given fraction lies, by bisection on the value (a sort is not needed).
    real(real64) function percentile(values, fraction)
        real(real64), intent(in) :: values(:), fraction
        real(real64) :: low, high
        integer :: k
        low = minval(values)
        high = maxval(values)
        do k = 1, 60
            percentile = 0.5_real64 * (low + high)
            if (count(values <= percentile) < fraction * size(values)) low = percentile
            if (count(values <= percentile) >= fraction * size(values)) high = percentile
        end do
    end function percentile

    subroutine add_times()
        character(len=7), parameter :: names(6) = ['sort   ', 'tree   ', 'moments', 'lists  ', 'forces ', 'total  ']
        real(real64) :: seconds
        do i = 1, 6
            call gravity%query('time_s.'//names(i), seconds)
            spent(i) = spent(i) + seconds
        end do
    end subroutine add_times

    ! A bar in a terminal; elsewhere a line a tenth.
    subroutine progress()
        use, intrinsic :: iso_c_binding, only: c_int
        interface
            function isatty(unit) bind(c, name='isatty')
                import c_int
                integer(c_int), value :: unit
                integer(c_int) :: isatty
            end function isatty
        end interface
        integer :: done
        if (isatty(1_c_int) == 0) then
            if ((10 * step) / steps > (10 * (step - 1)) / steps) print '(i0,a,i0,a)', step, ' of ', steps, ' steps'
            flush (6)
            return
        end if
        done = (40 * step) / steps
        write (*, '(a)', advance='no') achar(13)//'['//repeat('#', done)//repeat('.', 40 - done)//']'
        write (*, '(1x,i0,a,i0)', advance='no') step, '/', steps
        if (step == steps) print '(a)', ''
        flush (6)
    end subroutine progress

    ! "cpu", or "gpu, NVIDIA H200".
    function computed_by() result(text)
        character(len=:), allocatable :: text, device
        call gravity%query_text(text, key='backend')
        if (text /= 'gpu') return
        call gravity%query_text(device, key='device')
        text = text//', '//device
    end function computed_by

    subroutine report_run(seconds)
        real(real64), intent(in) :: seconds
        moved = norm2(momentum(:, 2) - momentum(:, 1)) / norm2(momentum(:, 1))
        print '(a,f0.9,a,f0.9)', 'energy: ', energy(1), ' before, ', energy(2)
        print '(a,es10.2,a,es10.2)', 'drift: energy ', (energy(2) - energy(1)) / abs(energy(1)), &
            ', angular momentum ', moved
        print '(a,f8.4,a,f8.4)', 'virial ratio 2K/|W|: before', ratio(1), ', after', ratio(2)
        do i = 1, part_count
            print '(3a,f8.4,a,f8.4)', 'half-mass radius, ', parts(i), ': before', radius(i, 1), ', after', radius(i, 2)
        end do
        print '(a,es10.2,a,f0.2,a)', 'speed: ', real(n_all, real64) * steps / seconds, ' particle steps per second, ', &
            seconds, ' s in all, forces by '//computed_by()
        print '(a,5(a,f0.2),a,f0.2)', 'time in s: ', 'sort ', spent(1), ', tree ', spent(2), ', moments ', spent(3), &
            ', lists ', spent(4), ', forces ', spent(5), '; Graft in all ', spent(6)
        good = all(abs(ratio - 1) <= 0.05_real64) .and. all(abs(radius(:, 2) / radius(:, 1) - 1) <= radius_bound()) &
            .and. abs((energy(2) - energy(1)) / energy(1)) <= energy_bound()
    end subroutine report_run

    ! Steps and settings may move a half-mass radius by 3 %; the median of n distances scatters by about 1 / sqrt(n) besides.
    function radius_bound() result(bound)
        real(real64) :: bound(part_count)
        bound = 0.03_real64 + 3 / sqrt(real([n_disc, n_all - n_halo - n_disc, n_halo], real64))
    end function radius_bound

    ! A step's error in close encounters goes with the mass of a particle: 1 / n where they are few.
    real(real64) function energy_bound()
        energy_bound = 1e-3_real64 * max(1.0_real64, 1e4_real64 / n_all)
    end function energy_bound

    ! |a - a_direct| / |a_direct| at every (n / count)-th particle, against compensated direct summation on one rank.
    subroutine report_force_errors(count)
        integer, intent(in) :: count
        type(graft_t) :: reference
        real(real64), allocatable :: a_all(:, :), exact(:, :), error(:)
        integer, allocatable :: targets(:)
        a_all = of_all(a)
        if (rank /= 0) return
        targets = [(1 + int((i - 1_int64) * n_all / min(count, n_all)), i=1, min(count, n_all))]
        allocate (exact(3, n_all))
        call reference%open(deck)
        call reference%set('method', 'reference')
        call reference%compute(n_all, x_all, 3, m_all, exact, 3, target_index=targets)
        error = norm2(a_all(:, targets) - exact(:, targets), dim=1) / norm2(exact(:, targets), dim=1)
        print '(a,i0,a,4(a,es9.2))', 'force error at ', size(targets), ' particles:', ' median', &
            percentile(error, 0.5_real64), ', 90 %', percentile(error, 0.9_real64), ', 99 %', &
            percentile(error, 0.99_real64), ', max', maxval(error)
    end subroutine report_force_errors
end program galaxy_demo
