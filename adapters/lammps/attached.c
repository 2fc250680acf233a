/* SPDX-License-Identifier: BSD-3-Clause */
/* What is attached, in all LAMMPS of the process (internal.h). */
#include "internal.h"

#include <pthread.h>
#include <string.h>

static graft_lammps* first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* hosts may have a LAMMPS a thread */

static graft_lammps* find(const void* lammps, const char* fix) {
    graft_lammps* at = first;
    while (at != NULL && (at->lammps != lammps || strcmp(at->fix, fix) != 0))
        at = at->next;
    return at;
}

static int take_off(const graft_lammps* at) {
    graft_lammps** link = &first;
    while (*link != NULL && *link != at)
        link = &(*link)->next;
    if (*link == NULL)
        return 0;
    *link = at->next;
    return 1;
}

int lammps_take_off(const graft_lammps* at) {
    int was_on;
    pthread_mutex_lock(&lock);
    was_on = take_off(at);
    pthread_mutex_unlock(&lock);
    return was_on;
}

void lammps_put_on(graft_lammps* at) {
    graft_lammps* before;
    pthread_mutex_lock(&lock);
    before = find(at->lammps, at->fix);
    if (before != NULL) {
        at->fix_is_ours = at->fix_is_ours || before->fix_is_ours;
        at->kspace_is_ours = at->kspace_is_ours || before->kspace_is_ours;
        take_off(before);
    }
    at->next = first;
    first = at;
    pthread_mutex_unlock(&lock);
}

int lammps_counts_twice(const graft_lammps* at, const char* fix) {
    const graft_lammps* other;
    int twice;
    pthread_mutex_lock(&lock);
    other = find(at->lammps, fix);
    twice = other != NULL && strcmp(fix, at->fix) != 0 && other->coulomb == at->coulomb;
    pthread_mutex_unlock(&lock);
    return twice;
}
