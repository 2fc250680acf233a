! SPDX-License-Identifier: BSD-3-Clause
! A Phantom compiled with what the adapter cannot serve: the first call must stop it.
program refused_test
    use part
    use graft_phantom, only: graft_selfgravity
    implicit none
    npart = 2
    xyzh(:, 1) = [0., 0., 0., 1.]
    xyzh(:, 2) = [1., 0., 0., 1.]
    massoftype(igas) = 0.5
    call graft_selfgravity(npart, xyzh)
    print '(a)', 'it was not refused'
end program refused_test
