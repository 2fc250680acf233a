! SPDX-License-Identifier: BSD-3-Clause
! A Phantom in small, 1: the modules that adapters/phantom/graft_phantom.F90 uses, with Phantom's names, kinds and conventions
! (xyzh(4,:), fxyzu(4,:), massoftype, iphase of one byte whose sign says active, h <= 0 for the dead, default reals of 8 bytes).
module dim
    implicit none
    integer, parameter :: maxp = 6000
end module dim

module io
    implicit none
    integer, parameter :: master = 0
    integer :: id = 0
contains
    subroutine fatal(where, what)
        character(len=*), intent(in) :: where, what
        print '(4a)', ' FATAL ERROR! ', where, ': ', what
        error stop 2
    end subroutine fatal
end module io

module part
    use dim, only: maxp
    implicit none
    integer, parameter :: maxphase = maxp, igas = 1, idarkmatter = 7
    real :: xyzh(4, maxp) = 0, vxyzu(4, maxp) = 0, fxyzu(4, maxp) = 0, massoftype(7) = 0
    integer(kind=1) :: iphase(maxp) = int(igas, kind=1)
    integer :: npart = 0
contains
    pure logical function isdead_or_accreted(hi)
        real, intent(in) :: hi
        isdead_or_accreted = hi < tiny(hi)
    end function isdead_or_accreted

    pure logical function iactive(iphasei)
        integer(kind=1), intent(in) :: iphasei
        iactive = iphasei > 0
    end function iactive

    pure elemental integer function iamtype(iphasei)
        integer(kind=1), intent(in) :: iphasei
        iamtype = abs(iphasei)
    end function iamtype
end module part

module timestep
    implicit none
    real :: C_cour = 0.3, C_force = 0.25, dtcourant = 0, dtforce = 0
end module timestep
