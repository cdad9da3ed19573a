#include "tui/background.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct background {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    void (*work)(void *argument);
    void (*release)(void *argument);
    void *argument;
    bool done, abandoned;
};

static void dispose(struct background *b)
{
    b->release(b->argument);
    pthread_cond_destroy(&b->finished);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static void *run(void *self)
{
    struct background *b = self;
    b->work(b->argument);
    pthread_mutex_lock(&b->lock);
    b->done = true;
    bool abandoned = b->abandoned;
    pthread_cond_broadcast(&b->finished);
    pthread_mutex_unlock(&b->lock);
    if (abandoned)
        dispose(b);
    return NULL;
}

static struct background *create(void (*work)(void *argument), void (*release)(void *argument),
                                 void *argument, struct error *e)
{
    struct background *b = calloc(1, sizeof *b);
    if (!b) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    b->work = work;
    b->release = release;
    b->argument = argument;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->finished, NULL);
    return b;
}

struct background *background_start(void (*work)(void *argument), void (*release)(void *argument),
                                    void *argument, struct error *e)
{
    struct background *b = create(work, release, argument, e);
    pthread_t thread;
    pthread_attr_t detached;
    if (!b)
        return NULL;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &detached, run, b);
    pthread_attr_destroy(&detached);
    if (!failed)
        return b;
    pthread_cond_destroy(&b->finished);
    pthread_mutex_destroy(&b->lock);
    free(b);
    error_set(e, ERROR_FAILED, "no thread could be started: %s", strerror(failed));
    return NULL;
}

struct background *background_here(void (*work)(void *argument), void (*release)(void *argument),
                                   void *argument, struct error *e)
{
    struct background *b = create(work, release, argument, e);
    if (b) {
        work(argument);
        b->done = true;
    }
    return b;
}

bool background_done(struct background *b)
{
    pthread_mutex_lock(&b->lock);
    bool done = b->done;
    pthread_mutex_unlock(&b->lock);
    return done;
}

void background_wait(struct background *b)
{
    pthread_mutex_lock(&b->lock);
    while (!b->done)
        pthread_cond_wait(&b->finished, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

void background_free(struct background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    bool done = b->done;
    b->abandoned = true;
    pthread_mutex_unlock(&b->lock);
    if (done)
        dispose(b);
}
