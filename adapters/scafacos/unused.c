/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the interface that are taken and have no effect here, or are refused. */
#include "internal.h"

#define NUMBER(name, type, member)                                                                                               \
    FCSResult fcs_set_##name(FCS handle, type name) {                                                                            \
        if (handle == FCS_NULL)                                                                                                  \
            return fcs_null(__func__, "handle");                                                                                 \
        handle->member = name;                                                                                                   \
        return FCS_RESULT_SUCCESS;                                                                                               \
    }

NUMBER(redistribute, fcs_int, unused.redistribute)
NUMBER(max_local_particles, fcs_int, unused.max_local_particles)
NUMBER(resort, fcs_int, unused.resort)

fcs_int fcs_get_redistribute(FCS handle) {
    return handle != FCS_NULL ? handle->unused.redistribute : -1;
}

fcs_int fcs_get_max_local_particles(FCS handle) {
    return handle != FCS_NULL ? handle->unused.max_local_particles : -1;
}

FCSResult fcs_set_max_particle_move(FCS handle, fcs_float max_particle_move) {
    (void)max_particle_move;
    return handle != FCS_NULL ? FCS_RESULT_SUCCESS : fcs_null(__func__, "handle");
}

FCSResult fcs_fmm_set_internal_tuning(FCS handle, long long system) {
    (void)system;
    return handle != FCS_NULL ? FCS_RESULT_SUCCESS : fcs_null(__func__, "handle");
}

static FCSResult answer(FCS handle, const char* function, fcs_int* place, fcs_int value) {
    if (handle == FCS_NULL || place == NULL)
        return fcs_null(function, handle == FCS_NULL ? "handle" : "the place for the answer");
    *place = value;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_get_resort(FCS handle, fcs_int* resort) {
    return answer(handle, __func__, resort, handle != FCS_NULL ? handle->unused.resort : 0);
}

FCSResult fcs_get_resort_availability(FCS handle, fcs_int* availability) {
    return answer(handle, __func__, availability, 0);
}

FCSResult fcs_get_resort_particles(FCS handle, fcs_int* particles) {
    return answer(handle, __func__, particles, handle != FCS_NULL ? handle->last_particles : 0);
}

static FCSResult never_sorted(const char* function) {
    return fcs_fail(FCS_ERROR_LOGICAL_ERROR, function,
                    "particles are never sorted; expected to be asked of fcs_get_resort_availability");
}

FCSResult fcs_resort_ints(FCS handle, fcs_int* source, fcs_int* target, fcs_int n) {
    (void)handle, (void)source, (void)target, (void)n;
    return never_sorted(__func__);
}

FCSResult fcs_resort_floats(FCS handle, fcs_float* source, fcs_float* target, fcs_int n) {
    (void)handle, (void)source, (void)target, (void)n;
    return never_sorted(__func__);
}

FCSResult fcs_resort_bytes(FCS handle, void* source, void* target, fcs_int n) {
    (void)handle, (void)source, (void)target, (void)n;
    return never_sorted(__func__);
}
