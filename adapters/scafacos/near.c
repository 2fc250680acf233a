/* SPDX-License-Identifier: BSD-3-Clause */
/* The near field where it is the host's: which methods leave it, its cut-off, and what a pair at a distance does. Fields are
 * slopes of potentials, as ScaFaCoS has them: negative, for charges of 1. */
#include "internal.h"

#include <math.h>

/* Those that ScaFaCoS splits by erfc itself. */
bool fcs_delegates(const struct _FCS_t* handle) {
    return handle->method_number == FCS_METHOD_P2NFFT || handle->method_number == FCS_METHOD_P3M ||
           handle->method_number == FCS_METHOD_EWALD;
}

FCSResult fcs_get_near_field_delegation(FCS handle, fcs_int* near_field_delegation) {
    if (handle == FCS_NULL || near_field_delegation == NULL)
        return fcs_null(__func__, handle == FCS_NULL ? "handle" : "the place for the answer");
    *near_field_delegation = fcs_delegates(handle);
    return FCS_RESULT_SUCCESS;
}

/* r_cut 0: fcs_tune chooses. */
static FCSResult ask_for(FCS handle, double r_cut) {
    fcs_keep_tuning(handle, handle->near.flag != 0 || handle->near.asked_r_cut == r_cut);
    handle->near.asked_r_cut = r_cut;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_set_r_cut(FCS handle, fcs_float r_cut) {
    if (handle == FCS_NULL)
        return fcs_null(__func__, "handle");
    if (!(r_cut > 0) || !isfinite(r_cut))
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "r_cut %g; expected a length above 0, or fcs_unset_r_cut", r_cut);
    return ask_for(handle, r_cut);
}

FCSResult fcs_unset_r_cut(FCS handle) {
    return handle != FCS_NULL ? ask_for(handle, 0) : fcs_null(__func__, "handle");
}

FCSResult fcs_get_r_cut(FCS handle, fcs_float* r_cut) {
    if (handle == FCS_NULL || r_cut == NULL)
        return fcs_null(__func__, handle == FCS_NULL ? "handle" : "r_cut");
    *r_cut = handle->near.asked_r_cut > 0 ? handle->near.asked_r_cut : handle->near.r_cut;
    return FCS_RESULT_SUCCESS;
}

static FCSResult compute_near(FCS handle, const char* function, double distance, double* potential, double* field) {
    const double two_over_root_pi = 1.12837916709551257390;
    double alpha, left;
    if (handle == FCS_NULL)
        return fcs_null(function, "handle");
    if (handle->near.flag != 0)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, function, "the near field is computed by fcs_run; expected near_field_flag 0");
    if (handle->near.alpha == 0)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, function, "how the field is split is not known yet; expected fcs_tune before");
    if (!(distance > 0))
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, function, "a distance of %g; expected above 0", distance);
    alpha = handle->near.alpha;
    left = erfc(alpha * distance) / distance;
    if (potential != NULL)
        *potential = left;
    if (field != NULL)
        *field = -(left + two_over_root_pi * alpha * exp(-alpha * alpha * distance * distance)) / distance;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_compute_near(FCS handle, fcs_float distance, fcs_float* potential, fcs_float* field) {
    if (potential == NULL || field == NULL)
        return fcs_null(__func__, "the place for the answer");
    return compute_near(handle, __func__, distance, potential, field);
}

FCSResult fcs_compute_near_potential(FCS handle, fcs_float distance, fcs_float* potential) {
    return potential != NULL ? compute_near(handle, __func__, distance, potential, NULL)
                             : fcs_null(__func__, "the place for the answer");
}

FCSResult fcs_compute_near_field(FCS handle, fcs_float distance, fcs_float* field) {
    return field != NULL ? compute_near(handle, __func__, distance, NULL, field) : fcs_null(__func__, "the place for the answer");
}
