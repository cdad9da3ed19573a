/*
 * cli_allreduce.c - `ringside allreduce`: times allreduce algorithms on real ranks, and checks their sums.
 */
#include "engine/launch/launch.h"
#include "engine/spec/collective.h"
#include "engine/spec/cost.h"
#include "tui/cli.h"
#include "tui/options.h"

#include <stdio.h>
#include <string.h>

/* All there are, with commas between. */
static void every_algo(const struct job_allreduce *a, char *list, size_t size)
{
    const char *ours = collective_algo(collective_named(a->collective));
    bool slowed = *a->link || *a->link_latency; /* what goes past the link cannot be */
    if (ours) {
        snprintf(list, size, slowed ? "%s" : "mpi,%s", ours);
        return;
    }
    snprintf(list, size, slowed ? "auto" : a->tune ? "mpi,shm" : "auto,mpi,shm");
    for (int i = 0; schedule_algo(i); i++) {
        size_t used = strlen(list);
        snprintf(list + used, size - used, ",%s", schedule_algo(i));
    }
}

/* Sizes to find the fastest at: 4 B, 16 B ... 64 MiB. */
static void tune_sizes(struct job_allreduce *a)
{
    a->sizes = 0;
    for (size_t bytes = 4; bytes <= (size_t)64 << 20; bytes *= 4)
        a->bytes[a->sizes++] = bytes;
}

/* What --help says after the options: the cost model's formulas. */
static void formulas(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size,
                                   "what it should take (n ranks, S bytes; a message of m bytes alpha + m "
                                   "beta, adding m bytes m gamma;\n"
                                   "lg: log2 rounded down, lg': up, P = 2^lg(n), K as above, fold where n is "
                                   "not P: 2 alpha + 2 S beta + "
                                   "S gamma):\n");
    const struct cost_formula *f;
    for (int i = 0; (f = cost_formula(i)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "  %-19s %s\n", f->algo, f->text);
    if (used < size)
        snprintf(text + used, size - used,
                 "Thakur, Rabenseifner and Gropp 2005; Patarasu and Yuan 2009; Sergeev and Del Balso 2018\n");
}

/* How the command is to be carried out, beside its job. */
struct choices {
    bool json, detach, help;
    char out[PATH_MAX];
};

