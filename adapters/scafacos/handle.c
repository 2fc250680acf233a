/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle's life, and what it is told. */
#include "internal.h"

#include <graft/graft_loader.h>
#include <graft/graft_mpi_loader.h>

#include <stdlib.h>
#include <string.h>

#define NOT_NULL(pointer)                                                                                                        \
    if ((pointer) == NULL)                                                                                                       \
    return fcs_null(__func__, #pointer)

/* ScaFaCoS's methods that sum the whole of Coulomb's law. Graft chooses how; "direct" is all pairs, as there. */
static const struct {
    const char* name;
    int number;
} methods[] = {{"direct", FCS_METHOD_DIRECT}, {"ewald", FCS_METHOD_EWALD}, {"fmm", FCS_METHOD_FMM},
               {"memd", FCS_METHOD_MEMD},     {"mmm1d", FCS_METHOD_MMM1D}, {"mmm2d", FCS_METHOD_MMM2D},
               {"p2nfft", FCS_METHOD_P2NFFT}, {"p3m", FCS_METHOD_P3M},     {"pepc", FCS_METHOD_PEPC},
               {"pp3mg", FCS_METHOD_PP3MG},   {"vmg", FCS_METHOD_VMG}};

static FCSResult make_options(FCS handle) {
    const graft_api_v1* api = handle->api;
    const char* deck = getenv("GRAFT_FCS_DECK");
    int32_t status = api->options_create(&handle->options);
    if (status == GRAFT_OK && deck != NULL && *deck != '\0')
        status = api->options_read_file(handle->options, deck);
    status = status != GRAFT_OK ? status : api->options_set(handle->options, "interaction", "coulomb");
    status = status != GRAFT_OK ? status : api->options_set_double(handle->options, "constant", 1);
    if (status == GRAFT_OK && handle->method_number == FCS_METHOD_DIRECT)
        status = api->options_set(handle->options, "method", "direct");
    return status == GRAFT_OK ? FCS_RESULT_SUCCESS : fcs_graft_failed(handle, "fcs_init", status);
}

static FCSResult load(FCS handle) {
    char why[1024];
    if (graft_load(NULL, &handle->api, why, sizeof why) != GRAFT_OK)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, "fcs_init", "%s", why);
    return make_options(handle);
}

static FCSResult connect(FCS handle) {
    char why[1024];
    int ranks = 1;
    MPI_Comm_size(handle->communicator, &ranks);
    if (ranks > 1 && graft_load_mpi_comm((int32_t)MPI_Comm_c2f(handle->communicator), &handle->comm, why, sizeof why) != GRAFT_OK)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, "fcs_init", "%s", why);
    return FCS_RESULT_SUCCESS;
}

/* What this rank can do alone. */
static FCSResult make_handle(FCS* handle, const char* method, MPI_Comm communicator) {
    const size_t count = sizeof methods / sizeof *methods;
    size_t k = 0;
    if (method == NULL)
        return fcs_null("fcs_init", "method");
    while (k < count && strcmp(method, methods[k].name) != 0)
        ++k;
    if (k == count)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_init",
                        "method '%s'; expected direct, ewald, fmm, memd, mmm1d, mmm2d, p2nfft, p3m, pepc, pp3mg or vmg", method);
    *handle = calloc(1, sizeof **handle);
    if (*handle == NULL)
        return fcs_fail(FCS_ERROR_ALLOC_FAILED, "fcs_init", "no memory for a handle");
    (*handle)->communicator = communicator;
    (*handle)->method = methods[k].name;
    (*handle)->method_number = methods[k].number;
    (*handle)->near.flag = 1;
    return load(*handle);
}

FCSResult fcs_init(FCS* handle, const char* method, MPI_Comm communicator) {
    FCS made = FCS_NULL;
    FCSResult result;
    NOT_NULL(handle);
    *handle = FCS_NULL;
    result = fcs_agree(communicator, __func__, make_handle(&made, method, communicator), NULL, 0);
    if (result == FCS_RESULT_SUCCESS)
        result = fcs_agree(communicator, __func__, connect(made), NULL, 0);
    if (result != FCS_RESULT_SUCCESS)
        fcs_destroy(made);
    else
        *handle = made;
    return result;
}

void fcs_renew(FCS handle) {
    if (handle->context != NULL)
        handle->api->context_destroy(&handle->context);
    handle->context = NULL;
    handle->box_is_told = false;
}

void fcs_keep_tuning(FCS handle, bool same) {
    if (same)
        return;
    handle->tuned = false;
    handle->near.alpha = 0;
}

FCSResult fcs_destroy(FCS handle) {
    if (handle == FCS_NULL)
        return FCS_RESULT_SUCCESS;
    fcs_renew(handle);
    if (handle->options != NULL)
        handle->api->options_destroy(&handle->options);
    if (handle->comm != NULL)
        handle->comm->comm_free(handle->comm);
    free(handle);
    return FCS_RESULT_SUCCESS;
}

fcs_int fcs_get_method(FCS handle) {
    return handle != FCS_NULL ? handle->method_number : -1;
}

const char* fcs_get_method_name(FCS handle) {
    return handle != FCS_NULL ? handle->method : NULL;
}

MPI_Comm fcs_get_communicator(FCS handle) {
    return handle != FCS_NULL ? handle->communicator : MPI_COMM_NULL;
}

