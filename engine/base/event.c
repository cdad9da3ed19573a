#include "engine/base/event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 12 digits keep microseconds over ten days and more than a float's precision. */
enum { EVENT_DIGITS = 12 };

json_t *event_new(const char *name, double t)
{
    json_t *event = json_object();
    if (t >= 0)
        json_object_set_new(event, "t", json_real(t));
    event_set_text(event, "ev", name);
    return event;
}

void event_set_number(json_t *event, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(event, key, json_real(value));
}

void event_set_integer(json_t *event, const char *key, long long value)
{
    json_object_set_new(event, key, json_integer(value));
}

void event_set_text(json_t *event, const char *key, const char *value)
{
    json_t *text = json_string(value);
    if (!text) /* not UTF-8: keep what can be kept, byte by byte */
    {
        char *plain = strdup(value);
        if (!plain)
            return;
        for (char *p = plain; *p; p++)
            if ((unsigned char)*p >= 0x80)
                *p = '?';
        text = json_string(plain);
        free(plain);
    }
    json_object_set_new(event, key, text);
}

const char *event_name(const json_t *event)
{
    return event_text(event, "ev", "");
}

double event_number(const json_t *event, const char *key, double fallback)
{
    const json_t *value = json_object_get(event, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

long long event_integer(const json_t *event, const char *key, long long fallback)
{
    const json_t *value = json_object_get(event, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

const char *event_text(const json_t *event, const char *key, const char *fallback)
{
    const json_t *value = json_object_get(event, key);
    return json_is_string(value) ? json_string_value(value) : fallback;
}

bool event_is(const json_t *event, const char *name)
{
    return strcmp(event_name(event), name) == 0;
}

char *event_line(const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(EVENT_DIGITS));
    if (!text)
        return NULL;
    size_t length = strlen(text);
    char *line = realloc(text, length + 2);
    if (!line) {
        free(text);
        return NULL;
    }
    line[length] = '\n';
    line[length + 1] = 0;
    return line;
}

json_t *event_parse(const char *line, size_t length)
{
    json_t *event = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (event && !json_is_object(event)) {
        json_decref(event);
        return NULL;
    }
    return event;
}

bool event_write(int fd, json_t *event, struct error *e)
{
    char *line = event_line(event);
    json_decref(event);
    if (!line)
        return error_set(e, ERROR_FAILED, "an event could not be written: out of memory");
    size_t length = strlen(line), done = 0;
    while (done < length) {
        ssize_t n = write(fd, line + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            error_errno(e, ERROR_FAILED, "an event could not be written");
            free(line);
            return false;
        }
        done += (size_t)n;
    }
    free(line);
    return true;
}
