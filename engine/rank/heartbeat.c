#include "engine/rank/heartbeat.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct heartbeat {
    struct event_sink *sink;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
};

static void *beat(void *argument)
{
    struct heartbeat *h = argument;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        pthread_mutex_unlock(&h->lock);
        sink_emit(h->sink, sink_event(h->sink, "heartbeat"),
                  NULL); /* nobody listening is no reason to stop */
        pthread_mutex_lock(&h->lock);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (!h->stop)
            pthread_cond_timedwait(&h->changed, &h->lock, &until);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct heartbeat *heartbeat_start(struct event_sink *sink)
{
    struct heartbeat *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->sink = sink;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    if (pthread_create(&h->thread, NULL, beat, h) != 0) {
        free(h);
        return NULL;
    }
    return h;
}

void heartbeat_stop(struct heartbeat *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
