/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing: the box in Graft's words, what a tolerance asks for, one computation. */
#include "internal.h"

#include <graft/views.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loosest accuracy that is tried, and the finest that is measured against. */
static const double loosest = 1e-2, finest = 1e-12;
enum { most_rounds = 10 };

typedef struct {
    int n;
    const double *position, *charge;
} charges;

typedef struct {
    double *field, *potential; /* NULL: not wanted */
    double energy, virial[6];
    bool wants_virial;
} fields;

/* How far two computations are apart, or how large one is, as root mean squares over the particles of all ranks. */
typedef struct {
    double field, potential, energy;
} sizes;

/* What a context has that is not the options' own. */
typedef struct {
    double accuracy; /* 0: the options' own */
    bool exact;      /* in double precision, whatever they say */
    bool far;        /* the long-range part alone: of near.alpha, or, where it is 0, of one chosen for near.r_cut */
} wishes;

enum { wished_keys = 6, most_text = 64 };
static const char* const wished[wished_keys] = {"mac.accuracy", "ewald.accuracy", "precision",
                                                "ewald.part",   "ewald.alpha",    "ewald.cutoff"};

/* The values that are wished for; empty: as it is. */
static void write_wishes(const struct _FCS_t* handle, const wishes* w, char value[wished_keys][most_text]) {
    memset(value, 0, wished_keys * sizeof *value);
    if (w->accuracy > 0) {
        snprintf(value[0], most_text, "%.17g", w->accuracy);
        snprintf(value[1], most_text, "%.17g", w->accuracy);
    }
    if (w->exact)
        strcpy(value[2], "fp64");
    if (w->far) {
        strcpy(value[3], "long_range");
        snprintf(value[4], most_text, "%.17g", handle->near.alpha);
        snprintf(value[5], most_text, "%.17g", handle->near.r_cut);
    }
}

/* Collective. The options stay as they are. */
static FCSResult make_context(FCS handle, const char* function, const wishes* w, graft_context** context) {
    const graft_api_v1* api = handle->api;
    char kept[wished_keys][most_text] = {{0}}, value[wished_keys][most_text];
    int64_t needed = 0;
    int32_t status = GRAFT_OK;
    int k;
    write_wishes(handle, w, value);
    for (k = 0; k < wished_keys && status == GRAFT_OK; ++k)
        status = api->options_get(handle->options, wished[k], kept[k], most_text, &needed);
    for (k = 0; k < wished_keys && status == GRAFT_OK; ++k)
        if (*value[k] != '\0')
            status = api->options_set(handle->options, wished[k], value[k]);
    status = status != GRAFT_OK ? status : api->context_create(handle->options, NULL, context);
    for (k = 0; k < wished_keys; ++k)
        if (*kept[k] != '\0')
            api->options_set(handle->options, wished[k], kept[k]);
    if (status == GRAFT_OK && handle->comm != NULL)
        status = api->context_set_communicator(*context, handle->comm);
    return fcs_agree(handle->communicator, function,
                     status == GRAFT_OK ? FCS_RESULT_SUCCESS : fcs_graft_failed(handle, function, status), NULL, 0);
}

static FCSResult tell_box(FCS handle, const char* function, graft_context* context) {
    const double(*const box)[3] = (const double(*)[3])handle->box;
    const int* const periodic = handle->periodicity;
    graft_box told = {0};
    int32_t status;
    int k;
    const bool open = !periodic[0] && !periodic[1] && !periodic[2];
    const bool turned = (periodic[0] && (box[0][1] != 0 || box[0][2] != 0)) || (periodic[1] && box[1][2] != 0);
    if (turned)
        return fcs_fail(
            FCS_ERROR_INCOMPATIBLE_METHOD, function,
            "box vectors a = (%g, %g, %g), b = (%g, %g, %g); expected a along x and b in the plane of x and y: turn the system",
            box[0][0], box[0][1], box[0][2], box[1][0], box[1][1], box[1][2]);
    told.struct_size = sizeof told;
    for (k = 0; k < 3; ++k) {
        told.lower[k] = handle->origin[k];
        told.upper[k] = handle->origin[k] + (periodic[k] ? box[k][k] : 1);
        told.periodic[k] = periodic[k];
    }
    told.tilt[0] = periodic[0] && periodic[1] ? box[1][0] : 0;
    told.tilt[1] = periodic[0] && periodic[2] ? box[2][0] : 0;
    told.tilt[2] = periodic[1] && periodic[2] ? box[2][1] : 0;
    status = handle->api->context_set_box(context, open ? NULL : &told);
    return status == GRAFT_OK ? FCS_RESULT_SUCCESS : fcs_graft_failed(handle, function, status);
}

