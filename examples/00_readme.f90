! SPDX-License-Identifier: BSD-3-Clause
program three_bodies
    use graft
    integer, parameter :: n = 3
    double precision :: x(n) = [0, 1, 3], y(n) = 0, z(n) = 0, m(n) = [1, 2, 4], ax(n), ay(n), az(n)
    type(graft_t) :: gravity

    call gravity%open('deck.yaml')
    call gravity%compute(n, x, y, z, m, ax, ay, az)
    call gravity%close()
    print '(3f10.6)', ax ! 2.444444  0.000000 -0.611111
end program three_bodies
