/* SPDX-License-Identifier: BSD-3-Clause */
/* What functions return. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { function_length = 64, message_length = 1024 };

struct FCSResult_t {
    int code;
    char function[function_length], message[message_length];
};

static struct FCSResult_t no_memory = {FCS_ERROR_ALLOC_FAILED, "", "no memory for the text of an error"};

FCSResult fcs_fail(int code, const char* function, const char* format, ...) {
    FCSResult result = malloc(sizeof *result);
    va_list values;
    if (result == NULL)
        return &no_memory;
    result->code = code;
    snprintf(result->function, function_length, "%s", function);
    va_start(values, format);
    vsnprintf(result->message, message_length, format, values);
    va_end(values);
    return result;
}

FCSResult fcs_null(const char* function, const char* what) {
    return fcs_fail(FCS_ERROR_NULL_ARGUMENT, function, "%s is NULL", what);
}

FCSResult fcs_graft_failed(const struct _FCS_t* handle, const char* function, int32_t status) {
    const int code = status == GRAFT_ERROR_MEMORY                                              ? FCS_ERROR_ALLOC_FAILED
                     : status == GRAFT_ERROR_UNSUPPORTED                                       ? FCS_ERROR_INCOMPATIBLE_METHOD
                     : status == GRAFT_ERROR_COMMUNICATION || status == GRAFT_ERROR_CALL_ORDER ? FCS_ERROR_LOGICAL_ERROR
                                                                                               : FCS_ERROR_WRONG_ARGUMENT;
    return fcs_fail(code, function, "graft: %s", handle->api->last_error());
}

FCSResult fcs_agree(MPI_Comm communicator, const char* function, FCSResult result, double* sums, int count) {
    double mine[1 + fcs_most_sums] = {result != FCS_RESULT_SUCCESS}, all[1 + fcs_most_sums] = {0};
    int k;
    for (k = 0; k < count; ++k)
        mine[1 + k] = sums[k];
    if (MPI_Allreduce(mine, all, 1 + count, MPI_DOUBLE, MPI_SUM, communicator) != MPI_SUCCESS && result == FCS_RESULT_SUCCESS)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, function, "MPI_Allreduce failed");
    for (k = 0; k < count; ++k)
        sums[k] = all[1 + k];
    if (all[0] > 0 && result == FCS_RESULT_SUCCESS)
        return fcs_fail(FCS_ERROR_LOGICAL_ERROR, function, "another rank was refused; its own text says why");
    return result;
}

void fcs_result_destroy(FCSResult result) {
    if (result != &no_memory)
        free(result);
}

fcs_int fcs_result_get_return_code(FCSResult result) {
    return result != NULL ? result->code : FCS_SUCCESS;
}

const char* fcs_result_get_function(FCSResult result) {
    return result != NULL ? result->function : "";
}

const char* fcs_result_get_message(FCSResult result) {
    return result != NULL ? result->message : "";
}

void fcs_result_print_result(FCSResult result) {
    if (result == NULL)
        printf("success\n");
    else
        printf("error %d in %s: %s\n", result->code, result->function, result->message);
}