/* Collective. */
static FCSResult compute(FCS handle, const char* function, graft_context* context, const charges* c, fields* f) {
    const graft_array position = graft_rows_const_f64(c->position, c->n, 3, 3), charge = graft_view_const_f64(c->charge, c->n);
    const graft_array field = graft_rows_f64(f->field, c->n, 3, 3), potential = graft_view_f64(f->potential, c->n);
    const graft_array energy = graft_view_f64(&f->energy, 1), virial = graft_rows_f64(f->virial, 1, 6, 6);
    graft_particles particles = {0};
    graft_results results = {0};
    int32_t status;
    particles.struct_size = sizeof particles;
    particles.n = c->n;
    particles.position[0] = &position;
    particles.charge = &charge;
    results.struct_size = sizeof results;
    results.acceleration[0] = f->field != NULL ? &field : NULL;
    results.potential = f->potential != NULL ? &potential : NULL;
    results.energy = &energy;
    results.virial = f->wants_virial ? &virial : NULL;
    status = handle->api->compute(context, &particles, &results);
    return status == GRAFT_OK ? FCS_RESULT_SUCCESS : fcs_graft_failed(handle, function, status);
}

/* Collective. Of a - b; b NULL: of a. */
static sizes size_of(FCS handle, int n, const fields* a, const fields* b) {
    double mine[3] = {0, 0, n}, all[3] = {0, 0, 0};
    sizes found;
    long i;
    for (i = 0; i < 3L * n; ++i) {
        const double d = a->field[i] - (b != NULL ? b->field[i] : 0);
        mine[0] += d * d;
    }
    for (i = 0; i < n; ++i) {
        const double d = a->potential[i] - (b != NULL ? b->potential[i] : 0);
        mine[1] += d * d;
    }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, handle->communicator);
    found.field = all[2] > 0 ? sqrt(all[0] / all[2]) : 0;
    found.potential = all[2] > 0 ? sqrt(all[1] / all[2]) : 0;
    found.energy = fabs(a->energy - (b != NULL ? b->energy : 0));
    return found;
}

/* The error in units of the tolerance. */
static double over_tolerance(FCS handle, const sizes* error, const sizes* whole) {
    const double errors[] = {error->energy, error->potential, error->field},
                 wholes[] = {whole->energy, whole->potential, whole->field};
    const int kind = (handle->tolerance_type - 1) / 2;
    const bool relative = handle->tolerance_type % 2 == 0;
    const double allowed = handle->tolerance * (relative ? wholes[kind] : 1);
    return errors[kind] == 0 ? 0 : errors[kind] / allowed;
}

/* With a context of its own. alpha (or NULL): how it was split; 0 where there are no charges. */
static FCSResult once(FCS handle, const wishes* w, const charges* c, fields* f, double* alpha) {
    graft_context* context = NULL;
    FCSResult result = make_context(handle, "fcs_tune", w, &context);
    if (result == FCS_RESULT_SUCCESS)
        result = fcs_agree(handle->communicator, "fcs_tune", tell_box(handle, "fcs_tune", context), NULL, 0);
    result = result != FCS_RESULT_SUCCESS ? result : compute(handle, "fcs_tune", context, c, f);
    if (result == FCS_RESULT_SUCCESS && alpha != NULL && handle->api->query(context, "ewald.alpha", alpha) != GRAFT_OK)
        *alpha = 0;
    if (context != NULL)
        handle->api->context_destroy(&context);
    return result;
}

