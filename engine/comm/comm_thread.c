#include "engine/comm/comm_thread.h"

#include "engine/base/timing.h"
#include "engine/comm/comm_internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

struct comm_thread {
    struct comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t put, done;
    struct comm_job *first, *last; /* the first is under way, or about to be */
    bool ends, failed;
    struct error error;
    double busy_s, waited_s;
    double
        busy_since; /* while there are jobs; the moment when there were none any more, until it is noticed */
};

/* The first job, once there is one; NULL at the end. With the lock. */
static struct comm_job *next_job(struct comm_thread *t)
{
    while (!t->first && !t->ends)
        pthread_cond_wait(&t->put, &t->lock);
    return t->ends ? NULL : t->first;
}

/* Up to now. With the lock. Returns now. */
static double count_busy(struct comm_thread *t)
{
    double now = timing_now();
    t->busy_s += now - t->busy_since;
    t->busy_since = now;
    return now;
}

static void *thread_main(void *argument)
{
    struct comm_thread *t = argument;
    prctl(PR_SET_TIMERSLACK, 1UL); /* short sleeps are to be short */
    pthread_mutex_lock(&t->lock);
    for (struct comm_job *job; (job = next_job(t));) {
        bool ok = !t->failed;
        struct error e = {0};
        pthread_mutex_unlock(&t->lock);
        ok = ok && job->run(job, &e);
        pthread_mutex_lock(&t->lock);
        count_busy(t);
        if (!ok && !t->failed) {
            t->failed = true;
            t->error = e;
        }
        t->first = job->next;
        if (!t->first)
            pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct comm_thread *comm_thread_start(struct comm *c, struct error *e)
{
    struct comm_thread *t = calloc(1, sizeof *t);
    if (!t) {
        error_set(e, ERROR_FAILED, "out of memory for the communication thread");
        return NULL;
    }
    t->comm = c;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->put, NULL);
    pthread_cond_init(&t->done, NULL);
    /* Signals are the main thread's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->thread, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        error_set(e, ERROR_FAILED, "the communication thread could not be started");
        free(t);
        return NULL;
    }
    c->threaded = true;
    return t;
}

void comm_thread_stop(struct comm_thread *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->ends = true;
    if (t->first)
        atomic_store(&t->comm->faults.given_up, true);
    pthread_cond_signal(&t->put);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    t->comm->threaded = false;
    atomic_store(&t->comm->faults.aside, false);
    atomic_store(&t->comm->faults.given_up, false);
    pthread_cond_destroy(&t->done);
    pthread_cond_destroy(&t->put);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

bool comm_thread_put(struct comm_thread *t, struct comm_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&t->lock);
    bool ok = !t->failed;
    if (ok && t->first)
        t->last->next = job;
    else if (ok)
        t->first = job, t->busy_since = timing_now();
    t->last = job;
    atomic_store_explicit(&t->comm->faults.aside, true, memory_order_relaxed);
    pthread_cond_signal(&t->put);
    pthread_mutex_unlock(&t->lock);
    return ok;
}

bool comm_thread_wait(struct comm_thread *t, struct error *e)
{
    atomic_store_explicit(&t->comm->faults.aside, false, memory_order_relaxed);
    pthread_mutex_lock(&t->lock);
    if (t->first) {
        double before = timing_now();
        while (t->first)
            pthread_cond_wait(&t->done, &t->lock);
        t->waited_s += count_busy(t) - before; /* the way back, too */
    }
    bool ok = !t->failed;
    if (!ok && e)
        *e = t->error;
    pthread_mutex_unlock(&t->lock);
    return ok;
}

double comm_thread_busy_s(const struct comm_thread *t)
{
    return t->busy_s;
}

double comm_thread_waited_s(const struct comm_thread *t)
{
    return t->waited_s;
}

double comm_thread_cpu_s(const struct comm_thread *t)
{
    clockid_t clock;
    struct timespec now = {0};
    return pthread_getcpuclockid(t->thread, &clock) == 0 && clock_gettime(clock, &now) == 0
               ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec
               : 0;
}
