/*
 * job_fields.h - a job's fields as one table, which job.c fills in, job_check.c checks, and job_json.c
 * writes and reads.
 */
#ifndef RINGSIDE_SPEC_JOB_FIELDS_H
#define RINGSIDE_SPEC_JOB_FIELDS_H

#include "engine/spec/job.h"

enum field_type { TEXT, INT, LONG, SIZE, SEED, REAL, BOOL, JSON, INTS, LONGS, SIZES };

struct job_field {
    const char *name;
    enum field_type type;
    int capacity;        /* of a list: how many fit, */
    size_t count_offset; /* and where its length is kept */
    size_t offset, size; /* in struct job; size of a text */
    double min, max;     /* of a number, or of each number of a list */
    const char *choices; /* of a text: "adam|sgd"; NULL: any text */
};

/* By enum job_kind. */
struct job_kind_fields {
    const char *name, *section; /* section: the member of job.json that holds the kind's own fields */
    const struct job_field *fields;
};
enum { JOB_KINDS = JOB_SIM + 1 };

extern const struct job_field job_common_fields[];
extern const struct job_kind_fields job_kinds[JOB_KINDS];

bool job_field_is_list(const struct job_field *f);
/* A number, or number i of a list. */
double job_field_number(const struct job_field *f, const void *p, int i);

#endif