/* Collective. The loosest accuracy found whose error, against a much finer one, is within the tolerance. */
static FCSResult find_accuracy(FCS handle, const charges* c, fields* coarse, fields* fine, bool* measured) {
    double accuracy = loosest, reference = 0, over = 0;
    int round;
    for (round = 0; round < most_rounds; ++round) {
        const wishes wish = {accuracy, false, false};
        FCSResult result;
        sizes error, whole;
        if (reference == 0 || reference > accuracy / 30) {
            wishes much_finer = {0, true, false};
            reference = much_finer.accuracy = fmax(accuracy / 1000, finest);
            result = once(handle, &much_finer, c, fine, NULL);
            if (result != FCS_RESULT_SUCCESS)
                return result;
        }
        result = once(handle, &wish, c, coarse, NULL);
        if (result != FCS_RESULT_SUCCESS)
            return result;
        error = size_of(handle, c->n, coarse, fine), whole = size_of(handle, c->n, fine, NULL);
        over = over_tolerance(handle, &error, &whole);
        if (over <= 0.7) {
            handle->accuracy = accuracy;
            *measured = whole.potential > 0;
            return FCS_RESULT_SUCCESS;
        }
        accuracy *= fmin(0.5, fmax(0.02, 0.4 / over));
        if (accuracy < 30 * finest)
            break;
    }
    return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_tune", "tolerance %g of type %d is not reached: the error is %g times that",
                    handle->tolerance, handle->tolerance_type, over);
}

static FCSResult check(FCS handle, const char* function, int n, const double* positions, const double* charge) {
    static const char* const names[] = {"box_a", "box_b", "box_c", "box_origin", "periodicity", "total_particles"};
    int k;
    if (handle == FCS_NULL)
        return fcs_null(function, "handle");
    for (k = 0; k < 6; ++k)
        if ((handle->given >> k & 1) == 0)
            return fcs_fail(FCS_ERROR_MISSING_ELEMENT, function, "%s is not set; expected fcs_set_common or fcs_set_%s", names[k],
                            names[k]);
    if (handle->near.flag == 0 && !fcs_delegates(handle))
        return fcs_fail(
            FCS_ERROR_INCOMPATIBLE_METHOD, function,
            "near_field_flag 0: method %s does not leave the near field to the host; expected flag 1, or method ewald, "
            "p2nfft or p3m (fcs_get_near_field_delegation)",
            handle->method);
    if (handle->near.flag == 0 && !handle->periodicity[0] && !handle->periodicity[1] && !handle->periodicity[2])
        return fcs_fail(FCS_ERROR_INCOMPATIBLE_METHOD, function,
                        "near_field_flag 0 in an open box; expected 1, or a box with images along some axis");
    if (n < 0)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, function, "%d particles; expected 0 or more", n);
    if (n > 0 && (positions == NULL || charge == NULL))
        return fcs_null(function, positions == NULL ? "positions" : "charges");
    return FCS_RESULT_SUCCESS;
}

/* The box as numbers that are compared. */
static void box_words(const struct _FCS_t* handle, double* words) {
    int k;
    memcpy(words, handle->box, sizeof handle->box);
    for (k = 0; k < 3; ++k)
        words[9 + k] = handle->origin[k], words[12 + k] = handle->periodicity[k];
}

/* What some rank still has to do. */
typedef struct {
    bool context, box;
} dues;

/* Collective: check() on all ranks, how many particles they have together, and what is due on any of them. */
static FCSResult begin(FCS handle, const char* function, const charges* c, dues* due) {
    FCSResult result = check(handle, function, c->n, c->position, c->charge);
    double words[15], sums[fcs_most_sums];
    if (handle == FCS_NULL)
        return result;
    box_words(handle, words);
    sums[0] = c->n > 0 ? c->n : 0;
    sums[1] = !handle->tuned;
    sums[2] = handle->context == NULL;
    sums[3] = !handle->box_is_told || memcmp(words, handle->told_box, sizeof words) != 0;
    result = fcs_agree(handle->communicator, function, result, sums, fcs_most_sums);
    handle->tuned = sums[1] == 0 && handle->tuned_particles == sums[0];
    handle->tuned_particles = sums[0];
    due->context = sums[2] > 0 || !handle->tuned;
    due->box = sums[3] > 0 || due->context;
    return result;
}

