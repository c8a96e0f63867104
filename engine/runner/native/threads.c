// Sharing a loop out to the cores, a hundred and fifty times a step.
//
// All threads take the next task that nobody has yet, the caller among them. So a thread that the
// system has put aside for somebody else's sake holds up nothing but the task that it is at: on a
// busy machine the caller does the work alone. Between steps the others sleep.
//
// One step at a time has the threads. Another that runs meanwhile does its work by itself.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "decode.h"

#define MAX_THREADS 64
#define PATIENCE 2000  // looks before the core is offered to others

// The loop that is shared out now: number of the loop, number of tasks, the next one; in one word,
// so that whoever takes a task takes it of this loop or of none.
#define TASK_BITS 20
static _Atomic uint64_t now;
static _Atomic int num_done;
static Task now_task;
static const void *now_context;

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sleeping = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_up = PTHREAD_COND_INITIALIZER;
static _Atomic int num_wanted;  // threads that take part in the step that runs; 0: none runs
static int num_started = 1;     // the caller
static _Thread_local int is_sharing;

static void pause_briefly(int *num_looks) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (++*num_looks % PATIENCE == 0) sched_yield();
}

static int take_and_do_one(int thread) {
    uint64_t seen = atomic_load_explicit(&now, memory_order_acquire);
    const uint64_t mask = (1u << TASK_BITS) - 1;
    do {
        if ((seen & mask) >= (seen >> TASK_BITS & mask)) return 0;
    } while (!atomic_compare_exchange_weak(&now, &seen, seen + 1));
    now_task(now_context, (int)(seen & mask), thread);
    atomic_fetch_add(&num_done, 1);
    return 1;
}

static void *live(void *argument) {
    const int thread = (int)(intptr_t)argument;
    int num_looks = 0;
    for (;;) {
        if (thread < atomic_load(&num_wanted)) {
            if (!take_and_do_one(thread)) pause_briefly(&num_looks);
            continue;
        }
        pthread_mutex_lock(&sleeping);
        while (thread >= atomic_load(&num_wanted)) pthread_cond_wait(&wake_up, &sleeping);
        pthread_mutex_unlock(&sleeping);
    }
    return 0;
}

int begin_sharing(int num_threads) {
    if (num_threads > MAX_THREADS) num_threads = MAX_THREADS;
    if (num_threads < 2 || pthread_mutex_trylock(&in_use)) return 1;
    for (; num_started < num_threads; num_started++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, live, (void *)(intptr_t)num_started)) break;
        pthread_detach(thread);
    }
    pthread_mutex_lock(&sleeping);
    atomic_store(&num_wanted, num_threads);
    pthread_cond_broadcast(&wake_up);
    pthread_mutex_unlock(&sleeping);
    is_sharing = 1;
    return num_started;  // one that took part in the step before may take part once more
}

void end_sharing(void) {
    if (!is_sharing) return;
    is_sharing = 0;
    atomic_store(&num_wanted, 0);
    pthread_mutex_unlock(&in_use);
}

void share_out(Task task, const void *context, int num_tasks) {
    if (!is_sharing || num_tasks < 2) {
        for (int index = 0; index < num_tasks; index++) task(context, index, 0);
        return;
    }
    now_task = task;
    now_context = context;
    atomic_store(&num_done, 0);
    const uint64_t loop = (atomic_load(&now) >> (2 * TASK_BITS)) + 1;
    atomic_store(&now, loop << (2 * TASK_BITS) | (uint64_t)num_tasks << TASK_BITS);
    while (take_and_do_one(0)) {
    }
    int num_looks = 0;
    while (atomic_load(&num_done) < num_tasks) pause_briefly(&num_looks);
}
