! A whole N-body code in Fortran that gets its forces from Graft: reads a galaxy (tipsy), integrates it by kick-drift-kick
! leapfrog, and checks energy, angular momentum, virial ratio, half-mass radii and force errors.
!     galaxy_demo [DECK]        (examples/decks/galaxy.yaml; exit status 1 when the galaxy did not stay in equilibrium)
program galaxy_demo
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use graft
    implicit none
    integer, parameter :: part_count = 3
    character(len=5), parameter :: parts(part_count) = ['disc ', 'bulge', 'halo ']
    type(graft_t) :: gravity
    character(len=512) :: deck, input, output
    real(real32), allocatable :: dark(:, :), star(:, :) ! records of the file: mass, position, velocity, ...
    real(real64), allocatable :: x(:, :), v(:, :), a(:, :), m(:)
    real(real64) :: time_step, time, spent(6), radius(part_count, 2), energy(2), momentum(3, 2), ratio(2), moved
    integer(int64) :: begin, finish, rate
    integer :: steps, step, n, n_halo, n_disc
    logical :: good

    deck = 'examples/decks/galaxy.yaml'
    if (command_argument_count() > 0) call get_command_argument(1, deck)
    call gravity%open(deck)
    call gravity%get('run.input', input)
    call gravity%get('run.output', output)
    call gravity%get('run.time_step', time_step)
    call gravity%get('run.steps', steps)
    call read_tipsy()
    print '(a,i0,3a,i0,a,f0.4)', 'galaxy: ', n, ' particles from ', trim(input), ', ', steps, ' steps of ', time_step

    call measure(1)
    spent = 0
    call system_clock(begin, rate)
    do step = 1, steps
        v = v + 0.5_real64 * time_step * a
        x = x + time_step * v
        call gravity%compute(n, x, 3, m, a, 3)
        v = v + 0.5_real64 * time_step * a
        call add_times()
        call progress()
    end do
    call system_clock(finish)
    call measure(2)
    call report_run(real(finish - begin, real64) / real(rate, real64))
    call report_force_errors(1000)
    call write_tipsy()
    call gravity%close()
    if (.not. good) error stop 'galaxy_demo: the galaxy did not stay in equilibrium'
    print '(a)', 'galaxy_demo: passed'

