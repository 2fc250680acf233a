! SPDX-License-Identifier: BSD-3-Clause
!--------------------------------------------------------------------------!
! Graft in Phantom: the gravity of all living particles on each other, in place of Phantom's tree (compile with GRAVITY=yes).
! phantom.patch has the calls: graft_selfgravity before `call force`, graft_field where `force` would expand the polynomial of
! distant nodes.
!
! Who does what: Graft sums all pairs, softened by its spline of support 2h with the larger h of a pair. For SPH neighbours
! Phantom's own terms stay, the mean of both h and those in grad h (Price & Monaghan 2007, MNRAS 374, 1347), and the patch takes
! off what Graft has added for that pair. So energies, steps of single particles, sinks and MPI are Phantom's as they were.
!
! conserve_momentum is set: where all living particles get forces, these add up to zero to rounding.
!--------------------------------------------------------------------------!
module graft_phantom
 use graft, only:graft_t
 implicit none
 private
 public :: graft_selfgravity,graft_field,graft_forget

 character(len=*), parameter :: deckfile = 'graft.yaml' ! in the folder of the run; without it the defaults below
 type(graft_t), save :: tree
 real, allocatable, save :: mass(:),length(:),poten(:),field(:,:)
 integer, allocatable, save :: active(:)

contains

!-----------------------------------------------------------------------
!+
!  Computes accelerations and potentials of active particles, which
!  graft_field then gives out. All tasks call it together.
!+
!-----------------------------------------------------------------------
subroutine graft_selfgravity(npart,xyzh)
 use io, only:fatal
 integer, intent(in)             :: npart
 real,    intent(in), contiguous :: xyzh(:,:)
 character(len=1000) :: text
 integer :: ierr

 if (.not.tree%is_open()) call open_tree()
 call describe_particles(npart,xyzh)
 call tree%compute(npart,xyzh,size(xyzh,1),mass,field,size(field,1),potential=poten,softening=length, &
                   active=active,ierr=ierr,errmsg=text)
 if (ierr /= 0) call fatal('graft',trim(text))

end subroutine graft_selfgravity

!-----------------------------------------------------------------------
!+
!  Acceleration of particle i, and its potential without its own share.
!+
!-----------------------------------------------------------------------
pure subroutine graft_field(i,fx,fy,fz,phi)
 integer, intent(in)  :: i
 real,    intent(out) :: fx,fy,fz,phi

 fx  = field(1,i)
 fy  = field(2,i)
 fz  = field(3,i)
 phi = poten(i)

end subroutine graft_field

!-----------------------------------------------------------------------
!+
!  Closes Graft; the next call opens it with the deck as it is then.
!+
!-----------------------------------------------------------------------
subroutine graft_forget()
 integer :: ierr

 if (tree%is_open()) call tree%close(ierr)
 if (allocated(mass)) deallocate(mass,length,poten,field,active)

end subroutine graft_forget

subroutine open_tree()
 use io, only:fatal
#ifdef MPI
 use mpi
#endif
 character(len=1000) :: text
 logical :: deck
 real    :: fixed_length
 integer :: ierr

 call refuse_what_cannot_be()
 inquire(file=deckfile,exist=deck)
 if (deck) then
    call tree%open(deckfile,ierr=ierr,errmsg=text)
 else
    call tree%open(ierr=ierr,errmsg=text)
    if (ierr == 0) call tree%set('mac.accuracy','3e-4',ierr,text)
 endif
 if (ierr == 0) call tree%set('softening.kind','spline',ierr,text)
 if (ierr == 0) call tree%set('conserve_momentum','true',ierr,text)
 if (ierr == 0) call tree%get('softening.length',fixed_length,ierr,text)
 if (ierr == 0 .and. fixed_length > 0.) call fatal('graft', &
    'graft.yaml has softening.length; expected none: Phantom softens gravity by h, and the terms in grad h are made for that')
#ifdef MPI
 if (ierr == 0) call tree%set_communicator(MPI_COMM_WORLD,ierr,text)
#endif
 if (ierr /= 0) call fatal('graft',trim(text))

end subroutine open_tree

subroutine refuse_what_cannot_be()
 use dim,    only:gravity,periodic,use_apr,use_sinktree
 use io,     only:fatal
 use kernel, only:kernelname

 if (.not.gravity) call fatal('graft','this Phantom was compiled with GRAVITY=no; compile with GRAVITY=yes')
 if (periodic) call fatal('graft', &
    'this Phantom was compiled with PERIODIC=yes; self-gravity from Graft is that of an isolated system')
 if (use_apr) call fatal('graft','this Phantom was compiled with APR=yes, whose masses Graft is not told; compile with APR=no')
 if (use_sinktree) call fatal('graft', &
    'this Phantom was compiled with SINKTREE=yes; compile with SINKTREE=no: sinks and particles then meet in pairs')
 if (kernelname /= 'M_4 cubic') call fatal('graft','this Phantom has the kernel '//trim(kernelname)// &
    '; expected the cubic one, which is that of the softening; compile with KERNEL=cubic')

end subroutine refuse_what_cannot_be

!--masses, softening lengths and who gets forces; the dead (h <= 0) count as nothing
subroutine describe_particles(npart,xyzh)
 use dim,  only:maxp
 use part, only:massoftype,maxphase,iphase,iamtype,iactive,igas,isdead_or_accreted
 integer, intent(in) :: npart
 real,    intent(in) :: xyzh(:,:)
 integer :: i,most

 most = size(xyzh,2)
 if (allocated(mass)) then
    if (size(mass) < npart) deallocate(mass,length,poten,field,active)
 endif
 if (.not.allocated(mass)) allocate(mass(most),length(most),poten(most),field(3,most),active(most))
 !$omp parallel do default(shared) private(i)
 do i=1,npart
    mass(i)   = 0.
    length(i) = 0.
    active(i) = 0
    if (isdead_or_accreted(xyzh(4,i))) cycle ! first of all: the dead may have no type
    mass(i)   = massoftype(igas)
    length(i) = 2.*xyzh(4,i)
    active(i) = 1
    if (maxphase==maxp) then
       mass(i) = massoftype(iamtype(iphase(i)))
       if (.not.iactive(iphase(i))) active(i) = 0
    endif
 enddo
 !$omp end parallel do

end subroutine describe_particles

end module graft_phantom
