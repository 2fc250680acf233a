! SPDX-License-Identifier: BSD-3-Clause
! A Phantom in small: the modules that adapters/phantom/graft_phantom.F90 uses, with Phantom's names, kinds and conventions
! (xyzh(4,:), massoftype, iphase of one byte whose sign says active, h <= 0 for the dead, default reals of 8 bytes). For what
! the real Phantom cannot show in a test: each switch that is refused would be a build of minutes; forces of tasks beside a
! direct sum.
module dim
    implicit none
    integer, parameter :: maxp = 6000
    logical, parameter :: gravity = &
#ifdef WITHOUT_GRAVITY
        .false.
#else
        .true.
#endif
    logical, parameter :: periodic = &
#ifdef PERIODIC
        .true.
#else
        .false.
#endif
    logical, parameter :: use_apr = &
#ifdef APR
        .true.
#else
        .false.
#endif
    logical, parameter :: use_sinktree = &
#ifdef SINKTREE
        .true.
#else
        .false.
#endif
end module dim

module kernel
    implicit none
#ifdef QUINTIC
    character(len=*), parameter :: kernelname = 'M_6 quintic'
#else
    character(len=*), parameter :: kernelname = 'M_4 cubic'
#endif
end module kernel

module io
    implicit none
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
    integer, parameter :: maxphase = maxp, igas = 1
    real :: xyzh(4, maxp) = 0, massoftype(7) = 0
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
