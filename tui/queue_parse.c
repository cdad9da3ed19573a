/*
 * queue_parse.c - what the commands of Slurm and OpenPBS print in their formats for machines.
 */
#include "tui/queue_parse.h"
#include "tui/queue_info.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void queue_copy(char *to, size_t size, const char *from, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++) {
        unsigned char c = (unsigned char)from[i];
        to[n++] = c < 32 || c == 127 ? ' ' : (char)c;
    }
    while (n > 0 && to[n - 1] == ' ')
        n--;
    while (n > 0 && ((unsigned char)to[n - 1] & 0xC0) == 0x80 &&
           length + 1 > size) /* no half of a character */
        n--;
    to[n] = '\0';
}

static void copy_text(char *to, size_t size, const char *from)
{
    queue_copy(to, size, from, strlen(from));
}

/* --- Slurm: fields between bars, a line each --- */

enum { FIELDS_MOST = 12 };

struct field {
    const char *text;
    size_t length;
};

/* Cuts a line into `count` fields; the last one takes the rest, bars and all. False: there are fewer. */
static bool cut(const char *line, size_t length, struct field *fields, int count)
{
    for (int i = 0; i < count; i++) {
        const char *bar = i + 1 < count ? memchr(line, '|', length) : NULL;
        if (!bar && i + 1 < count)
            return false;
        size_t n = bar ? (size_t)(bar - line) : length;
        fields[i] = (struct field){line, n};
        line += n + 1;
        length -= bar ? n + 1 : n;
    }
    return true;
}

static int number(struct field f)
{
    char text[16], *end;
    queue_copy(text, sizeof text, f.text, f.length);
    long value = strtol(text, &end, 10);
    return end == text || value < 0 || value > 1000000000 ? -1 : (int)value;
}

/* Calls `take` for each line that has as many fields; counts the others. False where no line had, though there were some. */
static bool each_line(struct queue_info *q, const char *text, int fields,
                      bool (*take)(struct queue_info *, struct field *), const char *command, struct error *e)
{
    int taken = 0, left_out = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct field f[FIELDS_MOST];
        if (length > 0 && cut(text, length, f, fields))
            taken += take(q, f);
        else
            left_out += length > 0;
        text += length + (text[length] == '\n');
    }
    q->left_out += left_out;
    return taken > 0 || left_out == 0 ||
           error_set(e, ERROR_FAILED, "%s printed %d lines, but none in the format that it was asked for",
                     command, left_out);
}

static bool take_job(struct queue_info *q, struct field *f)
{
    struct queue_job *j = queue_add_job(q);
    if (!j)
        return false;
    queue_copy(j->id, sizeof j->id, f[0].text, f[0].length);
    queue_copy(j->partition, sizeof j->partition, f[1].text, f[1].length);
    queue_copy(j->user, sizeof j->user, f[2].text, f[2].length);
    queue_copy(j->state, sizeof j->state, f[3].text, f[3].length);
    queue_copy(j->time, sizeof j->time, f[4].text, f[4].length);
    j->nodes = number(f[5]);
    j->cpus = number(f[6]);
    queue_copy(j->name, sizeof j->name, f[9].text, f[9].length);
    j->running = !strcmp(j->state, "RUNNING") || !strcmp(j->state, "COMPLETING");
    struct field where = j->running ? f[8] : f[7]; /* its nodes, or why it waits */
    queue_copy(j->reason, sizeof j->reason, where.text, where.length);
    return true;
}

bool queue_parse_squeue(struct queue_info *q, const char *text, struct error *e)
{
    return each_line(q, text, 10, take_job, "squeue", e);
}

/* Without the signs behind it: "*" does not answer, "~" powered off, "#" powering up ... */
static enum node_state slurm_state(const char *state)
{
    static const struct {
        const char *word;
        enum node_state state;
    } words[] = {{"idle", NODE_FREE},          {"mixed", NODE_MIXED},     {"allocated", NODE_BUSY},
                 {"completing", NODE_BUSY},    {"drained", NODE_DRAINED}, {"draining", NODE_DRAINED},
                 {"drain", NODE_DRAINED},      {"down", NODE_DOWN},       {"fail", NODE_DOWN},
                 {"error", NODE_DOWN},         {"unknown", NODE_DOWN},    {"no_respond", NODE_DOWN},
                 {"not_responding", NODE_DOWN}};
    size_t length = strcspn(state, "*~#!%$@^+-");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && !strncmp(state, words[i].word, length))
            return strchr(state, '*') ? NODE_DOWN : words[i].state;
    return NODE_OTHER;
}

