! SPDX-License-Identifier: BSD-3-Clause
!--------------------------------------------------------------------------!
! Graft in Phantom: self-gravity of all living particles from Graft's tree, instead of Phantom's own (compile with GRAVITY=no).
! graft_add_selfgravity is called in derivs after `call force`, graft_potential_energy in compute_energies (phantom.patch).
!
! Invariants: fxyzu(1:3) of active particles is added to, nothing else of Phantom's is changed but dtforce, which only shrinks.
! poten(i) is half of mass times potential of particle i at the last call, and so adds up to the potential energy.
!
! Softening: Phantom softens gravity with its density kernel of support 2h. Graft's spline is the same for the cubic kernel, with
! the larger length of a pair where Phantom takes the mean of both forces; the terms in grad h of Price & Monaghan (2007) are
! not there, so that energy is conserved to the accuracy with which h changes slowly. A softening.length in the deck is used for
! all particles instead, and conserves energy to the steps' accuracy.
!--------------------------------------------------------------------------!
module graft_phantom
 use graft, only:graft_t
 implicit none
 private
 public :: graft_add_selfgravity,graft_potential_energy,graft_seconds,graft_forget

 character(len=*), parameter :: deckfile = 'graft.yaml' ! in the folder of the run; without it the defaults below
 type(graft_t), save :: tree
 logical, save :: softening_is_h
 real, allocatable, save :: mass(:),length(:),poten(:)
 integer, allocatable, save :: active(:)

contains

!-----------------------------------------------------------------------
!+
!  Adds the accelerations of self-gravity to fxyzu(1:3,:) of active
!  particles, and limits dtforce. All tasks call it together.
!+
!-----------------------------------------------------------------------
subroutine graft_add_selfgravity(npart,xyzh,fxyzu)
 use io, only:fatal
 integer, intent(in)                :: npart
 real,    intent(in),    contiguous :: xyzh(:,:)
 real,    intent(inout), contiguous :: fxyzu(:,:)
 character(len=1000) :: text
 integer :: ierr

 if (.not.tree%is_open()) call open_tree()
 call describe_particles(npart,xyzh)
 if (softening_is_h) then
    call tree%compute(npart,xyzh,size(xyzh,1),mass,fxyzu,size(fxyzu,1),potential=poten,softening=length, &
                      active=active,add=.true.,ierr=ierr,errmsg=text)
 else
    call tree%compute(npart,xyzh,size(xyzh,1),mass,fxyzu,size(fxyzu,1),potential=poten, &
                      active=active,add=.true.,ierr=ierr,errmsg=text)
 endif
 if (ierr /= 0) call fatal('graft',trim(text))
 call limit_timestep(npart,xyzh,fxyzu)

end subroutine graft_add_selfgravity

!-----------------------------------------------------------------------
!+
!  half of mass times potential of particle i; 0 before any forces
!+
!-----------------------------------------------------------------------
real function graft_potential_energy(i)
 integer, intent(in) :: i

 graft_potential_energy = 0.
 if (allocated(poten)) then
    if (i <= size(poten)) graft_potential_energy = 0.5*mass(i)*poten(i)
 endif

end function graft_potential_energy

!-----------------------------------------------------------------------
!+
!  seconds that the last graft_add_selfgravity spent in Graft; 0 before
!+
!-----------------------------------------------------------------------
real function graft_seconds()
 integer :: ierr
 character(len=200) :: text

 graft_seconds = 0.
 if (tree%is_open()) call tree%query('time_s.total',graft_seconds,ierr,text)

end function graft_seconds

!-----------------------------------------------------------------------
!+
!  Closes Graft; the next call opens it with the deck as it is then.
!+
!-----------------------------------------------------------------------
subroutine graft_forget()
 integer :: ierr

 if (tree%is_open()) call tree%close(ierr)
 if (allocated(mass)) deallocate(mass,length,poten,active)

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
    if (ierr == 0) call tree%set('softening.kind','spline',ierr,text)
    if (ierr == 0) call tree%set('mac.accuracy','1e-4',ierr,text)
 endif
 if (ierr == 0) call tree%get('softening.length',fixed_length,ierr,text)
 softening_is_h = ierr == 0
 if (softening_is_h) softening_is_h = .not.(fixed_length > 0.)
#ifdef MPI
 if (ierr == 0) call tree%set_communicator(MPI_COMM_WORLD,ierr,text)
#endif
 if (ierr /= 0) call fatal('graft',trim(text))

end subroutine open_tree

subroutine refuse_what_cannot_be()
 use io, only:fatal

#ifdef GRAVITY
 call fatal('graft','this Phantom was compiled with GRAVITY=yes, and gravity would count twice; compile with GRAVITY=no')
#endif
#ifdef PERIODIC
 call fatal('graft','this Phantom was compiled with PERIODIC=yes; self-gravity from Graft is that of an isolated system')
#endif
#ifdef IND_TIMESTEPS
 ! Phantom gives out the steps of single particles in `force`, which does not know of these accelerations.
 call fatal('graft','this Phantom was compiled with IND_TIMESTEPS=yes; compile with IND_TIMESTEPS=no')
#endif

end subroutine refuse_what_cannot_be

!--masses, softening lengths and who gets forces; the dead (h <= 0) count as nothing
subroutine describe_particles(npart,xyzh)
 use dim,  only:maxp
 use part, only:massoftype,maxphase,iphase,iamtype,iactive,igas,isdead_or_accreted
 integer, intent(in) :: npart
 real,    intent(in) :: xyzh(:,:)
 integer :: i

 if (allocated(mass)) then
    if (size(mass) < npart) deallocate(mass,length,poten,active)
 endif
 if (.not.allocated(mass)) allocate(mass(size(xyzh,2)),length(size(xyzh,2)),poten(size(xyzh,2)),active(size(xyzh,2)))
 !$omp parallel do default(shared) private(i)
 do i=1,npart
    mass(i)   = massoftype(igas)
    active(i) = 1
    if (maxphase==maxp) then
       mass(i) = massoftype(iamtype(iphase(i)))
       if (.not.iactive(iphase(i))) active(i) = 0
    endif
    length(i) = 2.*xyzh(4,i)
    if (isdead_or_accreted(xyzh(4,i))) then
       mass(i)   = 0.
       length(i) = 0.
       active(i) = 0
       poten(i)  = 0.
    endif
    if (active(i) /= 0) poten(i) = 0. ! potentials are added, as accelerations are; those of inactive particles stay
 enddo
 !$omp end parallel do

end subroutine describe_particles

!--the criterion of Phantom's own force, for the total acceleration: C_force*sqrt(h/|a|)
subroutine limit_timestep(npart,xyzh,fxyzu)
 use timestep, only:C_force,dtforce
 use mpiutils, only:reduceall_mpi
 integer, intent(in) :: npart
 real,    intent(in) :: xyzh(:,:),fxyzu(:,:)
 real    :: dtmin,f2
 integer :: i

 dtmin = huge(dtmin)
 !$omp parallel do default(shared) private(i,f2) reduction(min:dtmin)
 do i=1,npart
    f2 = fxyzu(1,i)**2 + fxyzu(2,i)**2 + fxyzu(3,i)**2
    if (active(i) /= 0 .and. f2 > 0.) dtmin = min(dtmin,C_force*sqrt(xyzh(4,i)/sqrt(f2)))
 enddo
 !$omp end parallel do
 dtforce = min(dtforce,reduceall_mpi('min',dtmin))

end subroutine limit_timestep

end module graft_phantom
