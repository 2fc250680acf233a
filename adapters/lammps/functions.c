/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds LAMMPS's functions; errors of its commands (functions.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, dl_iterate_phdr */
#endif
#include "functions.h"

#include "graft_lammps.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_CAPACITY 2048
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" /* libstdc++'s std::string */

static __thread char last_text[TEXT_CAPACITY];

const char* graft_lammps_error(void) {
    return last_text;
}

int32_t lammps_fail(int32_t status, const char* pattern, ...) {
    char text[TEXT_CAPACITY]; /* an argument may be last_text itself */
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    memcpy(last_text, text, sizeof text);
    return status;
}

typedef struct entry {
    const char* name;
    size_t offset;
    int optional;
} entry;

static const entry entries[] = {
    {"lammps_version", offsetof(lammps_functions, version), 0},
    {"lammps_extract_setting", offsetof(lammps_functions, extract_setting), 0},
    {"lammps_extract_global", offsetof(lammps_functions, extract_global), 0},
    {"lammps_extract_atom", offsetof(lammps_functions, extract_atom), 0},
    {"lammps_extract_compute", offsetof(lammps_functions, extract_compute), 0},
    {"lammps_extract_box", offsetof(lammps_functions, extract_box), 0},
    {"lammps_extract_pair", offsetof(lammps_functions, extract_pair), 1},
    {"lammps_get_mpi_comm", offsetof(lammps_functions, get_mpi_comm), 0},
    {"lammps_command", offsetof(lammps_functions, command), 0},
    {"lammps_has_id", offsetof(lammps_functions, has_id), 0},
    {"lammps_set_fix_external_callback", offsetof(lammps_functions, set_callback), 0},
    {"lammps_fix_external_set_energy_global", offsetof(lammps_functions, set_energy), 0},
    {"lammps_fix_external_set_energy_peratom", offsetof(lammps_functions, set_energy_peratom), 0},
    {"lammps_fix_external_set_virial_global", offsetof(lammps_functions, set_virial), 0},
    {"lammps_config_has_exceptions", offsetof(lammps_functions, has_exceptions), 0},
    {"lammps_has_error", offsetof(lammps_functions, has_error), 0},
    {"lammps_get_last_error_message", offsetof(lammps_functions, last_error), 0},
    {"lammps_force_timeout", offsetof(lammps_functions, force_timeout), 0},
    {"lammps_error", offsetof(lammps_functions, error), 1},
    {"_ZN9LAMMPS_NS5Error3allERK" STRING "iS8_", offsetof(lammps_functions, error_all), 1},
    {"_ZN9LAMMPS_NS5Error3allERK" STRING "iiS8_", offsetof(lammps_functions, error_all_word), 1},
};

/* A host that opened LAMMPS with RTLD_LOCAL keeps it out of the global scope. */
static int find_library(struct dl_phdr_info* object, size_t size, void* library) {
    const char* name = object->dlpi_name != NULL ? strrchr(object->dlpi_name, '/') : NULL;
    void* found;
    (void)size;
    if (name == NULL || strncmp(name, "/liblammps", 10) != 0)
        return 0;
    found = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (found == NULL || dlsym(found, "lammps_version") == NULL)
        return 0;
    *(void**)library = found; /* stays referenced: its functions are in use from now on */
    return 1;
}

int32_t lammps_find(const lammps_functions** table) {
    static lammps_functions functions;
    void* library = RTLD_DEFAULT;
    size_t i;
    if (functions.version == NULL && dlsym(RTLD_DEFAULT, "lammps_version") == NULL &&
        !dl_iterate_phdr(find_library, &library))
        return lammps_fail(GRAFT_ERROR_LOAD_NOT_FOUND,
                           "no LAMMPS in this process: there is no function lammps_version; open LAMMPS as a "
                           "shared library (liblammps.so) or link it with -rdynamic");
    for (i = 0; functions.version == NULL && i < sizeof entries / sizeof *entries; ++i)
        if (dlsym(library, entries[i].name) == NULL && !entries[i].optional)
            return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                               "this LAMMPS has no function %s; Graft needs a LAMMPS of 28Jul2021 or later",
                               entries[i].name);
    if (functions.version == NULL) {
        for (i = sizeof entries / sizeof *entries; i-- > 0;) { /* version, the first, goes in last */
            void* symbol = dlsym(library, entries[i].name);
            memcpy((char*)&functions + entries[i].offset, &symbol, sizeof symbol);
        }
    }
    *table = &functions;
    return GRAFT_OK;
}

int32_t lammps_run(const lammps_functions* table, void* lammps, const char* pattern, ...) {
    char text[TEXT_CAPACITY], why[TEXT_CAPACITY];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    table->command(lammps, text);
    if (!table->has_exceptions() || !table->has_error(lammps))
        return GRAFT_OK;
    table->last_error(lammps, why, (int)sizeof why); /* which also clears it */
    return lammps_fail(GRAFT_ERROR_ARGUMENT, "LAMMPS refuses `%s`: %.1500s", text, why);
}
