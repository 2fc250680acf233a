/* SPDX-License-Identifier: BSD-3-Clause */
/* ScaFaCoS's C interface, served by Graft: for programs that call it, without ScaFaCoS. Names, numbers and meanings are those of
 * ScaFaCoS 1.0; a program that was compiled with ScaFaCoS's own header (fcs_float double, fcs_int int) may be linked as well.
 *
 * Units: potentials are the sum of q / r, fields the sum of q (x - x_j) / r^3. Every function but the getters returns
 * FCS_RESULT_SUCCESS or a result object, which the caller destroys. Positions are x y z after each other. README.md: what each
 * method's name means here, tolerances, what is refused. */
#ifndef GRAFT_FCS_H
#define GRAFT_FCS_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef double fcs_float;
typedef int fcs_int;
typedef struct _FCS_t *FCS;
typedef struct FCSResult_t *FCSResult;
#define FCS_NULL NULL
#define FCS_RESULT_SUCCESS NULL

#define FCS_SUCCESS 0
#define FCS_ERROR_NULL_ARGUMENT 1
#define FCS_ERROR_ALLOC_FAILED 2
#define FCS_ERROR_WRONG_ARGUMENT 3
#define FCS_ERROR_MISSING_ELEMENT 4
#define FCS_ERROR_LOGICAL_ERROR 5
#define FCS_ERROR_INCOMPATIBLE_METHOD 6
#define FCS_ERROR_NOT_IMPLEMENTED 7

#define FCS_METHOD_FMM 32
#define FCS_METHOD_P2NFFT 33
#define FCS_METHOD_PEPC 34
#define FCS_METHOD_P3M 35
#define FCS_METHOD_PP3MG 36
#define FCS_METHOD_VMG 37
#define FCS_METHOD_DIRECT 38
#define FCS_METHOD_MEMD 39
#define FCS_METHOD_MMM1D 41
#define FCS_METHOD_EWALD 42
#define FCS_METHOD_MMM2D 43

/* Root mean squares over all particles, of the field's error by its length; _REL: over that of the quantity itself. ENERGY: of
 * the total energy. */
#define FCS_TOLERANCE_TYPE_UNDEFINED 0
#define FCS_TOLERANCE_TYPE_ENERGY 1
#define FCS_TOLERANCE_TYPE_ENERGY_REL 2
#define FCS_TOLERANCE_TYPE_POTENTIAL 3
#define FCS_TOLERANCE_TYPE_POTENTIAL_REL 4
#define FCS_TOLERANCE_TYPE_FIELD 5
#define FCS_TOLERANCE_TYPE_FIELD_REL 6

/* NULL is success: code 0, empty texts. */
void fcs_result_destroy(FCSResult result);
fcs_int fcs_result_get_return_code(FCSResult result);
const char *fcs_result_get_function(FCSResult result);
const char *fcs_result_get_message(FCSResult result);
void fcs_result_print_result(FCSResult result);

/* Collective over the communicator, which must live as long as the handle. The deck that the environment variable GRAFT_FCS_DECK
 * names is read first. */
FCSResult fcs_init(FCS *handle, const char *method, MPI_Comm communicator);
FCSResult fcs_destroy(FCS handle);
fcs_int fcs_get_method(FCS handle);
const char *fcs_get_method_name(FCS handle);
MPI_Comm fcs_get_communicator(FCS handle);

/* What every computation needs. Of box vectors along periodic axes a must lie along x, and b in the plane of x and y. */
FCSResult fcs_set_common(FCS handle, fcs_int near_field_flag, const fcs_float *box_a, const fcs_float *box_b,
                         const fcs_float *box_c, const fcs_float *box_origin, const fcs_int *periodicity,
                         fcs_int total_particles);
FCSResult fcs_set_dimensions(FCS handle, fcs_int dimensions); /* 3 */
fcs_int fcs_get_dimensions(FCS handle);
FCSResult fcs_set_near_field_flag(FCS handle, fcs_int flag); /* 1; 0: the host's affair, see fcs_compute_near */
fcs_int fcs_get_near_field_flag(FCS handle);
FCSResult fcs_set_box_a(FCS handle, const fcs_float *box_a);
FCSResult fcs_set_box_b(FCS handle, const fcs_float *box_b);
FCSResult fcs_set_box_c(FCS handle, const fcs_float *box_c);
FCSResult fcs_set_box_origin(FCS handle, const fcs_float *box_origin);
const fcs_float *fcs_get_box_a(FCS handle);
const fcs_float *fcs_get_box_b(FCS handle);
const fcs_float *fcs_get_box_c(FCS handle);
const fcs_float *fcs_get_box_origin(FCS handle);
FCSResult fcs_set_periodicity(FCS handle, const fcs_int *periodicity);
const fcs_int *fcs_get_periodicity(FCS handle);
FCSResult fcs_set_total_particles(FCS handle, fcs_int total_particles);
fcs_int fcs_get_total_particles(FCS handle);

