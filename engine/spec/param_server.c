/*
 * param_server.c - allreduces through servers, as schedules: everybody sends, a server sums, everybody gets the sum.
 *
 * The buffer is cut into as many pieces as there are servers, which are the first ranks; in round 0 every rank sends
 * piece i to rank i, in round 1 rank i sends its sum to every rank. With one server (central) 2(N-1) times the buffer
 * goes through one link, which is why nobody does it at scale; with N servers each link carries 2(N-1)/N of the
 * buffer as in the ring, in two rounds, but every rank talks to every other.
 */
#include "engine/spec/schedule.h"

static bool serve(struct schedule *s, const char *algo, int ranks, size_t length, int servers,
                  struct error *e)
{
    if (!schedule_begin(s, algo, ranks, length, servers, 2 * (size_t)ranks * (size_t)servers, e))
        return false;
    for (int round = 0; round < 2; round++)
        for (int from = 0; from < (round == 0 ? ranks : servers); from++)
            for (int to = 0; to < (round == 0 ? servers : ranks); to++) {
                int server = round == 0 ? to : from;
                if (from == to)
                    continue;
                schedule_add(s, (struct transfer){
                                    .round = round,
                                    .from = from,
                                    .to = to,
                                    .chunk = server,
                                    .offset = chunk_offset(length, servers, server),
                                    .length = chunk_length(length, servers, server),
                                    .reduce = round == 0,
                                    .phase = round == 0 ? PHASE_REDUCE : PHASE_BROADCAST,
                                });
            }
    return true;
}

bool schedule_central(struct schedule *s, int ranks, size_t length, struct error *e)
{
    return serve(s, "central", ranks, length, 1, e);
}

bool schedule_param_server(struct schedule *s, int ranks, size_t length, int servers, struct error *e)
{
    if (servers > ranks)
        return error_set(
            e, ERROR_INPUT,
            "param_server:%d: there are %d ranks, and a server is one of them; take at most as many", servers,
            ranks);
    int root = 1;
    while ((root + 1) * (root + 1) <= ranks)
        root++;
    if (servers == 0)
        servers = root;
    return serve(s, "param_server", ranks, length, servers, e);
}
