/*
 * cost.h - what a collective should take, by the linear model: a message of m bytes costs alpha + m beta,
 * and adding m bytes costs m gamma; what happens at the same time on different links is counted once.
 *
 * One table holds the formula of every collective: its text (for --help), and the same as a function. n:
 * ranks, S: bytes of the buffer, K: the algorithm's number, lg: log2 rounded down, lg': up, P = 2^lg(n);
 * where n is no power of two the folds add their 2 alpha + 2 S beta + S gamma. Links carry both ways at once: at
 * the root of central 2(n-1) S pass, but what goes out overlaps with what comes in, segment by segment. The model is R. Hockney's
 * (The communication challenge for MPP, Parallel Computing 20 (1994) 389-398); the formulas are those of R.
 * Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH, IJHPCA
 * 19 (2005) 49-66 (recursive doubling, Rabenseifner's halving doubling, trees), P. Patarasu and X. Yuan,
 * Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69 (2009) 117-124 (ring), and,
 * between hosts, A. Sergeev and M. Del Balso, Horovod (2018). What MPI does is not known: it is taken to
 * choose the cheapest of those, as Thakur et al. do.
 *
 * One beta does not hold both inside a cache and beyond it, nor for messages that travel in different ways. So where
 * it has been measured, alpha + m beta is read off a curve through the measured times of several lengths m, and so is
 * m gamma, as in the parameterised LogP model (T. Kielmann, H. E. Bal and K. Verstoep, Fast measurement of LogP
 * parameters for message passing platforms, IPDPS 2000 Workshops, LNCS 1800, 1176-1183; LogGP, which gives long
 * messages a gap per byte of their own: A. Alexandrov et al., SPAA 1995).
 */
#ifndef RINGSIDE_SPEC_COST_H
#define RINGSIDE_SPEC_COST_H

#include <stdbool.h>
#include <stddef.h>

enum { COST_POINTS = 16 };

/* Seconds by bytes, which ascend. No points: not measured. */
struct cost_curve {
    int count;
    double bytes[COST_POINTS], seconds[COST_POINTS];
};

struct cost_link {
    double alpha;              /* seconds a message, however short */
    double beta;               /* seconds a byte that travels */
    double gamma;              /* seconds a byte of the sum that is added */
    struct cost_curve message; /* instead of alpha + m beta */
    struct cost_curve adding;  /* instead of m gamma */
    struct cost_curve pass;    /* of shm: the whole of it, which is one pass over memory; else empty */
};

struct cost_formula {
    const char *algo;
    const char *text; /* "2(n-1) alpha + 2(n-1)/n S beta + (n-1)/n S gamma" */
    double (*seconds)(const struct cost_link *l, int n, double bytes, int number);
};

/* The i-th row; NULL past the last. */
const struct cost_formula *cost_formula(int i);

/*
 * Seconds of an allreduce of so many bytes on n ranks. algo: as schedule_make has it, "mpi", "shm", or
 * "shm_private" for shm on memory that is not shared; or another collective's name ("broadcast"), with its
 * schedule. shm's alpha is the exchange of a flag and its beta a copy's. NAN: no such algorithm.
 */
double cost_seconds(const struct cost_link *l, const char *algo, int ranks, double bytes);

/*
 * alpha and beta of the line t = alpha + beta m nearest to measured times: least squares of the relative
 * error (weights 1/t^2), so that short messages, which make alpha, count as much as long ones. Neither
 * becomes negative. Needs two different sizes and positive times, else false.
 */
bool cost_fit(const double *bytes, const double *seconds, int count, double *alpha, double *beta);

/* Where nothing has been measured: ranks that share a host's memory, and a cluster's 10 Gbit/s Ethernet. */
extern const struct cost_link cost_default_shm, cost_default_network;

#endif
