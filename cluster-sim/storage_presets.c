/*
 * storage_presets.c - usual storage systems, and why a dataset is read as fast as it is.
 */
#include "cluster-sim/storage.h"

#include "cluster-sim/explanation.h"
#include "engine/base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double MiB = 1048576;

bool storage_preset(const char *name, struct storage_system *s)
{
    const struct storage_system disk = {.kind = STORAGE_LOCAL,
                                        .depth = 1,
                                        .targets = 1,
                                        .servers = 1,
                                        .operations_per_file = 1,
                                        .stripe_count = 1,
                                        .stripe_bytes = MiB};
    *s = disk;
    if (!strcmp(name, "nvme") || !strcmp(name, "local")) {
        /* Samsung SSD 970 EVO 500 GB, data sheet 2018: 3.4 GB/s; 15 000 random reads a second one at a time (67 us),
         * and 370 000 with 32 at a time */
        s->depth = 32;
        s->target_bytes_per_s = 3.4e9;
        s->seek_s = 1 / 15000.0;
    } else if (!strcmp(name, "ssd")) {
        /* Samsung SSD 860 EVO, data sheet 2018: 550 MB/s on SATA; 10 000 random reads a second one at a time, 98 000 with
         * 32 at a time */
        s->depth = 32;
        s->target_bytes_per_s = 550e6;
        s->seek_s = 1 / 10000.0;
    } else if (!strcmp(name, "hdd")) {
        /* at 7 200 turns a minute half a turn takes 4.2 ms; with 8 ms for the arm and 200 MB/s, which are usual */
        s->target_bytes_per_s = 200e6;
        s->seek_s = 0.5 * 60 / 7200 + 0.008;
    } else if (!strcmp(name, "nfs")) {
        /* One server on 10 Gb/s with flash behind it. Opening takes three round trips (lookup, access, attributes: RFC
         * 1813) of 0.2 ms. Assumed, not measured: 20 000 operations a second. Better: what yours does. */
        s->kind = STORAGE_NFS;
        s->depth = 32;
        s->target_bytes_per_s = 2e9;
        s->seek_s = 1 / 10000.0;
        s->server_link_bytes_per_s = 10e9 / 8;
        s->metadata_per_s = 20000;
        s->open_s = 3 * 0.2e-3;
        s->operations_per_file = 3;
    } else if (!strcmp(name, "parallel")) {
        /* Lustre as in Dell's white paper (Dell Storage for HPC with Intel Enterprise Edition for Lustre, 2016): 24
         * targets of hard disks, MDtest about 2 000 stats a second from one thread (0.5 ms each). Its creates reached
         * 15 000 and its stats 400 000 a second; opening for reading lies between: 50 000 is assumed. 500 MB/s a
         * target and two servers with 56 Gb/s InfiniBand are assumed, too. Stripe size: Lustre's 1 MiB. */
        s->kind = STORAGE_PARALLEL;
        s->targets = 24;
        s->servers = 2;
        s->target_bytes_per_s = 500e6;
        s->seek_s = 0.5 * 60 / 7200 + 0.008;
        s->server_link_bytes_per_s = 56e9 / 8 * 64 / 66; /* FDR's coding takes 2 of 66 bits */
        s->metadata_per_s = 50000;
        s->open_s = 0.5e-3;
    } else
        return false;
    return true;
}

static void explain_pass(FILE *f, const char *name, const struct storage_pass *p)
{
    char rate[32], time[32], files[32];
    units_show_rate(p->bytes_per_s, rate, sizeof rate);
    units_show_seconds(p->time_s, time, sizeof time);
    units_show_number(p->files_per_s, files, sizeof files);
    fprintf(f, "%s: %s files/s, %s, %s; bottleneck: %s", name, files, rate, time,
            storage_station_name(p->bottleneck));
    if (p->hit > 0)
        fprintf(f, "; %.2f %% from the cache", 100 * p->hit);
    fputs("\n", f);
    for (int i = 0; i < STORAGE_STATIONS; i++)
        if (isfinite(p->limit[i])) {
            units_show_number(p->limit[i], files, sizeof files);
            fprintf(f, "  %-12s <= %s files/s\n", storage_station_name((enum storage_station)i), files);
        }
}

char *storage_explain(const struct storage_system *s, const struct storage_load *load,
                      const struct storage_result *r, struct error *e)
{
    struct explanation why;
    FILE *f = explanation_open(&why, e);
    if (!f)
        return NULL;
    fputs("the rate is the least of what the stations on the way allow (asymptotic bounds: Lazowska and "
          "others 1984);\n"
          "files that the cache answers (a part h) pass only the last two:\n"
          "  metadata     operations/s / operations a file / (1 - h)\n"
          "  disk seek, target  targets / (pieces x seek / depth + bytes / rate) / (1 - h)\n"
          "  server link, client link  number x rate / bytes / (1 - h)\n"
          "  readers      clients x reads in flight / time of one file alone\n"
          "  cache        clients x memory rate / bytes\n",
          f);
    char rate[32], link[32], seek[32], open[32], bytes[32], operations[32], compute[32], note[256];
    units_show_number(s->metadata_per_s, operations, sizeof operations);
    units_show_number(load->compute_files_per_s, compute, sizeof compute);
    units_show_rate(s->target_bytes_per_s, rate, sizeof rate);
    units_show_rate(s->server_link_bytes_per_s, link, sizeof link);
    units_show_seconds(s->seek_s, seek, sizeof seek);
    units_show_seconds(s->open_s, open, sizeof open);
    units_show_bytes(load->file_bytes, bytes, sizeof bytes);
    fprintf(f, "storage: %d target%s of %s, seek %s for %d at once", s->targets, s->targets > 1 ? "s" : "",
            rate, seek, s->depth);
    if (s->kind == STORAGE_LOCAL)
        fputs(", at each client\n", f);
    else
        fprintf(f, "; %d server link%s of %s; %s metadata operations/s, %g a file; open %s\n", s->servers,
                s->servers > 1 ? "s" : "", link, operations, s->operations_per_file, open);
    fprintf(f, "files: %.10g of %s, each on %g target%s; %d client%s with %d read%s in flight\n", load->files,
            bytes, r->pieces, r->pieces > 1 ? "s" : "", load->clients, load->clients > 1 ? "s" : "",
            load->readers, load->readers > 1 ? "s" : "");
    storage_note(s, load, r, note, sizeof note);
    if (*note)
        fprintf(f, "note: %s\n", note);
    if (r->stage.time_s > 0)
        explain_pass(f, "staging", &r->stage);
    explain_pass(f, "first epoch", &r->first);
    if (load->epochs > 1)
        explain_pass(f, "each later epoch", &r->later);
    if (load->compute_files_per_s > 0)
        fprintf(f, "computing alone %s files/s; %s: %.2f %% of the time nobody computes\n", compute,
                load->prefetch ? "reading ahead, an epoch takes the longer of the two"
                               : "without reading ahead, an epoch takes both",
                100 * r->data_share);
    return explanation_close(&why, e);
}
