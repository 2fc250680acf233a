/* SPDX-License-Identifier: BSD-3-Clause */
/* What Graft's deck and LAMMPS's units say: the interaction and its constant
 * (graft_lammps.h). */
#include "internal.h"

#include <string.h>

typedef struct unit_style {
    const char* name;
    double length_m, mass_kg, time_s;
} unit_style;

/* LAMMPS's manual, `units`; g/mol over Avogadro's number is the atomic mass constant. lj: G = 1. */
static const unit_style unit_styles[] = {
    {"real", 1e-10, 1.66053906660e-27, 1e-15},
    {"metal", 1e-10, 1.66053906660e-27, 1e-12},
    {"si", 1, 1, 1},
    {"cgs", 1e-2, 1e-3, 1},
    {"electron", 5.29177210903e-11, 1.66053906660e-27, 1e-15},
    {"micro", 1e-6, 1e-15, 1e-6},
    {"nano", 1e-9, 1e-21, 1e-9},
};

/* ---- the constant: energy = constant charge charge / r in LAMMPS's units ---- */

static int32_t gravity_constant(graft_lammps* at, double* constant) {
    const char* name = at->host->extract_global(at->lammps, "units");
    const double* force_to_acceleration = at->host->extract_global(at->lammps, "ftm2v");
    size_t i;
    *constant = 1;
    if (name != NULL && strcmp(name, "lj") == 0)
        return GRAFT_OK;
    for (i = 0; name != NULL && force_to_acceleration != NULL && i < sizeof unit_styles / sizeof *unit_styles;
         ++i) {
        const unit_style* style = unit_styles + i;
        if (strcmp(name, style->name) == 0) {
            *constant = 6.67430e-11 * style->mass_kg * style->time_s * style->time_s /
                        (style->length_m * style->length_m * style->length_m) / *force_to_acceleration;
            return GRAFT_OK;
        }
    }
    return lammps_fail(
        GRAFT_ERROR_UNSUPPORTED,
        "no gravitational constant is known for LAMMPS's units %s; give `constant:` in the deck, in "
        "energy length / mass^2",
        name != NULL ? name : "(unknown)");
}

static int32_t choose_constant(graft_lammps* at, double given) {
    const double *coulomb, *dielectric;
    if (given != 1) {
        at->constant = given;
        return GRAFT_OK;
    }
    if (!at->coulomb)
        return gravity_constant(at, &at->constant);
    coulomb =
        at->host->extract_global(at->lammps, "qqr2e"); /* qqrd2e, their ratio, is set in the first run only */
    dielectric = at->host->extract_global(at->lammps, "dielectric");
    if (coulomb == NULL || dielectric == NULL)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "this LAMMPS does not tell its Coulomb constant (qqr2e, dielectric); "
                           "give `constant:` in the deck, in energy length / charge^2");
    at->constant = *coulomb / *dielectric;
    return GRAFT_OK;
}

/* ---- deck ---- */

/* Where LAMMPS's pairs end, unless the deck says it. */
static int32_t find_cutoff(graft_lammps* at, graft_options* options) {
    double alpha = 0, cutoff = 0;
    const double* told;
    int32_t status = at->graft->options_get_double(options, "ewald.alpha", &alpha);
    if (status == GRAFT_OK)
        status = at->graft->options_get_double(options, "ewald.cutoff", &cutoff);
    if (status != GRAFT_OK)
        return lammps_fail(status, "%s", at->graft->last_error());
    if (alpha > 0 || cutoff > 0)
        return GRAFT_OK;
    told = at->host->extract_pair != NULL ? at->host->extract_pair(at->lammps, "cut_coul") : NULL;
    if (told == NULL)
        return lammps_fail(
            GRAFT_ERROR_ARGUMENT,
            "ewald.part is long_range, and this LAMMPS does not tell the Coulomb cut-off of its pair style; give it as "
            "ewald.cutoff in Graft's deck, after a pair_style with coul/long in LAMMPS's");
    status = at->graft->options_set_double(options, "ewald.cutoff", *told);
    return status == GRAFT_OK ? status : lammps_fail(status, "%s", at->graft->last_error());
}

/* What the adapter must know of the deck, in the order asked for. */
static int32_t read_values(graft_lammps* at, const graft_options* options, double* constant,
                           int64_t* dimension) {
    char interaction[16] = "", softening[16] = "", part[16] = "";
    int32_t status = at->graft->options_get_double(options, "constant", constant);
    if (status == GRAFT_OK)
        status = at->graft->options_get_int64(options, "dimension", dimension);
    if (status == GRAFT_OK)
        status = at->graft->options_get(options, "interaction", interaction, sizeof interaction, NULL);
    if (status == GRAFT_OK)
        status = at->graft->options_get(options, "softening.kind", softening, sizeof softening, NULL);
    if (status == GRAFT_OK)
        status = at->graft->options_get(options, "ewald.part", part, sizeof part, NULL);
    at->long_range = strcmp(part, "long_range") == 0;
    at->coulomb = strcmp(interaction, "coulomb") == 0;
    at->softened = strcmp(softening, "none") != 0;
    return status;
}

int32_t lammps_read_deck(graft_lammps* at, const char* deck, graft_options* options) {
    double constant = 1;
    int64_t dimension = 3;
    int32_t status = GRAFT_OK;
    if (deck != NULL && deck[0] == '{')
        status = at->graft->options_read_text(options, deck, (int64_t)strlen(deck), "deck");
    else if (deck != NULL && deck[0] != '\0')
        status = at->graft->options_read_file(options, deck);
    if (status == GRAFT_OK)
        status = read_values(at, options, &constant, &dimension);
    if (status != GRAFT_OK)
        return lammps_fail(status, "%s", at->graft->last_error());
    if (dimension != 3 || at->host->extract_setting(at->lammps, "dimension") != 3)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "two dimensions: Graft's forces in LAMMPS are those of three; use "
                           "`dimension 3` in both decks");
    if (at->long_range && !at->coulomb)
        return lammps_fail(GRAFT_ERROR_ARGUMENT,
                           "ewald.part is long_range and interaction is gravity; LAMMPS's pairs are charges: "
                           "expected `interaction: coulomb`");
    if (at->long_range && (status = find_cutoff(at, options)) != GRAFT_OK)
        return status;
    return choose_constant(at, constant);
}
