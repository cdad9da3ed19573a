#include "engine/base/event_scan.h"

#include "engine/base/event.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

static bool take(struct cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* A text of printable ASCII without escapes; the cursor stands behind its first quotation mark. */
static bool scan_text(struct cursor *c, const char **text, int *length)
{
    const char *from = c->at;
    while (c->at < c->end && *c->at != '"') {
        unsigned char byte = (unsigned char)*c->at;
        if (byte < 0x20 || byte >= 0x7F || byte == '\\')
            return false;
        c->at++;
    }
    if (c->at == c->end || c->at - from > INT16_MAX)
        return false;
    *text = from;
    *length = (int)(c->at - from);
    c->at++;
    return true;
}

static bool is_digit(const struct cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* Adds the digits that come to *mantissa; returns how many. At most 18 altogether keep it exact. */
static int scan_digits(struct cursor *c, uint64_t *mantissa)
{
    int digits = 0;
    for (; is_digit(c); c->at++, digits++)
        if (digits <= 18)
            *mantissa = 10 * *mantissa + (uint64_t)(*c->at - '0');
    return digits;
}

/* JSON's numbers: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool scan_number(struct cursor *c, struct event_field *f)
{
    static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t mantissa = 0;
    bool negative = *c->at == '-';
    c->at += negative;
    bool zero = c->at < c->end && *c->at == '0';
    int whole = scan_digits(c, &mantissa), fraction = 0, power = 0;
    if (whole == 0 || whole > 18 || (zero && whole > 1))
        return false;
    bool real = false;
    if (c->at < c->end && *c->at == '.') {
        real = true;
        c->at++;
        fraction = scan_digits(c, &mantissa);
        if (fraction == 0 || whole + fraction > 18)
            return false;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        real = true;
        c->at++;
        bool down = c->at < c->end && *c->at == '-';
        c->at += down || (c->at < c->end && *c->at == '+');
        uint64_t exponent = 0;
        int digits = scan_digits(c, &exponent);
        if (digits == 0 || digits > 4)
            return false;
        power = down ? -(int)exponent : (int)exponent;
    }
    f->type = real ? EVENT_REAL : EVENT_INTEGER;
    if (!real) {
        f->integer = negative ? -(long long)mantissa : (long long)mantissa;
        f->number = (double)f->integer;
        return true;
    }
    power -= fraction;
    if (mantissa > UINT64_C(1) << 53 || power < -22 || power > 22)
        return false;
    double value = power < 0 ? (double)mantissa / POWERS[-power] : (double)mantissa * POWERS[power];
    f->number = negative ? -value : value;
    return true;
}

static bool scan_word(struct cursor *c, const char *word, enum event_type type, struct event_field *f)
{
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    f->type = type;
    return true;
}

static bool scan_value(struct cursor *c, struct event_field *f)
{
    skip_blanks(c);
    if (c->at == c->end)
        return false;
    switch (*c->at) {
    case '"':
        c->at++;
        f->type = EVENT_TEXT;
        return scan_text(c, &f->text, &f->length);
    case 't': return scan_word(c, "true", EVENT_TRUE, f);
    case 'f': return scan_word(c, "false", EVENT_FALSE, f);
    case 'n': return scan_word(c, "null", EVENT_NULL, f);
    default:
        f->text = c->at;
        if (!scan_number(c, f))
            return false;
        f->length = (int)(c->at - f->text);
        return true;
    }
}

static bool same_key(const struct event_field *a, const struct event_field *b)
{
    return a->key_length == b->key_length && !memcmp(a->key, b->key, (size_t)a->key_length);
}

/* The JSON library refuses a key that comes twice, so such a line is not ours. */
static bool is_new(const struct event_record *r, const struct event_field *f)
{
    for (int i = 0; i < r->count; i++)
        if (same_key(&r->fields[i], f))
            return false;
    return true;
}

bool event_scan(const char *line, size_t length, struct event_record *r)
{
    struct cursor c = {line, line + length};
    r->count = 0;
    if (!take(&c, '{'))
        return false;
    do {
        if (r->count == EVENT_MAX_FIELDS)
            return false;
        struct event_field *f = &r->fields[r->count];
        if (!take(&c, '"') || !scan_text(&c, &f->key, &f->key_length) || !take(&c, ':') ||
            !scan_value(&c, f) || !is_new(r, f))
            return false;
        r->count++;
    } while (take(&c, ','));
    if (!take(&c, '}'))
        return false;
    skip_blanks(&c);
    return c.at == c.end;
}

static const struct event_field *field_of(const struct event_record *r, const char *key)
{
    int length = (int)strlen(key);
    for (int i = 0; i < r->count; i++)
        if (r->fields[i].key_length == length && !memcmp(r->fields[i].key, key, (size_t)length))
            return &r->fields[i];
    return NULL;
}

double any_number(const struct event_any *v, const char *key, double fallback)
{
    if (v->json)
        return event_number(v->json, key, fallback);
    const struct event_field *f = field_of(v->record, key);
    return f && f->type <= EVENT_REAL ? f->number : fallback;
}

long long any_integer(const struct event_any *v, const char *key, long long fallback)
{
    if (v->json)
        return event_integer(v->json, key, fallback);
    const struct event_field *f = field_of(v->record, key);
    return f && f->type == EVENT_INTEGER ? f->integer : fallback;
}

bool any_true(const struct event_any *v, const char *key)
{
    if (v->json)
        return json_is_true(json_object_get(v->json, key));
    const struct event_field *f = field_of(v->record, key);
    return f && f->type == EVENT_TRUE;
}

bool any_text(const struct event_any *v, const char *key, char *out, size_t size)
{
    if (v->json) {
        const char *text = event_text(v->json, key, NULL);
        if (text)
            snprintf(out, size, "%s", text);
        return text != NULL;
    }
    const struct event_field *f = field_of(v->record, key);
    if (!f || f->type != EVENT_TEXT)
        return false;
    snprintf(out, size, "%.*s", f->length, f->text);
    return true;
}

bool any_is(const struct event_any *v, const char *name)
{
    if (v->json)
        return event_is(v->json, name);
    const struct event_field *f = field_of(v->record, "ev");
    return f && f->type == EVENT_TEXT && (size_t)f->length == strlen(name) &&
           !memcmp(f->text, name, (size_t)f->length);
}