/* Collective. Ranks with tolerances of their own would measure unlike often, and those with a flag of their own not split. */
static FCSResult same_settings(FCS handle) {
    const double type = handle->tolerance_type, tolerance = handle->tolerance, near = handle->near.flag;
    const double mine[6] = {type, -type, tolerance, -tolerance, near, -near};
    double most[6] = {0};
    MPI_Allreduce(mine, most, 6, MPI_DOUBLE, MPI_MAX, handle->communicator);
    if (most[0] != -most[1] || most[2] != -most[3])
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_tune", "ranks have different tolerances, here %g of type %d", tolerance,
                        handle->tolerance_type);
    if (most[4] != -most[5])
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, "fcs_tune", "ranks have different near_field_flags, here %d",
                        handle->near.flag);
    return FCS_RESULT_SUCCESS;
}

/* Where a host's pairs end that has not said it: some hundred neighbours. */
static double usual_cutoff(const struct _FCS_t* handle) {
    double shortest = INFINITY, volume = 1;
    bool whole = true;
    int k;
    for (k = 0; k < 3; ++k) {
        volume *= handle->box[k][k];
        whole = whole && handle->periodicity[k];
        if (handle->periodicity[k])
            shortest = fmin(shortest, handle->box[k][k]);
    }
    return whole ? fmin(0.45 * shortest, cbrt(25 * volume / fmax(handle->tuned_particles, 1))) : 0.45 * shortest;
}

/* Collective: what the host's pairs are to leave, from one computation. */
static FCSResult split(FCS handle, const charges* c) {
    const wishes wish = {handle->accuracy, false, true};
    fields energy = {0};
    double alpha = 0;
    FCSResult result;
    handle->near.alpha = 0;
    handle->near.r_cut = handle->near.asked_r_cut > 0 ? handle->near.asked_r_cut : usual_cutoff(handle);
    result = once(handle, &wish, c, &energy, &alpha);
    if (result == FCS_RESULT_SUCCESS)
        handle->near.alpha = alpha > 0 ? alpha : 3 / handle->near.r_cut; /* no particles */
    return result;
}

/* Collective. */
static FCSResult tune(FCS handle, const charges* c) {
    fields coarse = {0}, fine = {0};
    bool measured = true;
    const size_t each = (size_t)(c->n > 0 ? c->n : 1) * sizeof(double);
    FCSResult result = same_settings(handle);
    fcs_renew(handle);
    handle->accuracy = 0;
    if (result == FCS_RESULT_SUCCESS && handle->tolerance_type != FCS_TOLERANCE_TYPE_UNDEFINED) {
        coarse.field = malloc(3 * each), coarse.potential = malloc(each);
        fine.field = malloc(3 * each), fine.potential = malloc(each);
        if (coarse.field == NULL || coarse.potential == NULL || fine.field == NULL || fine.potential == NULL)
            result = fcs_fail(FCS_ERROR_ALLOC_FAILED, "fcs_tune", "no memory for the fields of %d particles", c->n);
        result = fcs_agree(handle->communicator, "fcs_tune", result, NULL, 0);
        if (result == FCS_RESULT_SUCCESS)
            result = find_accuracy(handle, c, &coarse, &fine, &measured);
        free(coarse.field), free(coarse.potential), free(fine.field), free(fine.potential);
    }
    if (result == FCS_RESULT_SUCCESS && handle->near.flag == 0)
        result = split(handle, c);
    handle->tuned = result == FCS_RESULT_SUCCESS && measured;
    return result;
}

/* Collective: the context that computes, and its box. */
static FCSResult prepare(FCS handle, const char* function, const dues* due) {
    FCSResult result = FCS_RESULT_SUCCESS;
    if (due->context) {
        const wishes wish = {handle->accuracy, false, handle->near.flag == 0};
        fcs_renew(handle);
        result = make_context(handle, function, &wish, &handle->context);
    }
    if (result != FCS_RESULT_SUCCESS || !due->box)
        return result;
    box_words(handle, handle->told_box);
    result = tell_box(handle, function, handle->context);
    handle->box_is_told = result == FCS_RESULT_SUCCESS;
    return fcs_agree(handle->communicator, function, result, NULL, 0);
}

