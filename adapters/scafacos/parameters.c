/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters by their names: "name,value,...,name,value,...". */
#include "internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { word_length = 256 };

typedef struct {
    const char* next; /* NULL: at the end */
    char word[word_length];
} reader;

/* The next word; false at the end. */
static bool read_word(reader* r) {
    size_t length, k = 0;
    if (r->next == NULL)
        return false;
    while (isspace((unsigned char)r->next[k]))
        ++k;
    length = strcspn(r->next + k, ",");
    snprintf(r->word, sizeof r->word, "%.*s", (int)length, r->next + k);
    r->next = r->next[k + length] == ',' ? r->next + k + length + 1 : NULL;
    for (k = strlen(r->word); k > 0 && isspace((unsigned char)r->word[k - 1]); --k)
        r->word[k - 1] = '\0';
    return true;
}

static bool read_numbers(reader* r, double* value, int count) {
    int k;
    for (k = 0; k < count; ++k) {
        char* end = NULL;
        if (!read_word(r))
            return false;
        value[k] = strtod(r->word, &end);
        if (end == r->word || *end != '\0')
            return false;
    }
    return true;
}

static FCSResult set_box_vector(FCS handle, int which, const double* value) {
    return which == 0   ? fcs_set_box_a(handle, value)
           : which == 1 ? fcs_set_box_b(handle, value)
           : which == 2 ? fcs_set_box_c(handle, value)
                        : fcs_set_box_origin(handle, value);
}

static FCSResult set_one(FCS handle, int which, const double* value) {
    const fcs_int whole = (fcs_int)value[0];
    return which == 0   ? fcs_set_near_field_flag(handle, whole)
           : which == 1 ? fcs_set_total_particles(handle, whole)
           : which == 2 ? fcs_set_compute_virial(handle, whole)
           : which == 3 ? fcs_set_max_local_particles(handle, whole)
           : which == 4 ? fcs_set_r_cut(handle, value[0])
           : which == 5 ? fcs_set_redistribute(handle, whole)
                        : fcs_set_dimensions(handle, whole);
}

static int place_of(const char* word, const char* const* names) {
    int k = 0;
    while (names[k] != NULL && strcmp(word, names[k]) != 0)
        ++k;
    return names[k] != NULL ? k : -1;
}

/* "p3m_grid,32,32,32": what tunes another method is passed over, with its numbers. */
static bool passes_over(reader* r) {
    static const char* const methods[] = {"direct_", "ewald_", "fmm_",  "memd_",  "mmm1d_", "mmm2d_",
                                          "p2nfft_", "p3m_",   "pepc_", "pp3mg_", "vmg_",   NULL};
    reader ahead;
    double number;
    int k = 0;
    while (methods[k] != NULL && strncmp(r->word, methods[k], strlen(methods[k])) != 0)
        ++k;
    if (methods[k] == NULL)
        return false;
    for (ahead = *r; read_numbers(&ahead, &number, 1);)
        *r = ahead;
    return true;
}

static FCSResult set_parameter(FCS handle, reader* r) {
    static const char* const vectors[] = {"box_a", "box_b", "box_c", "box_origin", "offset", NULL};
    static const char* const ones[] = {
        "near_field_flag", "total_particles", "require_virial", "max_local_particles", "r_cut", "redistribute", "dim", NULL};
    static const char* const tolerances[] = {"tolerance_energy",
                                             "tolerance_energy_rel",
                                             "tolerance_potential",
                                             "tolerance_potential_rel",
                                             "tolerance_field",
                                             "tolerance_field_rel",
                                             NULL};
    char name[word_length];
    double value[3];
    int which;
    snprintf(name, sizeof name, "%s", r->word);
    if (strncmp(name, "graft_", 6) == 0) {
        int32_t status;
        if (!read_word(r))
            return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters", "'%s' has no value", name);
        status = handle->api->options_set(handle->options, name + 6, r->word);
        fcs_renew(handle);
        handle->tuned = false;
        return status == GRAFT_OK ? FCS_RESULT_SUCCESS : fcs_graft_failed(handle, "fcs_set_parameters", status);
    }
    if ((which = place_of(name, vectors)) >= 0 && read_numbers(r, value, 3))
        return set_box_vector(handle, which, value);
    if (strcmp(name, "periodicity") == 0 && read_numbers(r, value, 3)) {
        const fcs_int periodicity[3] = {(fcs_int)value[0], (fcs_int)value[1], (fcs_int)value[2]};
        return fcs_set_periodicity(handle, periodicity);
    }
    if ((which = place_of(name, ones)) >= 0 && read_numbers(r, value, 1))
        return set_one(handle, which, value);
    if ((which = place_of(name, tolerances)) >= 0 && read_numbers(r, value, 1))
        return fcs_set_tolerance(handle, which + 1, value[0]);
    return passes_over(r)
               ? FCS_RESULT_SUCCESS
               : fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters",
                          "'%s' is not known, or has too few numbers; expected a name of fcs.h's list, or graft_KEY", name);
}

FCSResult fcs_set_parameters(FCS handle, const char* parameters, fcs_int continue_on_errors) {
    reader r = {parameters, ""};
    if (handle == FCS_NULL || parameters == NULL)
        return fcs_null(__func__, handle == FCS_NULL ? "handle" : "parameters");
    while (read_word(&r)) {
        FCSResult result = *r.word != '\0' ? set_parameter(handle, &r) : FCS_RESULT_SUCCESS;
        if (result != FCS_RESULT_SUCCESS && continue_on_errors == 0)
            return result;
        fcs_result_destroy(result);
    }
    return FCS_RESULT_SUCCESS;
}

FCSResult fcs_print_parameters(FCS handle) {
    int k;
    if (handle == FCS_NULL)
        return fcs_null(__func__, "handle");
    printf("method %s, by Graft %s\n", handle->method, handle->api->version());
    for (k = 0; k < 3; ++k)
        printf("box vector %c: %g %g %g, periodic %d\n", 'a' + k, handle->box[k][0], handle->box[k][1], handle->box[k][2],
               handle->periodicity[k]);
    printf("origin: %g %g %g\nparticles: %d\n", handle->origin[0], handle->origin[1], handle->origin[2], handle->total_particles);
    printf("tolerance: %g, type %d\n", handle->tolerance, handle->tolerance_type);
    if (handle->accuracy > 0)
        printf("mac.accuracy and ewald.accuracy: %g\n", handle->accuracy);
    return FCS_RESULT_SUCCESS;
}
