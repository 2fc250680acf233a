/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that opens graft_acc.so and is not NEMO: no error(), no warning(). Failures turn active results to
 * NaN, the host survives. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef void (*function)(int, double, int, const void*, const void*, const void*, const int*, void*, void*,
                         int, char);
typedef void (*initialise)(const double*, int, const char*, function*, bool*, bool*);
typedef const char* (*tell)(void);

static void* symbol(void* handle, const char* name) {
    void* found = dlsym(handle, name);
    if (found == NULL)
        fprintf(stderr, "no %s\n", name);
    return found;
}

int main(int count, char** words) {
    const double mass[3] = {1, 1, 1}, position[9] = {0, 0, 0, 1, 0, 0, 0, 2, 0}, one[1] = {1};
    const int flags[3] = {1, 2, 3};
    double pex[3] = {7, 7, 7}, acceleration[9] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
    float single[12] = {0};
    bool masses = false, velocities = true;
    function good = NULL, bad = NULL;
    initialise ini;
    tell text;
    void *handle = count == 2 ? dlopen(words[1], RTLD_LAZY) : NULL, *found;
    int wrong = 0;
    if (handle == NULL)
        return fprintf(stderr, "usage: bare_test graft_acc.so; %s\n", dlerror()), 1;
    found = symbol(handle, "iniacceleration");
    memcpy(&ini, &found, sizeof ini);
    found = symbol(handle, "graft_acc_error");
    memcpy(&text, &found, sizeof text);
    ini(one, 1, NULL, &bad, &masses, &velocities);
    wrong |= bad == NULL || strstr(text(), "accpars has 1 numbers") == NULL;
    bad(3, 0, 3, mass, position, NULL, flags, pex, acceleration, 3, 'd');
    wrong |=
        !isnan(pex[0]) || pex[1] != 7 || !isnan(pex[2]) || !isnan(acceleration[2]) || acceleration[3] != 7;
    ini(NULL, 0, NULL, &good, &masses, &velocities);
    wrong |= good == NULL || good == bad || !masses || velocities;
    good(3, 0, 3, mass, position, NULL, NULL, pex, acceleration, 0, 'd');
    wrong |= !(fabs(pex[0] + 1.5) < 1e-5) || !(fabs(acceleration[0] - 1) < 1e-5);
    good(3, 0, 3, NULL, position, NULL, NULL, single, single + 3, 0, 'f');
    wrong |= !isnan(single[0]) || !isnan(single[11]) || strstr(text(), "no masses") == NULL;
    good(3, 0, 3, mass, position, NULL, NULL, pex, acceleration, 0,
         'x'); /* of no known size: nothing is written */
    wrong |= !(fabs(pex[0] + 1.5) < 1e-5);
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong;
}