FCSResult fcs_tune(FCS handle, fcs_int local_particles, fcs_float* positions, fcs_float* charge) {
    const charges c = {local_particles, positions, charge};
    dues due = {true, true};
    const FCSResult result = begin(handle, __func__, &c, &due);
    return result != FCS_RESULT_SUCCESS || handle->tuned ? result : tune(handle, &c);
}

FCSResult fcs_run(FCS handle, fcs_int local_particles, fcs_float* positions, fcs_float* charge, fcs_float* field,
                  fcs_float* potentials) {
    const charges c = {local_particles, positions, charge};
    fields f = {0};
    dues due = {true, true};
    FCSResult result = begin(handle, __func__, &c, &due);
    if (handle != FCS_NULL)
        handle->virial_known = false;
    if (result == FCS_RESULT_SUCCESS && !handle->tuned)
        result = tune(handle, &c);
    if (result == FCS_RESULT_SUCCESS)
        result = prepare(handle, __func__, &due);
    if (result != FCS_RESULT_SUCCESS)
        return result;
    f.field = field, f.potential = potentials, f.wants_virial = handle->compute_virial != 0;
    result = compute(handle, __func__, handle->context, &c, &f);
    handle->last_particles = local_particles;
    handle->virial_known = result == FCS_RESULT_SUCCESS && f.wants_virial;
    if (handle->virial_known) {
        static const int of[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2}; /* xx yy zz xy xz yz by rows */
        int k;
        for (k = 0; k < 9; ++k)
            handle->virial[k] = f.virial[of[k]];
    }
    return result;
}

/* S. W. de Leeuw, J. W. Perram and E. R. Smith, Proc. R. Soc. A 373 (1980) 27: 2 pi / (1 + 2 epsilon) / V times the square of the
 * dipole moment. */
FCSResult fcs_compute_dipole_correction(FCS handle, fcs_int local_particles, fcs_float* positions, fcs_float* charge,
                                        fcs_float epsilon, fcs_float* field_correction, fcs_float* energy_correction) {
    double moment[3] = {0, 0, 0}, volume, factor;
    FCSResult result = check(handle, __func__, local_particles, positions, charge);
    int i, k;
    if (result == FCS_RESULT_SUCCESS && (field_correction == NULL || energy_correction == NULL))
        result = fcs_null(__func__, "the place for the answer");
    for (i = 0; i < local_particles && result == FCS_RESULT_SUCCESS; ++i)
        for (k = 0; k < 3; ++k)
            moment[k] += charge[i] * positions[3L * i + k];
    if (handle != FCS_NULL)
        result = fcs_agree(handle->communicator, __func__, result, moment, 3);
    if (result != FCS_RESULT_SUCCESS)
        return result;
    volume = handle->box[0][0] * (handle->box[1][1] * handle->box[2][2] - handle->box[1][2] * handle->box[2][1]) -
             handle->box[0][1] * (handle->box[1][0] * handle->box[2][2] - handle->box[1][2] * handle->box[2][0]) +
             handle->box[0][2] * (handle->box[1][0] * handle->box[2][1] - handle->box[1][1] * handle->box[2][0]);
    if (isnan(epsilon))
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "epsilon is no number");
    if (volume == 0)
        return fcs_fail(FCS_ERROR_WRONG_ARGUMENT, __func__, "the box vectors span no volume");
    factor = epsilon < 0 ? 0 : 4 * 3.14159265358979323846 / ((1 + 2 * epsilon) * fabs(volume));
    for (k = 0; k < 3; ++k)
        field_correction[k] = -factor * moment[k];
    *energy_correction = 0.5 * factor * (moment[0] * moment[0] + moment[1] * moment[1] + moment[2] * moment[2]);
    return FCS_RESULT_SUCCESS;
}