contains

    ! Tipsy, little-endian, single precision: dark records have 9 numbers, star records 11. `graft ic galaxy` writes the
    ! disc as the first half of the stars, the bulge as the second, the halo as dark. Here: disc, bulge, halo.
    subroutine read_tipsy()
        integer :: unit
        integer(int32) :: counts(6) ! all, dimensions, gas, dark, star, pad
        open (newunit=unit, file=input, access='stream', form='unformatted', status='old', action='read')
        read (unit) time, counts
        if (counts(2) /= 3 .or. counts(3) /= 0 .or. counts(1) /= counts(4) + counts(5)) error stop 'no such tipsy file'
        n = counts(1); n_halo = counts(4); n_disc = counts(5) / 2
        allocate (dark(9, n_halo), star(11, n - n_halo), x(3, n), v(3, n), a(3, n), m(n))
        read (unit) dark, star
        close (unit)
        m = [star(1, :), dark(1, :)]
        x = reshape([star(2:4, :), dark(2:4, :)], [3, n])
        v = reshape([star(5:7, :), dark(5:7, :)], [3, n])
    end subroutine read_tipsy

    subroutine write_tipsy()
        integer :: unit, stars
        stars = n - n_halo
        star(2:4, :) = real(x(:, :stars), real32); star(5:7, :) = real(v(:, :stars), real32)
        dark(2:4, :) = real(x(:, stars + 1:), real32); dark(5:7, :) = real(v(:, stars + 1:), real32)
        open (newunit=unit, file=output, access='stream', form='unformatted', status='replace', action='write')
        write (unit) time + steps * time_step, int([n, 3, 0, n_halo, stars, 0], int32), dark, star
        close (unit)
    end subroutine write_tipsy

    ! Energy, angular momentum, virial ratio 2 K / |W| and half-mass radii, before (1) or after (2).
    subroutine measure(when)
        integer, intent(in) :: when
        real(real64) :: kinetic, potential, virial(6)
        call gravity%compute(n, x, 3, m, a, 3, energy=potential, virial=virial)
        kinetic = 0.5_real64 * sum(m * sum(v**2, dim=1))
        energy(when) = kinetic + potential
        ratio(when) = 2 * kinetic / abs(sum(virial(1:3)))
        momentum(:, when) = [sum(m * (x(2, :) * v(3, :) - x(3, :) * v(2, :))), &
            sum(m * (x(3, :) * v(1, :) - x(1, :) * v(3, :))), sum(m * (x(1, :) * v(2, :) - x(2, :) * v(1, :)))]
        radius(1, when) = half_mass_radius(x(:, 1:n_disc))
        radius(2, when) = half_mass_radius(x(:, n_disc + 1:n - n_halo))
        radius(3, when) = half_mass_radius(x(:, n - n_halo + 1:n))
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
        integer :: i
        low = minval(values)
        high = maxval(values)
        do i = 1, 60
            percentile = 0.5_real64 * (low + high)
            if (count(values <= percentile) < fraction * size(values)) low = percentile
            if (count(values <= percentile) >= fraction * size(values)) high = percentile
        end do
    end function percentile

    subroutine add_times()
        character(len=7), parameter :: names(6) = ['sort   ', 'tree   ', 'moments', 'lists  ', 'forces ', 'total  ']
        real(real64) :: seconds
        integer :: i
        do i = 1, 6
            call gravity%query('time_s.'//names(i), seconds)
            spent(i) = spent(i) + seconds
        end do
    end subroutine add_times

    subroutine progress()
        integer :: done
        done = (40 * step) / steps
        write (*, '(a)', advance='no') achar(13)//'['//repeat('#', done)//repeat('.', 40 - done)//']'
        write (*, '(1x,i0,a,i0)', advance='no') step, '/', steps
        if (step == steps) print '(a)', ''
        flush (6)
    end subroutine progress

    subroutine report_run(seconds)
        real(real64), intent(in) :: seconds
        integer :: i
        moved = norm2(momentum(:, 2) - momentum(:, 1)) / norm2(momentum(:, 1))
        print '(a,es10.2,a,es10.2)', 'drift: energy ', (energy(2) - energy(1)) / abs(energy(1)), &
            ', angular momentum ', moved
        print '(a,f8.4,a,f8.4)', 'virial ratio 2K/|W|: before', ratio(1), ', after', ratio(2)
        do i = 1, part_count
            print '(3a,f8.4,a,f8.4)', 'half-mass radius, ', parts(i), ': before', radius(i, 1), ', after', radius(i, 2)
        end do
        print '(a,es10.2,a,f0.2,a)', 'speed: ', real(n, real64) * steps / seconds, ' particle steps per second, ', &
            seconds, ' s in all'
        print '(a,5(a,f0.2),a,f0.2)', 'time in s: ', 'sort ', spent(1), ', tree ', spent(2), ', moments ', spent(3), &
            ', lists ', spent(4), ', forces ', spent(5), '; Graft in all ', spent(6)
        good = all(abs(ratio - 1) <= 0.05_real64) .and. all(abs(radius(:, 2) / radius(:, 1) - 1) <= 0.05_real64) &
            .and. abs((energy(2) - energy(1)) / energy(1)) <= 1e-3_real64
    end subroutine report_run

    ! |a - a_direct| / |a_direct| at every (n / count)-th particle, against compensated direct summation.
    subroutine report_force_errors(count)
        integer, intent(in) :: count
        type(graft_t) :: reference
        real(real64), allocatable :: exact(:, :), error(:)
        integer, allocatable :: targets(:)
        integer :: i
        targets = [(1 + int((i - 1_int64) * n / min(count, n)), i=1, min(count, n))]
        allocate (exact(3, n))
        call reference%open(deck)
        call reference%set('method', 'reference')
        call reference%compute(n, x, 3, m, exact, 3, targets=targets)
        error = norm2(a(:, targets) - exact(:, targets), dim=1) / norm2(exact(:, targets), dim=1)
        print '(a,i0,a,4(a,es9.2))', 'force error at ', size(targets), ' particles:', ' median', &
            percentile(error, 0.5_real64), ', 90 %', percentile(error, 0.9_real64), ', 99 %', &
            percentile(error, 0.99_real64), ', max', maxval(error)
    end subroutine report_force_errors
end program galaxy_demo
