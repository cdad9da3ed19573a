#include "cluster-sim/swf.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const double largest = 9007199254740992.0; /* 2^53: whole numbers are exact up to here */
static const size_t longest_file = (size_t)1 << 31;

/* What a field may hold besides -1, in the order of the line. */
enum field_kind { FIELD_WHOLE, FIELD_REAL };
static const struct field {
    const char *name;
    enum field_kind kind;
} fields[SWF_FIELDS] = {
    {"job number", FIELD_WHOLE},
    {"submit time", FIELD_REAL},
    {"wait time", FIELD_REAL},
    {"run time", FIELD_REAL},
    {"number of processors", FIELD_WHOLE},
    {"CPU time", FIELD_REAL},
    {"memory", FIELD_REAL},
    {"number of processors asked for", FIELD_WHOLE},
    {"time asked for", FIELD_REAL},
    {"memory asked for", FIELD_REAL},
    {"status", FIELD_WHOLE},
    {"user", FIELD_WHOLE},
    {"group", FIELD_WHOLE},
    {"executable", FIELD_WHOLE},
    {"queue", FIELD_WHOLE},
    {"partition", FIELD_WHOLE},
    {"preceding job", FIELD_WHOLE},
    {"think time", FIELD_REAL},
};

bool swf_add_header(struct swf *s, const char *line, struct error *e)
{
    char **moved = realloc(s->header, (size_t)(s->headers + 1) * sizeof *moved);
    char *copy = strdup(line);
    if (moved)
        s->header = moved;
    if (!moved || !copy) {
        free(copy);
        return error_set(e, ERROR_FAILED, "not enough memory for the trace's header");
    }
    s->header[s->headers++] = copy;
    return true;
}

/* The next word of the line as a number; false where there is none. *end is behind it. */
static bool number_at(const char *p, double *value, const char **end)
{
    /* digits, a sign, a point and an exponent only: strtod also reads names and hexadecimal numbers */
    size_t length = strspn(p, "+-0123456789.eE");
    char *stop;
    errno = 0;
    *value = strtod(p, &stop);
    *end = p + length;
    return length > 0 && stop == p + length && errno == 0 && fabs(*value) <= largest;
}

static bool parse_job(const char *text, const char *name, int line, struct swf_job *job, struct error *e)
{
    const char *p = text;
    job->line = line;
    for (int i = 0; i < SWF_FIELDS; i++) {
        double *value = &job->field[i];
        p += strspn(p, " \t\r");
        if (!*p)
            return error_set(
                e, ERROR_INPUT,
                "%s:%d: %d fields where a job has %d: expected the %s next (-1 where it is not known)", name,
                line, i, SWF_FIELDS, fields[i].name);
        const char *end;
        bool number = number_at(p, value, &end);
        if (!number || (*end && !strchr(" \t\r", *end)))
            return error_set(e, ERROR_INPUT, "%s:%d: field %d, the %s, is no number: '%.*s'", name, line,
                             i + 1, fields[i].name,
                             (int)strcspn(p, " \t\r") > 40 ? 40 : (int)strcspn(p, " \t\r"), p);
        if (*value < 0 && *value != -1)
            return error_set(e, ERROR_INPUT,
                             "%s:%d: the %s is %.15g: expected 0 or more, or -1 where it is not known", name,
                             line, fields[i].name, *value);
        if (fields[i].kind == FIELD_WHOLE && *value != floor(*value))
            return error_set(e, ERROR_INPUT, "%s:%d: the %s is %.15g: expected a whole number", name, line,
                             fields[i].name, *value);
        p = end;
    }
    p += strspn(p, " \t\r");
    if (*p)
        return error_set(e, ERROR_INPUT, "%s:%d: more than the %d fields of a job", name, line, SWF_FIELDS);
    if (job->submit_s < 0)
        return error_set(e, ERROR_INPUT,
                         "%s:%d: the submit time is not known: every job of a trace needs one", name, line);
    return true;
}

