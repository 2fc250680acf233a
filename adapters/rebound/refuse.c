/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the adapter refuses, by reading the simulation. Sources: rebound.h, the headers of its integrators,
 * and what each does to r->gravity (MERCURIUS and TRACE put routines of their own into gravity_custom for
 * close encounters, EOS and the kernels below set another gravity, WHFast512 has none). */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int32_t refuse(char* why, size_t capacity, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(why, capacity, pattern, arguments);
    va_end(arguments);
    return GRAFT_ERROR_UNSUPPORTED;
}

static int32_t refuse_integrator(const struct reb_simulation* r, char* why, size_t capacity) {
    static const char* const own_gravity[] = {"mercurius", "trace", "eos", "whfast512"};
    const char* name = r->integrator.name != NULL ? r->integrator.name : "";
    size_t i;
    for (i = 0; i < sizeof own_gravity / sizeof *own_gravity; ++i)
        if (strcmp(name, own_gravity[i]) == 0)
            return refuse(why, capacity,
                          "integrator %s brings gravity of its own and would not use Graft's; take leapfrog, "
                          "whfast, saba, ias15 or bs",
                          name);
    if (strcmp(name, "whfast") == 0 && r->integrator.state != NULL) {
        const struct reb_integrator_whfast_state* whfast = r->integrator.state;
        if (whfast->kernel == REB_INTEGRATOR_WHFAST_KERNEL_MODIFIEDKICK ||
            whfast->kernel == REB_INTEGRATOR_WHFAST_KERNEL_LAZY)
            return refuse(why, capacity,
                          "whfast's kernels modifiedkick and lazy need REB_GRAVITY_JACOBI and would not use "
                          "Graft; take the kernel "
                          "default or composition");
    }
    if (strcmp(name, "saba") == 0 && r->integrator.state != NULL) {
        const struct reb_integrator_saba_state* saba = r->integrator.state;
        if ((int)saba->type >= 0x100)
            return refuse(why, capacity,
                          "saba's correctors (types CM_ and CL_) need REB_GRAVITY_JACOBI and would not use "
                          "Graft; take a type without");
    }
    return GRAFT_OK;
}

int32_t graft_rebound_refuses(const struct reb_simulation* r, char* why, size_t capacity) {
    if (r->N_var > 0 || r->N_var_config > 0)
        return refuse(why, capacity,
                      "%zu variational particles (MEGNO has some, too): their accelerations are derivatives "
                      "of the force, which "
                      "Graft does not make; use REB_GRAVITY_BASIC",
                      r->N_var);
    if (r->map != NULL)
        return refuse(why, capacity,
                      "r->map is set (%zu of %zu particles): only whole simulations can be evaluated",
                      r->N_map, r->N);
    if (r->N_ghost_x != 0 || r->N_ghost_y != 0 || r->N_ghost_z != 0)
        return refuse(
            why, capacity,
            "%d x %d x %d ghost boxes: forces of periodic or sheared images are not made; set N_ghost to 0",
            r->N_ghost_x, r->N_ghost_y, r->N_ghost_z);
    if (r->gravity_ignore_terms > REB_GRAVITY_IGNORE_TERMS_INVOLVING_0)
        return refuse(why, capacity, "gravity_ignore_terms is %d, known are 0, 1 and 2",
                      (int)r->gravity_ignore_terms);
    if (!(r->G >= 0) || !(r->softening >= 0))
        return refuse(why, capacity, "G is %g and softening %g, both must be 0 or more", r->G, r->softening);
    return refuse_integrator(r, why, capacity);
}