/* Taken, and without effect: Graft neither moves nor sorts a host's particles. */
FCSResult fcs_set_redistribute(FCS handle, fcs_int redistribute);
fcs_int fcs_get_redistribute(FCS handle);
FCSResult fcs_set_max_local_particles(FCS handle, fcs_int max_local_particles);
fcs_int fcs_get_max_local_particles(FCS handle);
FCSResult fcs_set_max_particle_move(FCS handle, fcs_float max_particle_move);
FCSResult fcs_set_resort(FCS handle, fcs_int resort);
FCSResult fcs_get_resort(FCS handle, fcs_int *resort);
FCSResult fcs_get_resort_availability(FCS handle, fcs_int *availability); /* 0 */
FCSResult fcs_get_resort_particles(FCS handle, fcs_int *particles);       /* as many as fcs_run was given */
FCSResult fcs_resort_ints(FCS handle, fcs_int *source, fcs_int *target, fcs_int n);
FCSResult fcs_resort_floats(FCS handle, fcs_float *source, fcs_float *target, fcs_int n);
FCSResult fcs_resort_bytes(FCS handle, void *source, void *target, fcs_int n);
#define FCS_FMM_HOMOGENOUS_SYSTEM 0
#define FCS_FMM_INHOMOGENOUS_SYSTEM 1
FCSResult fcs_fmm_set_internal_tuning(FCS handle, long long system);

FCSResult fcs_set_tolerance(FCS handle, fcs_int type, fcs_float tolerance);
FCSResult fcs_get_tolerance(FCS handle, fcs_int *type, fcs_float *tolerance);
/* "name,value,name,value,...": box_a, box_b, box_c, box_origin, periodicity (three values each), near_field_flag,
 * total_particles, tolerance_field and the like, require_virial, and graft_KEY for each deck key (graft_precision,fp64).
 * Names that begin with a method's are left out. */
FCSResult fcs_set_parameters(FCS handle, const char *parameters, fcs_int continue_on_errors);
FCSResult fcs_print_parameters(FCS handle);

/* Collective. Finds the settings that keep the tolerance, by computing with finer ones, too: up to some ten computations. It
 * measures again where particles have come or gone or the tolerance is another one; a new box is no reason. fcs_run calls it
 * where that is due. */
FCSResult fcs_tune(FCS handle, fcs_int local_particles, fcs_float *positions, fcs_float *charges);
/* Collective. Fields and potentials in the order of the particles; NULL: not wanted. */
FCSResult fcs_run(FCS handle, fcs_int local_particles, fcs_float *positions, fcs_float *charges, fcs_float *field,
                  fcs_float *potentials);
/* Collective: what a medium of this dielectric constant around the periodic images changes; below 0: a conductor, nothing. */
FCSResult fcs_compute_dipole_correction(FCS handle, fcs_int local_particles, fcs_float *positions, fcs_float *charges,
                                        fcs_float epsilon, fcs_float *field_correction, fcs_float *energy_correction);
FCSResult fcs_set_compute_virial(FCS handle, fcs_int compute_virial);
FCSResult fcs_get_compute_virial(FCS handle, fcs_int *compute_virial);
/* Of the last fcs_run, of all ranks: nine numbers, the sum of charge * field (x) position. */
FCSResult fcs_get_virial(FCS handle, fcs_float *virial);

/* near_field_flag 0, in boxes with images along some axis: fcs_run computes what is left when the host adds, for each two charges
 * nearer than r_cut, what fcs_compute_near says. Virials are then of that part alone. Delegation: 1 of methods ewald, p2nfft and
 * p3m. r_cut: the host's choice; unset, that of fcs_tune, half a periodic edge at most. */
FCSResult fcs_set_r_cut(FCS handle, fcs_float r_cut);
FCSResult fcs_unset_r_cut(FCS handle);
FCSResult fcs_get_r_cut(FCS handle, fcs_float* r_cut);
FCSResult fcs_get_near_field_delegation(FCS handle, fcs_int *near_field_delegation);
/* Of two charges of 1 at this distance: the potential, and its slope, which is negative: a charge is driven by -field times the
 * unit vector from the other one. After fcs_tune. */
FCSResult fcs_compute_near(FCS handle, fcs_float distance, fcs_float *potential, fcs_float *field);
FCSResult fcs_compute_near_potential(FCS handle, fcs_float distance, fcs_float *potential);
FCSResult fcs_compute_near_field(FCS handle, fcs_float distance, fcs_float *field);

#ifdef __cplusplus
}
#endif
#endif
