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
    snprintf(r->word, sizeof r->word, "%.*s", length < word_length ? (int)length : 99,
             length < word_length ? r->next + k : "(a word that is too long)");
    r->next = r->next[k + length] == ',' ? r->next + k + length + 1 : NULL;
    for (k = strlen(r->word); k > 0 && isspace((unsigned char)r->word[k - 1]); --k)
        r->word[k - 1] = '\0';
    return true;
}

/* Such a number that an int holds it. */
static bool is_whole(double value) {
    return value >= -2147483647.0 && value <= 2147483647.0 && value == (double)(long long)value;
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

typedef struct {
    const char* name;
    FCSResult (*set)(FCS handle, const fcs_float* vector);
} vector_parameter;
static const vector_parameter vectors[] = {{"box_a", fcs_set_box_a},
                                           {"box_b", fcs_set_box_b},
                                           {"box_c", fcs_set_box_c},
                                           {"box_origin", fcs_set_box_origin},
                                           {"offset", fcs_set_box_origin}};

typedef struct {
    const char* name;
    FCSResult (*set)(FCS handle, fcs_int value);
} whole_parameter;
static const whole_parameter wholes[] = {
    {"near_field_flag", fcs_set_near_field_flag}, {"total_particles", fcs_set_total_particles},
    {"require_virial", fcs_set_compute_virial},   {"max_local_particles", fcs_set_max_local_particles},
    {"redistribute", fcs_set_redistribute},       {"dim", fcs_set_dimensions}};

/* From FCS_TOLERANCE_TYPE_ENERGY on. */
static const char* const tolerances[] = {"tolerance_energy",        "tolerance_energy_rel", "tolerance_potential",
                                         "tolerance_potential_rel", "tolerance_field",      "tolerance_field_rel"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static FCSResult too_few(const char* name) {
    return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters", "'%s' has too few numbers, or one that is not whole", name);
}

/* A deck key of Graft's; the force law is ScaFaCoS's. */
static FCSResult set_key(FCS handle, const char* key, reader* r) {
    int32_t status;
    if (strcmp(key, "interaction") == 0 || strcmp(key, "constant") == 0 || strncmp(key, "units.", 6) == 0)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters", "'graft_%s': potentials are q / r here, always", key);
    if (!read_word(r))
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters", "'graft_%s' has no value", key);
    status = handle->api->options_set(handle->options, key, r->word);
    if (status != GRAFT_OK)
        return fcs_graft_failed(handle, "fcs_set_parameters", status);
    fcs_renew(handle);
    handle->tuned = false;
    return FCS_RESULT_SUCCESS;
}

/* "p3m_grid,32,32,32": what tunes another method is passed over, with its numbers. */
static bool passes_over(const char* name, reader* r) {
    static const char* const methods[] = {"direct_", "ewald_", "fmm_",  "memd_",  "mmm1d_", "mmm2d_",
                                          "p2nfft_", "p3m_",   "pepc_", "pp3mg_", "vmg_",   NULL};
    reader ahead;
    double number;
    int k = 0;
    while (methods[k] != NULL && strncmp(name, methods[k], strlen(methods[k])) != 0)
        ++k;
    if (methods[k] == NULL)
        return false;
    for (ahead = *r; read_numbers(&ahead, &number, 1);)
        *r = ahead;
    return true;
}

/* What fcs.h has a function for; *known tells whether it has. */
static FCSResult set_named(FCS handle, const char* name, reader* r, bool* known) {
    double value[3];
    size_t k;
    *known = true;
    for (k = 0; k < COUNT(vectors); ++k)
        if (strcmp(name, vectors[k].name) == 0)
            return read_numbers(r, value, 3) ? vectors[k].set(handle, value) : too_few(name);
    for (k = 0; k < COUNT(wholes); ++k)
        if (strcmp(name, wholes[k].name) == 0)
            return read_numbers(r, value, 1) && is_whole(value[0]) ? wholes[k].set(handle, (fcs_int)value[0]) : too_few(name);
    for (k = 0; k < COUNT(tolerances); ++k)
        if (strcmp(name, tolerances[k]) == 0)
            return read_numbers(r, value, 1) ? fcs_set_tolerance(handle, (fcs_int)k + FCS_TOLERANCE_TYPE_ENERGY, value[0])
                                             : too_few(name);
    if (strcmp(name, "r_cut") == 0)
        return read_numbers(r, value, 1) ? fcs_set_r_cut(handle, value[0]) : too_few(name);
    *known = strcmp(name, "periodicity") == 0;
    if (*known) {
        fcs_int periodicity[3];
        if (!read_numbers(r, value, 3) || !is_whole(value[0]) || !is_whole(value[1]) || !is_whole(value[2]))
            return too_few(name);
        for (k = 0; k < 3; ++k)
            periodicity[k] = (fcs_int)value[k];
        return fcs_set_periodicity(handle, periodicity);
    }
    return FCS_RESULT_SUCCESS;
}

static FCSResult set_parameter(FCS handle, reader* r) {
    char name[word_length];
    bool known;
    FCSResult result;
    snprintf(name, sizeof name, "%s", r->word);
    if (strncmp(name, "graft_", 6) == 0)
        return set_key(handle, name + 6, r);
    result = set_named(handle, name, r, &known);
    if (known || passes_over(name, r))
        return result;
    return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_set_parameters",
                    "'%s' is not known; expected a name of fcs.h's list, or graft_KEY", name);
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
