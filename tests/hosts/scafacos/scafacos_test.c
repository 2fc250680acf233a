/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that speaks to ScaFaCoS, on any number of ranks: tolerances against sums of its own, Madelung's constant, an Ewald
 * sum of its own, virial, boxes that change, wrong calls. */
#include <fcs.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                                         \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);                                       \
            ++failures;                                                                                                          \
        }                                                                                                                        \
    } while (0)

enum { most = 1500 };
static const double pi = 3.14159265358979323846;
static int rank, ranks, failures;

typedef struct {
    int n, mine; /* of all ranks; of this one, every ranks-th from its own number on */
    double x[most][3], q[most], field[most][3], potential[most];
    double own_x[most][3], own_q[most], own_field[most][3], own_potential[most];
} cloud;
static cloud c;

static double random_number(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

static void share(void) {
    int i, k;
    c.mine = 0;
    for (i = rank; i < c.n; i += ranks, ++c.mine) {
        for (k = 0; k < 3; ++k)
            c.own_x[c.mine][k] = c.x[i][k];
        c.own_q[c.mine] = c.q[i];
    }
}

static void fill(int n, double edge) {
    unsigned state = 7;
    int i, k;
    c.n = n;
    for (i = 0; i < n; ++i) {
        for (k = 0; k < 3; ++k)
            c.x[i][k] = edge * random_number(&state);
        c.q[i] = i % 2 == 0 ? 1 : -1;
    }
    share();
}

/* Succeeds, or says why not. */
static int fine(FCSResult result) {
    if (result == FCS_RESULT_SUCCESS)
        return 1;
    fprintf(stderr, "rank %d: %s: %s\n", rank, fcs_result_get_function(result), fcs_result_get_message(result));
    fcs_result_destroy(result);
    return 0;
}

/* Fails with this code and this word in its text. */
static int fails(FCSResult result, int code, const char* word) {
    const int as_expected = fcs_result_get_return_code(result) == code && strstr(fcs_result_get_message(result), word) != NULL;
    if (!as_expected)
        fcs_result_print_result(result);
    fcs_result_destroy(result);
    return as_expected;
}

static FCS make(const char* method, const double* edges, const fcs_int* periodicity) {
    const double a[3] = {edges[0], 0, 0}, b[3] = {0, edges[1], 0}, d[3] = {0, 0, edges[2]}, origin[3] = {0, 0, 0};
    FCS handle = FCS_NULL;
    CHECK(fine(fcs_init(&handle, method, MPI_COMM_WORLD)));
    CHECK(fine(fcs_set_common(handle, 1, a, b, d, origin, periodicity, c.n)));
    return handle;
}

static int run(FCS handle) {
    return fine(fcs_run(handle, c.mine, c.own_x[0], c.own_q, c.own_field[0], c.own_potential));
}

typedef struct {
    double field, potential, energy; /* root mean squares of errors, by those of what is right: relative */
    double field_size, potential_size, whole_energy;
} errors;

/* Of this rank's results from c.field and c.potential. */
static errors compare(void) {
    double mine[6] = {0}, all[6];
    errors e;
    int i, k, j = 0;
    for (i = rank; i < c.n; i += ranks, ++j) {
        for (k = 0; k < 3; ++k) {
            mine[0] += pow(c.own_field[j][k] - c.field[i][k], 2);
            mine[1] += pow(c.field[i][k], 2);
        }
        mine[2] += pow(c.own_potential[j] - c.potential[i], 2);
        mine[3] += pow(c.potential[i], 2);
        mine[4] += 0.5 * c.q[i] * c.own_potential[j];
        mine[5] += 0.5 * c.q[i] * c.potential[i];
    }
    MPI_Allreduce(mine, all, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    e.field = sqrt(all[0] / all[1]), e.potential = sqrt(all[2] / all[3]), e.energy = fabs(all[4] / all[5] - 1);
    e.field_size = sqrt(all[1] / c.n), e.potential_size = sqrt(all[3] / c.n), e.whole_energy = fabs(all[5]);
    return e;
}

static void sum_open(void) {
    int i, j, k;
    for (i = 0; i < c.n; ++i) {
        c.potential[i] = c.field[i][0] = c.field[i][1] = c.field[i][2] = 0;
        for (j = 0; j < c.n; ++j) {
            double d[3], r2 = 0, r;
            for (k = 0; k < 3; ++k)
                d[k] = c.x[i][k] - c.x[j][k], r2 += d[k] * d[k];
            if (i == j)
                continue;
            r = sqrt(r2);
            c.potential[i] += c.q[j] / r;
            for (k = 0; k < 3; ++k)
                c.field[i][k] += c.q[j] * d[k] / (r2 * r);
        }
    }
}

/* Ewald's sum of a neutral cube, conducting boundary: alpha edge = 6, waves to 14, pairs to the images beside. */
static void sum_periodic(double edge) {
    const double alpha = 6 / edge, volume = edge * edge * edge;
    int i, j, k, m[3];
    memset(c.potential, 0, sizeof c.potential), memset(c.field, 0, sizeof c.field);
    for (i = 0; i < c.n; ++i) {
        c.potential[i] -= 2 * alpha / sqrt(pi) * c.q[i];
        for (j = 0; j < c.n; ++j)
            for (m[0] = -1; m[0] <= 1; ++m[0])
                for (m[1] = -1; m[1] <= 1; ++m[1])
                    for (m[2] = -1; m[2] <= 1; ++m[2]) {
                        double d[3], r2 = 0, r, f;
                        for (k = 0; k < 3; ++k)
                            d[k] = c.x[i][k] - c.x[j][k] + m[k] * edge, r2 += d[k] * d[k];
                        r = sqrt(r2);
                        if (r == 0 || alpha * r > 6)
                            continue;
                        c.potential[i] += c.q[j] * erfc(alpha * r) / r;
                        f = erfc(alpha * r) / (r2 * r) + 2 * alpha / sqrt(pi) * exp(-alpha * alpha * r2) / r2;
                        for (k = 0; k < 3; ++k)
                            c.field[i][k] += c.q[j] * d[k] * f;
                    }
    }
    for (m[0] = -14; m[0] <= 14; ++m[0])
        for (m[1] = -14; m[1] <= 14; ++m[1])
            for (m[2] = -14; m[2] <= 14; ++m[2]) {
                const double w[3] = {2 * pi * m[0] / edge, 2 * pi * m[1] / edge, 2 * pi * m[2] / edge};
                const double w2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
                double real = 0, imaginary = 0, factor;
                if (w2 == 0 || m[0] * m[0] + m[1] * m[1] + m[2] * m[2] > 14 * 14)
                    continue;
                factor = 4 * pi / volume / w2 * exp(-w2 / (4 * alpha * alpha));
                for (j = 0; j < c.n; ++j) {
                    const double phase = w[0] * c.x[j][0] + w[1] * c.x[j][1] + w[2] * c.x[j][2];
                    real += c.q[j] * cos(phase), imaginary += c.q[j] * sin(phase);
                }
                for (i = 0; i < c.n; ++i) {
                    const double phase = w[0] * c.x[i][0] + w[1] * c.x[i][1] + w[2] * c.x[i][2];
                    c.potential[i] += factor * (real * cos(phase) + imaginary * sin(phase));
                    for (k = 0; k < 3; ++k)
                        c.field[i][k] += factor * w[k] * (real * sin(phase) - imaginary * cos(phase));
                }
            }
}

/* Every kind of tolerance is kept, and the error is not a thousand times smaller. */
static void test_tolerances(const char* method, double edge, int periodic) {
    const double edges[3] = {edge, edge, edge};
    const fcs_int periodicity[3] = {periodic, periodic, periodic};
    int type, digits;
    for (type = FCS_TOLERANCE_TYPE_ENERGY; type <= FCS_TOLERANCE_TYPE_FIELD_REL; ++type)
        for (digits = 3; digits <= 7; digits += 2) {
            FCS handle = make(method, edges, periodicity);
            const double relative = pow(0.1, digits);
            const errors whole = compare(); /* sizes alone */
            const double size = type <= 2 ? whole.whole_energy : type <= 4 ? whole.potential_size : whole.field_size;
            errors e;
            double found;
            CHECK(fine(fcs_set_tolerance(handle, type, type % 2 == 0 ? relative : relative * size)));
            CHECK(fine(fcs_tune(handle, c.mine, c.own_x[0], c.own_q)));
            CHECK(run(handle));
            e = compare();
            found = type <= 2 ? e.energy : type <= 4 ? e.potential : e.field;
            if (rank == 0)
                printf("%s, periodic %d, type %d, tolerance 1e-%d: error %.2g\n", method, periodic, type, digits, found);
            CHECK(found < relative);
            CHECK(type <= 2 || found > 1e-4 * relative || (c.n < 1000 && !periodic)); /* all pairs in double are exact */
            CHECK(fine(fcs_destroy(handle)));
        }
}

/* What a host adds that has the near field to itself: of own results, pairs of all particles and the images beside. */
static void add_near(FCS handle, double edge) {
    double r_cut, potential, slope;
    int i, j, k, m[3];
    CHECK(fine(fcs_get_r_cut(handle, &r_cut)) && r_cut > 0 && r_cut <= edge);
    for (i = 0; i < c.mine; ++i)
        for (j = 0; j < c.n; ++j)
            for (m[0] = -1; m[0] <= 1; ++m[0])
                for (m[1] = -1; m[1] <= 1; ++m[1])
                    for (m[2] = -1; m[2] <= 1; ++m[2]) {
                        double d[3], r2 = 0;
                        for (k = 0; k < 3; ++k)
                            d[k] = c.own_x[i][k] - c.x[j][k] + m[k] * edge, r2 += d[k] * d[k];
                        if (r2 == 0 || r2 > r_cut * r_cut)
                            continue;
                        CHECK(fine(fcs_compute_near(handle, sqrt(r2), &potential, &slope)));
                        c.own_potential[i] += c.q[j] * potential;
                        for (k = 0; k < 3; ++k)
                            c.own_field[i][k] -= c.q[j] * slope * d[k] / sqrt(r2);
                    }
}

/* The near field is the host's: tolerances are kept with what it adds, at its cut-off or at one that fcs_tune chooses. */
static void test_near_field(const char* method, double edge) {
    const double edges[3] = {edge, edge, edge};
    const fcs_int periodicity[3] = {1, 1, 1};
    int digits, chosen;
    for (chosen = 0; chosen < 2; ++chosen)
        for (digits = 2; digits <= 6; digits += 2) {
            FCS handle = make(method, edges, periodicity);
            const double relative = pow(0.1, digits);
            fcs_int delegation = 0;
            double potential, slope, other;
            errors e;
            CHECK(fine(fcs_get_near_field_delegation(handle, &delegation)) && delegation == 1);
            CHECK(fine(fcs_set_near_field_flag(handle, 0)));
            CHECK(fine(fcs_set_tolerance(handle, FCS_TOLERANCE_TYPE_FIELD_REL, relative)));
            if (!chosen)
                CHECK(fine(fcs_set_r_cut(handle, 0.3 * edge)));
            CHECK(fails(fcs_compute_near(handle, 1, &potential, &slope), FCS_ERROR_LOGICAL_ERROR, "fcs_tune"));
            CHECK(fine(fcs_tune(handle, c.mine, c.own_x[0], c.own_q)));
            CHECK(run(handle));
            CHECK(compare().field > 0.3); /* pairs are missing */
            add_near(handle, edge);
            e = compare();
            if (rank == 0)
                printf("%s, near field of the host, tolerance 1e-%d: error %.2g\n", method, digits, e.field);
            CHECK(e.field < relative);
            CHECK(fine(fcs_compute_near_potential(handle, 0.1, &other)) &&
                  fine(fcs_compute_near(handle, 0.1, &potential, &slope)));
            CHECK(other == potential && fine(fcs_compute_near_field(handle, 0.1, &other)) && other == slope);
            CHECK(fails(fcs_compute_near_field(handle, 0, &other), FCS_ERROR_WRONG_ARGUMENT, "distance"));
            CHECK(fine(fcs_set_r_cut(handle, 0.2 * edge)));
            CHECK(fails(fcs_compute_near(handle, 1, &potential, &slope), FCS_ERROR_LOGICAL_ERROR, "fcs_tune"));
            if (ranks > 1) {
                CHECK(fine(fcs_set_near_field_flag(handle, rank == 0)));
                CHECK(fails(fcs_run(handle, c.mine, c.own_x[0], c.own_q, NULL, NULL), FCS_ERROR_WRONG_ARGUMENT,
                            "near_field_flags"));
            }
            CHECK(fine(fcs_set_near_field_flag(handle, 1)) && run(handle) && compare().field < relative);
            CHECK(fine(fcs_destroy(handle)));
        }
}

/* Settings that change between runs, on one rank alone, too: nobody waits for ever, and what was kept before is kept. */
static void test_changes(void) {
    const double edges[3] = {1, 1, 1}, nonsense[3] = {NAN, 0, 0};
    const fcs_int open[3] = {0, 0, 0}, periodic[3] = {1, 1, 1};
    FCS handle = make("fmm", edges, open), wrong = FCS_NULL;
    double before;
    int type;
    CHECK(run(handle));
    before = compare().field;
    CHECK(fine(fcs_set_tolerance(handle, FCS_TOLERANCE_TYPE_FIELD_REL, 1e-9)) && run(handle) && compare().field < 1e-9);
    CHECK(fine(fcs_set_tolerance(handle, FCS_TOLERANCE_TYPE_UNDEFINED, 0)) && run(handle));
    CHECK(fabs(compare().field / before - 1) < 1e-3);
    for (type = FCS_TOLERANCE_TYPE_FIELD_REL; type >= 0 && ranks > 1; type -= FCS_TOLERANCE_TYPE_FIELD_REL) {
        CHECK(fine(fcs_set_tolerance(handle, FCS_TOLERANCE_TYPE_FIELD_REL - (rank == 0 ? type : 0), 1e-3)));
        CHECK(type == 0 ? run(handle)
                        : fails(fcs_run(handle, c.mine, c.own_x[0], c.own_q, NULL, NULL), FCS_ERROR_WRONG_ARGUMENT, "different"));
    }
    if (rank == 0)
        CHECK(fine(fcs_set_total_particles(handle, c.n + 1)));
    CHECK(run(handle));
    if (rank == 0)
        CHECK(fails(fcs_set_parameters(handle, "graft_nonsense,1", 0), FCS_ERROR_WRONG_ARGUMENT, "nonsense"));
    CHECK(run(handle));
    CHECK(fine(fcs_set_periodicity(handle, periodic)));
    if (rank == 0)
        CHECK(fine(fcs_set_box_a(handle, nonsense)));
    CHECK(rank == 0 ? fails(fcs_run(handle, c.mine, c.own_x[0], c.own_q, NULL, NULL), FCS_ERROR_WRONG_ARGUMENT, "graft: ")
                    : fails(fcs_run(handle, c.mine, c.own_x[0], c.own_q, NULL, NULL), FCS_ERROR_LOGICAL_ERROR, "another rank"));
    CHECK(fine(fcs_destroy(handle)));
    CHECK(rank == 0 ? fails(fcs_init(&wrong, "wolf", MPI_COMM_WORLD), FCS_ERROR_WRONG_ARGUMENT, "wolf")
                    : fails(fcs_init(&wrong, "fmm", MPI_COMM_WORLD), FCS_ERROR_LOGICAL_ERROR, "another rank"));
}

static void test_salt(void) {
    const double edges[3] = {8, 8, 8}, grown[3] = {16, 0, 0}, grown_b[3] = {0, 16, 0}, grown_c[3] = {0, 0, 16};
    const fcs_int periodicity[3] = {1, 1, 1};
    double virial[9];
    FCS handle;
    int i, k;
    c.n = 512;
    for (i = 0; i < c.n; ++i) {
        const int at[3] = {i % 8, i / 8 % 8, i / 64};
        for (k = 0; k < 3; ++k)
            c.x[i][k] = at[k];
        c.q[i] = (at[0] + at[1] + at[2]) % 2 == 0 ? 1 : -1;
    }
    share();
    handle = make("p3m", edges, periodicity);
    CHECK(fine(fcs_set_tolerance(handle, FCS_TOLERANCE_TYPE_POTENTIAL_REL, 1e-6)));
    CHECK(fine(fcs_set_compute_virial(handle, 1)));
    CHECK(fails(fcs_get_virial(handle, virial), FCS_ERROR_LOGICAL_ERROR, "no virial"));
    CHECK(run(handle));
    for (i = 0; i < c.mine; ++i)
        CHECK(fabs(c.own_potential[i] + c.own_q[i] * 1.7475645946331822) < 1e-5 && fabs(c.own_field[i][0]) < 1e-5);
    CHECK(fine(fcs_get_virial(handle, virial)));
    CHECK(fabs((virial[0] + virial[4] + virial[8]) / (-0.5 * 512 * 1.7475645946331822) - 1) < 1e-5);
    CHECK(fabs(virial[0] - virial[4]) < 1e-3 && fabs(virial[1]) < 1e-3 && virial[1] == virial[3]);
    /* A box twice as large, its ions, too: half the potential; not measured again. */
    CHECK(fine(fcs_set_box_a(handle, grown)) && fine(fcs_set_box_b(handle, grown_b)) && fine(fcs_set_box_c(handle, grown_c)));
    for (i = 0; i < c.mine; ++i)
        for (k = 0; k < 3; ++k)
            c.own_x[i][k] *= 2;
    CHECK(run(handle));
    for (i = 0; i < c.mine; ++i)
        CHECK(fabs(c.own_potential[i] + c.own_q[i] * 0.5 * 1.7475645946331822) < 1e-5);
    CHECK(fine(fcs_destroy(handle)));
}

/* All particles on the last rank. */
static void test_empty_ranks(void) {
    const double edges[3] = {1, 1, 1};
    const fcs_int periodicity[3] = {0, 0, 0};
    double x[2][3] = {{0, 0, 0}, {0, 0, 2}}, q[2] = {3, -1}, field[2][3], potential[2];
    const int n = rank == ranks - 1 ? 2 : 0;
    FCS handle;
    c.n = 2;
    handle = make("direct", edges, periodicity);
    CHECK(fine(fcs_run(handle, n, n > 0 ? x[0] : NULL, n > 0 ? q : NULL, n > 0 ? field[0] : NULL, n > 0 ? potential : NULL)));
    if (n > 0)
        CHECK(fabs(potential[0] + 0.5) < 1e-6 && fabs(field[0][2] - 0.25) < 1e-6 && fabs(field[1][2] - 0.75) < 1e-6);
    CHECK(fine(fcs_destroy(handle)));
}

static void test_dipole(void) {
    const double edges[3] = {2, 2, 2};
    const fcs_int periodicity[3] = {1, 1, 1};
    double x[2][3] = {{0, 0, 0}, {0.5, 0, 0}}, q[2] = {-1, 1}, field[3], energy;
    const int n = rank == 0 ? 2 : 0;
    FCS handle;
    c.n = 2;
    handle = make("ewald", edges, periodicity);
    CHECK(fine(fcs_compute_dipole_correction(handle, n, x[0], q, 1, field, &energy)));
    CHECK(fabs(field[0] + 4 * pi / 3 / 8 * 0.5) < 1e-14 && field[1] == 0 && fabs(energy - 2 * pi / 3 / 8 * 0.25) < 1e-14);
    CHECK(fine(fcs_compute_dipole_correction(handle, n, x[0], q, -1, field, &energy)) && energy == 0);
    CHECK(fine(fcs_destroy(handle)));
}

static void test_wrong_calls(void) {
    const double edges[3] = {1, 1, 1}, crooked[3] = {0, 1, 0};
    const fcs_int periodicity[3] = {1, 1, 1}, nonsense[3] = {0, 2, 0};
    double x[3] = {0.5, 0.5, 0.5}, q[1] = {1}, other[3], value;
    fcs_int number = 7, type;
    FCS handle = FCS_NULL;
    CHECK(fails(fcs_init(NULL, "fmm", MPI_COMM_WORLD), FCS_ERROR_NULL_ARGUMENT, "handle"));
    CHECK(fails(fcs_init(&handle, "wolf", MPI_COMM_WORLD), FCS_ERROR_WRONG_ARGUMENT, "method 'wolf'") && handle == FCS_NULL);
    CHECK(fails(fcs_set_tolerance(FCS_NULL, 5, 1), FCS_ERROR_NULL_ARGUMENT, "handle"));
    CHECK(fine(fcs_destroy(FCS_NULL)) && fcs_get_method(FCS_NULL) == -1);
    CHECK(fine(fcs_init(&handle, "p2nfft", MPI_COMM_WORLD)));
    CHECK(fcs_get_method(handle) == FCS_METHOD_P2NFFT && strcmp(fcs_get_method_name(handle), "p2nfft") == 0);
    CHECK(fails(fcs_run(handle, 1, x, q, other, &value), FCS_ERROR_MISSING_ELEMENT, "box_a"));
    CHECK(fails(fcs_set_periodicity(handle, nonsense), FCS_ERROR_WRONG_ARGUMENT, "periodicity 2"));
    CHECK(fails(fcs_set_tolerance(handle, 5, 0), FCS_ERROR_WRONG_ARGUMENT, "tolerance"));
    CHECK(fine(fcs_destroy(handle)));
    c.n = ranks;
    handle = make("fmm", edges, periodicity);
    CHECK(fails(fcs_run(handle, 1, NULL, q, other, &value), FCS_ERROR_NULL_ARGUMENT, "positions"));
    CHECK(rank == 0 ? fails(fcs_run(handle, 1, NULL, q, other, &value), FCS_ERROR_NULL_ARGUMENT, "positions")
                    : fails(fcs_run(handle, 1, x, q, other, &value), FCS_ERROR_LOGICAL_ERROR, "another rank"));
    CHECK(fine(fcs_set_near_field_flag(handle, 0)) && fine(fcs_get_near_field_delegation(handle, &number)) && number == 0);
    CHECK(fails(fcs_run(handle, 1, x, q, other, &value), FCS_ERROR_INCOMPATIBLE_METHOD, "method fmm does not leave"));
    CHECK(fine(fcs_set_near_field_flag(handle, 1)) && fine(fcs_set_box_a(handle, crooked)));
    CHECK(fails(fcs_run(handle, 1, x, q, other, &value), FCS_ERROR_INCOMPATIBLE_METHOD, "turn the system"));
    CHECK(fails(fcs_compute_near(handle, 1, &value, &value), FCS_ERROR_LOGICAL_ERROR, "near_field_flag 0"));
    CHECK(fails(fcs_set_r_cut(handle, 0), FCS_ERROR_WRONG_ARGUMENT, "r_cut"));
    CHECK(fine(
        fcs_set_parameters(handle, "box_a,4,0,0, tolerance_field,1e-3,fmm_order,7,graft_precision,fp64,require_virial,1", 0)));
    CHECK(fcs_get_box_a(handle)[0] == 4 && fine(fcs_get_tolerance(handle, &type, &value)) && type == 5 && value == 1e-3);
    CHECK(fine(fcs_get_compute_virial(handle, &number)) && number == 1);
    CHECK(fails(fcs_set_parameters(handle, "graft_precision,fp65", 0), FCS_ERROR_WRONG_ARGUMENT, "fp65"));
    CHECK(fails(fcs_set_parameters(handle, "box_b,1,2", 0), FCS_ERROR_WRONG_ARGUMENT, "box_b"));
    CHECK(fails(fcs_set_parameters(handle, "total_particles,p3m_grid,32", 0), FCS_ERROR_WRONG_ARGUMENT, "total_particles"));
    CHECK(fails(fcs_set_parameters(handle, "periodicity,0.5,1,1", 0), FCS_ERROR_WRONG_ARGUMENT, "periodicity"));
    CHECK(fails(fcs_set_parameters(handle, "graft_interaction,gravity", 0), FCS_ERROR_WRONG_ARGUMENT, "always"));
    CHECK(fails(fcs_set_parameters(handle, "colour,red", 0), FCS_ERROR_WRONG_ARGUMENT, "colour"));
    CHECK(fine(fcs_set_parameters(handle, "colour,red,r_cut,2", 1)) && fine(fcs_get_r_cut(handle, &value)) && value == 2);
    x[0] = NAN;
    CHECK(fails(fcs_run(handle, 1, x, q, other, &value), FCS_ERROR_WRONG_ARGUMENT, "graft: "));
    CHECK(fine(fcs_destroy(handle)));
}

int main(int count, char** words) {
    int all = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fill(1200, 1);
    sum_open();
    test_tolerances("fmm", 1, 0);
    fill(300, 1); /* so few that all pairs are summed */
    sum_open();
    test_tolerances("p3m", 1, 0);
    test_changes();
    fill(120, 3);
    sum_periodic(3);
    test_tolerances("p2nfft", 3, 1);
    test_near_field("p2nfft", 3);
    test_salt();
    test_empty_ranks();
    test_dipole();
    test_wrong_calls();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", all);
    MPI_Finalize();
    return all != 0;
}
