/* SPDX-License-Identifier: BSD-3-Clause */
/* graft_acc.so: an acceleration field for NEMO (gyrfalcON and every program with accname=, accpars=,
 * accfile=) that is the gravity of the bodies themselves, from Graft. NEMO's contract, from its documentation
 * in inc/acceleration.h and inc/defacc.h:
 *
 * - NEMO opens the file, asks iniacceleration() for a function, and calls that with (dimensions, time, n,
 *   masses, positions, velocities, flags, potentials, accelerations, indicator, 'f' or 'd'); vectors are
 *   packed, all arrays of the one type.
 * - flags NULL: all bodies are active, else those with bit 0 set; the others are sources only, and nothing of
 *   theirs is written.
 * - Indicator bit 0: the potential is added to what is there, else assigned; bit 1: the same for the
 *   acceleration.
 * - iniacceleration() may be called several times, for several fields at a time, and the function gets no
 *   word on which one is meant: so each field needs a function of its own. There are ten, as many as NEMO's
 *   own fields have.
 * - Failures end in NEMO's error(), which ends the program with a message. Where the host is not NEMO (there
 *   is no such function), every active result becomes NaN, which no integration survives unnoticed, and
 *   graft_acc_error() tells why. */
#include "internal.h"

#define EXPORTED __attribute__((visibility("default")))
#define MOST_FIELDS 10

typedef void (*acceleration_function)(int dimensions, double time, int n, const void* mass,
                                      const void* position, const void* velocity, const int* flags,
                                      void* potential, void* acceleration, int indicator, char type);

EXPORTED void iniacceleration(const double* parameters, int count, const char* file,
                              acceleration_function* function, bool* need_masses, bool* need_velocities);
EXPORTED const char* graft_acc_error(void);

static field fields[MOST_FIELDS];
static int field_count;

const char* graft_acc_error(void) {
    return graft_nemo_last_error();
}

/* A function for each field. */
#define FIELD(number)                                                                                        \
    static void acceleration_##number(int dimensions, double time, int n, const void* mass,                  \
                                      const void* position, const void* velocity, const int* flags,          \
                                      void* potential, void* acceleration, int indicator, char type) {       \
        const call c = {time,     dimensions, n,         indicator,    mass,                                 \
                        position, flags,      potential, acceleration, type == 'f'};                         \
        (void)velocity;                                                                                      \
        graft_nemo_evaluate(&fields[number], &c, type);                                                      \
    }
FIELD(0)
FIELD(1)
FIELD(2)
FIELD(3)
FIELD(4)
FIELD(5)
FIELD(6)
FIELD(7)
FIELD(8)
FIELD(9)

static const acceleration_function functions[MOST_FIELDS] = {
    acceleration_0, acceleration_1, acceleration_2, acceleration_3, acceleration_4,
    acceleration_5, acceleration_6, acceleration_7, acceleration_8, acceleration_9};

void iniacceleration(const double* parameters, int count, const char* file, acceleration_function* function,
                     bool* need_masses, bool* need_velocities) {
    (void)parameters;
    *need_masses = true;
    *need_velocities = false;
    *function = NULL;
    if (field_count >= MOST_FIELDS) {
        graft_nemo_fail("%d fields are in use, and there are no more", MOST_FIELDS);
        return;
    }
    *function = functions[field_count];
    if (count > 0)
        graft_nemo_fail(
            "accpars has %d numbers, but this field takes none: options stand in a deck, accfile=FILE.yaml",
            count);
    else
        graft_nemo_open(&fields[field_count], file);
    field_count += 1;
}
