/*
 * queue_sge.c - what Grid Engine's qstat and qhost print as XML.
 *
 * Their XML is flat: elements with a text and at most a few attributes, no CDATA, no elements of the same name inside each
 * other. So it is read by looking for tags; whatever is not closed is left out.
 */
#include "tui/queue_info.h"
#include "tui/queue_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    const char *text;
    size_t length;
};

/* The first "<tag ...>...</tag>" of a piece: its attributes and what is inside. Returns what comes after it; NULL: none. */
static const char *element(struct piece in, const char *tag, struct piece *attributes, struct piece *inside)
{
    char open[48], close[48];
    int opened = snprintf(open, sizeof open, "<%s", tag),
        closed = snprintf(close, sizeof close, "</%s>", tag);
    const char *end = in.text + in.length;
    for (const char *at = in.text; (at = memmem(at, (size_t)(end - at), open, (size_t)opened));
         at += opened) {
        const char *attribute = at + opened;
        if (attribute >= end || !strchr(" >\t\n", *attribute))
            continue; /* a longer name */
        const char *begin = memchr(attribute, '>', (size_t)(end - attribute));
        const char *finish = begin ? memmem(begin, (size_t)(end - begin), close, (size_t)closed) : NULL;
        if (!finish)
            return NULL;
        *attributes = (struct piece){attribute, (size_t)(begin - attribute)};
        *inside = (struct piece){begin + 1, (size_t)(finish - begin - 1)};
        return finish + closed;
    }
    return NULL;
}

/* A text with its five entities resolved. */
static void copy(char *to, size_t size, struct piece p)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char text[256];
    size_t n = 0;
    for (size_t i = 0; i < p.length && n < sizeof text; n++) {
        size_t k = 0, count = sizeof entities / sizeof *entities;
        while (k < count && (p.length - i < strlen(entities[k].name) ||
                             memcmp(p.text + i, entities[k].name, strlen(entities[k].name)) != 0))
            k++;
        text[n] = k < count ? entities[k].is : p.text[i];
        i += k < count ? strlen(entities[k].name) : 1;
    }
    queue_copy(to, size, text, n);
}

static void child(struct piece in, const char *tag, char *to, size_t size)
{
    struct piece attributes, inside = {"", 0};
    element(in, tag, &attributes, &inside);
    copy(to, size, inside);
}

/* The value of name='...' or name="..." among attributes. */
static void attribute(struct piece in, const char *name, char *to, size_t size)
{
    const char *end = in.text + in.length;
    size_t length = strlen(name);
    struct piece value = {"", 0};
    for (const char *at = in.text; (at = memmem(at, (size_t)(end - at), name, length)); at += length) {
        const char *quote = at + length + 1;
        if (at == in.text || at[-1] != ' ' || quote >= end || at[length] != '=')
            continue;
        const char *close = memchr(quote + 1, *quote, (size_t)(end - quote - 1));
        if (close)
            value = (struct piece){quote + 1, (size_t)(close - quote - 1)};
        break;
    }
    copy(to, size, value);
}

static bool take_job(struct queue_info *q, struct piece job, struct piece attributes)
{
    char state[16], slots[16], queue[64], kind[16], when[24];
    struct queue_job *j = queue_add_job(q);
    if (!j)
        return false;
    attribute(attributes, "state", kind, sizeof kind);
    child(job, "JB_job_number", j->id, sizeof j->id);
    child(job, "JB_name", j->name, sizeof j->name);
    child(job, "JB_owner", j->user, sizeof j->user);
    child(job, "state", state, sizeof state);
    child(job, "slots", slots, sizeof slots);
    child(job, "queue_name", queue, sizeof queue);
    child(job, kind[0] == 'r' ? "JAT_start_time" : "JB_submission_time", when, sizeof when);
    if (strlen(when) >= 16 && when[10] == 'T') /* "2023-11-14T22:01:40": "11-14 22:01" */
        snprintf(j->time, sizeof j->time, "%.5s %.5s", when + 5, when + 11);
    j->running = !strcmp(kind, "running");
    snprintf(j->state, sizeof j->state, "%s", state);
    j->cpus = *slots ? atoi(slots) : -1;
    queue_copy(j->partition, sizeof j->partition, queue, strcspn(queue, "@"));
    const char *host = strchr(queue, '@');
    if (host)
        snprintf(j->reason, sizeof j->reason, "%s", host + 1);
    else if (strchr(state, 'E'))
        snprintf(j->reason, sizeof j->reason, "error: qstat -j %s", j->id);
    return true;
}

bool queue_parse_sge_jobs(struct queue_info *q, const char *text, struct error *e)
{
    struct piece rest = {text, strlen(text)}, attributes, job;
    const char *after;
    if (!strstr(text, "<job_info"))
        return error_set(e, ERROR_FAILED, "qstat -xml printed no list of jobs");
    while ((after = element(rest, "job_list", &attributes, &job)) && take_job(q, job, attributes))
        rest = (struct piece){after, strlen(after)};
    return true;
}

/* <hostvalue name='num_proc'>4</hostvalue>, <queuevalue qname='all.q' name='slots_used'>1</queuevalue> */
static int value_of(struct piece in, const char *tag, const char *name, char *to, size_t size, bool sum)
{
    struct piece attributes, inside;
    const char *after;
    int total = 0;
    *to = '\0';
    while ((after = element(in, tag, &attributes, &inside))) {
        char which[32], text[32];
        attribute(attributes, "name", which, sizeof which);
        if (!strcmp(which, name)) {
            copy(text, sizeof text, inside);
            total += atoi(text);
            if (!*to || !sum)
                queue_copy(to, size, text, strlen(text));
            if (!sum)
                break;
        }
        in = (struct piece){after, in.length - (size_t)(after - in.text)};
    }
    return total;
}

static bool take_host(struct queue_info *q, struct piece host, const char *name)
{
    char cpus[16], load[16], used[16], queue[32], state[16];
    struct piece attributes, inside;
    struct queue_node *n = queue_add_node(q);
    if (!n)
        return false;
    snprintf(n->name, sizeof n->name, "%s", name);
    value_of(host, "hostvalue", "num_proc", cpus, sizeof cpus, false);
    value_of(host, "hostvalue", "load_avg", load, sizeof load, false);
    n->busy = value_of(host, "queuevalue", "slots_used", used, sizeof used, true);
    value_of(host, "queuevalue", "state_string", state, sizeof state, false);
    if (element(host, "queue", &attributes, &inside)) {
        attribute(attributes, "name", queue, sizeof queue);
        snprintf(n->partition, sizeof n->partition, "%s", queue);
    }
    n->cpus = *cpus && *cpus != '-' ? atoi(cpus) : -1;
    n->state = !*load || *load == '-' || strchr(state, 'u') ? NODE_DOWN
               : strpbrk(state, "dDE")                      ? NODE_DRAINED
               : n->busy <= 0                               ? NODE_FREE
               : n->cpus > 0 && n->busy >= n->cpus          ? NODE_BUSY
                                                            : NODE_MIXED;
    return true;
}

bool queue_parse_qhost(struct queue_info *q, const char *text, struct error *e)
{
    struct piece rest = {text, strlen(text)}, attributes, host;
    const char *after;
    if (!strstr(text, "<qhost"))
        return error_set(e, ERROR_FAILED, "qhost -xml printed no list of hosts");
    while ((after = element(rest, "host", &attributes, &host))) {
        char name[48];
        attribute(attributes, "name", name, sizeof name);
        if (strcmp(name, "global") != 0 && !take_host(q, host, name))
            break;
        rest = (struct piece){after, strlen(after)};
    }
    return true;
}