/* From the words of the command to a job. help: it was asked for and printed. */
static bool parse(int argc, char **argv, struct job *job, struct choices *how, struct error *e)
{
    bool sizes_given = false, algo_given = false;
    char more[4096];
    struct option_sizes sizes = {0};
    job_defaults(job, JOB_ALLREDUCE);
    struct job_allreduce *a = &job->allreduce;
    const struct option options[] = {
        {"algo", "A,B", OPTION_TEXT, a->algos, sizeof a->algos, 0, 0,
         "several (ring,mpi) or all of those below", &algo_given, NULL},
        {"ranks", "N", OPTION_INT, &job->ranks, 0, 1, JOB_MAX_RANKS, "processes (2)", NULL, NULL},
        {"bytes", "S,S", OPTION_SIZES, &sizes, 0, 2, 1099511627776.0,
         "with K, M, G = 2^10, 2^20, 2^30; 8..1K doubles (1K,1M,32M)", &sizes_given, NULL},
        {"iters", "K", OPTION_INT, &a->iters, 0, 1, 1000000, "timed iterations of each size (20)", NULL,
         NULL},
        {"check", NULL, OPTION_FLAG, &a->check, 0, 0, 0, "compare with a sum in float64", NULL, NULL},
        {"collective", "C", OPTION_TEXT, a->collective, sizeof a->collective, 0, 0,
         "broadcast, reduce, allgather, reduce_scatter, alltoall, barrier", NULL, NULL},
        {"dtype", "T", OPTION_TEXT, a->dtype, sizeof a->dtype, 0, 0, "f32 (default), f64, bf16 or f16", NULL,
         NULL},
        {"place", "P", OPTION_TEXT, a->place, sizeof a->place, 0, 0,
         "in (default), out, or both side by side", NULL, NULL},
        {"tune", NULL, OPTION_FLAG, &a->tune, 0, 0, 0, "find the fastest at each size and keep it for auto",
         NULL, NULL},
        {"buffer", "B", OPTION_TEXT, a->buffer, sizeof a->buffer, 0, 0, "engine (default) or private", NULL,
         NULL},
        {"trace", "N", OPTION_LONG, &a->trace, 0, 0, 1e9,
         "operations to record in the run's trace.json, 0: none (50)", NULL, NULL},
        {"label", "NAME", OPTION_TEXT, job->label, sizeof job->label, 0, 0, "in the run's id (allreduce)",
         NULL, NULL},
        {"out", "DIR", OPTION_TEXT, how->out, sizeof how->out, 0, 0, "the run's directory, new or empty",
         NULL, NULL},
        {"detach", NULL, OPTION_FLAG, &how->detach, 0, 0, 0, "print the run's id and leave it running", NULL,
         NULL},
        {"json", NULL, OPTION_FLAG, &how->json, 0, 0, 0, "print the events, one JSON object a line", NULL,
         NULL},
        {"link", "RATE", OPTION_TEXT, a->link, sizeof a->link, 0, 0,
         "slow messages down on purpose: 1Gbps, or 1Gbps,2=100Mbps by rank", NULL, NULL},
        {"link-latency", "T", OPTION_TEXT, a->link_latency, sizeof a->link_latency, 0, 0,
         "and make each take T longer: 50us, or 50us,2=5ms", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside allreduce [options]",
        .summary =
            "Sums a buffer over all ranks, again and again, with each algorithm and at each size. The "
            "time is the\n"
            "median over the iterations of the slowest rank's; algbw is size / time, and busbw = "
            "algbw * 2(n-1)/n\n"
            "for n ranks (as in nccl-tests), which compares with the speed of the link whatever n is.\n\n"
            "model is what the latency and bandwidth measured at the start should make of it. One bandwidth "
            "does "
            "not\n"
            "hold in a cache and beyond it: alpha + m beta and m gamma are read off curves through times "
            "measured "
            "at\n"
            "lengths m up to 16 MiB, as in parameterised LogP (Kielmann, Bal and Verstoep 2000); shm is one "
            "pass "
            "over\n"
            "memory, and its curve is that of passes.\n\n"
            "algorithms (S: the buffer, n: ranks)\n"
            "  auto                the fastest of the others at that size, as --tune found it\n"
            "  mpi                 MPI_Allreduce of the MPI library\n"
            "  shm                 in memory that the ranks of one host share\n"
            "  nccl                NVIDIA's NCCL in the memory of GPUs, one for each rank\n"
            "  ring                2(n-1) rounds of S/n to one neighbour\n"
            "  ring_segmented[:K]  the same in pieces of K elements that follow each other (65536)\n"
            "  tree                up to rank 0 and down again: 2 log2 n rounds of S\n"
            "  recursive_doubling  log2 n rounds of S, partners 1, 2, 4 ... ranks away\n"
            "  halving_doubling    2 log2 n rounds, 2(n-1)/n S in all\n"
            "  everyone            each rank to each other: n(n-1) S in all\n"
            "  central             all to rank 0 and back: 2(n-1) S through one rank\n"
            "  param_server[:K]    the same through K ranks, each for a part of S (root of n)\n"
            "  hierarchical[:K]    inside hosts of K ranks, then between hosts (as the hosts are)",
        .options = options,
        .more = more,
    };
    char *rest[OPTION_MAX_WORDS];
    int rest_count = 0;
    formulas(more, sizeof more);
    if (!options_parse(&command, argc, argv, rest, &rest_count, &how->help, e))
        return false;
    if (how->help)
        options_help(&command, stdout);
    if (rest_count && !how->help)
        return cli_stray_word(argv[0], rest[0], e);
    bool default_list = !algo_given && (a->tune || strcmp(a->collective, "allreduce") != 0);
    if (!strcmp(a->algos, "all") || default_list)
        every_algo(a, a->algos, sizeof a->algos);
    else if (!algo_given && (*a->link || *a->link_latency))
        snprintf(a->algos, sizeof a->algos, "ring");
    if (a->tune && !sizes_given)
        tune_sizes(a);
    if (sizes_given) {
        a->sizes = sizes.count;
        memcpy(a->bytes, sizes.value, sizeof a->bytes);
    }
    return true;
}

bool cli_allreduce_job(int argc, char **argv, struct job *job, struct error *e)
{
    struct choices how = {0};
    *job = (struct job){0};
    if (!parse(argc, argv, job, &how, e))
        return false;
    if (how.help)
        return error_set(e, ERROR_INPUT, "--help starts nothing");
    return job_validate(job, e);
}

int cli_allreduce(int argc, char **argv)
{
    struct job job;
    struct choices how = {0};
    struct error e = {0};
    if (!parse(argc, argv, &job, &how, &e))
        return cli_fail(&e);
    return how.help ? 0 : cli_measure(&job, how.out, how.detach, how.json);
}
