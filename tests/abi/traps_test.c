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

enum { count = 600, threads = 2, ranks = 2, parts = 8, reference = 1, point_count = 100 };
enum { numbers = 4 * count + 7 + 4 * point_count };

static const graft_api_v1 *api;
static int failures = 0, computed = 0, divided = 0;
static double x[3 * count], m[count], lengths[count];

typedef struct answer {
    int32_t status;
    double number[numbers]; /* accelerations, potentials, energy, virial; accelerations and potentials at points */
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
     {"method", "reference"},
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
    const int n = b == reference && d != 0 ? 16 : count; /* the oracle of boxes is slow */
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
    graft_array position = graft_rows_const_f64(x, n, 3, 0), charge = graft_view_const_f64(m, n);
    graft_array softening = graft_view_const_f64(lengths, n), acceleration = graft_rows_f64(found.number, n, 3, 0);
    graft_array potential = graft_view_f64(found.number + 3 * count, n), energy = graft_view_f64(found.number + 4 * count, 1);
    graft_array virial = graft_rows_f64(found.number + 4 * count + 1, 1, 6, 0);
    graft_particles particles = {.struct_size = sizeof particles, .n = n, .position = {&position}, .charge = &charge};
    graft_results results = {.struct_size = sizeof results, .acceleration = {&acceleration}, .potential = &potential};
    if (c != 0 && each_its_length)
        particles.softening = &softening;
    results.energy = &energy;
    results.virial = &virial;
    if (found.status == GRAFT_OK) /* twice: the second call finds the first one's tree */
        found.status = api->compute(context, &particles, &results);
    if (found.status == GRAFT_OK)
        found.status = api->compute(context, &particles, &results);
    const int places = n < point_count ? n : point_count;
    graft_array place = graft_rows_const_f64(x, places, 3, 0);
    graft_array there = graft_rows_f64(found.number + 4 * count + 7, places, 3, 0);
    graft_array potential_there = graft_view_f64(found.number + 4 * count + 7 + 3 * point_count, places);
    graft_particles points = {.struct_size = sizeof points, .n = places, .position = {&place}};
    graft_results at_points = {.struct_size = sizeof at_points, .acceleration = {&there}, .potential = &potential_there};
    if (found.status == GRAFT_OK)
        found.status = api->field_at(context, &particles, &points, &at_points);
    computed += found.status == GRAFT_OK;
    api->context_destroy(&context);
    api->options_destroy(&options);
    return found;
}

