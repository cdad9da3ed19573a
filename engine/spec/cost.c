#include "engine/spec/cost.h"

#include "engine/spec/schedule.h"

#include <math.h>
#include <string.h>

const struct cost_link cost_default_shm = {.alpha = 0.3e-6, .beta = 1 / 10e9, .gamma = 1 / 10e9};
const struct cost_link cost_default_network = {.alpha = 30e-6, .beta = 1 / 1.25e9, .gamma = 1 / 10e9};

/* Bytes that shm sums at once, through slots that stay in the cache. */
#define SHM_SLOT (32.0 * 1024)
/* Private memory of at least this goes through stages of so many bytes instead. */
#define SHM_STAGE_FROM (128.0 * 1024)
#define SHM_STAGE (1024.0 * 1024)

/* The executor's segments (of float32): a server sends the first ones back while the last still come in. */
#define SEGMENT (512.0 * 1024)

/* The largest power of two within n. */
static int power_of_two(int n)
{
    int power = 1;
    while (2 * power <= n)
        power *= 2;
    return power;
}

static double rounds_down(int n)
{
    return log2(power_of_two(n));
}

static double rounds_up(int n)
{
    return rounds_down(n) + (power_of_two(n) < n);
}

/* Ranks beyond a power of two hand their buffer to a neighbour and are given the sum. */
static double fold(const struct cost_link *l, int n, double S)
{
    return power_of_two(n) < n ? 2 * l->alpha + 2 * S * l->beta + S * l->gamma : 0;
}

static double ring(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    double N = n;
    return 2 * (N - 1) * l->alpha + 2 * (N - 1) / N * S * l->beta + (N - 1) / N * S * l->gamma;
}

static double ring_segmented(const struct cost_link *l, int n, double S, int segment)
{
    double N = n, parts = fmax(1, ceil(S / N / (4.0 * (segment ? segment : 65536))));
    return 2 * (N - 1) * parts * l->alpha + 2 * (N - 1) / N * S * l->beta +
           (N - 1) / N * S / parts * l->gamma;
}

static double recursive_doubling(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return rounds_down(n) * (l->alpha + S * l->beta + S * l->gamma) + fold(l, n, S);
}

static double halving_doubling(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    double P = power_of_two(n);
    return 2 * rounds_down(n) * l->alpha + 2 * (P - 1) / P * S * l->beta + (P - 1) / P * S * l->gamma +
           fold(l, n, S);
}

static double everyone(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * (l->alpha + S * l->beta + S * l->gamma);
}

static double param_server(const struct cost_link *l, int n, double S, int servers)
{
    double K = servers ? servers : fmax(1, floor(sqrt(n))), part = S / K;
    /* One after the other; or as much as leaves a server, once the first segments are there. */
    double bytes = fmin(2 * (n - 1) * part, (n + K - 2) * part + (n - 1) * SEGMENT);
    return 2 * (n - 1) * l->alpha + bytes * l->beta + (n - 1) * part * l->gamma;
}

static double central(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return param_server(l, n, S, 1);
}

static double tree(const struct cost_link *l, int n, double S, int number)
{
    if (n == 2) /* its only level is a root with one other rank */
        return central(l, n, S, number);
    return rounds_up(n) * (2 * l->alpha + 2 * S * l->beta + S * l->gamma);
}

static double hierarchical(const struct cost_link *l, int n, double S, int per_host)
{
    double N = n, L = per_host ? per_host : 1, H = N / L;
    return 2 * (L - 1 + H - 1) * l->alpha + 2 * (N - 1) / N * S * l->beta + (N - 1) / N * S * l->gamma;
}

static double shm_private(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    double N = n;
    if (S >= SHM_STAGE_FROM) /* parts are put on stage, summed, and the others' sums fetched */
        return 2 * ceil(S / SHM_STAGE) * l->alpha + 2 * (N - 1) / N * S * l->beta +
               (N - 1) / N * S * l->gamma;
    return fmax(1, ceil(S / SHM_SLOT)) * l->alpha + S * l->beta + (N - 1) * S * l->gamma;
}

static double shm(const struct cost_link *l, int n, double S, int number)
{
    if (S <= SHM_SLOT)
        return shm_private(l, n, S, number);
    return 2 * l->alpha + S * l->beta;
}

