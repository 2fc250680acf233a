! SPDX-License-Identifier: BSD-3-Clause
! Phantom in small with Graft's gravity beside a direct sum: forces and potentials at the start, the collapse, and its energy.
program evrard_test
    use run
    implicit none
    integer :: failures = 0

    call compare_forces(0.)
    call compare_forces(0.2)
    if (command_argument_count() == 0) then ! with any word: forces alone
        call compare_collapses()
        call conserve_with_fixed_softening()
    end if
    print '(a,f6.3)', 'time in Graft / time in the call: ', inside_s / calls_s
    if (failures > 0) error stop 1

contains

    subroutine expect(right, what)
        logical, intent(in) :: right
        character(len=*), intent(in) :: what
        if (right) return
        failures = failures + 1
        print '(2a)', 'FAILED: ', what
    end subroutine expect

    subroutine write_deck(length)
        real, intent(in) :: length
        integer :: unit
        open (newunit=unit, file='graft.yaml', action='write')
        write (unit, '(a,f6.3,a)') 'softening: {kind: spline, length: ', length, '}'
        write (unit, '(a)') 'mac: {type: error, accuracy: 1e-4}'
        close (unit)
    end subroutine write_deck

    subroutine compare_forces(length)
        real, intent(in) :: length
        real, allocatable :: by_tree(:, :), gas(:, :)
        real :: dt, ekin, etherm, tree_energy, sum_energy, error
        integer :: n
        fixed_length = length
        call write_deck(length)
        call evrard(9)
        n = npart
        allocate (by_tree(3, n), gas(3, n))
        summed = .false.
        call derivs(dt)
        call compute_energies(ekin, etherm, tree_energy)
        by_tree(:, :) = fxyzu(1:3, 1:n)
        call force(n, fxyzu)
        gas(:, :) = fxyzu(1:3, 1:n)
        fxyzu(4, 1) = 7
        call graft_add_selfgravity(n, xyzh, fxyzu)
        call expect(fxyzu(4, 1) == 7 .and. all(fxyzu(1:3, 1:n) == by_tree), 'only accelerations are added to, alike')
        call expect(all(by_tree(:, n - 2:n) == 0), 'the dead get nothing')
        iphase(1:n:2) = -iphase(1:n:2) ! inactive
        fxyzu(1:3, 1:n) = 3
        call graft_add_selfgravity(n, xyzh, fxyzu)
        call expect(all(fxyzu(1:3, 1:n:2) == 3) .and. any(fxyzu(1:3, 2:n:2) /= 3), 'inactive particles get nothing')
        iphase = abs(iphase)
        fxyzu(1:3, 1:n) = gas
        call add_direct_sum()
        summed = .true.
        call compute_energies(ekin, etherm, sum_energy)
        error = sqrt(sum((by_tree - fxyzu(1:3, 1:n))**2) / sum((fxyzu(1:3, 1:n) - gas)**2))
        print '(i0,a,f4.1,2(a,es9.2))', n - 3, ' particles, softening ', length, ' (0: 2h of each): force error ', error, &
            ', energy off by ', abs(tree_energy / sum_energy - 1)
        call expect(error < 5e-4, 'forces equal the direct sum')
        call expect(abs(tree_energy / sum_energy - 1) < 1e-4, 'potential energy equals the direct sum')
        call expect(abs(sum_energy + 2. / 3.) < 0.05, 'the potential energy of the sphere is -2/3')
    end subroutine compare_forces

    subroutine collapse(by_sum, length, cells, tmax, energies)
        logical, intent(in) :: by_sum
        real, intent(in) :: length, tmax
        integer, intent(in) :: cells
        real, intent(out) :: energies(3)
        fixed_length = length
        call write_deck(length)
        call evrard(cells)
        summed = by_sum
        call evolve(tmax, energies)
    end subroutine collapse

    subroutine compare_collapses()
        real :: ours(3), theirs(3), drift
        call collapse(.false., 0., 7, 0.8, ours)
        drift = largest_drift
        call collapse(.true., 0., 7, 0.8, theirs)
        print '(a,3f9.5,a,3f9.5)', 'kinetic, thermal, potential energy at t = 0.8: ', ours, ', direct sum ', theirs
        print '(2(a,es9.2))', 'softening 2h: largest drift of the energy ', drift, ', direct sum ', largest_drift
        call expect(all(abs(ours - theirs) < 2e-3 * abs(theirs)), 'the collapse is that of the direct sum')
        call expect(drift < 1.1 * largest_drift + 1e-4, 'energy drifts no more than with the direct sum')
        call expect(ours(1) > 0.1, 'it collapses')
    end subroutine compare_collapses

    subroutine conserve_with_fixed_softening()
        real :: energies(3)
        call collapse(.false., 0.15, 7, 1.2, energies)
        print '(a,3f9.5,a,es9.2)', 'fixed softening, t = 1.2: energies ', energies, ', largest drift ', largest_drift
        call expect(largest_drift < 5e-3, 'energy is conserved with fixed softening')
        call expect(energies(2) > 0.2, 'the shock has heated the gas')
    end subroutine conserve_with_fixed_softening
end program evrard_test
