// SPDX-License-Identifier: BSD-3-Clause
// The OpenMP library for ThreadSanitizer, in the place of libgomp.so.1: what Graft's loops and the tests call, by nothing but
// POSIX threads, whose order TSan knows. GCC's own is not compiled for TSan, which then reports what its barriers order.
//
// A parallel region makes its threads and joins them; nested ones have one thread. One loop of a region is under way at a time.
#define _POSIX_C_SOURCE 200112L // barriers
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct team {
    int threads;
    bool started; // the loop's bounds are set
    long next, end, step;
    pthread_mutex_t mutex;
    pthread_barrier_t barrier;
    void (*body)(void *);
    void *data;
};

struct member {
    struct team *team;
    int number;
    int wanted; // by omp_set_num_threads
};

static __thread struct member own;
static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER;

int omp_get_num_procs(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
int omp_get_thread_num(void) { return own.number; }
int omp_get_num_threads(void) { return own.team != NULL ? own.team->threads : 1; }
int omp_in_parallel(void) { return own.team != NULL; }
void omp_set_dynamic(int dynamic) { (void)dynamic; }
int omp_get_thread_limit(void) { return 1 << 20; }
void omp_set_num_threads(int threads) { own.wanted = threads; }

int omp_get_max_threads(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    const int given = text != NULL ? atoi(text) : 0;
    return own.wanted > 0 ? own.wanted : given > 0 ? given : omp_get_num_procs();
}

static void *run(void *given) {
    own = *(struct member *)given;
    own.team->body(own.team->data);
    return NULL;
}

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
    const struct member before = own;
    struct team team = {.body = body, .data = data};
    struct member *members;
    pthread_t *ids;
    (void)flags;
    team.threads = before.team != NULL ? 1 : threads > 0 ? (int)threads : omp_get_max_threads();
    members = calloc((size_t)team.threads, sizeof *members);
    ids = calloc((size_t)team.threads, sizeof *ids);
    if (members == NULL || ids == NULL)
        abort();
    pthread_mutex_init(&team.mutex, NULL);
    pthread_barrier_init(&team.barrier, NULL, (unsigned)team.threads);
    for (int i = 0; i < team.threads; ++i) {
        members[i] = (struct member){&team, i, before.wanted};
        if (i > 0 && pthread_create(&ids[i], NULL, run, &members[i]) != 0)
            abort();
    }
    run(&members[0]);
    for (int i = 1; i < team.threads; ++i)
        pthread_join(ids[i], NULL);
    own = before;
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_destroy(&team.mutex);
    free(ids);
    free(members);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *begin, long *end) {
    struct team *team = own.team;
    bool any;
    pthread_mutex_lock(&team->mutex);
    any = team->next < team->end;
    if (any) {
        *begin = team->next;
        team->next = team->next + team->step < team->end ? team->next + team->step : team->end;
        *end = team->next;
    }
    pthread_mutex_unlock(&team->mutex);
    return any;
}

/// Loops that count upwards.
bool GOMP_loop_nonmonotonic_dynamic_start(long first, long last, long step, long chunk, long *begin, long *end) {
    struct team *team = own.team;
    if (team == NULL || step < 1)
        abort();
    pthread_mutex_lock(&team->mutex);
    if (!team->started) {
        team->started = true;
        team->next = first, team->end = last, team->step = step * chunk;
    }
    pthread_mutex_unlock(&team->mutex);
    return GOMP_loop_nonmonotonic_dynamic_next(begin, end);
}

void GOMP_barrier(void) {
    if (own.team != NULL)
        pthread_barrier_wait(&own.team->barrier);
}

void GOMP_loop_end(void) {
    GOMP_barrier();
    if (own.number == 0)
        own.team->started = false;
    GOMP_barrier();
}

void GOMP_critical_start(void) { pthread_mutex_lock(&critical); }
void GOMP_critical_end(void) { pthread_mutex_unlock(&critical); }
void GOMP_atomic_start(void) { pthread_mutex_lock(&critical); }
void GOMP_atomic_end(void) { pthread_mutex_unlock(&critical); }