static bool take_node(struct queue_info *q, struct field *f)
{
    char name[sizeof q->nodes->name], partition[sizeof q->nodes->partition], state[32], cpus[48];
    queue_copy(name, sizeof name, f[0].text, f[0].length);
    queue_copy(partition, sizeof partition, f[1].text, f[1].length);
    for (int i = 0; i < q->node_count; i++)
        if (!strcmp(q->nodes[i].name, name)) { /* a node comes once for each of its partitions */
            size_t used = strlen(q->nodes[i].partition);
            snprintf(q->nodes[i].partition + used, sizeof partition - used, ",%s", partition);
            return true;
        }
    struct queue_node *n = queue_add_node(q);
    if (!n)
        return false;
    memcpy(n->name, name, sizeof name);
    memcpy(n->partition, partition, sizeof partition);
    queue_copy(state, sizeof state, f[2].text, f[2].length);
    n->state = slurm_state(state);
    queue_copy(cpus, sizeof cpus, f[3].text, f[3].length);
    int busy, idle, other, all;
    if (sscanf(cpus, "%d/%d/%d/%d", &busy, &idle, &other, &all) == 4) {
        n->busy = busy;
        n->cpus = all;
    }
    queue_copy(n->why, sizeof n->why, f[4].text, f[4].length);
    if (!strcmp(n->why, "none"))
        n->why[0] = '\0';
    return true;
}

bool queue_parse_sinfo(struct queue_info *q, const char *text, struct error *e)
{
    return each_line(q, text, 5, take_node, "sinfo", e);
}

/* --- OpenPBS: JSON --- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static int number_of(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    if (json_is_string(value))
        return atoi(json_string_value(value));
    return json_is_integer(value) ? (int)json_integer_value(value) : -1;
}

static json_t *load(const char *text, const char *command, const char *part, struct error *e)
{
    json_error_t why;
    json_t *all = json_loads(text, 0, &why);
    if (!all || !json_is_object(all)) {
        json_decref(all);
        error_set(e, ERROR_FAILED, "%s printed no JSON (line %d: %s): OpenPBS 14 and later do", command,
                  why.line, why.text);
        return NULL;
    }
    json_t *found = json_incref(json_object_get(all, part)); /* an empty queue has none */
    json_decref(all);
    return found ? found : json_object();
}

static void take_pbs_job(struct queue_info *q, const char *id, const json_t *job)
{
    const json_t *wanted = json_object_get(job, "Resource_List");
    const char *owner = text_of(job, "Job_Owner"), *state = text_of(job, "job_state");
    struct queue_job *j = queue_add_job(q);
    if (!j)
        return;
    queue_copy(j->id, sizeof j->id, id, strcspn(id, "."));
    copy_text(j->partition, sizeof j->partition, text_of(job, "queue"));
    queue_copy(j->user, sizeof j->user, owner, strcspn(owner, "@"));
    copy_text(j->name, sizeof j->name, text_of(job, "Job_Name"));
    copy_text(j->state, sizeof j->state, state);
    j->running = *state == 'R' || *state == 'E' || *state == 'B';
    j->nodes = number_of(wanted, "nodect");
    j->cpus = number_of(wanted, "ncpus");
    copy_text(j->time, sizeof j->time, text_of(json_object_get(job, "resources_used"), "walltime"));
    copy_text(j->reason, sizeof j->reason, text_of(job, j->running ? "exec_host" : "comment"));
}

bool queue_parse_pbs_jobs(struct queue_info *q, const char *text, struct error *e)
{
    const char *id;
    json_t *job, *jobs = load(text, "qstat", "Jobs", e);
    json_object_foreach(jobs, id, job) take_pbs_job(q, id, job);
    json_decref(jobs);
    return jobs != NULL;
}

static enum node_state pbs_state(const char *state, int busy)
{
    if (strstr(state, "down") || strstr(state, "unknown"))
        return NODE_DOWN;
    if (strstr(state, "offline"))
        return NODE_DRAINED;
    if (strstr(state, "job-busy") || strstr(state, "job-exclusive") || !strcmp(state, "busy"))
        return NODE_BUSY;
    if (!strncmp(state, "free", 4))
        return busy > 0 ? NODE_MIXED : NODE_FREE;
    return NODE_OTHER;
}

static void take_pbs_node(struct queue_info *q, const char *name, const json_t *node)
{
    struct queue_node *n = queue_add_node(q);
    if (!n)
        return;
    copy_text(n->name, sizeof n->name, name);
    n->cpus = number_of(json_object_get(node, "resources_available"), "ncpus");
    n->busy = number_of(json_object_get(node, "resources_assigned"), "ncpus");
    n->state = pbs_state(text_of(node, "state"), n->busy);
    copy_text(n->partition, sizeof n->partition, text_of(node, "queue"));
    copy_text(n->why, sizeof n->why, text_of(node, "comment"));
}

bool queue_parse_pbsnodes(struct queue_info *q, const char *text, struct error *e)
{
    const char *name;
    json_t *node, *nodes = load(text, "pbsnodes", "nodes", e);
    json_object_foreach(nodes, name, node) take_pbs_node(q, name, node);
    json_decref(nodes);
    return nodes != NULL;
}