/* One line, of that length without its newline. */
static bool take_line(struct swf *s, int *room, char *text, size_t length, const char *name, int line,
                      struct error *e)
{
    if (strlen(text) != length)
        return error_set(e, ERROR_INPUT,
                         "%s:%d: a zero byte: this is no text of the Standard Workload Format", name, line);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    const char *p = text + strspn(text, " \t");
    if (!*p)
        return true;
    if (*p == ';')
        return swf_add_header(s, p, e);
    if (s->count == *room) {
        int more = *room ? 2 * *room : 256;
        struct swf_job *moved = realloc(s->jobs, (size_t)more * sizeof *moved);
        if (!moved)
            return error_set(e, ERROR_FAILED, "not enough memory for a trace of more than %d jobs", s->count);
        s->jobs = moved;
        *room = more;
    }
    struct swf_job *job = &s->jobs[s->count];
    if (!parse_job(p, name, line, job, e))
        return false;
    if (s->count > 0 && job->submit_s < job[-1].submit_s)
        return error_set(
            e, ERROR_INPUT,
            "%s:%d: submitted at %.15g s, before the job of line %d (%.15g s): a trace is in the order "
            "of its submit times",
            name, line, job->submit_s, job[-1].line, job[-1].submit_s);
    s->count++;
    return true;
}

bool swf_parse(const char *text, size_t length, const char *name, struct swf *s, struct error *e)
{
    *s = (struct swf){0};
    int room = 0, line = 0;
    bool ok = true;
    for (const char *p = text, *stop = text + length; ok && p < stop;) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        size_t bytes = (size_t)((end ? end : stop) - p);
        char *copy = malloc(bytes + 1);
        line++;
        if (!copy) {
            ok = error_set(e, ERROR_FAILED, "%s:%d: not enough memory for this line", name, line);
            break;
        }
        memcpy(copy, p, bytes);
        copy[bytes] = '\0';
        ok = take_line(s, &room, copy, bytes, name, line, e);
        free(copy);
        p += bytes + 1;
    }
    if (ok && s->count == 0)
        ok = error_set(e, ERROR_INPUT, "%s: no jobs: expected lines of %d numbers (Standard Workload Format)",
                       name, SWF_FIELDS);
    if (!ok)
        swf_free(s);
    return ok;
}

bool swf_read(const char *path, struct swf *s, struct error *e)
{
    *s = (struct swf){0};
    gzFile f = gzopen(path, "rb"); /* reads what is not compressed as it is */
    if (!f)
        return error_errno(e, ERROR_INPUT, "cannot read the trace %s", path);
    char *text = NULL;
    size_t length = 0, room = 0;
    bool ok = true;
    for (;;) {
        if (length == room) {
            room = room ? 2 * room : 65536;
            char *larger = room <= longest_file ? realloc(text, room) : NULL;
            if (!larger) {
                ok = error_set(e, ERROR_INPUT,
                               "%s: the trace is too long (more than 2 GiB, or than there is memory)", path);
                break;
            }
            text = larger;
        }
        int got = gzread(f, text + length, (unsigned)(room - length < 1 << 20 ? room - length : 1 << 20));
        int code = Z_OK;
        const char *what = got <= 0 ? gzerror(f, &code) : "";
        if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
            ok = code == Z_ERRNO
                     ? error_errno(e, ERROR_INPUT, "cannot read the trace %s", path)
                     : error_set(e, ERROR_INPUT, "%s: the compressed file is damaged: %s", path, what);
            break;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    gzclose(f);
    ok = ok && swf_parse(text ? text : "", length, path, s, e);
    free(text);
    return ok;
}

bool swf_write(const struct swf *s, FILE *to, struct error *e)
{
    for (int i = 0; i < s->headers; i++)
        fprintf(to, "%s\n", s->header[i]);
    for (int i = 0; i < s->count; i++) {
        for (int k = 0; k < SWF_FIELDS; k++)
            fprintf(to, "%s%.15g", k ? " " : "", s->jobs[i].field[k]);
        fputc('\n', to);
    }
    if (fflush(to) != 0 || ferror(to))
        return error_errno(e, ERROR_FAILED, "cannot write the trace");
    return true;
}

double swf_header_number(const struct swf *s, const char *name, double fallback)
{
    for (int i = 0; i < s->headers; i++) {
        const char *p = s->header[i] + strspn(s->header[i], "; \t"), *end;
        size_t length = strlen(name);
        double value;
        if (strncasecmp(p, name, length) != 0 || p[length] != ':')
            continue;
        p += length + 1;
        if (number_at(p + strspn(p, " \t"), &value, &end))
            return value;
    }
    return fallback;
}

void swf_free(struct swf *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->headers; i++)
        free(s->header[i]);
    free(s->header);
    free(s->jobs);
    *s = (struct swf){0};
}
