/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that are not quite Graft; FAKE chooses which. */
#include <graft/api.h>

#include <stddef.h>

#define FAKE_OTHER_MAJOR 1 /* speaks major 2 only, and says so properly */
#define FAKE_LYING 2       /* hands out a table of another major */
#define FAKE_TINY 3        /* a table shorter than its own head */
#define FAKE_OLDER 4       /* ends before options_set */
#define FAKE_NEWER 5       /* knows more than the host */
#define FAKE_FOREIGN 6     /* some other library */

__attribute__((visibility("default"))) int some_other_function(void);
int some_other_function(void) { return 42; }

#if FAKE != FAKE_FOREIGN

static const char *version(void) { return "9.8.7"; }
static const char *status_text(int32_t status) { return status == 0 ? "fine" : "not fine"; }
static const char *last_error(void) { return "the fake's own words"; }
static int32_t options_create(graft_options **options) {
    *options = (graft_options *)(void *)0;
    return GRAFT_ERROR_MEMORY;
}

static struct {
    graft_api_v1 table;
    void *more[8];
} fake;

__attribute__((visibility("default"))) const graft_api_v1 *graft_get_api(uint32_t abi_major,
                                                                         uint32_t caller_table_size) {
    (void)caller_table_size;
    fake.table.struct_size = FAKE == FAKE_TINY    ? 8
                             : FAKE == FAKE_OLDER ? (uint32_t)offsetof(graft_api_v1, options_set)
                             : FAKE == FAKE_NEWER ? (uint32_t)sizeof fake
                                                  : (uint32_t)sizeof(graft_api_v1);
    fake.table.abi_major = FAKE == FAKE_LYING ? 2 : GRAFT_ABI_MAJOR;
    fake.table.abi_minor = FAKE == FAKE_NEWER ? 99 : 0;
    fake.table.version = version;
    fake.table.status_text = status_text;
    fake.table.last_error = last_error;
    fake.table.options_create = options_create;
    return FAKE == FAKE_OTHER_MAJOR && abi_major != 2 ? NULL : &fake.table;
}

#endif
