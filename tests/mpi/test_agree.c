/* The ranks' parameters are compared: one number flipped in one rank is found, and the rank and step are named. */
#include "engine/train/agree.h"
#include "tests/mpi/tap.h"

#include "engine/base/event.h"
#include "engine/nn/network.h"

enum { PARAMETERS = 1000 };

struct counting_sink {
    struct event_sink sink;
    int faults, rank;
    long step;
    char kind[16], text[1000];
};

static bool take(struct event_sink *sink, json_t *event, struct error *e)
{
    struct counting_sink *c = (struct counting_sink *)sink;
    (void)e;
    if (event_is(event, "fault")) {
        c->faults++;
        c->rank = (int)event_integer(event, "rank", -1);
        c->step = (long)event_integer(event, "step", -1);
        snprintf(c->kind, sizeof c->kind, "%s", event_text(event, "kind", ""));
        snprintf(c->text, sizeof c->text, "%s", event_text(event, "text", ""));
    }
    json_decref(event);
    return true;
}

/* As the trainer compares: the hash of a network with these parameters. */
static uint64_t hash_of(const float *parameters)
{
    struct network n = {.model = {.parameters = PARAMETERS},
                        .host_parameters = (float *)(uintptr_t)parameters};
    return network_hash(&n);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    int ranks = comm_size(tap.comm), rank = comm_rank(tap.comm);
    struct counting_sink sink = {.sink = {.emit = take}};
    struct error e = {0};
    float x[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        x[i] = (float)i * 0.37f;
    tap_check(&tap, "alike", agree_check(tap.comm, hash_of(x), 1, &sink.sink, &e) && sink.faults == 0,
              e.text);
    for (int odd = 0; odd < ranks && ranks > 1; odd++) {
        uint32_t bits;
        memcpy(&bits, &x[617], sizeof bits);
        uint32_t flipped = bits ^ (rank == odd ? 1u : 0u); /* the last bit of the mantissa */
        memcpy(&x[617], &flipped, sizeof flipped);
        sink.faults = 0;
        bool ok = !agree_check(tap.comm, hash_of(x), 40 + odd, &sink.sink, &e);
        /* Of two ranks nobody knows who is right: rank 1 differs from rank 0. */
        int named = ranks == 2 ? 1 : odd;
        char who[32], step[32], name[64];
        snprintf(who, sizeof who, "rank %d (", named);
        snprintf(step, sizeof step, "after step %d ", 40 + odd);
        ok = ok && strstr(e.text, who) && strstr(e.text, step);
        if (rank == 0)
            ok = ok && sink.faults == 1 && sink.rank == named && sink.step == 40 + odd &&
                 !strcmp(sink.kind, "mismatch") && !strcmp(sink.text, e.text);
        else
            ok = ok && sink.faults == 0;
        snprintf(name, sizeof name, "one bit flipped on rank %d", odd);
        tap_check(&tap, name, ok, e.text);
        memcpy(&x[617], &bits, sizeof bits);
    }
    tap_check(&tap, "alike again", agree_check(tap.comm, hash_of(x), 99, &sink.sink, &e), e.text);
    return tap_close(&tap);
}