FCSResult fcs_set_common(FCS handle, fcs_int near_field_flag, const fcs_float* box_a, const fcs_float* box_b,
                         const fcs_float* box_c, const fcs_float* box_origin, const fcs_int* periodicity,
                         fcs_int total_particles) {
    FCSResult result = fcs_set_near_field_flag(handle, near_field_flag);
    result = result != FCS_RESULT_SUCCESS ? result : fcs_set_box_a(handle, box_a);
    result = result != FCS_RESULT_SUCCESS ? result : fcs_set_box_b(handle, box_b);
    result = result != FCS_RESULT_SUCCESS ? result : fcs_set_box_c(handle, box_c);
    result = result != FCS_RESULT_SUCCESS ? result : fcs_set_box_origin(handle, box_origin);
    result = result != FCS_RESULT_SUCCESS ? result : fcs_set_periodicity(handle, periodicity);
    return result != FCS_RESULT_SUCCESS ? result : fcs_set_total_particles(handle, total_particles);
}

FCSResult fcs_set_dimensions(FCS handle, fcs_int dimensions) {
    NOT_NULL(handle);
    if (dimensions != 3)
        return fcs_fail(dimensions == 1 || dimensions == 2 ? FCS_ERROR_NOT_IMPLEMENTED : FCS_ERROR_WRONG_ARGUMENT, __func__,
                        "%d dimensions; expected 3", dimensions);
    return FCS_RESULT_SUCCESS;
}

fcs_int fcs_get_dimensions(FCS handle) {
    return handle != FCS_NULL ? 3 : -1;
}

static FCSResult set_flag(const char* function, fcs_int* kept, fcs_int flag) {
    if (flag != 0 && flag != 1)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, function, "a flag of %d; expected 0 or 1", flag);
    *kept = flag;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_set_near_field_flag(FCS handle, fcs_int flag) {
    NOT_NULL(handle);
    fcs_keep_tuning(handle, handle->near.flag == flag);
    return set_flag(__func__, &handle->near.flag, flag);
}

fcs_int fcs_get_near_field_flag(FCS handle) {
    return handle != FCS_NULL ? handle->near.flag : -1;
}

static FCSResult set_vector(FCS handle, const char* function, unsigned bit, double* kept, const fcs_float* vector) {
    if (vector == NULL)
        return fcs_null(function, "the vector");
    memcpy(kept, vector, 3 * sizeof *kept);
    handle->given |= bit;
    return FCS_RESULT_SUCCESS;
}

#define BOX_VECTOR(name, bit, member)                                                                                            \
    FCSResult fcs_set_##name(FCS handle, const fcs_float* name) {                                                                \
        NOT_NULL(handle);                                                                                                        \
        return set_vector(handle, __func__, bit, handle->member, name);                                                          \
    }                                                                                                                            \
    const fcs_float* fcs_get_##name(FCS handle) {                                                                                \
        return handle != FCS_NULL ? handle->member : NULL;                                                                       \
    }

BOX_VECTOR(box_a, 1, box[0])
BOX_VECTOR(box_b, 2, box[1])
BOX_VECTOR(box_c, 4, box[2])
BOX_VECTOR(box_origin, has_origin, origin)

FCSResult fcs_set_periodicity(FCS handle, const fcs_int* periodicity) {
    int k;
    NOT_NULL(handle);
    NOT_NULL(periodicity);
    for (k = 0; k < 3; ++k)
        if (periodicity[k] != 0 && periodicity[k] != 1)
            return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "periodicity %d along axis %d; expected 0 or 1", periodicity[k],
                            k);
    fcs_keep_tuning(handle, memcmp(handle->periodicity, periodicity, sizeof handle->periodicity) == 0);
    memcpy(handle->periodicity, periodicity, sizeof handle->periodicity);
    handle->given |= has_periodicity;
    return FCS_RESULT_SUCCESS;
}

const fcs_int* fcs_get_periodicity(FCS handle) {
    return handle != FCS_NULL ? handle->periodicity : NULL;
}

FCSResult fcs_set_total_particles(FCS handle, fcs_int total_particles) {
    NOT_NULL(handle);
    if (total_particles < 0)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "%d particles; expected 0 or more", total_particles);
    fcs_keep_tuning(handle, handle->total_particles == total_particles);
    handle->total_particles = total_particles;
    handle->given |= has_total;
    return FCS_RESULT_SUCCESS;
}

fcs_int fcs_get_total_particles(FCS handle) {
    return handle != FCS_NULL ? handle->total_particles : -1;
}

FCSResult fcs_set_tolerance(FCS handle, fcs_int type, fcs_float tolerance) {
    NOT_NULL(handle);
    if (type < FCS_TOLERANCE_TYPE_UNDEFINED || type > FCS_TOLERANCE_TYPE_FIELD_REL || (type != 0 && !(tolerance > 0)))
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "tolerance %g of type %d; expected above 0, and a type of 0 to 6",
                        tolerance, type);
    fcs_keep_tuning(handle, handle->tolerance_type == type && handle->tolerance == tolerance);
    handle->tolerance_type = type;
    handle->tolerance = tolerance;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_get_tolerance(FCS handle, fcs_int* type, fcs_float* tolerance) {
    NOT_NULL(handle);
    NOT_NULL(type);
    NOT_NULL(tolerance);
    *type = handle->tolerance_type;
    *tolerance = handle->tolerance;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_set_compute_virial(FCS handle, fcs_int compute_virial) {
    NOT_NULL(handle);
    return set_flag(__func__, &handle->compute_virial, compute_virial);
}

FCSResult fcs_get_compute_virial(FCS handle, fcs_int* compute_virial) {
    NOT_NULL(handle);
    NOT_NULL(compute_virial);
    *compute_virial = handle->compute_virial;
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_get_virial(FCS handle, fcs_float* virial) {
    NOT_NULL(handle);
    NOT_NULL(virial);
    if (!handle->virial_known)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, __func__,
                        "no virial; expected fcs_set_compute_virial(handle, 1) before fcs_run");
    memcpy(virial, handle->virial, sizeof handle->virial);
    return FCS_RESULT_SUCCESS;
}
