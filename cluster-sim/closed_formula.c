#include "cluster-sim/closed.h"
#include "engine/base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAME 1e-9

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Nothing is cut in the middle: what does not fit is left out, and "..." says so. */
static void append(char *text, size_t size, const char *format, ...)
{
    char more[256];
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(more, sizeof more, format, args);
    va_end(args);
    if (used + strlen(more) + sizeof " + ..." <= size)
        memcpy(text + used, more, strlen(more) + 1);
    else if (used < 3 || strcmp(text + used - 3, "...") != 0)
        snprintf(text + used, size - used, " + ...");
}

/* Latency, and bytes a second where messages share a link, of a term's rounds. */
struct pace_of {
    double latency, rate;
};

static struct pace_of pace_of(const struct term *t, const struct paced *pace, bool flows)
{
    return (struct pace_of){flows ? pace->latencies / fmax(1, pace->messages) : pace->latency,
                            pace->transfer > 0 ? t->bytes / pace->transfer : INFINITY};
}

static bool same(struct pace_of a, struct pace_of b)
{
    return fabs(a.latency - b.latency) <= SAME * a.latency &&
           (a.rate == b.rate || fabs(a.rate - b.rate) <= SAME * a.rate);
}

static void append_pace(char *text, size_t size, const char *number, struct pace_of p, double load)
{
    char latency[32], rate[32], shared[32] = "";
    units_show_seconds(p.latency, latency, sizeof latency);
    units_show_rate(p.rate, rate, sizeof rate);
    if (load > 1)
        snprintf(shared, sizeof shared, " (of a link that %.0f share)", load);
    append(text, size, ", a%s = %s, B%s = %s%s", number, latency, number, rate, shared);
}

static int first_of(const struct terms *t, enum shape shape)
{
    int i = 0;
    while (i + 1 < t->count && t->term[i].shape != shape)
        i++;
    return i;
}

/* Rounds of several kinds: one summand for each. */
static void sum(const struct terms *t, const struct paced *paces, bool flows, char *text, size_t size)
{
    bool told[TERMS] = {false};
    for (int i = 0; i < t->count; i++) {
        struct pace_of mine = pace_of(&t->term[i], &paces[i], flows);
        double repeats = 0;
        char latency[32], bytes[32], rate[32];
        if (told[i])
            continue;
        for (int k = i; k < t->count; k++)
            if (t->term[k].bytes == t->term[i].bytes && same(mine, pace_of(&t->term[k], &paces[k], flows))) {
                told[k] = true;
                repeats += t->term[k].repeats;
            }
        units_show_seconds(mine.latency, latency, sizeof latency);
        units_show_bytes(t->term[i].bytes, bytes, sizeof bytes);
        units_show_rate(mine.rate, rate, sizeof rate);
        append(text, size, "%s%.0f (%s + %s / %s)", *text ? " + " : "", repeats, latency, bytes, rate);
    }
}

void closed_formula(const struct terms *t, const struct paced *paces, bool flows, double add_s, char *text,
                    size_t size)
{
    struct pace_of first = pace_of(&t->term[0], &paces[0], flows);
    bool even = true;
    *text = '\0';
    for (int i = 1; i < t->count; i++)
        even = even && same(first, pace_of(&t->term[i], &paces[i], flows));
    if (t->two) {
        int inside = first_of(t, SPAN), between = first_of(t, LEAP);
        append(text, size, "%s", t->text);
        append_pace(text, size, "1", pace_of(&t->term[inside], &paces[inside], flows), paces[inside].load);
        append_pace(text, size, "2", pace_of(&t->term[between], &paces[between], flows), paces[between].load);
    } else if (even) {
        append(text, size, "%s", t->text);
        append_pace(text, size, "", first, paces[0].load);
    } else {
        sum(t, paces, flows, text, size);
    }
    if (add_s > 0) {
        char adding[32];
        units_show_seconds(add_s, adding, sizeof adding);
        append(text, size, "; and adding %s", adding);
    }
}
