#include "tui/link_load.h"

#include "cluster-sim/pattern.h"
#include "cluster-sim/platform_lua.h"
#include "cluster-sim/simulation.h"
#include "engine/spec/model_lua.h"
#include "tui/ring_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All messages of the collective over their routes, scaled to a buffer of so many bytes. */
static bool add_messages(struct link_load *l, double bytes, struct error *e)
{
    const struct platform *p = &l->platform;
    struct pattern_kind kind = {.algo = l->asked.algo, .bytes = bytes};
    struct pattern pattern = {0};
    struct route route = {0};
    kind.hosts = (struct nccl_hosts){
        .ranks = l->ranks, .per_host = p->per_node, .nics = p->node.nics > 0 ? p->node.nics : 1};
    bool ok = pattern_make(&pattern, &kind, e);
    for (int k = 0; ok && k < pattern.distinct; k++)
        for (int f = 0; ok && f < pattern.round[k].count; f++) {
            const struct pattern_flow *x = &pattern.flow[pattern.round[k].first + f];
            ok = platform_route(p, x->from, x->to, &route, e);
            for (int i = 0; ok && i < route.count; i++)
                l->bytes[route.link[i]] += x->bytes * (double)pattern.round[k].repeats;
        }
    route_free(&route);
    pattern_free(&pattern);
    return ok;
}

static bool time_collective(struct link_load *l, struct error *e)
{
    struct sim_request request = {.algo = l->asked.algo, .ranks = l->ranks, .bytes = l->asked.bytes};
    if (!sim_collective(&l->platform, &request, &l->result, e))
        return false;
    l->time_s = l->result.time_s;
    l->sum_bytes = l->asked.bytes;
    snprintf(l->why, sizeof l->why, "%.300s", l->result.bottleneck);
    return add_messages(l, l->asked.bytes, e);
}

/* Gradients of the model, summed by the algorithm; the step's time is the simulation's. */
static bool time_training(struct link_load *l, struct error *e)
{
    struct job job;
    struct simulation s;
    char network[512];
    job_defaults(&job, JOB_SIM);
    json_decref(job.sim.cluster);
    json_decref(job.sim.layers);
    job.sim.cluster = json_string(l->asked.cluster);
    job.sim.layers = model_description(LINK_MODEL, e);
    job.sim.world_size = l->ranks;
    job.sim.batch = LINK_BATCH;
    snprintf(job.sim.algo, sizeof job.sim.algo, "%s", l->asked.algo);
    bool ok = job.sim.layers && simulation_make(&s, &job.sim, e);
    if (ok) {
        l->time_s = s.plan.expected.step_s;
        l->compute_s = s.plan.expected.compute_s;
        l->exposed_s = s.plan.expected.exposed_comm_s;
        for (int i = 0; i < s.plan.bucket_count; i++)
            l->sum_bytes += s.plan.buckets[i].bytes;
        const struct sim_result *largest = platform_network_largest(&s.network);
        if (largest)
            l->result = *largest;
        training_bottleneck_text(&s.plan, platform_network_text(&s.network, network, sizeof network), l->why,
                                 sizeof l->why);
        simulation_free(&s);
        ok = add_messages(l, l->sum_bytes, e);
    }
    job_clear(&job);
    return ok;
}

bool link_load_make(struct link_load *l, const struct link_question *q, struct error *e)
{
    *l = (struct link_load){.asked = *q};
    if (!platform_named(q->cluster, &l->platform, e))
        return false;
    int all = platform_ranks(&l->platform);
    l->ranks = q->ranks > 0 && q->ranks <= all ? q->ranks : all < LINK_RANKS_MOST ? all : LINK_RANKS_MOST;
    l->bytes = calloc((size_t)l->platform.links + 1, sizeof *l->bytes);
    bool ok = l->bytes || error_set(e, ERROR_FAILED, "out of memory");
    ok = ok && (q->training ? time_training(l, e) : time_collective(l, e));
    if (!ok)
        link_load_free(l);
    return ok;
}

void link_load_free(struct link_load *l)
{
    if (!l)
        return;
    platform_free(&l->platform);
    free(l->bytes);
    *l = (struct link_load){0};
}

double link_load_share(const struct link_load *l, int link)
{
    double could = platform_link_bandwidth(&l->platform, link) * l->time_s;
    return could > 0 && isfinite(could) ? fmin(1, l->bytes[link] / could) : 0;
}

int link_load_busiest(const struct link_load *l, int *links, int most)
{
    int count = 0;
    for (int i = 0; i < l->platform.links; i++) {
        double share = link_load_share(l, i);
        if (!(share > 0) || (count == most && share <= link_load_share(l, links[count - 1])))
            continue;
        int at = count < most ? count++ : count - 1;
        while (at > 0 && link_load_share(l, links[at - 1]) < share) {
            links[at] = links[at - 1];
            at--;
        }
        links[at] = i;
    }
    return count;
}
