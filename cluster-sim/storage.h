/*
 * storage.h - how fast clients read a dataset: many small files or a few shards, near or far, cold or warm.
 *
 * Bottleneck analysis. The rate X of files is at most what every station on their way allows, and what those who wait
 * for their answers ask for (the asymptotic bounds of E. Lazowska, J. Zahorjan, G. Graham, K. Sevcik, Quantitative System
 * Performance, 1984, chapter 5: X <= min(1 / D_max, N / D)); the model says that it is the least of these:
 *
 *   metadata     operations a second / operations a file
 *   disk seek or target  targets / (pieces x seek / depth + bytes / rate of a target); named after the larger of the two
 *   server link  servers x rate / bytes
 *   client link  clients x rate / bytes
 *   readers      clients x reads in flight / (open + seek + bytes / min(client link, pieces x what a target gives)), the
 *                time that one file takes alone
 *   cache        clients x rate of the memory / bytes
 *
 * A hard disk seeks for one file at a time (depth 1), flash for many. A file of a striped file system lies on pieces = min(stripe count, targets, bytes / stripe size rounded up) targets,
 * each of which seeks once for it (Lustre Operations Manual, Managing File Layout). Local disks: every client has its own.
 *
 * Of files in the page cache only the last two remain. Their part h, where the cache has room for a part c of all files
 * and drops what was used longest ago (LRU): in the same order every epoch all or nothing; in a new random order
 *
 *   h = sum over k >= 1 of 1/n q^(k-1) P[U V > (1 - c) / q^(k-1)],  q = 1 - 1/n,  U, V uniform in (q, 1)
 *
 * for n clients that share one order: a client last had a file k epochs ago with probability 1/n q^(k-1), and has read a
 * part 1 - U q^(k-1) V of all files since then: the rest of that epoch, the ones between, and this one so far. The file is
 * still there if that is below c. Alone (n = 1) that is c + (1 - c) ln(1 - c); for many clients it comes near c. A test
 * compares it with an LRU cache that really runs. Linux's page cache is not LRU exactly.
 *
 * Not modelled: contention that costs (locks, collapse under load), failures, writes beside reads, caches of the servers.
 */
#ifndef RINGSIDE_CLUSTER_SIM_STORAGE_H
#define RINGSIDE_CLUSTER_SIM_STORAGE_H

#include "cluster-sim/platform.h"
#include "engine/base/error.h"

enum storage_kind { STORAGE_LOCAL, STORAGE_NFS, STORAGE_PARALLEL };

struct storage_system {
    enum storage_kind kind;
    double target_bytes_per_s, seek_s; /* of a disk: to read on, and to get to a file */
    int depth;                         /* files that a disk seeks at once */
    int targets;                       /* disks; of each client where they are local */
    int servers;
    double server_link_bytes_per_s; /* of each server; 0: no link in between */
    double metadata_per_s;          /* operations, of the metadata server; 0: no limit */
    double open_s;                  /* until a file is open, with nobody else about */
    double operations_per_file;
    int stripe_count;
    double stripe_bytes;
};

enum storage_order { STORAGE_SEQUENTIAL, STORAGE_SHUFFLED };
enum storage_share { STORAGE_OWN_PART, STORAGE_NEW_PART, STORAGE_EVERYTHING };

struct storage_load {
    double files, file_bytes;
    int clients, readers;           /* reads in flight at each */
    double client_link_bytes_per_s; /* 0: none in between */
    double memory_bytes_per_s;
    double cache_bytes; /* of each client */
    enum storage_order order;
    enum storage_share
        share; /* each client reads the same part every epoch, another part, or all of the files */
    bool warm; /* the cache is as after many epochs at the start */
    int epochs;
    bool stage;                  /* copy to local disks first, and read from there */
    struct storage_system local; /* those */
    double compute_files_per_s;  /* what the clients can use up, together; 0: as fast as they come */
    bool prefetch;               /* reading goes on while they compute */
};

enum storage_station {
    STORAGE_METADATA,
    STORAGE_SEEK,
    STORAGE_TARGET,
    STORAGE_SERVER_LINK,
    STORAGE_CLIENT_LINK,
    STORAGE_READERS,
    STORAGE_CACHE,
    STORAGE_STATIONS
};
const char *storage_station_name(enum storage_station station);

/* One pass over the files. */
struct storage_pass {
    double limit[STORAGE_STATIONS]; /* files a second that each allows; INFINITY: it is not on the way */
    double hit;                     /* the part that is in the cache */
    double files_per_s, bytes_per_s;
    double time_s;
    enum storage_station bottleneck;
};

struct storage_result {
    struct storage_pass stage; /* time_s 0 where nothing is staged */
    struct storage_pass first, later;
    double read_s;     /* staging and all epochs */
    double total_s;    /* with computing */
    double data_share; /* the part of it in which nobody computes */
    double pieces;     /* of a file */
};

/* Usual figures of a kind, with sources in storage_presets.c: local, hdd, ssd, nvme, nfs, parallel. False where there is
 * none of that name. */
bool storage_preset(const char *name, struct storage_system *s);

/* Those of a described cluster: the storage that all share, else its disks; of load the clients (all nodes), their links,
 * memory and local disks. ERROR_INPUT where it has none. */
bool storage_of_platform(const struct platform *p, struct storage_system *s, struct storage_load *load,
                         struct error *e);

bool storage_simulate(const struct storage_system *s, const struct storage_load *load,
                      struct storage_result *r, struct error *e);

/* ERROR_INPUT where a figure, by its option's name, is given that this kind has no use for: of stripes, where it is no
 * parallel file system; else of a server or of the way to it, where the disks are local. */
bool storage_takes(const struct storage_system *s, bool stripes, const char *name, struct error *e);

/* Where a file lies on fewer targets than the stripe count says, a sentence on why; else "". */
void storage_note(const struct storage_system *s, const struct storage_load *load,
                  const struct storage_result *r, char *text, size_t size);

/* h for a cache with room for a part c of the files that n clients share out anew every epoch. */
double storage_hits(double c, int n, enum storage_order order);

/* Why: formulas with their numbers. Lines, which the caller frees; NULL where memory is short. */
char *storage_explain(const struct storage_system *s, const struct storage_load *load,
                      const struct storage_result *r, struct error *e);

#endif
