/* SPDX-License-Identifier: BSD-3-Clause */
/* A process of one MPI asks for the shim of the other: a polite no that names both, before and after
 * MPI_Init; then its own works. usage: wrong_test OWN_SHIM OTHER_SHIM OWN_NAME OTHER_NAME */
#include "support.h"

static void test_refused(const shim_library* other, int32_t handle, const char* own_name,
                         const char* other_name) {
    graft_comm_v1* t = (graft_comm_v1*)&failures;
    char built[64];
    snprintf(built, sizeof built, "built for %s", other_name);
    CHECK(other->from_fortran(handle, &t) == GRAFT_ERROR_UNSUPPORTED);
    CHECK(t == NULL);
    CHECK_TEXT(other->error(), own_name);
    CHECK_TEXT(other->error(), built);
    CHECK(other->start() == GRAFT_ERROR_UNSUPPORTED);
    CHECK(other->world(&t) == GRAFT_ERROR_UNSUPPORTED);
}

int main(int argc, char** argv) {
    shim_library other = open_shim(argv[2]), own;
    graft_comm_v1* t;
    test_refused(&other, 0, argv[3], argv[4]);
    MPI_Init(&argc, &argv);
    test_refused(&other, (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), argv[3], argv[4]);
    if (failures == 0)
        fprintf(stderr, "as expected: %s\n", other.error());
    own = open_shim(argv[1]);
    t = table_over(&own, MPI_COMM_WORLD);
    CHECK_OK(t, t->comm_barrier(t->self));
    t->comm_free(t);
    argc = result();
    MPI_Finalize();
    return argc;
}
