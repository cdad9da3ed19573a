#include "engine/spec/slow_link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

/* What one of the two texts holds: its name, its units, what it may be, and an example for the error sentence. */
struct quantity {
    const char *field, *what, *example;
    const struct unit *units;
    double least, most;
};

static const struct unit rate_units[] = {{"kbps", 1e3},   {"Mbps", 1e6},   {"Gbps", 1e9}, {"kbit/s", 1e3},
                                         {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {NULL, 0}};
static const struct unit time_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

static const struct quantity rate_quantity = {
    "link", "a rate from 1kbps to 1000Gbps", "1Gbps or 1Gbps,2=100Mbps", rate_units, 1e3, 1e12};
static const struct quantity latency_quantity = {
    "link_latency", "a time from 0us to 10s", "50us or 50us,2=5ms", time_units, 0, 10};

static bool refuse(const struct quantity *q, const char *text, struct error *e)
{
    return error_set(e, ERROR_INPUT, "%s: expected %s, such as %s, got '%.60s'", q->field, q->what,
                     q->example, text);
}

/* "100Mbps", n letters long. */
static bool read_value(const struct quantity *q, const char *text, size_t n, double *value)
{
    char copy[32], *end;
    if (n == 0 || n >= sizeof copy || !strchr("0123456789.", *text))
        return false;
    snprintf(copy, sizeof copy, "%.*s", (int)n, text);
    double number = strtod(copy, &end);
    if (end != copy + strspn(copy, "0123456789."))
        return false;
    for (const struct unit *u = q->units; u->name; u++)
        if (strcmp(end, u->name) == 0) {
            *value = number * u->factor;
            return *value >= q->least && *value <= q->most;
        }
    return false;
}

/* "2=100Mbps": the value of one rank. */
static bool read_single(const struct quantity *q, struct slow_values *v, const char *word, size_t n,
                        int ranks, const char *text, struct error *e)
{
    char *end;
    long rank = strtol(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '=')
        return refuse(q, text, e);
    if (rank >= ranks)
        return error_set(e, ERROR_INPUT, "%s: there is no rank %ld, the ranks are 0 to %d", q->field, rank,
                         ranks - 1);
    for (int i = 0; i < v->count; i++)
        if (v->of[i].rank == rank)
            return error_set(e, ERROR_INPUT, "%s: rank %ld has two values in '%.60s'", q->field, rank, text);
    if (v->count == SLOW_LINK_RANKS)
        return error_set(e, ERROR_INPUT, "%s: at most %d ranks can have values of their own", q->field,
                         SLOW_LINK_RANKS);
    v->of[v->count].rank = (int)rank;
    end++;
    return read_value(q, end, n - (size_t)(end - word), &v->of[v->count++].value) || refuse(q, text, e);
}

static bool read_values(const struct quantity *q, struct slow_values *v, const char *text, int ranks,
                        struct error *e)
{
    bool general = false;
    for (const char *word = text; *text; word++) {
        size_t n = strcspn(word, ",");
        if (memchr(word, '=', n)) {
            if (!read_single(q, v, word, n, ranks, text, e))
                return false;
        } else if (general || !read_value(q, word, n, &v->all)) {
            return refuse(q, text, e);
        } else {
            general = true;
        }
        word += n;
        if (!*word)
            return true;
    }
    return true;
}

bool slow_link_parse(struct slow_link *l, const char *rate, const char *latency, int ranks, struct error *e)
{
    *l = (struct slow_link){.rate = {.all = INFINITY}, .latency = {.all = 0}};
    return read_values(&rate_quantity, &l->rate, rate, ranks, e) &&
           read_values(&latency_quantity, &l->latency, latency, ranks, e);
}

static double value_of(const struct slow_values *v, int rank)
{
    for (int i = 0; i < v->count; i++)
        if (v->of[i].rank == rank)
            return v->of[i].value;
    return v->all;
}

double slow_link_rate(const struct slow_link *l, int rank)
{
    return value_of(&l->rate, rank);
}

double slow_link_latency(const struct slow_link *l, int rank)
{
    return value_of(&l->latency, rank);
}

/* --- in words --- */

static void add(char *text, size_t size, const char *words)
{
    size_t used = strlen(text);
    if (used < size)
        snprintf(text + used, size - used, "%s", words);
}

static void rate_text(double rate, char text[48])
{
    if (isinf(rate))
        snprintf(text, 48, "full speed");
    else if (rate >= 1e9)
        snprintf(text, 48, "%.6g Gbit/s", rate / 1e9);
    else if (rate >= 1e6)
        snprintf(text, 48, "%.6g Mbit/s", rate / 1e6);
    else
        snprintf(text, 48, "%.6g kbit/s", rate / 1e3);
}

static void time_text(double time, char text[48])
{
    if (time >= 1)
        snprintf(text, 48, "%.6g s", time);
    else if (time >= 1e-3)
        snprintf(text, 48, "%.6g ms", time / 1e-3);
    else if (time >= 1e-6 || time == 0)
        snprintf(text, 48, "%.6g us", time / 1e-6);
    else
        snprintf(text, 48, "%.6g ns", time / 1e-9);
}

/* "1 Gbit/s (rank 2: 100 Mbit/s, rank 3: 10 Mbit/s)" */
static void values_text(const struct slow_values *v, void (*words)(double value, char text[48]), char *text,
                        size_t size)
{
    char value[48], single[80];
    words(v->all, value);
    add(text, size, value);
    for (int i = 0; i < v->count; i++) {
        words(v->of[i].value, value);
        snprintf(single, sizeof single, "%srank %d: %s", i ? ", " : " (", v->of[i].rank, value);
        add(text, size, single);
    }
    if (v->count)
        add(text, size, ")");
}

void slow_link_text(const struct slow_link *l, char *text, size_t size)
{
    snprintf(text, size, "slowed on purpose: ");
    bool limited = isfinite(l->rate.all) || l->rate.count, late = l->latency.all > 0 || l->latency.count;
    if (limited)
        values_text(&l->rate, rate_text, text, size);
    if (late) {
        add(text, size, limited ? ", " : "latency ");
        values_text(&l->latency, time_text, text, size);
    }
    if (!limited && !late)
        add(text, size, "by nothing");
}

struct cost_link slow_link_cost(const struct slow_link *l, int ranks, const struct cost_link *real)
{
    struct cost_link cost = {.alpha = real->alpha, .beta = real->beta, .gamma = real->gamma};
    for (int i = 0; i < ranks; i++) {
        cost.beta = fmax(cost.beta, 8 / slow_link_rate(l, i));
        cost.alpha = fmax(cost.alpha, slow_link_latency(l, i));
    }
    return cost;
}
