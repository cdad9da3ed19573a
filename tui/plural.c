/*
 * plural.c - a recursive descent over an expression; each level of operators calls the next tighter one.
 */
#include "tui/plural.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct reading {
    const char *rest;
    unsigned long n;
    int depth; /* of parentheses: a damaged catalogue must not exhaust the stack */
    bool bad;
};

/* From the loosest to the tightest; a longer operator comes before the one it begins with. */
static const char *const operators[][4] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
};
enum { LEVELS = sizeof operators / sizeof *operators };

static void skip_blanks(struct reading *r)
{
    while (isspace((unsigned char)*r->rest))
        r->rest++;
}

static bool take(struct reading *r, const char *token)
{
    skip_blanks(r);
    if (strncmp(r->rest, token, strlen(token)) != 0)
        return false;
    r->rest += strlen(token);
    return true;
}

static unsigned long conditional(struct reading *r);

static unsigned long operand(struct reading *r)
{
    char *end;
    unsigned long value = 0;
    if (++r->depth > DEPTH_MAX) {
        r->bad = true;
    } else if (take(r, "!")) {
        value = !operand(r);
    } else if (take(r, "(")) {
        value = conditional(r);
        r->bad |= !take(r, ")");
    } else if (take(r, "n")) {
        value = r->n;
    } else if (isdigit((unsigned char)*r->rest)) {
        value = strtoul(r->rest, &end, 10);
        r->rest = end;
    } else {
        r->bad = true;
    }
    r->depth--;
    return value;
}

static unsigned long apply(struct reading *r, const char *op, unsigned long a, unsigned long b)
{
    switch (op[0]) {
    case '|': return a || b;
    case '&': return a && b;
    case '=': return a == b;
    case '!': return a != b;
    case '<': return op[1] ? a <= b : a < b;
    case '>': return op[1] ? a >= b : a > b;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: break;
    }
    if (!b) {
        r->bad = true;
        return 0;
    }
    return op[0] == '/' ? a / b : a % b;
}

static unsigned long binary(struct reading *r, size_t level)
{
    if (level == LEVELS)
        return operand(r);
    unsigned long value = binary(r, level + 1);
    for (size_t i = 0; !r->bad && i < sizeof *operators / sizeof **operators && operators[level][i];) {
        if (take(r, operators[level][i])) {
            value = apply(r, operators[level][i], value, binary(r, level + 1));
            i = 0;
        } else {
            i++;
        }
    }
    return value;
}

static unsigned long conditional(struct reading *r)
{
    unsigned long value = binary(r, 0);
    if (r->bad || !take(r, "?"))
        return value;
    if (++r->depth > DEPTH_MAX) {
        r->bad = true;
        return 0;
    }
    unsigned long yes = conditional(r);
    r->bad |= !take(r, ":");
    unsigned long no = r->bad ? 0 : conditional(r);
    r->depth--;
    return value ? yes : no;
}

const char *plural_rule(const char *header, int *forms)
{
    const char *line = strstr(header, "Plural-Forms:");
    const char *count = line ? strstr(line, "nplurals=") : NULL,
               *rule = line ? strstr(line, "plural=") : NULL;
    if (!count || !rule)
        return NULL;
    if (rule == count + 1) /* the "plural=" within "nplurals=" */
        rule = strstr(rule + 1, "plural=");
    if (!rule)
        return NULL;
    *forms = (int)strtol(count + strlen("nplurals="), NULL, 10);
    return rule + strlen("plural=");
}

bool plural_value(const char *rule, unsigned long n, unsigned long *value)
{
    struct reading r = {.rest = rule, .n = n};
    *value = conditional(&r);
    skip_blanks(&r);
    return !r.bad && (!*r.rest || *r.rest == ';');
}
