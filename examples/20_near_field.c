/* SPDX-License-Identifier: BSD-3-Clause */
/* Only the near field, from C, for a code that has boxes: a ring of rods, each with its charges, interacting
 * with itself and the rods beside it. The code's own offsets and lists go in as they are; the plan is
 * executed for new charges, then for points that have moved. Checked against the loop that it replaces. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { boxes = 60, points = 1500, pairs_of_boxes = 3 * boxes };

static double x[points][3], charge[points], potential[points], gradient[points][3];
static int32_t first[boxes + 1], list_first[boxes + 1], list[pairs_of_boxes];

/* Box b has b % 5 * 12 + 1 points; its list is itself and the boxes beside it, in ascending order. */
static void make_boxes(void) {
    int32_t point = 0, item = 0;
    for (int32_t b = 0; b < boxes; ++b) {
        const int32_t before = (b + boxes - 1) % boxes, after = (b + 1) % boxes;
        const int32_t low = before < after ? before : after, high = before < after ? after : before;
        first[b] = point;
        point += b % 5 * 12 + 1;
        list_first[b] = item;
        if (b < low)
            list[item++] = b;
        list[item++] = low;
        if (b > low && b < high)
            list[item++] = b;
        list[item++] = high;
        if (b > high)
            list[item++] = b;
    }
    first[boxes] = point;
    list_first[boxes] = item;
}

static void place_points(double phase) {
    for (int32_t b = 0; b < boxes; ++b)
        for (int32_t i = first[b]; i < first[b + 1]; ++i) {
            const double angle = 6.283185307179586 * (b + 0.9 * (i - first[b]) / 50.0) / boxes + phase;
            x[i][0] = 5 * cos(angle);
            x[i][1] = 5 * sin(angle);
            x[i][2] = 0.3 * sin(7.0 * i + phase);
            charge[i] = i % 2 ? 1 : -0.5;
        }
}

/* The largest error of potential and gradient, over the largest value, against the plain loop. */
static double error_of_sums(void) {
    double worst = 0, largest = 0;
    for (int32_t b = 0; b < boxes; ++b)
        for (int32_t i = first[b]; i < first[b + 1]; ++i) {
            double sum = 0, slope[3] = {0, 0, 0};
            for (int32_t k = list_first[b]; k < list_first[b + 1]; ++k)
                for (int32_t j = first[list[k]]; j < first[list[k] + 1]; ++j) {
                    const double d[3] = {x[i][0] - x[j][0], x[i][1] - x[j][1], x[i][2] - x[j][2]};
                    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                    if (i == j)
                        continue;
                    sum += charge[j] / sqrt(r2);
                    for (int a = 0; a < 3; ++a)
                        slope[a] -= charge[j] * d[a] / (r2 * sqrt(r2));
                }
            for (int a = 0; a < 3; ++a) {
                worst = fmax(worst, fabs(slope[a] - gradient[i][a]));
                largest = fmax(largest, fabs(slope[a]));
            }
            worst = fmax(worst, fabs(sum - potential[i]));
        }
    return worst / largest;
}

int main(void) {
    char why[1024];
    const graft_api_v1* api = NULL;
    graft_options* options = NULL;
    graft_context* context = NULL;
    graft_near_plan* plan = NULL;
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    make_boxes();
    place_points(0);

    const int64_t n = first[boxes];
    const graft_array place = graft_rows_const_f64(x[0], n, 3, 3), q = graft_view_const_f64(charge, n);
    const graft_array phi = graft_view_f64(potential, n), grad = graft_rows_f64(gradient[0], n, 3, 3);
    const graft_array offsets = graft_view_const_i32(first, boxes + 1);
    const graft_array list_offsets = graft_view_const_i32(list_first, boxes + 1);
    const graft_array lists = graft_view_const_i32(list, list_first[boxes]);
    graft_near_field field = {0};
    field.struct_size = sizeof field;
    field.dimension = 3;
    field.outputs = GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT;
    field.precision = GRAFT_PRECISION_FP64;
    field.target_count = n;
    field.target_position[0] = &place;
    field.boxes = GRAFT_NEAR_BOXES_LISTS;
    field.target_offset = &offsets;
    field.neighbour_offset = &list_offsets;
    field.neighbour = &lists;
    graft_near_sums sums = {0};
    sums.struct_size = sizeof sums;
    sums.charge[0] = &q;
    sums.potential[0] = &phi;
    sums.gradient[0] = &grad;

    int32_t status = api->options_create(&options);
    if (status == GRAFT_OK)
        status = api->context_create(options, NULL, &context);
    if (status == GRAFT_OK)
        status = api->near_field_create(context, &field, &plan);
    double worst = 0;
    for (int step = 0; status == GRAFT_OK && step < 4; ++step) {
        if (step > 1) { /* the same boxes, points elsewhere */
            place_points(0.01 * step);
            status = api->near_field_update(context, plan, &field);
        }
        for (int64_t i = 0; i < n; ++i)
            charge[i] += 0.1 * step;
        if (status == GRAFT_OK)
            status = api->near_field_execute(context, plan, &sums);
        worst = fmax(worst, error_of_sums());
    }
    double pairs = 0, allocations = -1;
    if (status == GRAFT_OK)
        status = api->query(context, "near.pairs", &pairs);
    if (status == GRAFT_OK)
        status = api->query(context, "near.allocations", &allocations);
    printf("%d boxes, %lld points, %.0f pairs an execution: largest error %.1e, allocations of the last "
           "execution %.0f\n",
           (int)boxes, (long long)n, pairs, worst, allocations);

    list[1] = list[0]; /* a box twice: refused by name and place */
    graft_near_plan* wrong = NULL;
    if (status == GRAFT_OK && api->near_field_create(context, &field, &wrong) != GRAFT_ERROR_VALUE)
        status = GRAFT_ERROR_INTERNAL;
    else
        printf("as it should: %s\n", api->last_error());
    if (status != GRAFT_OK)
        fprintf(stderr, "%s\n", api->last_error());
    api->near_field_destroy(context, &plan);
    api->context_destroy(&context);
    api->options_destroy(&options);
    return status == GRAFT_OK && worst < 1e-12 && allocations == 0 ? 0 : 1;
}