enum { traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

typedef struct environment {
    int traps, rounding, flags;
} environment;

static environment before[threads]; /* in each thread of the host's loops */

static environment environment_here(void) {
    return (environment){fegetexcept(), fegetround(), fetestexcept(FE_ALL_EXCEPT)};
}

static void set_environment_here(int with_traps) {
    fesetenv(FE_DFL_ENV);
    if (with_traps) {
        fesetround(FE_UPWARD);
        feraiseexcept(FE_INEXACT);
        feenableexcept(traps);
    }
}

/* In this thread and in those of the host's loops: libgomp's keep what they are given, LLVM's have this one's at each loop. */
static void set_environment(int with_traps) {
    set_environment_here(with_traps);
#pragma omp parallel num_threads(threads)
    set_environment_here(with_traps);
#pragma omp parallel num_threads(threads)
    before[omp_get_thread_num()] = environment_here();
}

static void expect_environment(void) {
#pragma omp parallel num_threads(threads) reduction(+ : failures)
    {
        const environment found = environment_here();
        environment expected = before[omp_get_thread_num()];
#ifdef __clang__
        if (omp_get_thread_num() > 0) /* LLVM's runtime gives threads of a loop its own flags */
            expected.flags = found.flags;
#endif
        if (memcmp(&found, &expected, sizeof found) != 0 || found.traps != traps || found.rounding != FE_UPWARD) {
            printf("violated: thread %d: traps %x, rounding %x, flags %x after a call; before it %x, %x, %x\n",
                   omp_get_thread_num(), found.traps, found.rounding, found.flags, expected.traps, expected.rounding,
                   expected.flags);
            ++failures;
        }
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

typedef struct division {
    int32_t status[ranks], owner[count], again[count]; /* of decompose; of balance after a computation */
    double boxes[ranks][6 * parts];
} division;

/* One rank's half of the particles. */
static void divide(division *d, int rank, graft_comm_v1 *comm, const char *const (*ways)[2]) {
    const int first = rank * count / ranks, n = count / ranks;
    graft_options *options = NULL;
    graft_context *context = NULL;
    fails(api->options_create(&options), "options");
    fails(api->options_set(options, "backend", "cpu"), "backend");
    fails(api->options_set_int64(options, "threads", 1), "threads");
    for (int k = 0; k < 2; ++k)
        fails(api->options_set(options, ways[k][0], ways[k][1]), ways[k][1]);
    fails(api->options_set_int64(options, "decompose.parts", parts), "parts");
    fails(api->options_set(options, "balance.tolerance", "1"), "tolerance");
    fails(api->context_create(options, NULL, &context), "context");
    fails(api->context_set_communicator(context, comm), "communicator");
    graft_array position = graft_rows_const_f64(x + 3 * first, n, 3, 0), charge = graft_view_const_f64(m + first, n);
    graft_array field = graft_rows_f64((double[3 * count]){0}, n, 3, 0), owner = graft_view_i32(d->owner + first, n);
    graft_array again = graft_view_i32(d->again + first, n), boxes = graft_rows_f64(d->boxes[rank], parts, 6, 0);
    graft_particles particles = {.struct_size = sizeof particles, .n = n, .position = {&position}, .charge = &charge};
    graft_results results = {.struct_size = sizeof results, .acceleration = {&field}};
    graft_decomposition decomposition = {.struct_size = sizeof decomposition, .owner = &owner, .boxes = &boxes};
    graft_balancing balancing = {.struct_size = sizeof balancing, .owner = &again, .step_s = 100};
    d->status[rank] = api->decompose(context, &particles, &decomposition);
    if (d->status[rank] == GRAFT_OK)
        d->status[rank] = api->compute(context, &particles, &results);
    if (d->status[rank] == GRAFT_OK)
        d->status[rank] = api->balance(context, &particles, &balancing);
    api->context_destroy(&context);
    api->options_destroy(&options);
}

static division divide_on_ranks(const char *const (*ways)[2]) {
    static division d;
    graft_comm_v1 *comms[ranks] = {NULL};
    memset(&d, 0, sizeof d);
    if (fails(api->comm_create_threads(ranks, comms), "ranks"))
        return d;
#pragma omp parallel for num_threads(ranks) schedule(static, 1)
    for (int rank = 0; rank < ranks; ++rank)
        divide(&d, rank, comms[rank], ways);
    for (int rank = 0; rank < ranks; ++rank)
        comms[rank]->comm_free(comms[rank]);
    return d;
}

static void compare_divisions(int shape) {
    static const char *const ways[][2][2] = {{{"decompose.strategy", "level"}, {"balance.method", "orb-distributed"}},
                                             {{"decompose.strategy", "halving"}, {"balance.method", "prefix-distributed"}},
                                             {{"decompose.strategy", "central"}, {"balance.method", "orb-central"}},
                                             {{"decompose.shape", "prefix"}, {"balance.method", "prefix-central"}}};
    for (int k = 0; k < 4; ++k) {
        set_environment(0);
        const division plain = divide_on_ranks(ways[k]);
        set_environment(1);
        const division trapped = divide_on_ranks(ways[k]);
        expect_environment();
        if (memcmp(&plain, &trapped, sizeof plain) != 0) {
            printf("violated: shape %d, %s, %s: status %d and %d, or others, with traps\n", shape, ways[k][0][1], ways[k][1][1],
                   (int)plain.status[0], (int)trapped.status[0]);
            ++failures;
        }
        divided += plain.status[0] == GRAFT_OK;
    }
}

int main(void) {
    char why[1024];
    omp_set_dynamic(0); /* ranks are threads that wait for each other: fewer of them would wait for ever */
    if (omp_get_thread_limit() < ranks) {
        printf("OMP_THREAD_LIMIT is %d; expected %d and more\n", omp_get_thread_limit(), ranks);
        return 77;
    }
    if (graft_load(GRAFT_REAL, &api, why, sizeof why) != GRAFT_OK) {
        printf("%s\n", why);
        return 1;
    }
    for (int shape = 0; shape < 6; ++shape) {
        scene(shape);
        compare_divisions(shape);
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 8; ++b)
                for (int c = 0; c < 3; ++c)
                    for (int d = 0; d < (shape == 0 && b < 5 ? 4 : 1); ++d)
                        compare(shape, a, b, c, d);
    }
    fesetenv(FE_DFL_ENV);
    printf("%d calls gave results, %d divisions\n", computed, divided);
    return failures > 0 || computed < 500 || divided < 16;
}

#else

int main(void) {
    return 77;
}

#endif
