/*
 * auto.c - which allreduce "auto" takes: by the table measured for this host, else by the cost model.
 *
 * Rank 0 reads the tables, one for each kind of buffer, and broadcasts them, so that no two ranks choose
 * differently.
 */
#include "engine/comm/comm_internal.h"
#include "engine/comm/shm.h"
#include "engine/spec/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[2] = {"engine", "private"};

struct comm_auto {
    struct tuning table[2]; /* as kinds */
    char about[512];
};

bool comm_shares_memory(const struct comm *c)
{
    return c->shm && c->host_ranks == c->size && !c->paced;
}

void comm_tuning_key(const struct comm *c, const char *buffer, struct tuning_key *key)
{
    *key = (struct tuning_key){.ranks = c->size, .ranks_per_host = c->ranks_per_host};
    gethostname(key->host, sizeof key->host - 1);
    comm_library(key->library, sizeof key->library);
    snprintf(key->buffer, sizeof key->buffer, "%s", buffer);
}

/* Rank 0: from the file, or else from the model. */
static void read_table(const struct comm *c, int kind, struct comm_auto *a)
{
    struct tuning *t = &a->table[kind];
    struct error why = {0};
    char text[160] = "";
    comm_tuning_key(c, kinds[kind], &t->key);
    bool shared = comm_shares_memory(c);
    struct cost_link model = shared ? cost_default_shm : cost_default_network;
    if (c->paced)
        model = slow_link_cost(&c->slow, c->size, c->host_ranks == c->size ? &cost_default_shm : &model);
    enum tuning_found found = c->paced ? TUNING_NONE : tuning_load(&t->key, t, &why);
    if (found != TUNING_READ)
        tuning_from_model(t, &model, shared);
    if (kind > 0) /* the stream hears of the engine's buffers */
        return;
    tuning_text(t, text, sizeof text);
    if (c->paced)
        snprintf(a->about, sizeof a->about, "allreduce auto, by the cost model of the slowed link: %s", text);
    else if (found == TUNING_READ)
        snprintf(a->about, sizeof a->about, "allreduce auto, as measured here: %s", text);
    else if (found == TUNING_NONE)
        snprintf(
            a->about, sizeof a->about,
            "allreduce auto, not yet measured here (ringside allreduce --tune does), by the cost model: %s",
            text);
    else
        snprintf(a->about, sizeof a->about,
                 "allreduce auto: the table that was measured is not used (%.200s); by the cost model: %s. "
                 "ringside allreduce --tune makes it anew",
                 why.text, text);
}

bool comm_auto(struct comm *c, const char **about, struct error *e)
{
    if (!c->automatic) {
        struct comm_auto *a = calloc(1, sizeof *a);
        if (!a)
            return error_set(e, ERROR_FAILED, "out of memory");
        for (int kind = 0; c->rank == 0 && kind < 2; kind++)
            read_table(c, kind, a);
        if (!comm_broadcast(c, a, sizeof *a, 0, e)) {
            free(a);
            return false;
        }
        c->automatic = a;
    }
    if (about)
        *about = c->automatic->about;
    return true;
}

const char *comm_auto_choose(struct comm *c, size_t bytes, const void *from, const void *to, struct error *e)
{
    if (!c->automatic && !comm_auto(c, NULL, e))
        return NULL;
    int kind = c->shm && shm_has(c->shm, from, bytes) && shm_has(c->shm, to, bytes) ? 0 : 1;
    const char *algo = tuning_choose(&c->automatic->table[kind], bytes);
    /* A table made while memory could be shared may meet a start where it cannot. */
    return !strcmp(algo, "shm") && !comm_shares_memory(c) ? "mpi" : algo;
}
