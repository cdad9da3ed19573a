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

/* Between two points along the line through them, beyond the last along the last one. */
static double curve_at(const struct cost_curve *c, double bytes)
{
    int i = 1;
    if (c->count == 1 || bytes <= c->bytes[0])
        return c->seconds[0];
    while (i + 1 < c->count && c->bytes[i] < bytes)
        i++;
    double slope = (c->seconds[i] - c->seconds[i - 1]) / (c->bytes[i] - c->bytes[i - 1]);
    return fmax(0, c->seconds[i] + (bytes - c->bytes[i]) * slope);
}

/* What stands as alpha + m beta in the formulas, and as m gamma. */
static double message(const struct cost_link *l, double m)
{
    return l->message.count ? curve_at(&l->message, m) : l->alpha + m * l->beta;
}

static double adding(const struct cost_link *l, double m)
{
    return l->adding.count ? curve_at(&l->adding, m) : m * l->gamma;
}

/* Ranks beyond a power of two hand their buffer to a neighbour and are given the sum. */
static double fold(const struct cost_link *l, int n, double S)
{
    return power_of_two(n) < n ? 2 * message(l, S) + adding(l, S) : 0;
}

static double ring(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * (2 * message(l, S / n) + adding(l, S / n));
}

static double ring_segmented(const struct cost_link *l, int n, double S, int segment)
{
    double parts = fmax(1, ceil(S / n / (4.0 * (segment ? segment : 65536))));
    return (n - 1) * (2 * parts * message(l, S / n / parts) + adding(l, S / n / parts));
}

static double recursive_doubling(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return rounds_down(n) * (message(l, S) + adding(l, S)) + fold(l, n, S);
}

static double halving_doubling(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    double seconds = fold(l, n, S);
    for (int P = power_of_two(n); P > 1; P /= 2)
        seconds += 2 * message(l, S / P) + adding(l, S / P);
    return seconds;
}

static double everyone(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * (message(l, S) + adding(l, S));
}

static double param_server(const struct cost_link *l, int n, double S, int servers)
{
    double K = servers ? servers : fmax(1, floor(sqrt(n))), part = S / K, messages = 2 * (n - 1);
    /* One after the other; or as much as leaves a server, once the first segments are there. */
    double bytes = fmin(messages * part, (n + K - 2) * part + (n - 1) * SEGMENT);
    return messages * message(l, bytes / messages) + (n - 1) * adding(l, part);
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
    return rounds_up(n) * (2 * message(l, S) + adding(l, S));
}

static double hierarchical(const struct cost_link *l, int n, double S, int per_host)
{
    double L = per_host ? per_host : 1, H = n / L;
    return (L - 1) * (2 * message(l, S / L) + adding(l, S / L)) +
           (H - 1) * (2 * message(l, S / n) + adding(l, S / n));
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
    if (l->pass.count) /* as it was measured */
        return curve_at(&l->pass, S);
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
    return rounds_up(n) * message(l, S);
}

static double reduce(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return rounds_up(n) * (message(l, S) + adding(l, S));
}

static double allgather(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * message(l, S / n);
}

static double reduce_scatter(const struct cost_link *l, int n, double S, int number)
{
    (void)number;
    return (n - 1) * (message(l, S / n) + adding(l, S / n));
}

static double barrier(const struct cost_link *l, int n, double S, int number)
{
    (void)S;
    (void)number;
    return rounds_up(n) * message(l, 0);
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
