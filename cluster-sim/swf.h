/*
 * swf.h - reads and writes traces in the Standard Workload Format, version 2.
 *
 * A line a job, 18 numbers a line, -1 where a number is not known; lines that begin with ';' are the header, whose
 * entries read "; Name: value" (S. Chapin, W. Cirne, D. Feitelson and others, Benchmarks and Standards for the
 * Evaluation of Parallel Job Schedulers, JSSPP 1999; D. Feitelson, Parallel Workloads Archive). Files may be
 * compressed with gzip.
 *
 * The reader is strict: what is not such a line, or has another number of fields, a field that cannot be, or a submit
 * time before that of the line above, is refused with one sentence that names file and line.
 */
#ifndef RINGSIDE_CLUSTER_SIM_SWF_H
#define RINGSIDE_CLUSTER_SIM_SWF_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdio.h>

enum { SWF_FIELDS = 18 };

/* In the order of the fields; numbers of users and the like begin with 1 (queue and partition may have a 0). */
struct swf_job {
    union {
        double field[SWF_FIELDS];
        struct {
            double number;
            double submit_s; /* since the trace's beginning */
            double wait_s;
            double run_s;
            double procs; /* that it had */
            double cpu_s; /* used, mean over its processors */
            double memory_kib;
            double procs_asked;
            double time_asked_s;
            double memory_asked_kib;
            double status; /* 1 completed, 0 failed, 5 cancelled */
            double user, group, executable, queue, partition;
            double before;  /* the job that had to end before this one was submitted ... */
            double think_s; /* ... and how long before */
        };
    };
    int line; /* where it was read */
};

struct swf {
    char **header; /* its lines with their ';' */
    int headers;
    struct swf_job *jobs;
    int count;
};

/* The trace in a file, plain or compressed. */
bool swf_read(const char *path, struct swf *s, struct error *e);

/* The trace in a text of that length; name stands for the file in what is said about mistakes. */
bool swf_parse(const char *text, size_t length, const char *name, struct swf *s, struct error *e);

/* Header and jobs, a line each. False where the stream does not take them. */
bool swf_write(const struct swf *s, FILE *to, struct error *e);

/* A number of the header ("MaxProcs"), or fallback where there is none. */
double swf_header_number(const struct swf *s, const char *name, double fallback);

/* A copy of a header line is put after the others. */
bool swf_add_header(struct swf *s, const char *line, struct error *e);

void swf_free(struct swf *s);

#endif
