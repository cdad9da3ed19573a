#include "tui/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct option *find(const struct option *table, const char *name, size_t length)
{
    for (; table && table->name; table++)
        if (strlen(table->name) == length && !strncmp(table->name, name, length))
            return table;
    return NULL;
}

/* How many letters must be changed, added or taken away to make one word the other (Levenshtein 1966). */
static int distance(const char *a, size_t na, const char *b)
{
    enum { LONGEST = 32 };
    size_t nb = strlen(b);
    int row[LONGEST + 1];
    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

static bool unknown(const struct option_command *command, const char *name, size_t length, struct error *e)
{
    const struct option *near = NULL;
    int best = 3;
    for (const struct option *o = command->options; o && o->name; o++) {
        int d = distance(name, length, o->name);
        if (d < best && !o->refusal)
            best = d, near = o;
    }
    if (near)
        return error_set(e, ERROR_INPUT, "unknown option --%.*s; did you mean --%s?", (int)length, name,
                         near->name);
    return error_set(e, ERROR_INPUT, "unknown option --%.*s; --help lists the options", (int)length, name);
}

bool option_size(const char *text, size_t *bytes)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = 0;
    switch (toupper((unsigned char)*end)) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    case 'T': shift = 40; break;
    default: break;
    }
    if (shift) {
        end++;
        if (!strcasecmp(end, "iB"))
            end += 2;
    }
    if (toupper((unsigned char)*end) == 'B')
        end++;
    if (*end || errno || value > (SIZE_MAX >> shift))
        return false;
    *bytes = (size_t)value << shift;
    return true;
}

/* "8..128M": 8, 16, 32 ... as far as 128M. text: n letters. */
static bool take_range(const struct option *o, const char *text, size_t n, struct option_sizes *sizes)
{
    char first[32], last[32];
    const char *dots = memmem(text, n, "..", 2);
    size_t before = dots ? (size_t)(dots - text) : n, after = dots ? n - before - 2 : 0, from, to;
    if (before >= sizeof first || after >= sizeof last)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)before, text);
    if (!option_size(first, &from))
        return false;
    to = from;
    if (dots) {
        snprintf(last, sizeof last, "%.*s", (int)after, dots + 2);
        if (!option_size(last, &to))
            return false;
    }
    if ((double)from < o->min || (double)to > o->max || from > to || from == 0)
        return false;
    for (;; from *= 2) {
        if (sizes->count == OPTION_MAX_SIZES)
            return false;
        sizes->value[sizes->count++] = from;
        if (from > to / 2)
            return true;
    }
}

static bool take_sizes(const struct option *o, const char *value, struct error *e)
{
    struct option_sizes *sizes = o->into;
    sizes->count = 0;
    for (const char *p = value;; p++) {
        size_t n = strcspn(p, ",");
        if (!take_range(o, p, n, sizes))
            return error_set(e, ERROR_INPUT,
                             "--%s: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '%.*s'",
                             o->name, (int)n, p);
        p += n;
        if (!*p)
            return true;
    }
}

static bool take_number(const struct option *o, const char *value, struct error *e)
{
    char *end;
    errno = 0;
    bool whole = o->type != OPTION_REAL, ok;
    double number;
    long long integer = 0;
    if (whole) {
        integer = strtoll(value, &end, 10);
        number = (double)integer;
    } else {
        number = strtod(value, &end);
    }
    ok = *value && !isspace((unsigned char)*value) && !*end && !errno && number >= o->min && number <= o->max;
    if (!ok)
        return error_set(e, ERROR_INPUT, "--%s: expected a %s from %.10g to %.10g, got '%.60s'", o->name,
                         whole ? "whole number" : "number", o->min, o->max, value);
    if (o->type == OPTION_INT)
        *(int *)o->into = (int)integer;
    else if (o->type == OPTION_LONG)
        *(long *)o->into = (long)integer;
    else if (o->type == OPTION_SEED)
        *(uint64_t *)o->into = (uint64_t)integer;
    else
        *(double *)o->into = number;
    return true;
}

static bool take_size(const struct option *o, const char *value, struct error *e)
{
    size_t bytes;
    if (!option_size(value, &bytes) || (double)bytes < o->min || (double)bytes > o->max)
        return error_set(e, ERROR_INPUT, "--%s: expected a size in bytes such as 0, 64K or 25M, got '%.40s'",
                         o->name, value);
    *(long *)o->into = (long)bytes;
    return true;
}

static bool take(const struct option *o, const char *value, struct error *e)
{
    switch (o->type) {
    case OPTION_FLAG: *(bool *)o->into = true; return true;
    case OPTION_TEXT:
        if (!*value)
            return error_set(e, ERROR_INPUT, "--%s: expected %s, got nothing", o->name, o->argument);
        if (strlen(value) >= o->size)
            return error_set(e, ERROR_INPUT, "--%s: at most %zu characters, got '%.40s...'; it is %s",
                             o->name, o->size - 1, value, o->help);
        memcpy(o->into, value, strlen(value) + 1);
        return true;
    case OPTION_SIZE: return take_size(o, value, e);
    case OPTION_SIZES: return take_sizes(o, value, e);
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_SEED:
    case OPTION_REAL: break;
    }
    return take_number(o, value, e);
}

bool options_parse(const struct option_command *command, int argc, char **argv, char **rest, int *rest_count,
                   bool *help, struct error *e)
{
    *rest_count = 0;
    *help = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            *help = true;
            return true;
        }
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (ended || word[0] != '-' || !word[1]) {
            if (*rest_count == OPTION_MAX_WORDS)
                return error_set(e, ERROR_INPUT, "more than %d words after the command", OPTION_MAX_WORDS);
            rest[(*rest_count)++] = word;
            continue;
        }
        if (!strcmp(word, "--")) {
            ended = true;
            continue;
        }
        if (word[1] != '-')
            return error_set(e, ERROR_INPUT,
                             "unknown option %s; options are written --name, and --help lists them", word);
        const char *name = word + 2, *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);
        const struct option *o = find(command->options, name, length);
        if (!o)
            return unknown(command, name, length, e);
        if (o->refusal)
            return error_set(e, ERROR_INPUT, "--%s: %s", o->name, o->refusal);
        const char *value = NULL;
        if (o->type == OPTION_FLAG) {
            if (equals)
                return error_set(e, ERROR_INPUT, "--%s takes no value, got '%s'", o->name, equals + 1);
        } else if (equals) {
            value = equals + 1;
        } else if (i + 1 < argc) {
            value = argv[++i];
        } else {
            return error_set(e, ERROR_INPUT, "--%s: expected %s after it", o->name, o->argument);
        }
        if (!take(o, value, e))
            return false;
        if (o->given)
            *o->given = true;
    }
    return true;
}

void options_help(const struct option_command *command, FILE *to)
{
    fprintf(to, "usage: %s\n\n%s\n", command->usage, command->summary);
    size_t width = strlen("--help");
    for (const struct option *o = command->options; o && o->name; o++) {
        size_t w = 2 + strlen(o->name) + (o->argument ? 1 + strlen(o->argument) : 0);
        if (o->help && w > width)
            width = w;
    }
    fputc('\n', to);
    for (const struct option *o = command->options; o && o->name; o++) {
        if (!o->help)
            continue;
        char left[80];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        fprintf(to, "  %-*s  %s\n", (int)width, left, o->help);
    }
    fprintf(to, "  %-*s  %s\n", (int)width, "--help", "this text");
    if (command->more)
        fprintf(to, "\n%s\n", command->more);
}
