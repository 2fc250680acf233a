/* SPDX-License-Identifier: BSD-3-Clause */
/* A host whose floating-point environment is its own: traps for invalid, zero divide and overflow, another rounding, flags that
 * it wants to see; in the threads of its own parallel loops, too. Calls of Graft neither end it nor change that environment, and
 * give the bits that a host without all this gets. Exit status 0: as expected; 77: not with this C library. */
#include <graft/graft.h>
#include <graft_loader.h>

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __GLIBC__ && defined __x86_64__ && defined _OPENMP
#include <omp.h>

enum { count = 600, threads = 2, numbers = 4 * count + 7 };

static const graft_api_v1 *api;
static int failures = 0, computed = 0;
static double x[3 * count], m[count], lengths[count];

typedef struct answer {
    int32_t status;
    double number[numbers]; /* accelerations, potentials, energy, virial */
} answer;

static int fails(int32_t status, const char *what) {
    if (status != GRAFT_OK) {
        printf("violated: %s: %s\n", what, api->last_error());
        ++failures;
    }
    return status != GRAFT_OK;
}

/* Places that make lanes divide by zero or leave single precision: bodies at one place, far away, close, without a mass. */
static void scene(int shape) {
    srand(7);
    for (int i = 0; i < count; ++i) {
        for (int axis = 0; axis < 3; ++axis)
            x[3 * i + axis] = rand() / (double)RAND_MAX;
        m[i] = (1 + i % 3) / (double)count;
        lengths[i] = i % 4 == 0 ? 0 : 0.01 * (i % 4);
        if (shape == 1 && i % 5 == 0)
            memcpy(x + 3 * i, x, 3 * sizeof *x);
        if (shape == 2)
            m[i] = i % 2 == 0 ? 0 : m[i];
        if (shape == 3)
            x[3 * i] *= i == 0 ? 1e17 : 1;
        if (shape == 4)
            m[i] *= 1e-30, x[3 * i] *= 1e-30, x[3 * i + 1] *= 1e-30, x[3 * i + 2] *= 1e-30;
        if (shape == 5)
            m[i] *= i % 2 == 0 ? 1e25 : -1e25;
    }
}

static const char *const choices[][9][2] = {
    {{"precision", "fp32"}, {"precision", "mixed"}, {"precision", "fp64"}},
    {{"method", "direct"},
     {"order", "0"},
     {"order", "2"},
     {"order", "4"},
     {"mac.type", "box"},
     {"tree.type", "orb"},
     {"far_cells", "on"}},
    {{"softening.kind", "none"}, {"softening.kind", "plummer"}, {"softening.kind", "spline"}},
    {{"box.periodic", "none"}, {"box.periodic", "xyz"}, {"box.periodic", "xy"}, {"box.periodic", "x"}}};

static answer ask(int a, int b, int c, int d, int each_its_length) {
    const int chosen[] = {a, b, c, d};
    answer found;
    memset(&found, 0, sizeof found);
    graft_options *options = NULL;
    graft_context *context = NULL;
    if (fails(api->options_create(&options), "options") || fails(api->options_set(options, "backend", "cpu"), "backend") ||
        fails(api->options_set_int64(options, "threads", threads), "threads"))
        return found;
    fails(api->options_set(options, "interaction", "coulomb"), "interaction");
    for (int k = 0; k < 4; ++k)
        fails(api->options_set(options, choices[k][chosen[k]][0], choices[k][chosen[k]][1]), choices[k][chosen[k]][1]);
    if (c != 0)
        fails(api->options_set_double(options, "softening.length", 0.01), "length");
    if (d != 0)
        for (int axis = 0; axis < 3; ++axis)
            fails(api->options_set_double(options, (const char *[]){"box.x", "box.y", "box.z"}[axis], 1), "box");
    found.status = api->context_create(options, NULL, &context);
    graft_array position = graft_rows_const_f64(x, count, 3, 0), charge = graft_view_const_f64(m, count);
    graft_array softening = graft_view_const_f64(lengths, count), acceleration = graft_rows_f64(found.number, count, 3, 0);
    graft_array potential = graft_view_f64(found.number + 3 * count, count), energy = graft_view_f64(found.number + 4 * count, 1);
    graft_array virial = graft_rows_f64(found.number + 4 * count + 1, 1, 6, 0);
    graft_particles particles = {.struct_size = sizeof particles, .n = count, .position = {&position}, .charge = &charge};
    graft_results results = {.struct_size = sizeof results, .acceleration = {&acceleration}, .potential = &potential};
    if (c != 0 && each_its_length)
        particles.softening = &softening;
    results.energy = &energy;
    results.virial = &virial;
    if (found.status == GRAFT_OK) /* twice: the second call finds the first one's tree */
        found.status = api->compute(context, &particles, &results);
    if (found.status == GRAFT_OK)
        found.status = api->compute(context, &particles, &results);
    computed += found.status == GRAFT_OK;
    api->context_destroy(&context);
    api->options_destroy(&options);
    return found;
}

enum { traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

/* In this thread and in those of the host's loops. */
static void set_environment(int with_traps) {
#pragma omp parallel num_threads(threads)
    {
        fesetenv(FE_DFL_ENV);
        if (with_traps) {
            fesetround(FE_UPWARD);
            feraiseexcept(FE_INEXACT);
            feenableexcept(traps);
        }
    }
}

static void expect_environment(void) {
#pragma omp parallel num_threads(threads) reduction(+ : failures)
    if (fegetexcept() != traps || fegetround() != FE_UPWARD || fetestexcept(FE_ALL_EXCEPT) != FE_INEXACT) {
        printf("violated: thread %d: traps %x, rounding %x, flags %x after a call; expected %x, %x, %x\n", omp_get_thread_num(),
               fegetexcept(), fegetround(), fetestexcept(FE_ALL_EXCEPT), traps, FE_UPWARD, FE_INEXACT);
        ++failures;
    }
}

static void compare(int shape, int a, int b, int c, int d) {
    set_environment(0);
    const answer plain = ask(a, b, c, d, shape % 2);
    set_environment(1);
    const answer trapped = ask(a, b, c, d, shape % 2);
    expect_environment();
    if (plain.status != trapped.status || memcmp(plain.number, trapped.number, sizeof plain.number) != 0) {
        printf("violated: shape %d, %s, %s, %s, box %s: status %d and %d, or other bits, with traps\n", shape, choices[0][a][1],
               choices[1][b][1], choices[2][c][1], choices[3][d][1], (int)plain.status, (int)trapped.status);
        ++failures;
    }
}

int main(void) {
    char why[1024];
    if (graft_load(GRAFT_REAL, &api, why, sizeof why) != GRAFT_OK) {
        printf("%s\n", why);
        return 1;
    }
    for (int shape = 0; shape < 6; ++shape) {
        scene(shape);
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 7; ++b)
                for (int c = 0; c < 3; ++c)
                    for (int d = 0; d < (shape == 0 && b < 4 ? 4 : 1); ++d)
                        compare(shape, a, b, c, d);
    }
    fesetenv(FE_DFL_ENV);
    printf("%d calls gave results\n", computed);
    return failures > 0 || computed < 500;
}

#else

int main(void) {
    return 77;
}

#endif