static double mpi(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return fmin(ring(l, n, S, 0), fmin(recursive_doubling(l, n, S, 0), halving_doubling(l, n, S, 0)));
}

static double broadcast(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return rounds_up(n) * (l->alpha + S * l->beta);
}

static double reduce(const struct cost_link *l, int n, double S, int number)
{
    return broadcast(l, n, S, number) + rounds_up(n) * S * l->gamma;
}

static double allgather(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * (l->alpha + S / n * l->beta);
}

static double reduce_scatter(const struct cost_link *l, int n, double S, int number)
{
    return allgather(l, n, S, number) + (n - 1) * S / n * l->gamma;
}

static double barrier(const struct cost_link *l, int n, double S, int number)
{
    (void)S;
    (void)number;
    return rounds_up(n) * l->alpha;
}

static const struct cost_formula formulas[] = {
    {"ring", "2(n-1) alpha + 2(n-1)/n S beta + (n-1)/n S gamma", ring},
    {"ring_segmented", "2(n-1)p alpha + 2(n-1)/n S beta + (n-1)/(np) S gamma, p = S/4nK", ring_segmented},
    {"tree", "lg'(n) (2 alpha + 2 S beta + S gamma); of 2 ranks as central", tree},
    {"recursive_doubling", "lg(n) (alpha + S beta + S gamma) + fold", recursive_doubling},
    {"halving_doubling", "2 lg(n) alpha + (P-1)/P S (2 beta + gamma) + fold", halving_doubling},
    {"everyone", "(n-1) (alpha + S beta + S gamma)", everyone},
    {"central", "2(n-1) alpha + (n-1) (S + min(S, 512K)) beta + (n-1) S gamma", central},
    {"param_server", "2(n-1) alpha + (n+K-2) S/K beta + (n-1) (512K beta + S/K gamma)", param_server},
    {"hierarchical", "2(K+n/K-2) alpha + 2(n-1)/n S beta + (n-1)/n S gamma", hierarchical},
    {"mpi", "the least of ring, recursive and halving doubling", mpi},
    {"shm", "2 alpha + S beta; S <= 32 KiB as shm_private", shm},
    {"shm_private",
     "2 S/1M alpha + 2(n-1)/n S beta + (n-1)/n S gamma; below 128 KiB\n                      S/32K alpha + S "
     "beta "
     "+ (n-1) S gamma",
     shm_private},
    {"broadcast", "lg'(n) (alpha + S beta)", broadcast},
    {"reduce", "lg'(n) (alpha + S beta + S gamma)", reduce},
    {"allgather", "(n-1) (alpha + S/n beta)", allgather},
    {"reduce_scatter", "(n-1) (alpha + S/n beta + S/n gamma)", reduce_scatter},
    {"alltoall", "(n-1) (alpha + S/n beta)", allgather},
    {"barrier", "lg'(n) alpha", barrier},
};

enum { FORMULAS = sizeof formulas / sizeof *formulas };

const struct cost_formula *cost_formula(int i)
{
    return i >= 0 && i < FORMULAS ? &formulas[i] : NULL;
}

double cost_seconds(const struct cost_link *l, const char *algo, int ranks, double bytes)
{
    int index, number = 0;
    const char *name = schedule_algo_parse(algo, &index, &number, NULL) ? schedule_algo(index) : algo;
    for (int i = 0; i < FORMULAS; i++)
        if (strcmp(formulas[i].algo, name) == 0)
            return ranks > 1 ? formulas[i].seconds(l, ranks, bytes, number) : 0;
    return NAN;
}

bool cost_fit(const double *bytes, const double *seconds, int count, double *alpha, double *beta)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (int i = 0; i < count; i++) {
        if (!(seconds[i] > 0))
            return false;
        double weight = 1 / (seconds[i] * seconds[i]), x = bytes[i], y = seconds[i];
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    double determinant = w * wxx - wx * wx;
    if (!(determinant > 1e-12 * w * wxx))
        return false;
    *beta = (w * wxy - wx * wy) / determinant;
    *alpha = (wxx * wy - wx * wxy) / determinant;
    if (*beta < 0) { /* the nearest line that is flat, or through the origin */
        *beta = 0;
        *alpha = wy / w;
    } else if (*alpha < 0) {
        *alpha = 0;
        *beta = wxy / wxx;
    }
    return true;
}
